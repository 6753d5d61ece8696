"""The folders of a dump, walked without believing in their depth.

    {dump_path}/{time}/{deviceid}/{model_name}/{model_id}/{data_index}/files

is what the vendor documents. What occurs besides (runtime `dump_task.cpp`,
adump `dump_setting.cpp`, public examples): a second time folder, no
data_index, no model folders for single operators, extra rank or step levels
above the time. So a folder that holds dump files is found first, and its
path is read afterwards, from the bottom up.
"""
from __future__ import annotations

import errno
import os
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import NotRegularError, Path, kind_of
from keras_npu_dump.formats import mapping as mapping_file
from keras_npu_dump.formats import names

_TIME = re.compile(r"[0-9]{12,14}$")
_PARTS = re.compile(r"([0-9]+)")
# No dump is deeper; a folder that contains itself by a mount would be.
MAX_DEPTH = 64
_TYPE, _FILE, _LINK = 0o170000, 0o100000, 0o120000  # of st_mode


def is_time(name: str) -> bool:
    """Whether a folder's name is a time: 14 digits, YYYYMMDDHHMMSS, or 12 without seconds."""
    return _TIME.match(name) is not None


class StepFolder(NamedTuple):
    """A folder that holds dump files.

    Attributes:
      path: of the folder, below the root as it was given.
      time: name of the time folder nearest to the files, or None.
      device: device id, or None.
      model_name: sanitised name, None for single operators.
      model_id: number, or None.
      data_index: number of the execution, or None where that level is
        missing.
      prefix: folders above `time` and below the root ("" if none): ranks,
        steps, a first time folder.
    """
    path: str
    time: Optional[str] = None
    device: Optional[int] = None
    model_name: Optional[str] = None
    model_id: Optional[int] = None
    data_index: Optional[int] = None
    prefix: str = ""


class DumpFile(NamedTuple):
    """One file of a step folder.

    Attributes:
      name: as on disk.
      size: bytes.
      dump: what its name says (its long name, where it is digits), or None.
      kind: see `names.classify`; digits that the mapping knows have the kind
        of their long name.
      full_name: the long name behind digits, else `name`.
    """
    name: str
    size: int
    dump: Optional[names.DumpName]
    kind: str
    full_name: str


def walk_steps(root: Path) -> Iterator[StepFolder]:
    """Yields every folder below `root` (or `root` itself) with dump files.

    Siblings come in numeric order (9 before 10). Folders that hold none of
    the files of a dump (graphs, records) are passed through. Links to folders
    are not followed; folders that cannot be read are left out.

    Args:
      root: any level, from the dump path to a data_index folder. Levels above
        it are read from its absolute path as far as they look like a dump.

    Raises:
      FileNotFoundError, NotADirectoryError: of the root only.
    """
    root = os.fspath(root)
    os.stat(root)
    if not os.path.isdir(root):
        raise NotADirectoryError(20, "Not a directory", root)
    above = [part for part in os.path.abspath(root).split(os.sep) if part]
    pending: List[Tuple[str, Tuple[str, ...]]] = [(root, ())]
    while pending:
        path, below = pending.pop()
        folders, has_dump = _look(path)
        if has_dump:
            yield interpret(path, above, below)
        if len(below) < MAX_DEPTH:
            folders.sort(key=numeric_key, reverse=True)
            pending.extend((os.path.join(path, name), below + (name,))
                           for name in folders)


def walk(root: str, tell: Callable[[OSError], None] = lambda error: None
         ) -> Iterator[Tuple[str, List[str], List[str]]]:
    """All folders below `root`, as os.walk gives them, which recurses: a tree may be deep.

    Args:
      root: a folder.
      tell: takes the error of a folder that cannot be read, or is nested too deep.

    Yields:
      (path, names of folders, names of others). Folders that are taken out of the list
      are passed over.
    """
    pending: List[Tuple[str, int]] = [(root, 0)]
    while pending:
        path, depth = pending.pop()
        folders: List[str] = []
        others: List[str] = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
        except OSError as error:
            tell(error)
            continue
        folders.sort()
        yield path, folders, others
        if depth >= MAX_DEPTH and folders:
            tell(too_deep(path))
        else:
            pending.extend((os.path.join(path, name), depth + 1) for name in reversed(folders))


def too_deep(path: str) -> OSError:
    """What is said of a folder whose sub-folders are not looked into."""
    return OSError(errno.ENAMETOOLONG, "folders below it, at the depth of %d, are not looked into"
                   % (MAX_DEPTH + 1), path)


def _look(path: str) -> Tuple[List[str], bool]:
    folders = []
    has_dump = False
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not has_dump:
                    kind = names.classify(entry.name)
                    # A FIFO or a link to a folder maps no names, and digits may name anything;
                    # what is named like dump data stands where data should be.
                    has_dump = kind in _STEP_KINDS and (
                        kind not in ("mapping", "digits") or os.path.isfile(entry.path))
    except OSError:
        pass
    return folders, has_dump


_FILE_KINDS = frozenset(("dump", "stats", "overflow", "mapping"))
_STEP_KINDS = frozenset(("dump", "stats", "overflow", "digits", "mapping"))


