"""Edges between operators: "name:index" texts, and the lists that GE derives from them."""
from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph.ge_graph import GraphOp


def split_edge(edge: str) -> Tuple[str, int]:
    """Splits an input at its last colon: names may hold colons.

    Args:
      edge: "name:index", as in GraphOp.inputs.

    Returns:
      (name, index), the index -1 for a control edge; ("", 0) of an unconnected
      input.

    Raises:
      FormatError: no index behind the last colon.
    """
    if not edge:
        return "", 0
    name, colon, index = edge.rpartition(":")
    try:
        if colon:
            return name, int(index)
    except ValueError:
        pass
    raise FormatError("<edge>", "expected name:index, found %.200r" % edge)


def connect(ops: Sequence[GraphOp]) -> None:
    """Fills src_name, src_index, dst_name, dst_index and id as GE does.

    Args:
      ops: the operators of a graph in order; their `inputs` must be there, their
        `fields` are changed. Control edges have the index -1.

    Raises:
      FormatError: an input that is no edge.
    """
    consumers: Dict[str, Any] = {op.name: ([], []) for op in ops}
    for number, op in enumerate(ops):
        names, indices = [], []
        position = 0
        for edge in op.inputs:
            if not edge:
                position += 1
                continue
            name, index = split_edge(edge)
            names.append(name)
            indices.append(index)
            slot = -1 if index == -1 else position
            position += index != -1
            if name in consumers:
                consumers[name][0].append(op.name)
                consumers[name][1].append(slot)
        op.fields["src_name"], op.fields["src_index"] = names, indices
        if number:
            op.fields["id"] = number
    for op in ops:
        op.fields["dst_name"], op.fields["dst_index"] = consumers[op.name]
