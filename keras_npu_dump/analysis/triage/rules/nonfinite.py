"""NaN and infinities: where they first appear, told from where they only arrive.

The operator to name has finite inputs and an output that is not. Of several in
one execution the first to run comes first; one that takes the very tensor that
another already fails on (the gradient of a logarithm divides by the same zero)
says the same once more, and is counted with it. What a variable carries into
the next execution belongs to where the variable went bad.
"""
from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

import numpy as np

from keras_npu_dump.analysis.columns import distinct
from keras_npu_dump.analysis.triage.findings import explain
from keras_npu_dump.analysis.triage.findings.consequences import BadPlaces, Consequence, follow
from keras_npu_dump.analysis.triage.findings.series import Series, TensorStatistics
from keras_npu_dump.analysis.triage.findings.suspects import (
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    make_suspect,
)
from keras_npu_dump.op_types.training import OVERFLOW_CHECK_TYPES, is_collective

# Operators that a sentence names.
_SHOWN = 3


class _WayIn(NamedTuple):
    """Where bad values come into an execution that no operator of the dump made.

    Attributes:
      key: a way in is told once per execution.
      position: of the operator to name. reason, message: as of `Suspect`.
      upstream: position of what is to be looked at next, or None.
    """

    key: Tuple[str, int]
    position: int
    reason: str
    message: str
    upstream: Optional[int]


def find(series: Series) -> List[Suspect]:
    """Suspects of one rank, execution by execution.

    Args:
      series: the executions of a graph on that rank.
    """
    poisoned: Dict[int, Suspect] = {}
    found: List[Suspect] = []
    for number in range(len(series.columns)):
        bad = _bad_of(series, number)
        if bad.outputs or bad.inputs:
            found.extend(_Execution(series, number, bad, poisoned).judge())
    return found


def _bad_of(series: Series, number: int) -> BadPlaces:
    columns = series.columns[number]
    rows = np.flatnonzero((columns.nan > 0) | (columns.neg_inf > 0) | (columns.pos_inf > 0))
    outputs: Dict[int, List[Tuple[int, int]]] = {}
    inputs: Dict[int, List[Tuple[int, int]]] = {}
    if not len(rows):
        return BadPlaces(outputs, inputs, set(), set())
    ops, turns = columns.op[rows], columns.turn[rows]
    sides, indices = columns.output[rows], columns.index[rows]
    for op, turn, side, index in zip(ops.tolist(), turns.tolist(), sides.tolist(),
                                     indices.tolist()):
        (outputs if side else inputs).setdefault(op, []).append((turn, index))
    # A list or a handle has a row without statistics: what it holds is not seen.
    known = columns.output & (columns.count > 0) & (columns.nan >= 0)
    with_outputs = set(distinct(columns.op[known]))
    return BadPlaces(outputs, inputs, series.seen(number), with_outputs)


