"""Finds Build graph files where GE may have left them.

GE writes where `records.layout.graph_places` says; capture points DUMP_GRAPH_PATH to
`{dump_path}/graphs`. The file of what was executed
has the stage `Build` exactly; the other stages are left alone.
"""
from __future__ import annotations

import dataclasses
import os
import re
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from keras_npu_dump.errors import InputError
from keras_npu_dump.files.regular import NotRegularError, check_regular, what_is_there
from keras_npu_dump.formats.names import GraphName, parse_graph_name
from keras_npu_dump.formats.tree import is_time, walk
from keras_npu_dump.records.layout import GRAPHS, graph_places
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import RecordedRun

_PID = re.compile(r"pid_(\d+)_deviceid_(\d+)$")
_COLLECT_PID = re.compile(r"(\d+)_(\d+)$")
# A dump path in somebody's home directory is no licence to walk all of it.
_MAX_FOLDERS = 20000


@dataclasses.dataclass
class GraphFile:
    """A Build graph file.

    Attributes:
      path: absolute.
      name: what the file's name says.
      size: bytes; mtime: seconds since the epoch.
      pid, device: of its folder's name, or None.
    """

    path: str
    name: GraphName
    size: int
    mtime: float
    pid: Optional[int]
    device: Optional[int]


@dataclasses.dataclass
class Search:
    """What was found, and what lay beside it.

    Attributes:
      files: Build files, by folder, then by running number.
      stages: a path for each other stage that was seen.
      numbers: the running numbers of all ge_proto files of each folder.
      taken: Build files by (device of the disk, inode).
    """

    files: List[GraphFile] = dataclasses.field(default_factory=list)
    stages: Dict[str, str] = dataclasses.field(default_factory=dict)
    numbers: Dict[str, Set[int]] = dataclasses.field(default_factory=dict)
    taken: Dict[Tuple[int, int], GraphFile] = dataclasses.field(default_factory=dict)

    def of_process(self, pid: Optional[int], folder: str) -> bool:
        """A Build file below `folder` that may be the process's was found."""
        inside = os.path.join(os.path.abspath(folder), "")
        return any(one.pid in (None, pid) and one.path.startswith(inside)
                   for one in self.taken.values())

    def hint(self) -> str:
        """What to do about a Build file that is not there."""
        if not self.files and self.stages:
            stage, path = sorted(self.stages.items())[0]
            return ("%s holds graph files of other stages such as %s, none of the stage Build: "
                    "set DUMP_GRAPH_LEVEL=3 or leave it unset" % (os.path.dirname(path), stage))
        for folder, numbers in sorted(self.numbers.items()):
            if len(numbers) < max(numbers) - min(numbers) + 1:
                return ("the graph files in %s have gaps in their numbers: some were removed, or "
                        "GE was told to keep only some (ge.maxDumpFileNum, ge.maxDumpFileSize)"
                        % folder)
        return "name the folder that holds its *_Build.txt: `keras-npu-dump collect --graphs DIR`"


def find_graph_files(roots: Sequence[str], path: str, runs: Sequence[RecordedRun],
                     graphs: Iterable[str], problems: Problems) -> Search:
    """All Build files for a dump path, by folder, then by running number.

    Args:
      roots: the dump path, then the folders below it that are dump paths too.
      path: what the user named as the dump.
      runs: whose records name folders.
      graphs: folders or files that the user named.
      problems: are told of folders that cannot be read.

    Raises:
      InputError: a name in `graphs` does not exist.
    """
    found = Search()
    given = [os.path.abspath(one) for one in graphs]
    for one in given:
        if os.path.isfile(one):
            _take(found, os.path.dirname(one), [os.path.basename(one)], problems)
        elif os.path.isdir(one):
            _walk(found, one, problems, prune=one in roots)
        else:
            raise InputError("--graphs: expected a folder, or a graph file. Received: %s, which %s"
                             % (one, what_is_there(one)))
    for run in runs:
        for folder, deep in _run_folders(run, run.root):
            (_walk if deep else _flat)(found, folder, problems)
            if found.of_process(run.pid, folder):
                # Once is enough: of a folder that was copied, the variables in
                # its records name the place where it was before.
                break
    for root in roots:
        _walk(found, os.path.join(root, GRAPHS), problems)
    for root in dict.fromkeys([path, *roots]):
        _near(found, root, problems)
    if not found.taken:
        for folder, deep in _surroundings():
            (_walk if deep else _flat)(found, folder, problems)
    found.files = _without_twins(found.taken.values())
    return found


def _run_folders(run: RecordedRun, dump_path: str) -> Iterator[Tuple[str, bool]]:
    """(folder, whether to look below it) for each place that a run record names, in the
    order in which GE prefers them."""
    base = run.document.get("cwd") or dump_path
    named = run.document.get("graph_path")
    if named:
        yield os.path.join(dump_path, str(named)), True
    yield from _variables(run.environment, str(base))
    if run.document.get("cwd"):
        yield str(base), False


