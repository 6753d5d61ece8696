"""The next dump where nothing that was read is suspect: what was asked for and did not come, what
was not asked for, and in words where there is nothing more to dump."""
from __future__ import annotations

import os
from typing import List, NamedTuple, Optional, Sequence

from keras_npu_dump.analysis.run import Run
from keras_npu_dump.analysis.triage.findings.coverage import Coverage
from keras_npu_dump.analysis.triage.findings.gaps import Gap
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.next_dump.after_exception import plan_after, raised_in
from keras_npu_dump.analysis.triage.next_dump.bare_graph import bare_series
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump, unwritable
from keras_npu_dump.analysis.triage.next_dump.spread import statistics_of, without
from keras_npu_dump.config.flag_origin import is_name
from keras_npu_dump.config.steps import MAX_ITEMS, items_of
from keras_npu_dump.files.quoting import shell_command
from keras_npu_dump.records.layout import RUNS, run_folder
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import RecordedRun, read_run

_MODES = ("all", "output", "input")
_SHOWN = 6


class Looked(NamedTuple):
    """What a triage has read.

    Attributes:
      run: the dump. group: all its series that hold anything.
      covered: the executions among those that ran.
      gaps: what was asked for and not read.
      role: of the graphs. limit: of operators in the next dump.
    """

    run: Run
    group: Sequence[Series]
    covered: Coverage
    gaps: Sequence[Gap]
    role: str
    limit: int


def records_of(read: Looked) -> List[RecordedRun]:
    """The runs whose dump it is, or that have left gaps in it.

    Args:
      read: by triage.
    """
    ids = [one.pair.run_record.run_id for one in read.group if one.pair.run_record is not None]
    for gap in read.gaps:
        above, name = os.path.split(gap.path or "")
        if os.path.basename(above) == RUNS:
            ids.append(name)
    found = []
    for run_id in dict.fromkeys(ids):
        one = read_run(run_folder(read.run.dump_path, run_id), Problems()) if is_name(
            run_id) else None
        if one is not None and one.options.get("enable_dump"):
            found.append(one)
    return found


def plan_rest(read: Looked) -> NextDump:
    """The next dump; in words where there is none.

    Args:
      read: by triage, and nothing in it is suspect.
    """
    runs = records_of(read) if read.role in ("train", "all") else []
    for one in runs:
        failure = raised_in(one)
        if failure is not None:
            return plan_after(one, failure, read.run.manifest, read.group, read.run.path,
                              read.limit)
    if read.gaps and any(one.alive for one in runs):
        return NextDump(why="the training still runs: triage it again when it has ended")
    for one in runs if read.gaps else ():
        planned = _again(one, read.group) if _cut_short(one) else None
        if planned is not None:
            return planned
    missing = without(read.covered.missing, {
        index for one in runs for _, index in one.raised})
    if missing and any(one.columns for one in read.group):
        return statistics_of([one for one in read.group if one.columns], missing,
                             "that were not dumped")
    if not read.group:
        planned = next(filter(None, (_never_reached(one, read) for one in runs)), None)
        if planned is not None:
            return planned
    return _what_to_do(read.gaps) if read.gaps else NextDump(why=_nothing_more(read))


def _cut_short(run: RecordedRun) -> bool:
    """Whether it ended before its script was through."""
    return run.status == "failed" or run.ended is None


def _again(run: RecordedRun, group: Sequence[Series]) -> Optional[NextDump]:
    """The steps that were asked for and did not come, dumped as they were to be dumped."""
    asked = run.asked
    if asked is None:
        return None
    steps = [step for one in group if one.pair.run_record is not None
             and one.pair.run_record.run_id == run.run_id for step in one.steps]
    have = {step.data_index for step in steps}
    missing = [] if asked.is_all else without(asked.intervals, {
        index for index in have if index is not None})
    if not (missing or asked.is_all):
        return None
    count = sum(last - first + 1 for first, last in missing)
    sizes = sorted(sum(one.bytes for one in step.records) for step in steps)
    if asked.is_all:
        what = "all executions, which were asked for"
    else:
        what = "%s %s, which %s asked for and not dumped" % (
            "step" if count == 1 else "steps", _few(items_of(missing)),
            "was" if count == 1 else "were")
    how = run.how_it_ended_told(brief=True) or "it was killed, or its disk or memory were full"
    planned = NextDump(
        dump_step="all" if asked.is_all else "|".join(items_of(missing)[:MAX_ITEMS]),
        every_step=asked.is_all,
        estimated_bytes=sizes[len(sizes) // 2] * count if sizes else 0,
        why="%s, in a training that comes to its end (this one did not: %s)" % (what, how))
    if run.options.get("dump_data") == "stats":
        planned.dump_data = "stats"
    if run.options.get("dump_mode") in _MODES:
        planned.dump_mode = run.options["dump_mode"]
    for name in run.layers:
        reason = unwritable(name)
        if reason is None:
            planned.dump_layer.append(name)
        else:
            planned.leave_out("data_dump_layer", name, reason)
    return planned


def _few(items: List[str]) -> str:
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (" and %d more ranges" % more if more > 0 else "")


def _never_reached(run: RecordedRun, read: Looked) -> Optional[NextDump]:
    """Statistics of the executions that there were, where all that was asked for lies beyond."""
    count = max((section.last + 1 for section in run.sections if section.last is not None),
                default=0)
    codes = {gap.code for gap in read.gaps}
    graphs = bare_series(read.run.manifest, run)
    if not count or codes != {"step-not-reached"} or not graphs:
        return None
    return statistics_of(graphs, [(0, count - 1)], "that ran")


def _what_to_do(gaps: Sequence[Gap]) -> NextDump:
    commands = [["explain", code] for code in dict.fromkeys(gap.code for gap in gaps)][:2]
    if any(gap.code == "not-dumped" for gap in gaps):
        commands.append(["doctor"])
    return NextDump(
        why="what is said above of what was not read; more of it%s" % (
            ", and what would make a dump fail here" if len(commands[-1]) == 1 else ""),
        commands=["keras-npu-dump " + shell_command(*one) for one in commands])


def _nothing_more(read: Looked) -> str:
    """What was dumped of all that there is; "" where nothing was."""
    count = sum(len(one.steps) for one in read.group)
    if not count or not any(one.columns for one in read.group):
        return ""
    few = " of the operators that were chosen" if any(one.partial for one in read.group) else ""
    if read.covered.counted is None:
        return "how many executions ran is not known; %s dumped and read%s" % (
            "1 was" if count == 1 else "%d were" % count, few)
    return "nothing more to dump: %s dumped and read%s" % (
        "the only execution was" if count == 1 else "all %d executions were" % count, few)
