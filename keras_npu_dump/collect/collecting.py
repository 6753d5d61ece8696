"""`collect`: scan, link, pair, check, and write down."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from keras_npu_dump.collect import asked, completeness, iterations
from keras_npu_dump.collect.build_graph import BuildGraph
from keras_npu_dump.collect.evidence import DEFAULT_KEYWORDS, Context, keyword_hits
from keras_npu_dump.collect.graph_files import find_graph_files
from keras_npu_dump.collect.headers import HeaderCache
from keras_npu_dump.collect.iterations import Trained
from keras_npu_dump.collect.launches import find_launches
from keras_npu_dump.collect.manifest import (
    CONFIDENCES, GraphRecord, Manifest, Pair, RunRecord, Step)
from keras_npu_dump.collect.pairing import Match, make_units, match_units
from keras_npu_dump.collect.problems import INFO, Problems
from keras_npu_dump.collect.records import Run, read_run, read_runs
from keras_npu_dump.collect.roles import ROLES, decide_role, role_by_name
from keras_npu_dump.collect.scan import scan_tree
from keras_npu_dump.collect.sessions import Session, group_sessions, link_runs
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats.tree import numeric_key

Progress = Callable[[str, int, Optional[int]], None]


def collect(path: str, graphs: Iterable[str] = (), keywords: Sequence[str] = DEFAULT_KEYWORDS,
            role: Optional[str] = None, output: Optional[str] = None, verify: bool = False,
            budget: int = 20000, run_id: Optional[str] = None,
            progress: Optional[Progress] = None, write: bool = True) -> Manifest:
    """Finds which Build graph was executed for which dump folder, and how sure that is.

    Args:
      path: any level from the dump path to a data_index folder. A level below
        the dump path narrows the answer to what lies there; it is then only
        written where `output` says.
      graphs: folders (searched at any depth) or files to look for Build graphs
        in, besides those that the run records name, `{path}/graphs`, and
        `path` itself; the current directory where these have none.
      keywords: words or operator names to look for in the graphs, as the
        vendor's procedure does. What is found is shown as evidence, and
        decides between graphs that nothing else tells apart.
      role: keep only pairs of this role: train, eval, predict, iterator, init
        or unknown. Defaults to all.
      output: file to write the manifest to, or a folder to write manifest.json
        to. Defaults to `{dump_path}/manifest.json`, or with `run_id` to
        `{dump_path}/runs/{run_id}/manifest.json`; where that cannot be written
        nothing is, and `Manifest.path` is None.
      verify: open every dump file.
      budget: how many dump files are opened otherwise.
      run_id: only that process's own run.
      progress: called as (stage, done, total or None).
      write: False writes nothing at all.

    Returns:
      The Manifest. What could not be paired is among its `problems`, with the cause.

    Raises:
      InputError: a path that is no folder, an unknown role or run, an `output`
        that cannot be written.
    """
    if role is not None and role not in ROLES:
        raise InputError("role: expected one of %s. Received: %r" % (", ".join(ROLES), role))
    problems = Problems()
    tree = scan_tree(path, problems, progress)
    runs = read_runs(tree.dump_path, problems)
    job = _Job(tree.dump_path, os.path.abspath(path), runs, problems)
    job.link(group_sessions(tree.folders), run_id)
    job.read_graphs(graphs, keywords)
    job.pair()
    job.check(None if verify else budget, tree.narrow, progress)
    manifest = job.manifest(role)
    if write and not manifest.empty:
        _write(manifest, output, None if tree.narrow else tree.dump_path, run_id, job)
    return manifest


class _Job:
    """The state of one collect, filled stage by stage."""

    def __init__(self, dump_path: str, path: str, runs: List[Run], problems: Problems):
        self.dump_path = dump_path
        self.path = path
        self.runs = runs
        self.problems = problems
        self.sessions = []  # type: List[Session]
        self.graphs = []  # type: List[BuildGraph]
        self.matches = []  # type: List[Match]
        self.trained = {}  # type: Dict[int, List[Trained]]
        self.pairs = []  # type: List[Tuple[Session, List[Match]]]

    def link(self, sessions: List[Session], run_id: Optional[str]) -> None:
        link_runs(sessions, self.runs)
        self.launches = find_launches(sessions, self.runs)
        if run_id is not None:
            own = [run for run in self.runs if run_id in (run.run_id, os.path.basename(run.folder))]
            if not own:
                own_run = read_run(os.path.join(self.dump_path, "runs", run_id), self.problems)
                if own_run is None:
                    raise InputError("run %r has no record below %s" % (run_id, self.dump_path))
                own = [own_run]
            sessions = [one for one in sessions if one.run is own[0]]
            self.own = own
        else:
            self.own = self.runs
        self.sessions = sessions
        self.one_run = run_id is not None

    @property
    def latest(self) -> List[Session]:
        """Sessions of the last launch (with one run: of that run)."""
        if self.one_run:
            return self.sessions
        last = self.launches.last
        return [one for one in self.sessions if last is None or one.launch == last.number]

    def read_graphs(self, graphs: Iterable[str], keywords: Sequence[str]) -> None:
        files = find_graph_files(self.dump_path, self.path, self.own, graphs, self.problems)
        if self.one_run:
            files = [one for one in files if one.pid in (None, self.own[0].pid)]
        self.graphs = [BuildGraph(one, self.problems) for one in files]
        self.keywords = list(keywords)
        self.context = Context(self.runs, self.launches, self.keywords, {}, HeaderCache())

    def pair(self) -> None:
        units = make_units(self.sessions)
        self.matches = match_units(units, self.graphs, self.context)
        for graph in self.graphs:
            if graph.body is None and role_by_name(graph.name)[0] == "unknown":
                self.context.body(graph)
        for graph in self.graphs:
            decide_role(graph, self.runs)
        groups = {}  # type: Dict[Tuple[int, int], Tuple[Session, List[Match]]]
        for match in self.matches:
            if match.graph is not None:
                key = (id(match.unit.session), id(match.graph))
                groups.setdefault(key, (match.unit.session, []))[1].append(match)
        self.pairs = list(groups.values())
        for session in self.sessions:
            trained = [Trained(matches) for one, matches in self.pairs
                       if one is session and matches[0].graph.role == "train"]
            unpaired = [match.unit for match in self.matches
                        if match.graph is None and match.unit.session is session]
            iterations.assign_sections(trained, unpaired, session.run, self.graphs)
            self.trained[id(session)] = sorted(trained, key=iterations.training_order)

    def check(self, budget: Optional[int], narrow: bool, progress: Optional[Progress]) -> None:
        problems = self.problems
        latest = self.latest
        faulty = completeness.check_files(latest, budget, problems, progress)
        completeness.check_disk(self.dump_path, faulty, problems)
        self._tell_pairs(latest)
        for session, matches in self.pairs:
            if session in latest:
                completeness.check_operators(matches, problems)
        for session in latest:
            iterations.tell_uncertain(self.trained[id(session)], problems)
        if not narrow:
            self._check_asked(latest, faulty)
        self._tell_runs(latest)

    def _tell_pairs(self, latest: List[Session]) -> None:
        unpaired = {}  # type: Dict[Tuple, List[Match]]
        for match in self.matches:
            if match.unit.session not in latest:
                continue
            if match.graph is None:
                unpaired.setdefault((match.unit.session.label, match.unit.model_name,
                                     match.why), []).append(match)
            elif match.rivals:
                self.problems.add(
                    "ambiguous-pair", "%s belongs to one of %d graph files that cannot be told "
                    "apart: %s" % (match.unit.label, 1 + len(match.rivals), ", ".join(
                        self._relative(one.file.path) for one in [match.graph] + match.rivals[:2])),
                    path=match.unit.folders[0].path,
                    hint="graph folders of each process (DUMP_GRAPH_PATH) or run records tell them")
        for (_, _, why), matches in unpaired.items():
            self.problems.add(
                "no-pair" if self.graphs else "no-graph",
                "%s has no graph: %s" % (matches[0].unit.label, why),
                path=matches[0].unit.folders[0].path,
                hint="name the folder that holds its *_Build.txt with --graphs")

    def _check_asked(self, latest: List[Session], faulty: set) -> None:
        linked = {id(one.run): one for one in latest if one.run is not None}
        last = self.launches.last
        runs = self.own if self.one_run else ([] if last is None else last.runs)
        for run in runs:
            session = linked.get(id(run))
            trained = self.trained.get(id(session), []) if session is not None else []
            own = [graph for graph in self.graphs if graph.file.pid in (None, run.pid)]
            for graph in own:
                if graph.role == "train" and not trained:
                    self.context.body(graph)
            unpaired = [match.unit for match in self.matches
                        if match.graph is None and match.unit.session is session]
            asked.check_run(run, session, trained, unpaired, own, faulty, self.problems)
            for one in trained:
                asked.check_unasked(run.asked, one, self.problems)
        for session in latest:
            if session.run is None:
                asked.check_session(session, self.trained[id(session)], self.problems)
                self._tell_undumped(session)

    def _tell_undumped(self, session: Session) -> None:
        """Without records: a training graph was built, and no folder is its."""
        if self.trained[id(session)]:
            return
        for graph in self.graphs:
            if graph.role == "train" and graph.file.device in (None, session.device) and not any(
                    match.graph is graph for match in self.matches):
                self.problems.add(
                    "not-dumped", "the training graph %s has no dump folder in %s" % (
                        graph.name, session.label), path=graph.file.path,
                    hint="no asked step was reached, or dump was not on for it")
                return

    def _tell_runs(self, latest: List[Session]) -> None:
        bare = [one.label for one in latest if one.run is None]
        if bare:
            self.problems.add(
                "no-run", "no run record belongs to %s: which batch each data_index was, and which "
                "steps were asked for, is not known" % ", ".join(bare[:4]),
                hint="copy the folder runs/ along with the dump")
        older = [one.label for one in self.sessions if one not in latest]
        if older:
            self.problems.add("run-older", "%s are of an earlier launch: listed, not checked" % (
                ", ".join(older[:6])), severity=INFO)
        if not self.sessions and not self.own:
            self.problems.add(
                "no-run", "nothing ran here: %s has no run records" % self.dump_path)
            self.problems.add(
                "not-dumped", "nothing was dumped here: %s has no dump folders%s" % (
                    self.path, ", only graph files" if self.graphs else " and no graph files"),
                hint="is this the dump_path of the training, on this machine and in this container?",
                path=self.path)
        elif not self.sessions and self.problems.count("step-not-reached") == 0 \
                and self.problems.count("not-dumped") == 0:
            self.problems.add("not-dumped", "nothing was dumped: %s" % self._why_nothing(),
                              path=self.path)

    def _why_nothing(self) -> str:
        off = [run for run in self.own if not run.options.get("enable_dump")]
        if len(off) == len(self.own):
            if any(run.options.get("enable_dump_debug") for run in off):
                return "overflow detection was on and no operator overflowed"
            return "dump was switched off in the options of the run"
        return "no execution of a training graph is in the journal"

    def manifest(self, role: Optional[str]) -> Manifest:
        manifest = Manifest(self.dump_path)
        trained_of = {}
        for session in self.sessions:
            for one in self.trained[id(session)]:
                for match in one.matches:
                    trained_of[id(match)] = one
        latest = self.latest
        order = {id(one): position for position, one in enumerate(self.sessions)}
        positions = {}  # type: Dict[int, int]
        for session, matches in sorted(self.pairs, key=lambda pair: (
                order[id(pair[0])], pair[1][0].graph.file.path)):
            if role is not None and matches[0].graph.role != role:
                continue
            one = trained_of.get(id(matches[0]))
            if one is not None:
                positions[id(one)] = len(manifest.pairs)
            manifest.pairs.append(self._pair(session, matches, one))
        for session in latest:
            key = "device:%s" % session.device if session.rank is None else str(session.rank)
            here = [positions[id(one)] for one in self.trained[id(session)] if id(one) in positions]
            if here:
                manifest.training.setdefault(key, []).extend(here)
        for run in self.own:
            trained = [one for session in self.sessions if session.run is run
                       for one in self.trained[id(session)]]
            document = run.document
            manifest.runs.append(RunRecord(
                run.run_id, 0 if run.rank is None else run.rank, run.device, run.pid, run.host,
                document.get("emulated"), document.get("started"), document.get("ended"),
                run.options, run.environment, asked.executions_of(run, trained)))
        manifest.graphs = [self._graph(graph) for graph in self.graphs]
        manifest.problems = self.problems.result()
        for problem in manifest.problems:
            if problem.path is not None:
                problem.path = self._relative(problem.path)
        return manifest

    def _pair(self, session: Session, matches: List[Match], one: Optional[Trained]) -> Pair:
        graph = matches[0].graph
        steps = []
        for match in matches:
            for folder in match.unit.folders:
                iteration = None if one is None else iterations.iteration_of(
                    one, match.unit.model_id, folder.data_index)
                steps.append(Step(folder.data_index, folder.model_name, folder.model_id,
                                  self._relative(folder.path), folder.count, folder.bytes,
                                  folder.kinds, iteration))
        steps.sort(key=lambda step: (-1 if step.data_index is None else step.data_index,
                                     numeric_key(step.model_name or ""), step.model_id or 0))
        evidence = list(dict.fromkeys(text for match in matches for text in match.evidence))
        if session.run_evidence:
            evidence.append(session.run_evidence)
        evidence.extend(graph.role_evidence)
        return Pair(
            graph=self._relative(graph.file.path), time=session.time, device=session.device,
            rank=session.rank,
            model_names=sorted({match.unit.model_name for match in matches
                                if match.unit.model_name is not None}, key=numeric_key),
            role=graph.role,
            confidence=max((match.confidence for match in matches), key=CONFIDENCES.index),
            evidence=evidence, steps=steps)

    def _graph(self, graph: BuildGraph) -> GraphRecord:
        body = graph.body
        return GraphRecord(
            file=self._relative(graph.file.path), index=graph.file.name.index,
            graph_id=graph.graph_id, name=graph.name, dump_name=graph.dump_name,
            subgraphs=None if body is None else body.names[1:],
            op_count=None if body is None else body.op_count, role=graph.role,
            has_iterator=None if body is None else bool(keyword_hits(graph, DEFAULT_KEYWORDS)),
            bytes=graph.file.size)

    def _relative(self, path: str) -> str:
        absolute = os.path.abspath(path)
        if absolute == self.dump_path:
            return "."
        return (os.path.relpath(absolute, self.dump_path)
                if absolute.startswith(self.dump_path.rstrip(os.sep) + os.sep) else absolute)


def _write(manifest: Manifest, output: Optional[str], folder: Optional[str],
           run_id: Optional[str], job: Any) -> None:
    if output is not None:
        manifest.write(os.path.join(output, "manifest.json") if os.path.isdir(output) else output)
        return
    if folder is None:
        return
    if run_id is not None:
        folder = job.own[0].folder
    try:
        manifest.write(os.path.join(folder, "manifest.json"))
    except InputError:
        # A read-only tree: the answer goes to the caller alone.
        manifest.path = None
