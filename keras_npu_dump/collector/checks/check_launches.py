"""Sessions without run record, launches that were passed over, and dumps of nothing."""
from __future__ import annotations

from typing import Optional, Sequence, Tuple

from keras_npu_dump.collector.checks import run_ending
from keras_npu_dump.collector.job import Job
from keras_npu_dump.records.problems import INFO, Problems
from keras_npu_dump.records.reading import RecordedRun


def tell_launches(job: Job, problems: Problems) -> None:
    """Tells what is not known for want of records, what is not checked because it is
    older, and why nothing is there; call it last, it looks at what was told before."""
    processes = job.processes
    latest = processes.latest
    bare = [one.label for one in latest if one.run is None]
    if bare:
        problems.add(
            "no-run", "no run record belongs to %s: which batch each data_index was, and which "
            "steps were asked for, is not known" % ", ".join(bare[:4]),
            hint="copy the folder runs/ along with the dump")
    older = [one.label for one in processes.sessions if one not in latest]
    if older:
        problems.add("run-older", "%s are of an earlier launch: listed, not checked" % (
            ", ".join(older[:6])), severity=INFO)
    if not latest:
        _tell_nothing(job, problems)


def _tell_nothing(job: Job, problems: Problems) -> None:
    """No dump folder of what is checked: where nothing has told why, this does."""
    processes = job.processes
    if not processes.own:
        problems.add(
            "no-run", "nothing ran here: %s has no run records" % processes.dump_path)
        problems.add(
            "not-dumped", "nothing was dumped here: %s has no dump folders%s" % (
                job.path, ", only graph files" if job.graphs else " and no graph files"),
            hint="is this the training's dump_path, on this machine and in this container?",
            path=job.path)
    elif problems.count("step-not-reached") == 0 and problems.count("not-dumped") == 0:
        why, severity = _why_nothing(processes.latest_runs or processes.own)
        problems.add("not-dumped", "nothing was dumped: %s" % why, path=job.path,
                     severity=severity)


def _why_nothing(runs: Sequence[RecordedRun]) -> Tuple[str, Optional[str]]:
    """(why, severity): an overflow detection that found nothing is no fault."""
    off = [run for run in runs if not run.options.get("enable_dump")]
    if len(off) < len(runs):
        return "no execution of a training graph is in the journal", None
    if not any(run.options.get("enable_dump_debug") for run in off):
        return "dump was switched off in the options of the run", None
    if not any(run_ending.watched(run) for run in off):
        return ("overflow detection was on, and the journal has no execution of a training "
                "graph", None)
    return "overflow detection was on and no operator overflowed", INFO