class _Execution:
    """One execution in which something is not finite.

    Attributes:
      poisoned: position of a variable -> the suspect that spoilt it, over all executions
        so far; grows with this one.
    """

    def __init__(self, series: Series, number: int, bad: BadPlaces, poisoned: Dict[int, Suspect]):
        self.series = series
        self.table = series.operators
        self.number = number
        self.bad = bad
        self.poisoned = poisoned

    def judge(self) -> List[Suspect]:
        """Operators that made bad values here, in the order in which they ran; behind them
        values that came bad from where the dump does not show it."""
        suspects: List[Suspect] = []
        covered: Set[int] = set()
        leaders: List[Tuple[int, Suspect]] = []
        for position in sorted(set(self.bad.outputs) | set(self.bad.inputs)):
            carried = self._carried(position)
            if carried is not None and position not in covered:
                self._carry(position, carried, covered)
                continue
            if position not in self.bad.outputs or not self._is_origin(position):
                continue
            if position in covered and not self.series.inputs_seen(self.number, position):
                continue  # read back from a list that an earlier operator filled
            # Asked in order: a variable may have gone bad in this very execution.
            poison = self._unseen_poison(position)
            if poison is not None:
                self._carry(position, poison, covered)
                continue
            consequence = self._follow(position)
            leader = self._same_cause(position, leaders)
            if is_collective(self.table.types[position]):
                leader = self._from_another_rank(position, consequence)
                suspects.append(leader)
            elif leader is not None:
                leader.also.append(self.table.names[position])
                leader.downstream += len(consequence.region - covered - {position}) + 1
            else:
                leader = self._suspect(position, consequence, covered)
                leaders.append((position, leader))
                suspects.append(leader)
            covered |= consequence.region
            self._poison(consequence, leader)
        suspects.extend(self._arrivals(covered))
        return suspects

    # --- where it begins

    def _is_origin(self, position: int) -> bool:
        """In one of its runs its outputs are bad and its inputs are not."""
        bad_inputs = self.bad.inputs.get(position, [])
        turns = {turn for turn, _ in bad_inputs}
        if any(turn not in turns for turn, _ in self.bad.outputs[position]):
            return True
        return bool(bad_inputs) and self._from_design(position)

    def _carried(self, position: int) -> Optional[Suspect]:
        """What an earlier execution did to a variable that this operator reads."""
        if not self.poisoned:
            return None
        for _, slot in self.bad.inputs.get(position, ()):
            variable = self.table.variable_of(position, slot)
            if variable is not None and variable in self.poisoned:
                return self.poisoned[variable]
        return None

    def _unseen_poison(self, position: int) -> Optional[Suspect]:
        """A variable that went bad before and that this dump does not show (dump_mode=output)."""
        if not self.poisoned:
            return None
        shown = {one.index for one in self.series.values(self.number, position, False)}
        for slot in range(len(self.table.sources[position])):
            variable = None if slot in shown else self.table.variable_of(position, slot)
            if variable is not None and variable in self.poisoned:
                return self.poisoned[variable]
        return None

    def _from_design(self, position: int) -> bool:
        """NaN out of infinities that constants brought in: the operator is to be named."""
        values = self.series.values(self.number, position, False)
        sources = self.table.sources[position]
        for one in values:
            if not one.bad:
                continue
            source = sources[one.index] if one.index < len(sources) else None
            if one.nan > 0 or source is None or not self.table.is_constant(source[0]):
                return False
        return any(one.nan > 0 for one in self.series.values(self.number, position, True))

    def _follow(self, position: int) -> Consequence:
        nan = any(one.nan > 0 for one in self.series.values(self.number, position, True))
        if position >= self.table.known:
            # Without a graph, whatever is bad and runs later may come from it.
            later = {one for one in set(self.bad.inputs).union(self.bad.outputs)
                     if one >= position}
            harmed = sorted(one for one in later.intersection(self.bad.outputs)
                            if self.table.is_update(one))
            checked = any(self.table.types[one] in OVERFLOW_CHECK_TYPES for one in later)
            return Consequence(later, harmed, [], checked and not harmed)
        return follow(self.table, position, self.bad, nan)

    def _same_cause(self, position: int, leaders: List[Tuple[int, Suspect]]
                    ) -> Optional[Suspect]:
        """The suspect of an operator that takes the same tensor, or feeds this operator."""
        mine = self._tensors(position)
        for leader, suspect in leaders:
            if mine & self._tensors(leader) or any(op == leader for op, _ in mine):
                return suspect
        return None

    def _tensors(self, position: int) -> Set[Tuple[int, int]]:
        """What it takes in, constants and variables left out: these prove nothing."""
        return {source for source in self.table.sources[position]
                if source is not None and not self.table.is_constant(source[0])
                and not self.table.is_variable(source[0])}

    def _suspect(self, position: int, consequence: Consequence, covered: Set[int]) -> Suspect:
        outputs = self.series.values(self.number, position, True)
        inputs = self.series.values(self.number, position, False)
        bad = [one for one in outputs if one.bad]
        nan = any(one.nan > 0 for one in bad)
        seen = self.series.inputs_seen(self.number, position)
        downstream = len(consequence.region - covered - {position})
        reason = "nan" if nan else "infinity"
        if self.table.is_data(position):
            reason = "bad-data"
            message = "the batch comes with %s" % explain.amount(bad)
        else:
            message = self._message(position, inputs, bad, seen)
        confidence = self._confidence(consequence, seen)
        if consequence.innocent and not self.series.partial:
            message += ("; nothing is harmed: %s" % (
                "it ends in %s" % ", ".join(consequence.settled_by[:_SHOWN])
                if consequence.settled_by else "no variable and no result takes it"))
        return make_suspect(self.series, self.number, position, reason, message, confidence,
                            downstream)

    def _from_another_rank(self, position: int, consequence: Consequence) -> Suspect:
        """What a collective gives and this rank did not put in; `merge` finds the rank."""
        bad = [one for one in self.series.values(self.number, position, True) if one.bad]
        suspect = make_suspect(
            self.series, self.number, position, "arrives-bad",
            "%s gives %s, and what this rank put in is finite: it comes from a rank that was not "
            "dumped" % (self.table.types[position], explain.amount(bad)), MEDIUM,
            len(consequence.region) - 1)
        suspect.hints.from_rank = True
        return suspect

    def _message(self, position: int, inputs: List[TensorStatistics], bad: List[TensorStatistics],
                 seen: bool) -> str:
        op_type = self.table.types[position]
        spoilt = {one.turn for one in inputs if one.bad}
        turn = min([one.turn for one in bad if one.turn not in spoilt] or [bad[0].turn])
        bad = [one for one in bad if one.turn == turn]
        mine = [one for one in inputs if one.turn == turn] or inputs
        why = explain.cause(op_type, mine, bad)
        text = "%s gives %s%s" % (op_type, explain.amount(bad), "" if not turn else
                                  " in its run %d" % turn)
        if why:
            return "%s, %s" % (text, why)
        ranges = explain.ranges_of(mine)
        return "%s, although %s%s" % (
            text, "its inputs are finite" if seen else "what is known of its inputs is finite",
            " (%s)" % ranges if ranges else "")

    def _confidence(self, consequence: Consequence, seen: bool) -> str:
        if self.series.partial:
            return HIGH if seen else MEDIUM
        if consequence.harmed:
            return HIGH if seen else MEDIUM
        return LOW if consequence.innocent else MEDIUM

    # --- where it goes

    def _poison(self, consequence: Consequence, suspect: Suspect) -> None:
        """Notes the variables that bad values have reached."""
        for position in consequence.region:
            if not self.table.is_update(position):
                continue
            outputs = self.bad.outputs.get(position)
            slots = [index for _, index in outputs] if outputs else [0]
            for slot in slots:
                variable = self.table.variable_of(position, slot)
                if variable is not None:
                    self.poisoned.setdefault(variable, suspect)

    def _arrivals(self, covered: Set[int]) -> Iterable[Suspect]:
        """Bad values that no operator of this dump made in this execution."""
        told: Set[Tuple[str, int]] = set()
        for position in sorted(self.bad.inputs):
            if position in covered:
                continue
            for turn, slot in self.bad.inputs[position]:
                source = self._source(position, slot)
                if source is not None and (source in self.bad.outputs
                                           or self.table.is_constant(source)):
                    continue
                variable = self.table.variable_of(position, slot)
                suspect = self._arrival(position, slot, turn, source, variable, told)
                if suspect is not None:
                    consequence = self._follow(position)
                    covered |= consequence.region
                    self._poison(consequence, suspect)
                    if variable is not None:
                        self.poisoned.setdefault(variable, suspect)
                    yield suspect
                break

    def _source(self, position: int, slot: int) -> Optional[int]:
        sources = self.table.sources[position]
        source = sources[slot] if slot < len(sources) else None
        return None if source is None else source[0]

    def _carry(self, position: int, suspect: Suspect, covered: Set[int]) -> None:
        """A variable brings in what an earlier execution did to it."""
        consequence = self._follow(position)
        covered |= consequence.region
        self._poison(consequence, suspect)
        step = self.series.steps[self.number].data_index
        if step is not None:
            suspect.hints.inherited.append(step)

    def _arrival(self, position: int, slot: int, turn: int, source: Optional[int],
                 variable: Optional[int], told: Set[Tuple[str, int]]) -> Optional[Suspect]:
        """The suspect for bad values that an operator takes in; None where it is told already.

        Args:
          position, slot, turn: of the bad input.
          source, variable: positions of what feeds it, and of the variable behind that.
          told: ways in that have a suspect; grows.
        """
        value = next((one for one in self.series.values(self.number, position, False)
                      if one.index == slot and one.turn == turn), None)
        if value is None:
            return None
        consequence = self._follow(position)
        way = self._way_in(position, value, source, variable)
        if way is None or way.key in told:
            return None
        told.add(way.key)
        confidence = MEDIUM if self.table.known and not consequence.innocent else LOW
        if way.reason in ("bad-variable", "bad-data") or self.series.partial:
            confidence = LOW if consequence.innocent and not self.series.partial else HIGH
        suspect = make_suspect(self.series, self.number, way.position, way.reason, way.message,
                               confidence, len(consequence.region) - 1)
        suspect.hints.upstream = way.upstream
        return suspect

    def _way_in(self, position: int, value: TensorStatistics, source: Optional[int],
                variable: Optional[int]) -> Optional[_WayIn]:
        """Where the bad value of an input comes from; None where an operator of this
        execution may have made it."""
        amount = explain.amount([value])
        if variable is not None:
            return _WayIn(("variable", variable), position, "bad-variable",
                          "%s holds %s when the execution begins%s" % (
                              self.table.names[variable], amount, self._since()), variable)
        if source is not None and self.table.is_data(source):
            return _WayIn(("data", source), source, "bad-data",
                          "the batch comes with %s" % amount, None)
        if source is not None:
            return _WayIn(("source", source), position, "arrives-bad",
                          "input %d holds %s; it comes from %s (%s), which was not dumped" % (
                              value.index, amount, self.table.names[source],
                              self.table.types[source]), source)
        if self.bad.outputs and min(self.bad.outputs) < position:
            return None  # without a graph: an operator that ran earlier made it
        return _WayIn(("operator", position), position, "arrives-bad",
                      "input %d holds %s; the dump does not say where it comes from" % (
                          value.index, amount), None)

    def _since(self) -> str:
        if not self.number:
            return "; it went bad before the first execution that was dumped"
        return "; it went bad after data_index %s, in an execution that was not dumped" % (
            self.series.steps[self.number - 1].data_index)
