"""Who ran: the processes of a dump tree, by their records and by their folders."""
from __future__ import annotations

import dataclasses
import os
from typing import List, Optional, Sequence

from keras_npu_dump.collector.processes.launches import Launches, find_launches
from keras_npu_dump.collector.processes.sessions import Session, group_sessions, link_runs
from keras_npu_dump.collector.scan.dump_tree import Tree
from keras_npu_dump.errors import InputError
from keras_npu_dump.records.layout import RUNS
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import RecordedRun, read_run, read_runs


@dataclasses.dataclass
class Processes:
    """The processes of a dump tree.

    Attributes:
      roots: the dump path, then dump paths below it, all absolute.
      runs: all run records, also those of other processes.
      own: the run records that the answer is about.
      sessions: the sessions that the answer is about, in order of time and device.
      launches: of all sessions and runs.
      one_run: whether the answer is about a single run.
    """

    roots: List[str]
    runs: List[RecordedRun]
    own: List[RecordedRun]
    sessions: List[Session]
    launches: Launches
    one_run: bool

    @property
    def dump_path(self) -> str:
        """The folder that paths of the answer are relative to."""
        return self.roots[0]

    @property
    def latest(self) -> List[Session]:
        """The sessions that are checked: of the last launch, or of the single run."""
        if self.one_run:
            return self.sessions
        last = self.launches.last
        return [one for one in self.sessions if last is None or one.launch == last.number]

    @property
    def latest_runs(self) -> List[RecordedRun]:
        """The runs that are checked: of the last launch, or the single run."""
        if self.one_run:
            return self.own
        last = self.launches.last
        return [] if last is None else last.runs

    def relative(self, path: str) -> str:
        """Relative to the dump path where it lies inside it, else absolute."""
        absolute = os.path.abspath(path)
        if absolute == self.dump_path:
            return "."
        return (os.path.relpath(absolute, self.dump_path)
                if absolute.startswith(self.dump_path.rstrip(os.sep) + os.sep) else absolute)


def find_processes(tree: Tree, run_id: Optional[str], asking: Optional[RecordedRun],
                   problems: Problems) -> Processes:
    """Groups the folders of a tree into sessions, and ties them to run records.

    Args:
      tree: as it was scanned.
      run_id: where the answer is about a single run, its id or its folder's name.
      asking: the record of that run where its own process asks, and knows more than
        its files; stands in for what was written.
      problems: are told of records that cannot be read.

    Raises:
      InputError: there is no record of `run_id`.
    """
    sessions = group_sessions(tree.folders, tree.dump_path)
    # Dump paths of several hosts may lie side by side, each with records of its own.
    roots = list(dict.fromkeys([tree.dump_path] + sorted(one.root for one in sessions)))
    runs = [run for root in roots for run in read_runs(
        root, problems, brief=run_id is not None)]
    if asking is not None:
        runs = [run for run in runs if run.run_id != run_id] + [asking]
    link_runs(sessions, runs)
    launches = find_launches(sessions, runs)
    if run_id is None:
        return Processes(roots, runs, runs, sessions, launches, one_run=False)
    own = _own_run(run_id, runs, tree.dump_path, problems)
    return Processes(roots, runs, own, [one for one in sessions if one.run is own[0]], launches,
                     one_run=True)


def _own_run(run_id: str, runs: Sequence[RecordedRun], dump_path: str,
             problems: Problems) -> List[RecordedRun]:
    """The records of a run id, at least one."""
    own = [run for run in runs if run_id in (run.run_id, os.path.basename(run.folder))]
    if own:
        return own
    run = read_run(os.path.join(dump_path, RUNS, run_id), problems)
    if run is None:
        raise InputError("run %r has no record below %s" % (run_id, dump_path))
    return [run]
