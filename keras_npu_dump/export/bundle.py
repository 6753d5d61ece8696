"""A folder or an archive that gets its name when it is complete, and only then."""
from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tarfile
import tempfile
import time
from typing import IO, Any, Iterable, Iterator, Tuple

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.files.regular import open_regular
from keras_npu_dump.formats.tensor.header import MAX_FILE
from keras_npu_dump.sizes import human_bytes

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20


class Folder:
    """A folder of mode 0700, made beside its name and renamed.

    Args:
      target: path. A link to an empty folder is followed.

    Raises:
      InputError: something is there already.
    """

    def __init__(self, target: str):
        if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
            raise InputError("%s is in the way: expected a folder that is empty or not there" % (
                target))
        self._target = os.path.realpath(target)
        self._part = ""

    def __enter__(self) -> Folder:
        parent = os.path.dirname(self._target)
        make_private(parent)
        self._part = tempfile.mkdtemp(prefix=".keras-npu-dump-", suffix=".part", dir=parent)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                if os.path.isdir(self._target):
                    os.rmdir(self._target)
                os.rename(self._part, self._target)
        finally:
            # Is gone where all went well.
            shutil.rmtree(self._part, ignore_errors=True)

    def add(self, source: str, name: str) -> Tuple[bool, int]:
        """Takes a file over, by hard link where the file system allows that.

        Args:
          source: a regular file.
          name: its path in the folder.

        Returns:
          (whether it is a link, bytes).

        Raises:
          FormatError: it cannot be read.
          OSError: the folder takes no more.
        """
        with _reading(source) as (stream, size):
            path = self._path(name)
            try:
                os.link(source, path, follow_symlinks=False)
                return True, size
            except OSError:
                pass  # another file system, too many links, or a file of somebody else
            try:
                with self._new(path) as copy:
                    written = 0
                    for block in _blocks(stream, source):
                        written += copy.write(block)
            except FormatError:
                os.unlink(path)
                raise
            shutil.copystat(source, path)
            os.chmod(path, 0o600)
            return False, written

    def write(self, name: str, pieces: Iterable[bytes]) -> int:
        """Makes a file of mode 0600, not executable; none where a piece fails.

        Args:
          name: its path in the folder.
          pieces: its content.

        Returns:
          Its bytes.
        """
        path = self._path(name)
        try:
            with self._new(path) as stream:
                return sum(map(stream.write, pieces))
        except FormatError:
            os.unlink(path)
            raise

    def _path(self, name: str) -> str:
        path = os.path.join(self._part, name)
        make_private(os.path.dirname(path))
        return path

    @staticmethod
    def _new(path: str) -> IO[bytes]:
        return os.fdopen(os.open(path, _NEW, 0o600), "wb")


class Archive:
    """A .tar.gz of mode 0600 with a folder in it that is named like the archive.

    Args:
      target: path. A link that leads nowhere yet is followed.

    Raises:
      InputError: something is there already.
    """

    def __init__(self, target: str):
        if os.path.exists(target):
            raise InputError("%s is in the way: expected a file that is not there" % target)
        self._target = os.path.realpath(target)
        self._top = re.sub(r"\.(tar\.gz|tgz)$", "", os.path.basename(target))

    def __enter__(self) -> Archive:
        parent = os.path.dirname(self._target)
        make_private(parent)
        handle, self._part = tempfile.mkstemp(
            prefix=".keras-npu-dump-", suffix=".part", dir=parent)
        self._stream = os.fdopen(handle, "wb")
        # Dump data hardly gets smaller; the quickest level is the right one.
        self._tar = tarfile.open(fileobj=self._stream, mode="w:gz", compresslevel=1)
        top = tarfile.TarInfo(self._top)
        top.type, top.mode = tarfile.DIRTYPE, 0o700  # private where it is unpacked, too
        self._tar.addfile(top)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            try:
                self._tar.close()
            finally:
                self._stream.close()
            if kind is None:
                os.rename(self._part, self._target)
        finally:
            # Is gone where all went well.
            with contextlib.suppress(OSError):
                os.unlink(self._part)

    def add(self, source: str, name: str) -> Tuple[bool, int]:
        """As `Folder.add`, but always a copy.

        Args:
          source: a regular file.
          name: its path in the archive's folder.

        Returns:
          (False, bytes).

        Raises:
          FormatError: it cannot be read, or its end cannot: that is zeros in the archive.
          OSError: the archive takes no more.
        """
        with _reading(source) as (stream, size):
            member = self._member(name, size)
            # Whose file this was on the training host is nobody's business elsewhere.
            member.mtime = int(os.fstat(stream.fileno()).st_mtime)
            filled = _Filled(stream, size)
            self._tar.addfile(member, filled)
        if filled.missing:
            raise FormatError(source, "%d bytes at its end cannot be read; zeros stand for them in"
                                      " the archive" % filled.missing)
        return False, size

    def write(self, name: str, pieces: Iterable[bytes]) -> int:
        """As `Folder.write`.

        Args:
          name: path in the archive's folder.
          pieces: the content.

        Returns:
          Its bytes.
        """
        # An archive wants to know a size before the bytes.
        with tempfile.TemporaryFile(dir=os.path.dirname(self._part)) as stream:
            size = sum(map(stream.write, pieces))
            stream.seek(0)
            self._tar.addfile(self._member(name, size), stream)
        return size

    def _member(self, name: str, size: int) -> tarfile.TarInfo:
        member = tarfile.TarInfo("%s/%s" % (self._top, name))
        member.size, member.mode, member.mtime = size, 0o600, int(time.time())
        return member


@contextlib.contextmanager
def _reading(path: str) -> Iterator[Tuple[IO[bytes], int]]:
    """An open regular file and its bytes. FormatError where it cannot be opened, or is larger
    than anything that a device or GE writes: it would be copied for hours."""
    try:
        fd, size = open_regular(path)
    except OSError as error:
        raise FormatError(path, error.strerror or str(error)) from None
    with os.fdopen(fd, "rb", buffering=0) as stream:
        if size > MAX_FILE:
            raise FormatError(path, "%s are more than any file of a dump has, at most %s are copied"
                              % (human_bytes(size), human_bytes(MAX_FILE)))
        yield stream, size


def _blocks(stream: IO[bytes], path: str) -> Iterator[bytes]:
    while True:
        try:
            block = stream.read(_BLOCK)
        except OSError as error:
            raise FormatError(path, error.strerror or str(error)) from None
        if not block:
            return
        yield block


class _Filled(io.RawIOBase):
    """A file that has `size` bytes, whatever happens while it is read: its end is zeros then."""

    def __init__(self, stream: Any, size: int):
        self._stream = stream
        self._left = size
        self.missing = 0

    def read(self, size: int = -1) -> bytes:
        size = self._left if size < 0 else min(size, self._left)
        data = b""
        while len(data) < size and not self.missing:
            try:
                part = self._stream.read(size - len(data))
            except OSError:
                part = b""
            if not part:
                self.missing = self._left - len(data)
            data += part
        self._left -= size
        return data + bytes(size - len(data))
