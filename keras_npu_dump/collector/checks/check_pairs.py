"""Dump folders without a graph, with several, and graph files that cannot be read."""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from keras_npu_dump.collector.checks import deleted_output
from keras_npu_dump.collector.job import Job
from keras_npu_dump.collector.pairing.match import Match
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.records.problems import ERROR, Problems


def tell_pairs(job: Job, problems: Problems) -> None:
    """Tells units of checked sessions that have no graph, or several that fit.

    Units of one model name that lack a graph for the same reason are told once.
    """
    latest = job.processes.latest
    unpaired: Dict[Tuple[str, Optional[str], Optional[str]], List[Match]] = {}
    for match in job.matches:
        if match.unit.session not in latest:
            continue
        if match.graph is None:
            unpaired.setdefault((match.unit.session.label, match.unit.model_name,
                                 match.why), []).append(match)
        elif match.rivals:
            problems.add(
                "ambiguous-pair", "%s belongs to one of %d graph files that cannot be told "
                "apart: %s" % (match.unit.label, 1 + len(match.rivals), ", ".join(
                    job.processes.relative(one.file.path)
                    for one in [match.graph] + match.rivals[:2])),
                path=match.unit.folders[0].path,
                hint="graph folders of each process (DUMP_GRAPH_PATH) or run records tell them")
    for session in latest:
        gone = [key for key in unpaired if key[0] == session.label]
        if gone and deleted_output.took_graphs(session.run):
            deleted_output.tell_graphs(session, [unpaired.pop(key)[0].unit for key in gone],
                                       problems)
    for (_, _, why), matches in unpaired.items():
        _tell_unpaired(job, matches[0], why, problems)


def _tell_unpaired(job: Job, match: Match, why: Optional[str], problems: Problems) -> None:
    unit = match.unit
    if unit.model_name is None and unit.session.device is not None:
        # Without a model folder (GE dump_op.cc): operators run one by one.
        problems.add(
            "single-operator", "%s has files of single operators, which belong to no "
            "graph" % unit.session.label, path=unit.folders[0].path)
        return
    problems.add("no-pair" if job.graphs else "no-graph", "%s has no graph: %s" % (
        unit.label, why), path=unit.folders[0].path, hint=job.search.hint())


def tell_graphs(job: Job, problems: Problems) -> None:
    """Tells graph files that cannot be read: an error where the graph is, or may be, that
    of a dump, else a warning."""
    latest = job.processes.latest
    dumped = {id(one.graph) for one in job.pairs if one.session in latest}
    bare = [one for one in latest if not job.trained[id(one)]]
    for graph in job.graphs:
        if graph.body is not None and graph.body.absent:
            # Behind the root graph come those that it calls, in one file.
            problems.add(
                "unreadable", "the graph file is cut off: it calls %d graphs that are not in "
                "it, such as %s" % (len(graph.body.absent), graph.body.absent[0]),
                path=graph.file.path, severity=ERROR if graph.body.parts else None)
        if graph.is_no_file is not None:
            problems.not_a_file(graph.is_no_file)
        elif graph.error is not None:
            own = id(graph) in dumped or any(
                graph.role in ("train", "unknown") and graph.file.device in (None, one.device)
                for one in bare)
            problems.add("unreadable", "cannot read the graph file: %s" % graph.error,
                         path=graph.file.path, severity=ERROR if own else None)


def tell_undumped(job: Job, session: Session, problems: Problems) -> None:
    """Tells that a training graph was built and no folder is its.

    Args:
      job: as it was paired.
      session: without a run record, which would say what was asked for.
      problems: are told of `not-dumped`.
    """
    if job.trained[id(session)]:
        return
    for graph in job.graphs:
        if graph.role == "train" and graph.file.device in (None, session.device) and not any(
                match.graph is graph for match in job.matches):
            problems.add(
                "not-dumped", "the training graph %s has no dump folder in %s" % (
                    graph.name, session.label), path=graph.file.path,
                hint="no asked step was reached, or dump was not on for it")
            return
