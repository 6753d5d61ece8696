"""Where an export goes: a folder or an archive, there when it is complete."""
from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
import tempfile

from keras_npu_dump.errors import InputError


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
        os.makedirs(parent, 0o700, exist_ok=True)
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
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
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

    def text(self, name: str, content: str) -> None:
        path = self._path(name)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)


class Archive:
    """A .tar.gz with one folder in it, named like the archive."""

    def __init__(self, target: str):
        if os.path.exists(target):
            raise InputError("%s is in the way: expected a file that is not there" % target)
        self._target = target
        self._top = re.sub(r"\.(tar\.gz|tgz)$", "", os.path.basename(target))

    def __enter__(self) -> "Archive":
        parent = os.path.dirname(self._target)
        os.makedirs(parent, 0o700, exist_ok=True)
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

    def text(self, name: str, content: str) -> None:
        data = content.encode("utf-8", "surrogateescape")
        info = tarfile.TarInfo("%s/%s" % (self._top, name))
        info.size, info.mode = len(data), 0o600
        self._tar.addfile(info, io.BytesIO(data))


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose files these were on the training host is nobody's business elsewhere."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
