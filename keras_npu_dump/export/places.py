"""Where an export goes: a folder or an archive, there when it is complete."""
from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tarfile
import tempfile
from typing import Iterator

from keras_npu_dump.errors import InputError
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.files.regular import what_is_there

_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|t[gbx]z2?|zip|gz|bz2|xz|zst|7z)$", re.IGNORECASE)
# Levels of a dump: the time folder with the four below it, and the folder of a process's graphs.
_TIME = re.compile(r"[0-9]{12,14}$")
_PROCESS = re.compile(r"pid_[0-9]+_deviceid_[0-9]+$")
_LEVELS = 5


@contextlib.contextmanager
def writing(target: str) -> Iterator[None]:
    """Around what writes files below the folder `target`.

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
    """Whether a name is that of an archive or a packed file."""
    return bool(_ARCHIVE.search(os.path.basename(target)))


def default_target(path: str, form: str) -> str:
    """PATH_FORM beside a dump folder; of a file or a part of a dump, in the current folder.

    Never inside the dump that the path is a part of: later commands would take it
    for dump data.
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
    return any(os.path.isdir(os.path.join(folder, own)) for own in ("runs", "graphs"))


def _is_part(folder: str) -> bool:
    """A level of a dump tree, by its name; not the dump folder itself."""
    above, name = os.path.split(folder)
    if name == "graphs":
        return os.path.isdir(os.path.join(above, "runs"))
    if not name or _is_whole(folder):
        return False
    return bool(_PROCESS.match(name)) or any(
        _TIME.match(part) for part in folder.split(os.sep)[-_LEVELS:])


class Folder:
    """A folder that gets its name when it is complete."""

    def __init__(self, target: str):
        if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
            raise InputError("%s is in the way: expected a folder that is empty or not there" % (
                target))
        self._target = target
        self._part = ""

    def __enter__(self) -> "Folder":
        parent = os.path.dirname(self._target)
        make_private(parent)
        self._part = tempfile.mkdtemp(prefix=".%s-" % os.path.basename(self._target), dir=parent)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            if os.path.isdir(self._target):
                os.rmdir(self._target)
            os.rename(self._part, self._target)
        else:
            shutil.rmtree(self._part, ignore_errors=True)

    def _path(self, name: str) -> str:
        path = os.path.join(self._part, name)
        make_private(os.path.dirname(path))
        return path

    def add(self, source: str, name: str) -> bool:
        """True by hard link, False by copy."""
        path = self._path(name)
        try:
            os.link(source, path)
            return True
        except OSError:
            # Another file system, too many links, or a file of somebody else.
            shutil.copyfile(source, path)
            shutil.copystat(source, path)
            os.chmod(path, 0o600)
            return False

    def text(self, name: str, content: str) -> int:
        """Writes a file of its own; returns its size."""
        path = self._path(name)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            return stream.write(content.encode("utf-8", "surrogateescape"))


class Archive:
    """A .tar.gz with one folder in it, named like the archive."""

    def __init__(self, target: str):
        if os.path.exists(target):
            raise InputError("%s is in the way: expected a file that is not there" % target)
        self._target = target
        self._top = re.sub(r"\.(tar\.gz|tgz)$", "", os.path.basename(target))

    def __enter__(self) -> "Archive":
        parent = os.path.dirname(self._target)
        make_private(parent)
        handle, self._part = tempfile.mkstemp(
            prefix=".%s-" % os.path.basename(self._target), dir=parent)
        self._stream = os.fdopen(handle, "wb")
        # Dump data hardly gets smaller; the quickest level is the right one.
        self._tar = tarfile.open(fileobj=self._stream, mode="w:gz", compresslevel=1)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._tar.close()
            self._stream.close()
        finally:
            if kind is None:
                os.rename(self._part, self._target)
            else:
                os.unlink(self._part)

    def add(self, source: str, name: str) -> bool:
        self._tar.add(source, "%s/%s" % (self._top, name), recursive=False, filter=_nobodys)
        return False

    def text(self, name: str, content: str) -> int:
        data = content.encode("utf-8", "surrogateescape")
        info = tarfile.TarInfo("%s/%s" % (self._top, name))
        info.size, info.mode = len(data), 0o600
        self._tar.addfile(info, io.BytesIO(data))
        return len(data)


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose files these were on the training host is nobody's business elsewhere."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