def _variables(environment: Dict[str, str], base: str) -> Iterator[Tuple[str, bool]]:
    for place in graph_places(environment):
        if place.variable is not None and environment[place.variable]:
            yield os.path.join(base, place.folder), place.has_pid_folders


def _surroundings() -> Iterator[Tuple[str, bool]]:
    """Where graphs lie after a job done by hand: this shell's variables, this directory."""
    try:
        here = os.getcwd()
    except OSError:
        return
    yield from _variables(dict(os.environ), here)
    yield here, False
    for name in _folders(here):
        if _PID.match(name):
            yield os.path.join(here, name), False


def _near(found: Search, root: str, problems: Problems) -> None:
    """PATH itself: its files, and the folders that GE makes for graphs."""
    _flat(found, root, problems)
    for name in _folders(root):
        folder = os.path.join(root, name)
        if _PID.match(name) or name == GRAPHS:
            _walk(found, folder, problems)
        elif name == "extra-info":
            _walk(found, os.path.join(folder, "graph"), problems)


def _walk(found: Search, root: str, problems: Problems, prune: bool = True) -> None:
    """Takes the Build files at and below a folder; `prune` passes over time folders."""
    def tell(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            problems.add("unreadable", "cannot read the folder %s: %s" % (
                error.filename, error.strerror), path=error.filename)

    for visited, (folder, folders, names) in enumerate(walk(root, tell)):
        if visited >= _MAX_FOLDERS:
            problems.add("unreadable", "%s has more than %d folders, graph files in the rest "
                         "were not looked for" % (root, _MAX_FOLDERS),
                         hint="name the folder: `keras-npu-dump collect --graphs DIR`")
            return
        # Time folders hold dump data, and may hold hundreds of thousands of files.
        folders[:] = sorted(name for name in folders if not (prune and is_time(name)))
        _take(found, folder, names + folders, problems)


def _flat(found: Search, folder: str, problems: Problems) -> None:
    """Takes the Build files that lie in a folder itself."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    _take(found, folder, names, problems)


def _folders(root: str) -> List[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries
                          if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _take(found: Search, folder: str, names: Iterable[str], problems: Problems) -> None:
    """Notes the graph files among the names in a folder."""
    folder = os.path.abspath(folder)
    pid, device = process_of(folder)
    for name in names:
        # The quick test first: a folder may hold anything.
        if not name.startswith("ge_"):
            continue
        parsed = parse_graph_name(name)
        if parsed is None or parsed.aclop or parsed.kind not in ("ge_proto", "ge_onnx"):
            continue
        path = os.path.join(folder, name)
        if parsed.kind == "ge_proto":
            found.numbers.setdefault(folder, set()).add(parsed.index)
        if not parsed.is_build:
            found.stages.setdefault(parsed.stage, path)
            continue
        try:
            check_regular(path)
            status = os.stat(path)
        except NotRegularError as error:
            problems.not_a_file(error)
            continue
        except OSError:
            continue
        # One file reached by two ways (a link, two variables) is one graph.
        identity = (status.st_dev, status.st_ino)
        if identity in found.taken:
            continue
        found.taken[identity] = GraphFile(path, parsed, status.st_size, status.st_mtime, pid,
                                          device)


def process_of(folder: str) -> Tuple[Optional[int], Optional[int]]:
    """(pid, device) of `pid_{pid}_deviceid_{id}` or `extra-info/graph/{pid}_{id}`."""
    parts = os.path.abspath(folder).split(os.sep)
    match = _PID.match(parts[-1])
    if match is None and len(parts) > 1 and parts[-2] == "graph":
        match = _COLLECT_PID.match(parts[-1])
    return (int(match.group(1)), int(match.group(2))) if match else (None, None)


def _without_twins(files: Iterable[GraphFile]) -> List[GraphFile]:
    """Drops each ge_onnx file whose ge_proto twin is there: it says less."""
    files = list(files)
    proto = set()
    for one in files:
        if one.name.kind == "ge_proto":
            folder = os.path.dirname(one.path)
            proto.add((folder, "index", one.name.index))
            if one.name.graph_id is not None:
                proto.add((folder, "id", one.name.graph_id))
    kept = []
    for one in files:
        folder = os.path.dirname(one.path)
        twin = ((folder, "id", one.name.graph_id) if one.name.graph_id is not None
                and (folder, "id", one.name.graph_id) in proto
                else (folder, "index", one.name.index))
        if one.name.kind == "ge_proto" or twin not in proto:
            kept.append(one)
    return sorted(kept, key=lambda one: (os.path.dirname(one.path), one.name.index, one.path))
