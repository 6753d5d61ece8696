"""Writes whole files: a reader sees the old one or the new one, and no link is followed.

A new file is made beside the one that it is to replace, under a name that nothing has, and
renamed into its place. A link to a file, or to nowhere, is replaced, never written through;
what is no file is refused.
"""
from __future__ import annotations

import os
from typing import Tuple

from keras_npu_dump.files import streams
from keras_npu_dump.files.regular import Path, check_writable

_NEW = (os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        | os.O_NOCTTY)
_TRIES = 100


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file by one of mode 0600, or leaves it as it was.

    Args:
      path: of the file. Its folder exists; that may be reached by links.
      content: all of it.

    Raises:
      FileExistsError: something that is no file has the name: it is not ours to replace.
      OSError: the folder cannot be written to, or has no room.
    """
    check_writable(path)
    descriptor, beside = create_beside(path)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        remove(beside)
        raise


def create_beside(path: Path, append: bool = False) -> Tuple[int, str]:
    """Makes a new file of mode 0600 in the folder of another one.

    Args:
      path: of the other one; it need not be there.
      append: whether each write goes to the end, whoever else writes.

    Returns:
      (descriptor for reading and writing, path of the new file), for `os.replace`.

    Raises:
      OSError: it cannot be made.
    """
    streams.hold_places()
    folder = os.path.dirname(os.fspath(path))
    for _ in range(_TRIES):
        beside = os.path.join(folder, ".keras-npu-dump-%s.tmp" % os.urandom(8).hex())
        try:
            return os.open(beside, _NEW | (os.O_APPEND if append else 0), 0o600), beside
        except FileExistsError:
            continue
    raise FileExistsError("no name is free beside %s" % os.fspath(path))


def remove(path: Path) -> None:
    """Removes what was made and is not wanted; an error before says more than one here."""
    try:
        os.unlink(path)
    except OSError:
        pass
