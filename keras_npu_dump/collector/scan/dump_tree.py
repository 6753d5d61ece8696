"""Finds the dump folders below a path, and what their files' names say.

The folders are told apart by `formats.tree.interpret`, so that every depth
that CANN is known to write is read. Each folder is listed once.
"""
from __future__ import annotations

import array
import os
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple

from keras_npu_dump.collector.scan.folders import DUMP_KINDS, DumpFolder, Names
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.regular import what_is_there
from keras_npu_dump.formats.names import classify
from keras_npu_dump.formats.tree import (
    MAX_DEPTH,
    StepFolder,
    interpret,
    is_time,
    not_a_file,
    numeric_key,
    too_deep,
)
from keras_npu_dump.records.layout import GRAPHS, RUNS
from keras_npu_dump.records.problems import Problems

_LOOK = 200
# Folders at the top of a dump path that hold no dump data.
_OWN = (RUNS, GRAPHS)
# Above the folders of devices that hold exception dumps (adump `dump_args_callback.cpp`).
_EXCEPTION_DUMP = ("extra-info", "data-dump")


class Tree(NamedTuple):
    """A scanned tree.

    Attributes:
      dump_path: absolute; what was named may lie below or above it.
      narrow: whether what was named is a level below the dump path.
      folders: that hold dump files, or are steps without any.
    """

    dump_path: str
    narrow: bool
    folders: List[DumpFolder]


def scan_tree(path: str, problems: Problems,
              progress: Optional[Progress] = None,
              only: Optional[Callable[[Tuple[str, ...]], bool]] = None) -> Tree:
    """Lists every dump folder at or below `path`, siblings in numeric order.

    Args:
      path: the dump path, or any level above or below it.
      problems: are told of folders that cannot be read.
      progress: called as ("scan", dump folders found, None).
      only: is asked with the parts of each folder's path below `path`; where it
        answers False, the folder is passed over.

    Raises:
      InputError: `path` is not a folder that can be read.
    """
    root = os.path.abspath(path)
    if not os.path.isdir(root):
        raise InputError("Expected a folder: the dump path or one below it. Received: %s, which"
                         " %s." % (path, what_is_there(root)))
    try:
        os.listdir(root)
    except OSError as error:
        raise InputError("cannot read %s: %s" % (path, error.strerror)) from None
    above = [part for part in root.split(os.sep) if part]
    folders = []
    names = Names()
    empty: List[DumpFolder] = []
    for folder_path, below, (file_names, sizes) in _walk(root, problems, only):
        step = interpret(folder_path, above, below)
        if not _is_step(step, file_names):
            if step.data_index is not None and not file_names:
                empty.append(DumpFolder(folder_path, step, *_session_time(step)))
            continue
        folder = DumpFolder(folder_path, step, *_session_time(step))
        names.fill(folder, file_names, sizes, problems)
        if not folder.names and step.data_index is None:
            continue
        folders.append(folder)
        if progress is not None:
            progress("scan", len(folders), None)
    folders = _with_empty(folders, empty)
    dump_path = _dump_path(root, above, folders)
    return Tree(dump_path, _is_narrow(root, dump_path), folders)


def _walk(root: str, problems: Problems, only: Optional[Callable[[Tuple[str, ...]], bool]]
          ) -> Iterator[Tuple[str, Tuple[str, ...], "Listing"]]:
    pending: List[Tuple[str, Tuple[str, ...]]] = [(root, ())]
    while pending:
        path, below = pending.pop()
        if _is_exception_dump(path):
            _tell_exception_dump(path, problems)
            continue
        try:
            folders, listing = _list(path, problems)
        except OSError as error:
            if not below:
                raise InputError("cannot read %s: %s" % (path, error.strerror)) from None
            problems.add("unreadable", "cannot read the folder %s: %s" % (path, error.strerror),
                         path=path)
            continue
        if not below:
            folders = [name for name in folders if name not in _OWN]
        if len(below) >= MAX_DEPTH and folders:
            problems.add("unreadable", "%s: %s" % (path, too_deep(path).strerror), path=path)
        elif folders:
            folders.sort(key=numeric_key, reverse=True)
            pending.extend((os.path.join(path, name), below + (name,)) for name in folders
                           if only is None or only(below + (name,)))
        if listing[0] or not folders:
            yield path, below, listing


def _is_exception_dump(path: str) -> bool:
    """Whether it is the folder of exception dumps, or that of a device in it."""
    parts = tuple(path.split(os.sep)[-3:])
    return _EXCEPTION_DUMP in (parts[-2:], parts[:2])


