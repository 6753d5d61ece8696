"""What is in a graph file, as a plain dict (`inspect_text.py`: as text)."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.formats import names


def describe_graphs(path: str, full_name: str) -> Dict[str, Any]:
    """The graphs of a file: how many operators of which types.

    Args:
      path: of the file.
      full_name: what its name says, where digits stand for it.

    Raises:
      FormatError: it is no graph file, or cut off.
    """
    from keras_npu_dump.formats.graph import graph_reader  # half of the start-up
    name = names.parse_graph_name(full_name)
    result: Dict[str, Any] = {"kind": "graph"}
    if name is not None:
        result["name"] = name._asdict()
    result["bytes"] = os.path.getsize(path)
    graphs: List[Dict[str, Any]] = []
    result["graphs"] = graphs
    for graph in graph_reader.read_graphs(path):
        types: Dict[str, int] = {}
        for op in graph.ops:
            types[op.type] = types.get(op.type, 0) + 1
        described = {
            "name": graph.name, "operators": len(graph.ops),
            "types": dict(sorted(types.items(),
                                 key=lambda item: (-item[1], item[0]))),
            "inserted_by_ge": sum(1 for op in graph.ops
                                  if op.original_op_names == []),
            "has_iterator": any("Iterator" in op.type for op in graph.ops)}
        if graph.lacks:
            described["lacks"] = list(graph.lacks)
        graphs.append(described)
    if not graphs:
        raise FormatError(path, "no graph in it", 0)
    return result


def graph_operators(path: str, op: Optional[str], op_type: Optional[str]) -> Dict[str, Any]:
    """The operators of a graph file that match, in the order of the file.

    Args:
      path: of the file.
      op, op_type: as for `inspect_run`.

    Returns:
      {"kind": "graph operators", "path", "operators": [{"graph", "op", "op_type",
      "original_ops", "inputs", "shapes"}]}; "shapes" are those of the outputs.

    Raises:
      InputError: no operator matches. FormatError: no graph file.
    """
    from keras_npu_dump.analysis.inspect.run_contents import no_match
    from keras_npu_dump.formats.graph import graph_reader
    try:
        search = re.compile(op or "").search
    except re.error as error:
        raise InputError("op: expected a regular expression. Received: %r, %s" % (
            op, error)) from None
    types: List[str] = []
    found = []
    for graph in graph_reader.read_graphs(path):
        for one in graph.ops:
            if not (search(one.name) or any(map(search, one.origins))):
                continue
            types.append(one.type)
            if op_type is None or one.type.lower() == op_type.lower():
                found.append({
                    "graph": graph.name, "op": one.name, "op_type": one.type,
                    "original_ops": list(one.origins), "inputs": list(one.data_inputs),
                    "shapes": [list(desc.shape) for desc in one.output_descs]})
    if not found:
        raise InputError(no_match(op, op_type, types))
    return {"kind": "graph operators", "path": path, "operators": found}
