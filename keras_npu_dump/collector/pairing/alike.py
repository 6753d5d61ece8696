"""Training graphs that show alike: one function, traced for a full batch and for a smaller one.

Their operators are the same, and their names differ in a number. What tells them apart is what
they take: the shapes of their arguments, or of what they get from the iterator.
"""
from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.op_types import graph_parts
from keras_npu_dump.records.manifest_text import TAKES

_MOST_BYTES = 64 << 20  # of a graph file that is read for this
_MOST_SHOWN = 4


class _Taken(NamedTuple):
    """A tensor that a graph takes: a name, and its shape."""

    name: str
    shape: Tuple[int, ...]


def tell_apart(pairs: Sequence[Paired]) -> None:
    """Says of graphs that show alike what each takes; sets `takes`.

    Args:
      pairs: training graphs of one session, in the order of execution.
    """
    groups: Dict[str, List[Paired]] = {}
    for pair in pairs:
        groups.setdefault(re.sub(r"\d+", "", pair.graph.name or ""), []).append(pair)
    for group in groups.values():
        if len({pair.graph.name for pair in group}) > 1:
            _tell(group)


def _tell(group: List[Paired]) -> None:
    taken = [_taken_by(pair.graph) for pair in group]
    if not all(taken) or len(set(map(tuple, taken))) < 2:
        return
    rows = [_rows(one) for one in taken]
    for number, (pair, mine) in enumerate(zip(group, taken)):
        others = [row for row in rows if row is not None and row != rows[number]]
        size = "" if rows[number] is None or not others else ": batches of %d, %s" % (
            rows[number] or 0, "the smaller ones" if (rows[number] or 0) < max(others)
            else "the larger ones")
        pair.takes = "%s%s%s%s; of %d graphs that show alike it was number %d" % (
            TAKES, ", ".join("%s %s" % (one.name, list(one.shape)) for one in mine[:_MOST_SHOWN]),
            "" if len(mine) <= _MOST_SHOWN else ", ...", size, len(group), number + 1)


def _rows(taken: Sequence[_Taken]) -> Optional[int]:
    """The first dimension, where it is the same in all that is taken."""
    found = {one.shape[0] for one in taken if one.shape}
    return found.pop() if len(found) == 1 else None


def _taken_by(graph: BuildGraph) -> List[_Taken]:
    """What the root graph takes, without handles and scalars; empty where it cannot be read."""
    found: List[_Taken] = []
    if graph.file.size > _MOST_BYTES:
        return found
    try:
        for name, op in graph_reader.iter_ops(graph.file.path):
            if name == graph.name and (op.type in graph_parts.FEED_TYPES
                                       or op.type in graph_parts.GET_NEXT_TYPES):
                found += [_Taken(op.name, desc.shape) for desc in op.output_descs
                          if desc.shape and desc.dtype not in graph_parts.HANDLE_DTYPES]
    except (OSError, FormatError):
        return []
    return found
