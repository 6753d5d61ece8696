"""All checks of a job, in the order in which their findings build on each other."""
from __future__ import annotations

from typing import List, Optional, Set

from keras_npu_dump.collector.checks import (
    check_launches,
    check_pairs,
    completeness,
    deleted_output,
    iterations,
    missing_files,
    requested_steps,
    run_ending,
)
from keras_npu_dump.collector.checks.gap_causes import RunDump
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.job import Job
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.problems import Problems


def check_job(job: Job, budget: Optional[int], narrow: bool, problems: Problems,
              progress: Optional[Progress] = None) -> None:
    """Tells what is wrong with the sessions of the last launch, or of the single run.

    Args:
      job: as it was paired.
      budget: how many dump files are opened at most; None opens all.
      narrow: only a part of the dump path was scanned: steps that lie elsewhere are
        not missed.
      problems: are told.
      progress: called as ("headers", files opened, files to open).
    """
    latest = job.processes.latest
    pairs = [one for one in job.pairs if one.session in latest]
    faulty = completeness.check_files(latest, budget, problems, progress)
    completeness.check_disk(job.processes.dump_path, faulty, problems)
    check_pairs.tell_pairs(job, problems)
    for pair in pairs:
        completeness.check_operators(pair, problems)
    missing_files.check_steps(pairs, [
        match.unit for match in job.matches
        if match.graph is None and match.unit.session in latest], problems)
    for session in latest:
        iterations.tell_uncertain(job.trained[id(session)], problems)
    if not narrow:
        _check_requested(job, faulty, problems)
    check_pairs.tell_graphs(job, problems)
    check_launches.tell_launches(job, problems)


def _check_requested(job: Job, faulty: Set[str], problems: Problems) -> None:
    """What was asked for, by the run records; without them by the graphs' own options."""
    latest = job.processes.latest
    linked = {id(one.run): one for one in latest if one.run is not None}
    for run in job.processes.latest_runs:
        deleted_output.tell(run, problems)
        session = linked.get(id(run))
        trained = [] if session is None else job.trained[id(session)]
        graphs = [graph for graph in job.graphs if graph.file.pid in (None, run.pid)]
        for graph in graphs:
            if graph.role == "train" and not trained:
                job.context.body(graph)
        requested_steps.check_run(
            RunDump(run, session, trained, _spare(job, session, graphs), graphs, faulty), problems)
        run_ending.tell_death(run, problems)
        for pair in trained:
            requested_steps.check_unasked(run.asked, pair, problems)
    for session in latest:
        if session.run is None:
            requested_steps.check_session(job.trained[id(session)], problems)
            check_pairs.tell_undumped(job, session, problems)


def _spare(job: Job, session: Optional[Session], graphs: List[BuildGraph]) -> List[Unit]:
    """Units that may be of a section which no training graph is tied to: those without a
    graph, and where no graph looks like a training one, those of all that compute."""
    others = [] if any(graph.role == "train" for graph in graphs) else [
        match.unit for pair in job.pairs for match in pair.matches
        if pair.session is session and pair.graph.role in ("unknown", "eval", "predict")]
    return job.unpaired(session) + others
