"""The next dump: the fewest operators that decide between the suspects, and what it takes."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Set

from keras_npu_dump.analysis.dump_size import DumpForm
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.findings.suspects import Suspect
from keras_npu_dump.analysis.triage.next_dump.series_size import size_of
from keras_npu_dump.analysis.views import Rank
from keras_npu_dump.files.quoting import UnwritableError, layer_name
from keras_npu_dump.op_types.arithmetic import SAME_VALUE_TYPES
from keras_npu_dump.op_types.graph_parts import QUIET_TYPES

LIMIT = 16


@dataclasses.dataclass
class NextDump:
    """What to dump next.

    Attributes:
      dump_layer: names of operators; empty for all of them, or where there is
        nothing to look for.
      dump_step: executions, None where there is nothing to look for.
      every_step: whether `dump_step` is "all", as it was asked for before.
      dump_data: "tensor", or "stats" where all operators are asked for.
      dump_mode: "all"; where the same is asked for again, as it was.
      commands: what to do instead, where the data is there already.
      ranks: those that are to dump, None for all.
      estimated_bytes: of all ranks and executions; 0 where nothing shows it.
      at_least: whether that is without tensors of unknown size.
      why: one sentence.
      flagfile: path of the written file, or None. text: what stands in it, "" where
        it cannot be written.
      dump_path: where to; None where there is nothing to write.
      python: the arguments of the script's callback, session or `apply`; "" where it has none.
      left_out: what was to be dumped, or to be said, and cannot be written into flags:
        {"flag", "value", "why"}.
    """

    dump_layer: List[str] = dataclasses.field(default_factory=list)
    dump_step: Optional[str] = None
    every_step: bool = False
    dump_data: str = "tensor"
    dump_mode: str = "all"
    ranks: Optional[List[Rank]] = None
    estimated_bytes: int = 0
    at_least: bool = False
    why: str = ""
    flagfile: Optional[str] = None
    text: str = ""
    dump_path: Optional[str] = None
    python: str = ""
    commands: List[str] = dataclasses.field(default_factory=list)
    left_out: List[Dict[str, str]] = dataclasses.field(default_factory=list)

    def leave_out(self, flag: str, value: str, why: str) -> None:
        """Notes what cannot be written into flags.

        Args:
          flag: its name. value: that it should have had. why: the end of a sentence.
        """
        self.left_out.append({"flag": flag, "value": value, "why": why})

    def to_json(self) -> Dict[str, Any]:
        """The keys of the schema `keras_npu_dump.triage/1`, in its order, and `left_out`
        behind them where something was."""
        document = {"dump_layer": self.dump_layer, "dump_step": self.dump_step,
                    "estimated_bytes": self.estimated_bytes, "flagfile": self.flagfile}
        return dict(document, left_out=self.left_out) if self.left_out else document


def plan(suspects: List[Suspect], all_ranks: List[Rank], limit: int = LIMIT) -> NextDump:
    """The next dump for suspects in the order of `suspects.merged`.

    Args:
      suspects: the first of them decides what is dumped.
      all_ranks: of the run.
      limit: of operators.

    Returns:
      A NextDump without `dump_step` where nothing is suspect, or nothing can be dumped that
      would tell more; its `why` says so.
    """
    if not suspects:
        return NextDump()
    first = suspects[0]
    ranks = _ranks(first, all_ranks)
    copies = len(ranks) if ranks is not None else max(1, len(all_ranks))
    if first.reason == "bad-variable":
        return _before(first, ranks, copies)
    if first.step is None:
        return NextDump(why="the dump does not say which execution it is of")
    chosen = _Chosen(limit)
    last = max(first.step, first.hints.until or 0)
    related = [one for one in suspects if one.step is not None
               and first.step <= one.step <= last and one.position >= 0
               and one.series.operators is first.series.operators]
    if first.reason == "arrives-bad" and first.hints.upstream is not None:
        related = [first]
        chosen.upstream(first.series, [first.hints.upstream])
        chosen.add(first.series, first.position)
    else:
        for one in related:
            chosen.add(one.series, one.position)
        for one in related:
            chosen.producers(one.series, one.position)
    if not chosen.positions:
        return NextDump(left_out=chosen.left_out, why=(
            "no name of these operators can stand in dump_layer" if chosen.left_out
            else "the operator is not in the graph"))
    names = [first.series.operators.names[one] for one in chosen.positions]
    steps = str(first.step)
    if last > first.step:
        steps = "%d-%d" % (first.step, last)
        copies *= last - first.step + 1
    size = size_of(first.series).of_operators(chosen.positions, DumpForm("tensor"))
    return NextDump(
        dump_layer=names, dump_step=steps, ranks=ranks,
        estimated_bytes=size.bytes * copies, at_least=size.unknown > 0,
        left_out=chosen.left_out,
        why="the inputs and outputs of %s%s" % (
            first.op, _and_of(len(related) > 1, len(names) > len(related))))


def _and_of(others: bool, producers: bool) -> str:
    if others:
        return ", of the suspects beside it" + (" and of what feeds them" if producers else "")
    return " and of what feeds it" if producers else ""


def _ranks(first: Suspect, all_ranks: List[Rank]) -> Optional[List[Rank]]:
    """One rank that shows it; where ranks are compared, one of each side."""
    if len(all_ranks) < 2 or not isinstance(first.rank, int):
        return None
    if first.hints.from_rank:
        return None
    if first.reason != "ranks-disagree":
        return [first.rank]
    other = next((rank for rank in all_ranks if rank not in first.ranks), None)
    if other is None:
        other = next(rank for rank in all_ranks if rank != first.rank)
    return sorted([first.rank, other])


def _before(first: Suspect, ranks: Optional[List[Rank]], copies: int) -> NextDump:
    """A variable went bad in executions that were not dumped: statistics of these."""
    series = first.series
    number = first.place.number
    step = first.step
    begin = 0 if not number else (series.steps[number - 1].data_index or 0) + 1
    if step is None or begin >= step:
        return NextDump(why="the variable was bad from the start: its initial value is")
    steps = str(begin) if begin == step - 1 else "%d-%d" % (begin, step - 1)
    size = size_of(series).of(DumpForm("stats")).bytes
    return NextDump(dump_step=steps, dump_data="stats", ranks=ranks,
                    estimated_bytes=size * (step - begin) * copies,
                    why="statistics of all operators in the executions in which it went bad")


class _Chosen:
    """Operators to dump, in the order in which they were asked for, up to a limit."""

    def __init__(self, limit: int):
        self.positions: List[int] = []
        self.left_out: List[Dict[str, str]] = []
        self._seen: Set[int] = set()
        self._limit = limit

    def add(self, series: Series, position: int) -> None:
        """Adds an operator if it can be dumped; its name may be impossible to write."""
        if (position in self._seen or len(self.positions) >= self._limit
                or not can_dump(series, position)):
            return
        self._seen.add(position)
        name = series.operators.names[position]
        why = unwritable(name)
        if why is None:
            self.positions.append(position)
        else:
            self.left_out.append({"flag": "data_dump_layer", "value": name, "why": why})

    def producers(self, series: Series, position: int) -> None:
        """Adds what makes the operator's inputs."""
        for one in makers(series, position):
            self.add(series, one)

    def upstream(self, series: Series, starts: List[int]) -> None:
        """Breadth first: what is nearest comes first."""
        pending, seen = list(starts), set(starts)
        while pending and len(self.positions) < self._limit:
            position = pending.pop(0)
            self.add(series, position)
            for one in makers(series, position):
                if one not in seen:
                    seen.add(one)
                    pending.append(one)


