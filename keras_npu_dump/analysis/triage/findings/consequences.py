"""What becomes of bad values after the operator that made them: harm, or none.

A loss scale that was too large gives infinite gradients, finds them, and skips
the update: nothing is wrong. A mask of minus infinity ends in a softmax that
makes zeros of it. What matters is whether a variable or a result of the graph
is reached.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Set

from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.op_types.arithmetic import (
    SAME_VALUE_TYPES,
    SETTLES_ANY_TYPES,
    SETTLES_INFINITY_TYPES,
)
from keras_npu_dump.op_types.graph_parts import QUIET_TYPES


class Consequence(NamedTuple):
    """What follows from an operator's bad values in one execution.

    Attributes:
      region: positions of operators with bad values that come from it, itself
        included.
      harmed: positions of updates and of the graph's results among them.
      settled_by: names of operators that take bad values and give good ones.
      innocent: nothing is harmed, and all that settles it does so rightly; or
        nothing takes it at all.
    """

    region: Set[int]
    harmed: List[int]
    settled_by: List[str]
    innocent: bool


def follow(table: Operators, start: int, bad_outputs: Dict[int, Set[int]],
           bad_inputs: Set[int], seen: Set[int], outputs_seen: Set[int],
           nan: bool) -> Consequence:
    """Follows bad values along the graph.

    Args:
      start: the operator that makes them.
      bad_outputs: position -> which of its outputs are bad. bad_inputs: positions.
      seen, outputs_seen: positions of which anything, and of which outputs were
        dumped; what was not dumped may hand on anything.
      nan: NaN is among the values, not only infinities.
    """
    region = {start}
    settled: List[int] = []
    harmed: Set[int] = set()
    reached_end = contradicted = False
    visited = {start}
    same = {start}  # operators that hold the bad values themselves, or surely hand them on
    pending = [start]
    while pending:
        position = pending.pop()
        following = list(table.consumers[position])
        if table.is_update(position) and position in bad_outputs:
            following += _readers(table, position)
        for one in following:
            if one in visited or _enters_unrun(table, position, one):
                continue
            visited.add(one)
            if one in bad_outputs:
                region.add(one)
                same.add(one)
                pending.append(one)
            elif one in bad_inputs and one in outputs_seen:
                region.add(one)
                settled.append(one)
            elif one in bad_inputs:
                region.add(one)
                pending.append(one)
                if table.is_update(one) or one in table.results:
                    harmed.add(one)
            elif one not in seen:
                if position in same and table.graphs[one] == table.root:
                    reached_end |= table.types[one] == "NetOutput"
                    if table.types[one] in SAME_VALUE_TYPES:
                        same.add(one)
                    elif table.types[one] not in QUIET_TYPES:
                        contradicted = True  # its file is missing: nobody knows
                pending.append(one)
            else:
                # It took the bad output, and its own dump says that it did not.
                contradicted |= any(
                    source is not None and source[0] == position
                    and source[1] in bad_outputs.get(position, ())
                    for source in table.sources[one])
    harmed.update(one for one in region if one in bad_outputs and (
        table.is_update(one) or one in table.results))
    if reached_end:
        harmed.add(start)
    if len(region) == 1 and not table.consumers[start] and not table.has_end:
        contradicted = True  # the graph does not say what its results are
    right = SETTLES_ANY_TYPES if nan else SETTLES_ANY_TYPES | SETTLES_INFINITY_TYPES
    names = [table.names[one] for one in sorted(settled)]
    innocent = (not harmed and not contradicted and (bool(settled) or len(region) == 1)
                and all(table.types[one] in right for one in settled))
    return Consequence(region, sorted(harmed), names, innocent)


def _readers(table: Operators, update: int) -> List[int]:
    """Who reads the variable that an update has just changed, later in the execution."""
    variable = table.variable_of(update)
    if variable is None:
        return []
    return [one for one in table.consumers[variable] if one > update]


def _enters_unrun(table: Operators, position: int, following: int) -> bool:
    """A caller takes its inputs into bodies, whose operators stand in the list themselves."""
    return following in table.bodies and table.graphs[position] not in table.bodies[following]

