"""Turns a finished job into its manifest."""
from __future__ import annotations

import dataclasses
from typing import Dict, Optional

from keras_npu_dump.collector.checks import requested_steps
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.job import Job
from keras_npu_dump.collector.pairing import sections
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.rules.content import keyword_hits
from keras_npu_dump.collector.rules.evidence import DEFAULT_KEYWORDS
from keras_npu_dump.formats.tree import numeric_key
from keras_npu_dump.records.manifest import (
    CONFIDENCES,
    GraphRecord,
    Manifest,
    ManifestRun,
    Pair,
    Step,
)
from keras_npu_dump.records.problems import Problems


def make_manifest(job: Job, problems: Problems, role: Optional[str]) -> Manifest:
    """The manifest of a job, not yet written.

    Args:
      job: as it was paired.
      problems: all that was found wrong.
      role: the role of the pairs to return; None returns all. Graphs, runs and problems
        are those of the whole job in any case.
    """
    processes = job.processes
    manifest = Manifest(processes.dump_path)
    order = {id(one): position for position, one in enumerate(processes.sessions)}
    positions: Dict[int, int] = {}
    for pair in sorted(job.pairs, key=lambda one: (order[id(one.session)], one.graph.file.path)):
        if role is None or pair.graph.role == role:
            positions[id(pair)] = len(manifest.pairs)
            manifest.pairs.append(_pair(job, pair))
    for session in processes.latest:
        key = "device:%s" % session.device if session.rank is None else str(session.rank)
        here = [positions[id(one)] for one in job.trained[id(session)] if id(one) in positions]
        if here:
            manifest.training.setdefault(key, []).extend(here)
    for run in processes.own:
        trained = [one for session in processes.sessions if session.run is run
                   for one in job.trained[id(session)]]
        document = run.document
        manifest.runs.append(ManifestRun(
            run.run_id, 0 if run.rank is None else run.rank, run.device, run.pid, run.host,
            document.get("emulated"), document.get("started"), document.get("ended"),
            run.options, run.environment, requested_steps.manifest_executions(run, trained)))
    manifest.graphs = [_graph(job, graph) for graph in job.graphs]
    manifest.problems = [
        one if one.path is None else dataclasses.replace(one, path=processes.relative(one.path))
        for one in problems.result()]
    return manifest


def _pair(job: Job, pair: Paired) -> Pair:
    session, graph, matches = pair.session, pair.graph, pair.matches
    # Where each model name has one id, the names alone tell what belongs together.
    loads = {(match.unit.model_name, match.unit.model_id): pair.load_of(match.unit)
             for match in matches}
    tell = any(loads.values()) or len({name for name, _ in loads}) < len(loads)
    steps = []
    for match in matches:
        load = pair.load_of(match.unit) if tell else None
        for folder in match.unit.folders:
            iteration = sections.iteration_of(pair, match.unit, folder.data_index)
            steps.append(Step(folder.data_index, folder.model_name, folder.model_id,
                              job.processes.relative(folder.path), folder.count, folder.bytes,
                              folder.kinds, iteration, load))
    steps.sort(key=lambda step: (-1 if step.data_index is None else step.data_index,
                                 numeric_key(step.model_name or ""), step.load or 0,
                                 step.model_id or 0))
    evidence = list(dict.fromkeys(text for match in matches for text in match.evidence))
    if session.run_evidence:
        evidence.append(session.run_evidence)
    evidence.extend(graph.role_evidence)
    evidence.extend(text for text in (pair.counting, pair.takes) if text)
    return Pair(
        graph=job.processes.relative(graph.file.path), time=session.time, device=session.device,
        rank=session.rank,
        model_names=sorted({match.unit.model_name for match in matches
                            if match.unit.model_name is not None}, key=numeric_key),
        role=graph.role,
        confidence=max((match.confidence for match in matches), key=CONFIDENCES.index),
        evidence=evidence, steps=steps)


def _graph(job: Job, graph: BuildGraph) -> GraphRecord:
    body = graph.body
    return GraphRecord(
        file=job.processes.relative(graph.file.path), index=graph.file.name.index,
        graph_id=graph.graph_id, name=graph.name, dump_name=graph.dump_name,
        subgraphs=None if body is None else body.names[1:],
        op_count=None if body is None else body.op_count, role=graph.role,
        has_iterator=None if body is None else bool(keyword_hits(graph, DEFAULT_KEYWORDS)),
        bytes=graph.file.size)
