"""What becomes of bad values after the operator that made them: harm, or none.

A loss scale that was too large gives infinite gradients, finds them, and skips
the update: nothing is wrong. A mask of minus infinity ends in a softmax that
makes zeros of it. What matters is whether a variable or a result of the graph
is reached.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Set, Tuple

from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.op_types.arithmetic import (
    SAME_VALUE_TYPES,
    SETTLES_ANY_TYPES,
    SETTLES_INFINITY_TYPES,
)
from keras_npu_dump.op_types.graph_parts import QUIET_TYPES


class BadPlaces(NamedTuple):
    """Where one execution holds values that are not finite, and what it shows at all.

    Attributes:
      outputs, inputs: position of an operator -> (turn, index) of its bad outputs
        or inputs.
      seen, outputs_seen: positions of which anything, and of which values of outputs
        were dumped; what was not dumped may hand on anything.
    """

    outputs: Dict[int, List[Tuple[int, int]]]
    inputs: Dict[int, List[Tuple[int, int]]]
    seen: Set[int]
    outputs_seen: Set[int]


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


def follow(table: Operators, start: int, bad: BadPlaces, nan: bool) -> Consequence:
    """Follows bad values along the graph.

    Args:
      table: of the graph.
      start: position of the operator that makes them.
      bad: of the execution.
      nan: NaN is among the values, not only infinities.
    """
    walk = _Walk(table, start, bad)
    walk.run()
    settles_rightly = SETTLES_ANY_TYPES if nan else SETTLES_ANY_TYPES | SETTLES_INFINITY_TYPES
    alone = len(walk.region) == 1
    # Where nothing takes the values, the graph must say what its results are.
    doubtful = walk.contradicted or (
        alone and not table.consumers[start] and not table.has_end)
    harmed = walk.all_harmed()
    innocent = (not harmed and not doubtful and (bool(walk.settled) or alone)
                and all(table.types[one] in settles_rightly for one in walk.settled))
    return Consequence(walk.region, sorted(harmed),
                       [table.names[one] for one in sorted(walk.settled)], innocent)


class _Walk:
    """The way of bad values from the operator that makes them, taker by taker.

    Attributes:
      region: positions of operators with bad values, the start included.
      settled: positions that take bad values and give good ones.
      contradicted: something that the dump shows, or lacks, does not fit.
    """

    def __init__(self, table: Operators, start: int, bad: BadPlaces):
        self.region = {start}
        self.settled: List[int] = []
        self.contradicted = False
        self._table = table
        self._start = start
        self._bad = bad
        self._harmed: Set[int] = set()
        self._reached_end = False
        # Operators that hold the bad values themselves, or surely hand them on.
        self._certain = {start}

    def run(self) -> None:
        """Walks to the end."""
        visited = {self._start}
        pending = [self._start]
        while pending:
            giver = pending.pop()
            for taker in self._takers(giver):
                if taker in visited or _enters_unrun(self._table, giver, taker):
                    continue
                visited.add(taker)
                if self._hands_on(giver, taker):
                    pending.append(taker)

    def all_harmed(self) -> Set[int]:
        """Updates and results of the graph that the bad values reach; the start, if they
        reach the graph's end past operators that were not dumped."""
        shown = {one for one in self.region if one in self._bad.outputs and self._is_harm(one)}
        return self._harmed | shown | ({self._start} if self._reached_end else set())

    def _takers(self, giver: int) -> List[int]:
        takers = list(self._table.consumers[giver])
        if self._table.is_update(giver) and giver in self._bad.outputs:
            takers += _readers(self._table, giver)
        return takers

    def _hands_on(self, giver: int, taker: int) -> bool:
        """Judges an operator that is given bad values; False where they end there."""
        bad = self._bad
        if taker in bad.outputs:
            self.region.add(taker)
            self._certain.add(taker)
            return True
        if taker in bad.inputs:
            self.region.add(taker)
            if taker in bad.outputs_seen:
                self.settled.append(taker)
                return False
            if self._is_harm(taker):
                self._harmed.add(taker)
            return True
        if taker in bad.seen:
            # Where it takes the very output that is bad, its own dump says that it did not.
            self.contradicted |= self._takes_bad_output(giver, taker)
            return False
        if giver in self._certain and self._table.graphs[taker] == self._table.root:
            self._go_unseen(taker)
        return True

    def _go_unseen(self, taker: int) -> None:
        """Past an operator of the root graph that was not dumped and surely gets bad values."""
        op_type = self._table.types[taker]
        if op_type == "NetOutput":
            self._reached_end = True
        if op_type in SAME_VALUE_TYPES:
            self._certain.add(taker)
        elif op_type not in QUIET_TYPES:
            self.contradicted = True  # its file is missing: nobody knows

    def _is_harm(self, position: int) -> bool:
        return self._table.is_update(position) or position in self._table.results

    def _takes_bad_output(self, giver: int, taker: int) -> bool:
        bad = {index for _, index in self._bad.outputs.get(giver, ())}
        return any(source is not None and source[0] == giver and source[1] in bad
                   for source in self._table.sources[taker])


def _readers(table: Operators, update: int) -> List[int]:
    """Who reads the variable that an update has just changed, later in the execution."""
    variable = table.variable_of(update)
    if variable is None:
        return []
    return [one for one in table.consumers[variable] if one > update]


def _enters_unrun(table: Operators, position: int, following: int) -> bool:
    """A caller takes its inputs into bodies, whose operators stand in the list themselves."""
    return following in table.bodies and table.graphs[position] not in table.bodies[following]
