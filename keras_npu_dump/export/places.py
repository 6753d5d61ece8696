"""Where an export goes: what the user named, or a place beside the dump."""
from __future__ import annotations

import contextlib
import os
import re
from typing import Iterator

from keras_npu_dump.errors import InputError
from keras_npu_dump.files.regular import what_is_there
from keras_npu_dump.formats.tree import is_time
from keras_npu_dump.records.layout import GRAPHS, RUNS

_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|t[gbx]z2?|zip|gz|bz2|xz|zst|7z)$", re.IGNORECASE)
# Levels of a dump: the time folder with the four below it, and the folder of a process's graphs.
_PROCESS = re.compile(r"pid_[0-9]+_deviceid_[0-9]+$")
_LEVELS = 5


@contextlib.contextmanager
def writing(target: str) -> Iterator[None]:
    """Around what writes files below a folder.

    Args:
      target: the folder. It need not be there.

    Raises:
      InputError: at once where the target cannot be such a folder; and for what
        goes wrong inside, as on a full disk.
    """
    _check_folder(target)
    try:
        yield
    except OSError as error:
        raise InputError("cannot write %s: %s" % (target, error.strerror or error)) from None


def _check_folder(target: str) -> None:
    if not os.path.isdir(target) and is_archive(target):
        raise InputError("output: expected a folder; only --to msaccucmp packs, as .tar.gz. "
                         "Received: %s" % target)
    there = os.path.abspath(target)
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise InputError("output: expected a folder. Received: %s, where %s %s" % (
            target, there, what_is_there(there)))
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError("output: expected a folder that can be written. Received: %s; you may "
                         "not write to %s" % (target, there))


def is_archive(target: str) -> bool:
    """Whether a name is that of an archive or a packed file.

    Args:
      target: path; only its ending counts.
    """
    return bool(_ARCHIVE.search(os.path.basename(target)))


def default_target(path: str, form: str) -> str:
    """PATH_FORM beside a dump folder; of a file or a part of a dump, in the current folder.

    Never inside the dump that the path is a part of: later commands would take it
    for dump data.

    Args:
      path: what is exported.
      form: as --to names it.

    Returns:
      An absolute path.
    """
    path = os.path.abspath(path)
    root = path if os.path.isdir(path) else os.path.dirname(path)
    while _is_part(root):
        root = os.path.dirname(root)
    if root == path:
        return "%s_%s" % (path, form)
    here = os.getcwd()
    if _is_part(here) and here.startswith(root + os.sep) or here == root and _is_whole(root):
        here = os.path.dirname(root)
    return os.path.join(here, "%s_%s" % (os.path.basename(path), form))


def _is_whole(folder: str) -> bool:
    """A dump folder, by what lies in it."""
    return any(os.path.isdir(os.path.join(folder, own)) for own in (RUNS, GRAPHS))


def _is_part(folder: str) -> bool:
    """A level of a dump tree, by its name; not the dump folder itself."""
    above, name = os.path.split(folder)
    if name == GRAPHS:
        return os.path.isdir(os.path.join(above, RUNS))
    if not name or _is_whole(folder):
        return False
    return bool(_PROCESS.match(name)) or any(
        is_time(part) for part in folder.split(os.sep)[-_LEVELS:])
