"""Where things lie in a dump folder, and where GE puts graph files: each name once.

    {dump_path}/{time}/...                    what CANN (or the emulator) writes
    {dump_path}/graphs/                       graph files, unless the user says otherwise
    {dump_path}/runs/{run_id}/run.json        the record of a process
    {dump_path}/runs/{run_id}/iterations.jsonl
    {dump_path}/runs/{run_id}/manifest.json   that process's own answer
    {dump_path}/manifest.json                 the answer for the job
"""
from __future__ import annotations

import os
from typing import List, Mapping, NamedTuple, Optional

RUNS = "runs"
GRAPHS = "graphs"
RUN_FILE = "run.json"
JOURNAL_FILE = "iterations.jsonl"
MANIFEST_FILE = "manifest.json"


class GraphPlace(NamedTuple):
    """A folder for graph files.

    Attributes:
      folder: "" is the current one.
      variable: of the environment, that names it; None for the current folder.
      has_pid_folders: whether GE makes a folder for each process in it.
    """

    folder: str
    variable: Optional[str]
    has_pid_folders: bool


def run_folder(dump_path: str, run_id: str) -> str:
    """The folder of one run's records."""
    return os.path.join(dump_path, RUNS, run_id)


def root_of(run_folder: str) -> str:
    """The dump path to which a folder of records belongs."""
    return os.path.dirname(os.path.dirname(run_folder))


def graph_places(environment: Mapping[str, str]) -> List[GraphPlace]:
    """Where graph files of a process go, by what its environment says; the first one counts.

    GE takes NPU_COLLECT_PATH, else DUMP_GRAPH_PATH, else ASCEND_WORK_PATH, else the current
    directory of the process (ge, graph_utils.cc).

    Args:
      environment: variables by name.

    Returns:
      One place for each variable that is set, then the current folder, and last what only
      the documentation names.
    """
    places = []
    for variable, below, has_pid_folders in (
            ("NPU_COLLECT_PATH", os.path.join("extra-info", "graph"), True),
            ("DUMP_GRAPH_PATH", "", True), ("ASCEND_WORK_PATH", "", False)):
        if variable in environment:
            folder = environment[variable]
            places.append(GraphPlace(os.path.join(folder, below) if below else folder, variable,
                                     has_pid_folders))
    places.append(GraphPlace("", None, False))
    if environment.get("ASCEND_DUMP_PATH"):
        # First by GE's documentation; its public source does not read it.
        places.append(GraphPlace(environment["ASCEND_DUMP_PATH"], "ASCEND_DUMP_PATH", True))
    return places