def can_dump(series: Series, position: int) -> bool:
    """The operator left files, or its type says that it would.

    Args:
      series: the executions of a graph on a rank. position: of the operator.
    """
    table = series.operators
    if table.types[position] not in QUIET_TYPES:
        return True
    return any(one.rows_of(position).stop > one.rows_of(position).start
               for one in series.columns)


def makers(series: Series, position: int) -> List[int]:
    """Operators that make its inputs and can be dumped, past what only hands on.

    Args:
      series: the executions of a graph on a rank. position: of the operator.

    Returns:
      Positions, nearest first.
    """
    table: Operators = series.operators
    found: List[int] = []
    seen: Set[int] = set()
    pending = [source[0] for source in table.sources[position] if source is not None]
    while pending:
        one = pending.pop(0)
        if one in seen:
            continue
        seen.add(one)
        passes = table.types[one] in SAME_VALUE_TYPES or one in table.bodies
        if can_dump(series, one) and not (passes and unwritable(table.names[one])):
            found.append(one)
        elif passes:
            pending.extend(source[0] for source in table.sources[one] if source is not None)
    return found


def unwritable(name: str) -> Optional[str]:
    """Why a name cannot stand in dump_layer, or None.

    Args:
      name: of an operator.
    """
    try:
        layer_name(name)
        return None
    except UnwritableError as error:
        return error.reason