def _tell_exception_dump(path: str, problems: Problems) -> None:
    problems.add(
        "exception-files", "%s holds an exception dump (what operators were given when they failed"
        " on the device) and no data dump: it is left alone" % os.path.join(*_EXCEPTION_DUMP),
        path=path)


Listing = Tuple[List[str], "array.array[int]"]


def _list(path: str, problems: Problems) -> Tuple[List[str], Listing]:
    """Sub-folders, and the names of regular files in order with their sizes.

    Links are left out: other tools link long names to the digits that hold the
    data. What is neither file nor folder is told. Names and sizes are two plain
    sequences, not pairs: of objects that the garbage collector looks at there must
    not be 400,000.
    """
    folders: List[str] = []
    names: List[str] = []
    odd: List[str] = []
    sizes = array.array("Q")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                    if "." in entry.name:
                        odd.append(entry.name)  # it may have the name of a dump file
                else:
                    odd.append(entry.name)
        for name in sorted(odd):
            error = not_a_file(path, name)
            if error is not None:
                problems.not_a_file(error)
        names.sort()
        stat = os.stat
        try:
            for name in names:
                sizes.append(stat(name, dir_fd=handle).st_size)
        except OSError:
            # A file has gone since: once more, with care.
            names, sizes = _that_are_left(names, handle)
    finally:
        os.close(handle)
    return folders, (names, sizes)


def _that_are_left(names: List[str], handle: int) -> Listing:
    left: List[str] = []
    sizes = array.array("Q")
    for name in names:
        try:
            sizes.append(os.stat(name, dir_fd=handle).st_size)
        except OSError:
            continue
        left.append(name)
    return left, sizes


def _with_empty(folders: List[DumpFolder], empty: List[DumpFolder]) -> List[DumpFolder]:
    """Without a time folder an empty folder is a step only if another step lies beside it."""
    beside = {os.path.dirname(one.path) for one in folders if one.data_index is not None}
    steps = [one for one in empty if os.path.dirname(one.path) in beside]
    return folders + steps


def _is_step(step: StepFolder, names: List[str]) -> bool:
    if step.time is None:
        # Without a time folder above, numbers in a path prove nothing: any
        # project has folders like 0/name/1/2. The files have to be a dump's.
        return any(classify(name) in DUMP_KINDS + ("mapping",)
                   for name in names[:_LOOK])
    return bool(names) or step.data_index is not None


def _session_time(step: StepFolder) -> Tuple[str, Optional[str]]:
    """(prefix, time) with the outer one of two time folders as the time."""
    head, _, tail = step.prefix.rpartition(os.sep)
    if step.time is not None and is_time(tail):
        return head, tail
    return step.prefix, step.time


def _dump_path(root: str, above: List[str], folders: List[DumpFolder]) -> str:
    if not folders:
        return root
    parts = [part for part in folders[0].path.split(os.sep) if part]
    time = folders[0].time
    if time is not None and time in above and _inside(parts, above, time):
        return os.sep + os.sep.join(above[:len(above) - 1 - above[::-1].index(time)])
    if time is None and folders[0].path == root and folders[0].data_index is not None:
        # A leaf that was copied alone: its device folder is all we know of.
        return root
    prefixes = {one.prefix for one in folders}
    if len(prefixes) == 1 and not os.path.isdir(os.path.join(root, RUNS)):
        # One level above the dump path, as in `collect output`.
        below = os.path.join(root, prefixes.pop())
        if os.path.isdir(os.path.join(below, RUNS)) or os.path.isdir(
                os.path.join(below, GRAPHS)):
            return below
    return root


def _inside(parts: List[str], above: List[str], time: str) -> bool:
    """`time` is one of the root's own parts, and at most four levels up."""
    position = len(above) - 1 - above[::-1].index(time)
    return len(parts) - position <= 7 and len(above) - position <= 6


def _is_narrow(root: str, dump_path: str) -> bool:
    return root != dump_path and not dump_path.startswith(root + os.sep)


def only_device(device: int) -> Callable[[Tuple[str, ...]], bool]:
    """For `scan_tree`: whether a folder may be of one device. Of a job of many devices a
    process reads its own."""
    def wanted(below: Tuple[str, ...]) -> bool:
        if len(below) < 2 or not is_time(below[-2]) or is_time(below[-1]):
            return True
        return not below[-1].isdigit() or int(below[-1]) == device

    return wanted
