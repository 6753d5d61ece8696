"""How much of a training a triage has looked at, and what it cannot have seen."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.analysis.columns import distinct
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.config.steps import Interval, items_of, merge

_PLACES = 12


def operators_seen(group: Sequence[Series]) -> int:
    """How many operators have a file in any execution; each counts once for all ranks.

    Args:
      group: what was dumped, of all ranks.
    """
    names: Set[str] = set()
    for series in group:
        positions: Set[int] = set()
        before = None
        for columns in series.columns:
            # Executions with the same rows share the array of their keys.
            if columns.key is not before:
                positions.update(distinct(columns.op))
            before = columns.key
        names.update(series.operators.names[position] for position in positions)
    return len(names)


def ranges(numbers: Iterable[Optional[int]]) -> List[str]:
    """[3, 8, 4, 5] -> ["3-5", "8"], as items of a dump_step."""
    return items_of(merge((number, number) for number in numbers if number is not None))


def _gaps(indices: Set[int], count: int) -> List[Interval]:
    """What the numbers below `count` have beside `indices`."""
    found, begin = [], 0
    for index in sorted(indices) + [count]:
        if begin < index <= count:
            found.append((begin, index - 1))
        begin = index + 1
    return found


class Coverage(NamedTuple):
    """Executions that the journals counted.

    Attributes:
      counted: of all ranks; None where no journal tells.
      missing: the data_index of those that were not dumped, ascending and disjoint.
      single: all are of one graph.
    """

    counted: Optional[int]
    missing: List[Interval]
    single: bool = True


def coverage(group: Sequence[Series]) -> Coverage:
    """What was dumped of what the manifest's runs counted for training graphs.

    Args:
      group: what was dumped, of all ranks.

    Returns:
      `counted` is None where a journal does not tell, or not for all that was dumped.
    """
    unknown = Coverage(None, [])
    dumped: Dict[Tuple[str, str], Set[int]] = {}
    records: Dict[str, Any] = {}
    for series in group:
        record, name = series.pair.run_record, series.pair.graph_name
        if (series.pair.role != "train" or record is None or name is None
                or name not in record.executions):
            return unknown
        records[record.run_id] = record
        indices = dumped.setdefault((record.run_id, name), set())
        for step in series.steps:
            if step.data_index is None or step.load:
                return unknown
            indices.add(step.data_index)
    counted = graphs = 0
    missing: List[Interval] = []
    for run_id, record in records.items():
        graphs = max(graphs, len(record.executions))
        for name, told in record.executions.items():
            count = told.get("count")
            if count is None:  # the process did not end
                count = 0 if told.get("last") is None else told["last"] + 1
            mine = dumped.get((run_id, name), set())
            aborted = set(told.get("aborted") or ())  # in these the data ended
            counted += max(count - len(aborted), len(mine - aborted))
            missing += _gaps(mine | aborted, count)
    return Coverage(counted, merge(missing), graphs == 1)


def not_dumped(found: Coverage, last: Optional[int]) -> Optional[str]:
    """The executions that were not dumped, as the end of a sentence; None without any.

    Args:
      found: by `coverage`.
      last: the highest data_index that was dumped, or None.
    """
    if not found.missing:
        return None
    if not found.single:
        return "not all executions of each graph were dumped"
    places = items_of(found.missing)
    if len(places) == 1 and last is not None and found.missing[0][1] > last:
        return "from data_index %d on nothing was dumped" % found.missing[0][0]
    if len(places) > _PLACES:
        return "data_index %s and %d more ranges were not dumped" % (
            ", ".join(places[:_PLACES]), len(places) - _PLACES)
    return "data_index %s %s not dumped" % (
        ", ".join(places), "was" if places[0].isdigit() and len(places) == 1 else "were")


def overflow_limit(runs: Iterable[Any]) -> Optional[str]:
    """What a run with overflow detection does not show; None without such a run.

    Args:
      runs: of the manifest.
    """
    detecting = [run for run in runs if run.options.get("enable_dump_debug")]
    if not detecting:
        return None
    text = "this does not exclude NaN that comes without overflow"
    if any(run.emulated for run in detecting):
        text = "the emulator sees float16 outputs only, NaN elsewhere is not excluded"
    return text + " (--data_dump_data=stats shows all values)"
