"""The state of one collect, filled stage by stage."""
from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.checks import (
    completeness,
    deleted_output,
    iterations,
    missing_files,
    requested_steps,
    run_ending,
)
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.graphs.graph_search import find_graph_files
from keras_npu_dump.collector.graphs.roles import decide_role
from keras_npu_dump.collector.pairing.match import Match, Paired
from keras_npu_dump.collector.pairing.pairing import make_pairs, make_units, match_units
from keras_npu_dump.collector.processes.launches import find_launches
from keras_npu_dump.collector.processes.sessions import Session, link_runs
from keras_npu_dump.collector.rules.evidence import Context, Unit
from keras_npu_dump.collector.scan.headers import HeaderCache
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.op_types.graph_names import role_of
from keras_npu_dump.records.problems import ERROR, INFO, Problems
from keras_npu_dump.records.reading import RecordedRun, read_run


class Job:
    """One collect: `link`, `read_graphs`, `pair` and `check`, in this order.

    Attributes:
      roots: the dump path, then dump paths below it.
      runs: all run records; `own` those that the answer is about.
      sessions: those that the answer is about; `latest` of them are checked.
      pairs: all of them; `trained`, by id of the session, those of role train in order.
    """

    def __init__(self, roots: List[str], path: str, runs: List[RecordedRun], problems: Problems):
        self.dump_path = roots[0]
        self.roots = roots
        self.path = path
        self.runs = runs
        self.problems = problems
        self.sessions: List[Session] = []
        self.graphs: List[BuildGraph] = []
        self.matches: List[Match] = []
        self.trained: Dict[int, List[Paired]] = {}
        self.pairs: List[Paired] = []

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
        self.search = find_graph_files(self.roots, self.path, self.own, graphs, self.problems)
        files = self.search.files
        if self.one_run:
            files = [one for one in files if one.pid in (None, self.own[0].pid)]
        self.graphs = [BuildGraph(one) for one in files]
        self.keywords = list(keywords)
        self.context = Context(self.runs, self.launches, self.keywords, {}, HeaderCache(),
                               self.roots)

    def pair(self) -> None:
        units = make_units(self.sessions)
        self.matches = match_units(units, self.graphs, self.context)
        for graph in self.graphs:
            if graph.body is None and role_of(graph.name) == "unknown":
                self.context.body(graph)
        for graph in self.graphs:
            decide_role(graph, self.runs)
        self.pairs = make_pairs(self.matches)
        for session in self.sessions:
            trained = [one for one in self.pairs
                       if one.session is session and one.graph.role == "train"]
            iterations.assign_sections(trained, self.unpaired(session), session.run, self.graphs)
            self.trained[id(session)] = sorted(trained, key=iterations.training_order)

    def unpaired(self, session: Optional[Session]) -> List[Unit]:
        return [match.unit for match in self.matches
                if match.graph is None and match.unit.session is session]

    def check(self, budget: Optional[int], narrow: bool, progress: Optional[Progress]) -> None:
        problems = self.problems
        latest = self.latest
        faulty = completeness.check_files(latest, budget, problems, progress)
        completeness.check_disk(self.dump_path, faulty, problems)
        self._tell_pairs(latest)
        for pair in self.pairs:
            if pair.session in latest:
                completeness.check_operators(pair, problems)
        missing_files.check_steps([one for one in self.pairs if one.session in latest], [
            match.unit for match in self.matches
            if match.graph is None and match.unit.session in latest], problems)
        for session in latest:
            iterations.tell_uncertain(self.trained[id(session)], problems)
        if not narrow:
            self._check_asked(latest, faulty)
        self._tell_graphs(latest)
        self._tell_runs(latest)

    def _tell_graphs(self, latest: List[Session]) -> None:
        """Graph files that cannot be read: an error where one is, or may be, a dump's own."""
        dumped = {id(one.graph) for one in self.pairs if one.session in latest}
        bare = [one for one in latest if not self.trained[id(one)]]
        for graph in self.graphs:
            if graph.body is not None and graph.body.absent:
                # Behind the root graph come those that it calls, in one file.
                self.problems.add(
                    "unreadable", "the graph file is cut off: it calls %d graphs that are not in "
                    "it, such as %s" % (len(graph.body.absent), graph.body.absent[0]),
                    path=graph.file.path, severity=ERROR if graph.body.parts else None)
            if graph.is_no_file is not None:
                self.problems.not_a_file(graph.is_no_file)
                continue
            if graph.error is None:
                continue
            own = id(graph) in dumped or any(
                graph.role in ("train", "unknown") and graph.file.device in (None, one.device)
                for one in bare)
            self.problems.add("unreadable", "cannot read the graph file: %s" % graph.error,
                              path=graph.file.path, severity=ERROR if own else None)

    def _tell_pairs(self, latest: List[Session]) -> None:
        unpaired: Dict[Tuple, List[Match]] = {}
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
                        self.relative(one.file.path) for one in [match.graph] + match.rivals[:2])),
                    path=match.unit.folders[0].path,
                    hint="graph folders of each process (DUMP_GRAPH_PATH) or run records tell them")
        for session in latest:
            gone = [key for key in unpaired if key[0] == session.label]
            if gone and deleted_output.took_graphs(session.run):
                deleted_output.tell_graphs(session, [unpaired.pop(key)[0].unit for key in gone],
                                    self.problems)
        for (_, _, why), matches in unpaired.items():
            unit = matches[0].unit
            if unit.model_name is None and unit.session.device is not None:
                # Without a model folder (GE dump_op.cc): operators run one by one.
                self.problems.add(
                    "single-operator", "%s has files of single operators, which belong to no "
                    "graph" % unit.session.label, path=unit.folders[0].path)
                continue
            self.problems.add(
                "no-pair" if self.graphs else "no-graph",
                "%s has no graph: %s" % (matches[0].unit.label, why),
                path=matches[0].unit.folders[0].path,
                hint=self.search.hint())

    def _check_asked(self, latest: List[Session], faulty: set) -> None:
        linked = {id(one.run): one for one in latest if one.run is not None}
        last = self.launches.last
        runs = self.own if self.one_run else ([] if last is None else last.runs)
        for run in runs:
            deleted_output.tell(run, self.problems)
            session = linked.get(id(run))
            trained = self.trained.get(id(session), []) if session is not None else []
            own = [graph for graph in self.graphs if graph.file.pid in (None, run.pid)]
            for graph in own:
                if graph.role == "train" and not trained:
                    self.context.body(graph)
            requested_steps.check_run(run, session, trained, self._spare(session, own), own, faulty,
                            self.problems)
            run_ending.tell_death(run, self.problems)
            for one in trained:
                requested_steps.check_unasked(run.asked, one, self.problems)
        for session in latest:
            if session.run is None:
                requested_steps.check_session(self.trained[id(session)], self.problems)
                self._tell_undumped(session)

    def _spare(self, session: Optional[Session], own: List[BuildGraph]) -> List[Unit]:
        """Units that may be of a section which no training graph is tied to: those without a
        graph, and where no graph looks like a training one, those of all that compute."""
        others = [] if any(graph.role == "train" for graph in own) else [
            match.unit for pair in self.pairs for match in pair.matches
            if pair.session is session and pair.graph.role in ("unknown", "eval", "predict")]
        return self.unpaired(session) + others

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
                hint="is this the training's dump_path, on this machine and in this container?",
                path=self.path)
        elif not self.sessions and self.problems.count("step-not-reached") == 0 \
                and self.problems.count("not-dumped") == 0:
            why, severity = self._why_nothing()
            self.problems.add("not-dumped", "nothing was dumped: %s" % why, path=self.path,
                              severity=severity)

    def _why_nothing(self) -> Tuple[str, Optional[str]]:
        off = [run for run in self.own if not run.options.get("enable_dump")]
        if len(off) < len(self.own):
            return "no execution of a training graph is in the journal", None
        if not any(run.options.get("enable_dump_debug") for run in off):
            return "dump was switched off in the options of the run", None
        if not any(run_ending.watched(run) for run in off):
            return ("overflow detection was on, and the journal has no execution of a training "
                    "graph", None)
        return "overflow detection was on and no operator overflowed", INFO

    def relative(self, path: str) -> str:
        """Relative to the dump path where it lies inside it."""
        absolute = os.path.abspath(path)
        if absolute == self.dump_path:
            return "."
        return (os.path.relpath(absolute, self.dump_path)
                if absolute.startswith(self.dump_path.rstrip(os.sep) + os.sep) else absolute)
