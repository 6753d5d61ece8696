"""Statistics of executions that were not dumped: of all, or of a few that are evenly spread."""
from __future__ import annotations

from typing import List, Sequence, Set

from keras_npu_dump.analysis.dump_size import DumpForm
from keras_npu_dump.analysis.triage.findings.coverage import ranges
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.analysis.triage.next_dump.series_size import size_of
from keras_npu_dump.config.steps import Interval, merge
from keras_npu_dump.sizes import plural

# So many are all asked for, of more only a few.
_ALL_OF, _SPREAD = 20, 16


def statistics_of(group: Sequence[Series], missing: Sequence[Interval], which: str) -> NextDump:
    """Statistics of all operators in executions.

    Of many executions a few: a variable that went bad in between tells so, and the dump
    after that closes in on it.

    Args:
      group: the graphs that will dump them, of all ranks.
      missing: their data_index, ascending and disjoint; at least one.
      which: what executions they are, such as "that were not dumped".
    """
    count = sum(last - first + 1 for first, last in missing)
    places = range(count) if count <= _ALL_OF else [
        number * (count - 1) // (_SPREAD - 1) for number in range(_SPREAD)]
    chosen = [_nth(missing, place) for place in places]
    words = "all %d executions" % count if count > 1 else "the only execution"
    spread = ""
    if len(chosen) < count:
        words = "%d of %s" % (len(chosen), plural(count, "execution"))
        spread = (", evenly spread: a variable that goes bad between two of them stays bad, and"
                  " the dump after that closes in")
    return NextDump(
        dump_step="|".join(ranges(chosen)), dump_data="stats",
        estimated_bytes=sum(_bytes(series, chosen) for series in group),
        why="statistics of all operators in %s %s%s" % (
            words, which if count > 1 else which.replace("were", "was"), spread))


def _bytes(series: Series, chosen: Sequence[int]) -> int:
    record = series.pair.run_record
    told = {} if record is None else record.executions.get(series.pair.graph_name or "") or {}
    ran = told.get("count")
    reached = chosen if not isinstance(ran, int) else [one for one in chosen if one < ran]
    return size_of(series).of(DumpForm("stats")).bytes * len(reached) if reached else 0


def without(intervals: Sequence[Interval], numbers: Set[int]) -> List[Interval]:
    """Ascending and disjoint intervals without some numbers.

    Args:
      intervals: inclusive (first, last), in any order.
      numbers: to leave out.
    """
    found: List[Interval] = []
    for first, last in merge(intervals):
        begin = first
        for number in sorted(one for one in numbers if first <= one <= last):
            if begin < number:
                found.append((begin, number - 1))
            begin = number + 1
        if begin <= last:
            found.append((begin, last))
    return found


def _nth(intervals: Sequence[Interval], place: int) -> int:
    for first, last in intervals:
        if place <= last - first:
            return first + place
        place -= last - first + 1
    raise IndexError(place)