def interpret(path: str, above: List[str],
              below: Tuple[str, ...]) -> StepFolder:
    """Reads the levels of a step folder's path.

    The time folder nearest to the files is the anchor: what is below it are
    device, model name, model id and index, from the left. Without a time folder a
    tail of `.../<device>/<name>/<id>/<index>` is recognised by its numbers.

    Args:
      path: of the folder, kept in the result.
      above: parts of the root's absolute path.
      below: parts of the path below the root.

    Returns:
      StepFolder; numbers beyond 63 bits are none.
    """
    parts = list(above) + list(below)
    anchor = None
    for position in range(len(parts) - 1, -1, -1):
        # Not deeper than time/device/name/id/index; a data_index or device
        # of 12 and more digits does not occur.
        if len(parts) - 1 - position > 4:
            break
        if _TIME.match(parts[position]):
            anchor = position
            break
    time = None
    if anchor is None:
        rest = _tail(parts)
        start = len(parts) - len(rest)
        # a level between the time and the device: still below that time
        for position in range(start - 1, max(start - 3, -1), -1):
            if _TIME.match(parts[position]):
                time, start = parts[position], position
                break
    else:
        rest = parts[anchor + 1:]
        start = anchor
        time = parts[anchor]
    device: Optional[int] = None
    model_id: Optional[int] = None
    data_index: Optional[int] = None
    model_name = None
    if rest and _number(rest[0]) is not None:
        device = _number(rest[0])
        rest = rest[1:]
    if rest:
        model_name = rest[0]
        if len(rest) > 1:
            model_id = _number(rest[1])
        if len(rest) > 2:
            data_index = _number(rest[2])
    prefix = os.sep.join(parts[len(above):start]) if start > len(above) else ""
    return StepFolder(path, time, device, model_name, model_id, data_index,
                      prefix)


def _tail(parts: List[str]) -> List[str]:
    """The parts that are device, name, id, index where no time is seen."""
    count = len(parts)
    if count >= 4 and _number(parts[-1]) is not None \
            and _number(parts[-2]) is not None \
            and _number(parts[-3]) is None \
            and _number(parts[-4]) is not None:
        return parts[-4:]
    if count >= 3 and _number(parts[-1]) is not None \
            and _number(parts[-2]) is not None \
            and _number(parts[-3]) is None:
        return parts[-3:]
    return []


def _number(text: str) -> Optional[int]:
    """A decimal of 63 bits, or None: GE's ids and counters are int64."""
    if text.isdigit() and text.isascii() and len(text) <= 20:
        number = int(text)
        return number if number < 1 << 63 else None
    return None


def numeric_key(name: str) -> Tuple[Tuple[int, int, str], ...]:
    """Sort key that puts 9 before 10, also inside names.

    Args:
      name: of a file or folder.

    Returns:
      A tuple to compare with those of other names.
    """
    return tuple((1, int(part), part) if index % 2 else (0, 0, part)
                 for index, part in enumerate(_PARTS.split(name)))


def list_files(folder: Path, problems: Optional[List[FormatError]] = None) -> List[DumpFile]:
    """The regular files of one folder, in the order of their names.

    What else lies there is left out: `problems`, where it is given, gets one error for
    each FIFO, device, link to nowhere and so on, and for a mapping.csv that cannot be
    used. Folders are no problem unless they have the name of a dump file.

    Digits are resolved through the folder's mapping.csv. A link to a file of
    the same folder has the kind "link": a tool that renames digits back
    leaves such links, and the tensor must not be counted twice. A link to a file
    elsewhere is that file.

    Args:
      folder: a step folder.

    Raises:
      OSError: the folder cannot be read.
    """
    folder = os.fspath(folder)
    files: List[DumpFile] = []
    add = files.append
    classify = names.classify_name
    stat = os.stat
    new = tuple.__new__
    mapping: Optional[Dict[str, str]] = None
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in sorted(os.listdir(fd)):
            # By the folder's descriptor: the path is not resolved again.
            try:
                info = stat(name, dir_fd=fd, follow_symlinks=False)
                form = info.st_mode & _TYPE
                if form == _LINK:
                    info = stat(name, dir_fd=fd)
                    form = info.st_mode & _TYPE
                    if form == _FILE and _leads_here(name, fd, folder):
                        add(DumpFile(name, info.st_size, None, "link", name))
                        continue
            except OSError:
                form = 0  # gone since, or a link to nowhere
            if form != _FILE:
                if problems is not None:
                    error = not_a_file(folder, name)
                    if error is not None:
                        problems.append(error)
                continue
            kind, dump = classify(name)
            full_name = name
            if kind == "digits":
                if mapping is None:
                    mapping = _mapping(folder, problems)
                full_name = mapping.get(name, name)
                kind = mapping_file.kind_of(name, mapping)
                if kind != "digits":
                    dump = names.parse_dump_name(full_name)
            add(new(DumpFile, (name, info.st_size, dump, kind, full_name)))
    finally:
        os.close(fd)
    return files


def not_a_file(folder: str, name: str) -> Optional[FormatError]:
    """What an entry of a dump folder is, if it is neither a file nor a level of the tree."""
    path = os.path.join(folder, name)
    what = kind_of(path)
    if what is None or what.endswith("a folder") and names.classify(name) not in _FILE_KINDS:
        return None
    return NotRegularError(path, "expected a file, this is %s" % what)


def _mapping(folder: str, problems: Optional[List[FormatError]]) -> Dict[str, str]:
    try:
        return mapping_file.read_mapping(folder)
    except NotRegularError:
        return {}  # told as an entry of the folder
    except (FormatError, OSError) as error:
        if problems is not None:
            problems.append(error if isinstance(error, FormatError) else FormatError(
                os.path.join(folder, mapping_file.MAPPING), error.strerror or str(error)))
        return {}


def _leads_here(name: str, fd: int, folder: str) -> bool:
    target = os.readlink(name, dir_fd=fd)
    return os.sep not in target or os.path.realpath(
        os.path.join(folder, os.path.dirname(target))) \
        == os.path.realpath(folder)
