"""What triage finds: suspects, and what looks odd and has an innocent reason."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.views import Rank

HIGH, MEDIUM, LOW = "high", "medium", "low"
_ORDER = {HIGH: 0, MEDIUM: 1, LOW: 2}
# True of all executions, not of one: where it begins is no point in time.
_STANDING = frozenset(("underflow", "zero-gradient", "vanishing-gradient", "constant-output"))
# Executions that a next dump looks at, at most, to see a weight diverge, or what breaks on an
# update.
EXECUTIONS_TO_SEE = 8
# A triage answers with so many, and as many observations.
MAX_SUSPECTS = 20

# Reasons, and what each says. Codes are stable.
REASONS = {
    "overflow-event": "the device reported an overflow (enable_dump_debug)",
    "nan": "gives NaN from finite inputs",
    "infinity": "gives infinities from finite inputs",
    "bad-data": "the batch itself holds NaN or infinities",
    "bad-variable": "a variable was not finite before the execution began",
    "arrives-bad": "takes in NaN or infinities from an operator that was not dumped",
    "saturation": "16-bit values stick at the largest number of their type",
    "underflow": "16-bit values become zero where the inputs are not",
    "jump": "values jump against earlier executions",
    "zero-gradient": "the gradient becomes exactly zero here",
    "vanishing-gradient": "the gradient shrinks to nothing on its way back",
    "constant-output": "gives one and the same value whatever it is given",
    "ranks-disagree": "differs between ranks where it should be equal",
}


class SuspectPlace(NamedTuple):
    """Where in the executions of a graph a suspect stands.

    Attributes:
      series: the executions of its rank.
      ordinal: of the graph among those of its rank, in time.
      number: of the execution in the series (of an overflow event: in the pair).
      order: within the execution: the operator's position, or which event it is.
      position: of the operator in the graph, -1 where it is not known.
    """

    series: Series
    ordinal: int
    number: int
    order: int
    position: int

    @property
    def execution(self) -> Tuple[int, int]:
        """(graph, execution), ascending in time."""
        return self.ordinal, self.number

    @property
    def time(self) -> Tuple[int, int, int]:
        """(graph, execution, place in it), ascending in time."""
        return self.ordinal, self.number, self.order


@dataclasses.dataclass
class Hints:
    """What a rule tells those who merge suspects and plan the next dump.

    Attributes:
      upstream: position of what is to be looked at next, where that is not the operator
        itself.
      until: data_index up to which it takes to see it, where one execution does not show
        it.
      leap: number of the execution in which a single update multiplied a weight a
        thousandfold.
      from_rank: another rank made it.
      settled: the training has a remedy for it, a loss scale.
      inherited: the data_index of executions that begin with variables which it spoilt.
    """

    upstream: Optional[int] = None
    until: Optional[int] = None
    leap: Optional[int] = None
    from_rank: bool = False
    settled: bool = False
    inherited: List[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Suspect:
    """An operator where something goes wrong.

    What it is, and where:
      op, op_type, original_ops, producers, consumers, fusion_pass: as of the
        graph (see `operators.Operator`).
      step: data_index. iteration: {"fit", "epoch", "batch"} or None.
      rank: the first that shows it, "device:<id>" where no run record tells it.
      reason: a key of REASONS. message: a sentence.
      confidence: "high", "medium" or "low".

    How far it goes:
      downstream: how many operators only pass it on, in that execution.
      also: names of further operators that say the same (a gradient of the suspect,
        the same operator on other ranks).
      ranks, steps: all in which the operator itself goes wrong; steps are data_index.

    For triage itself:
      place: see `SuspectPlace`. hints: see `Hints`.
    """

    op: str
    op_type: str
    original_ops: List[str]
    step: Optional[int]
    iteration: Optional[Dict[str, int]]
    rank: Rank
    reason: str
    message: str
    confidence: str
    downstream: int
    place: SuspectPlace = dataclasses.field(repr=False)
    producers: List[str] = dataclasses.field(default_factory=list)
    consumers: List[str] = dataclasses.field(default_factory=list)
    fusion_pass: Optional[str] = None
    also: List[str] = dataclasses.field(default_factory=list)
    ranks: List[Rank] = dataclasses.field(default_factory=list)
    steps: List[Optional[int]] = dataclasses.field(default_factory=list)
    hints: Hints = dataclasses.field(default_factory=Hints, repr=False)

    @property
    def series(self) -> Series:
        """The executions of its rank."""
        return self.place.series

    @property
    def position(self) -> int:
        """Of the operator in execution order, -1 where it is not known."""
        return self.place.position

    @property
    def consequences(self) -> List[int]:
        """The data_index of executions that it spoilt through variables, ascending, without
        those in which it goes wrong anyway."""
        return sorted(set(self.hints.inherited).difference(self.steps))

    def to_json(self) -> Dict[str, Any]:
        """The keys of the schema `keras_npu_dump.triage/1`, in its order."""
        document = {name: getattr(self, name) for name in (
            "op", "op_type", "original_ops", "step", "iteration", "rank", "reason", "message",
            "confidence", "downstream")}
        if not isinstance(self.rank, int):
            document["rank"] = None  # no run record tells it; `rank` is then the device
        return document


def make_suspect(series: Series, number: int, position: int, reason: str, message: str,
                 confidence: str, downstream: int = 0) -> Suspect:
    """A suspect from an operator of a series.

    Args:
      series: the executions of a rank.
      number: of the execution in the series.
      position: of the operator.
      reason: a key of REASONS.
      message: a sentence.
      confidence: HIGH, MEDIUM or LOW.
      downstream: how many operators only pass it on.
    """
    table = series.operators
    step = series.steps[number]
    return Suspect(
        op=table.names[position], op_type=table.types[position],
        original_ops=list(table.originals[position]), step=step.data_index,
        iteration=step.iteration, rank=series.pair.rank_key, reason=reason, message=message,
        confidence=confidence, downstream=downstream, producers=table.producers_of(position),
        consumers=table.consumers_of(position), ranks=[series.pair.rank_key],
        steps=[step.data_index],
        place=SuspectPlace(series, series.ordinal, number, position, position))


def merged(suspects: List[Suspect]) -> List[Suspect]:
    """One suspect per operator and reason, over ranks and executions, the first one kept.

    Sorted: what is surest first, as of one operator and reason that one is kept.
    """
    kept: Dict[Tuple[str, str], Suspect] = {}
    for one in sorted(suspects, key=lambda one: (_ORDER[one.confidence], one.place.time,
                                                 str(one.rank))):
        first = kept.setdefault((one.op, one.reason), one)
        if first is not one:
            first.ranks += [rank for rank in one.ranks if rank not in first.ranks]
            first.steps += [step for step in one.steps if step not in first.steps]
            first.hints.inherited += one.hints.inherited
    for one in kept.values():
        one.steps.sort(key=lambda step: -1 if step is None else step)
    return list(kept.values())


def surer(first: str, second: str) -> bool:
    """A confidence above another."""
    return _ORDER[first] < _ORDER[second]


def in_time(suspects: List[Suspect]) -> List[Suspect]:
    """Sorted by fit and execution; in one execution what is surest first, then what runs first.

    What holds in every execution (a gradient that is always zero), unless it is sure,
    and what the training has a remedy for come behind.
    """
    # Graphs of several roles take turns; those of one role come in their order.
    known = all(one.iteration is not None and "fit" in one.iteration for one in suspects)

    def key(one: Suspect) -> Tuple[Any, ...]:
        fit = one.iteration["fit"] if known and one.iteration is not None else 0
        behind = one.hints.settled or one.reason in _STANDING and one.confidence != HIGH
        return (behind, fit, one.place.execution, _ORDER[one.confidence], one.place.order,
                str(one.rank))

    return sorted(suspects, key=key)
