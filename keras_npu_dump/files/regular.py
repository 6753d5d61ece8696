"""Opens regular files, and nothing else, without ever waiting for one.

What lies in a dump tree was written by others. A FIFO makes an ordinary open wait for
ever, a device may be endless, and merely opening one may do something. So everything
that a user or a record names is opened here: without blocking, and given back only if
it is a regular file. `read_limited` reads whole ones up to a limit.
"""
from __future__ import annotations

import errno
import os
import stat
from typing import Optional, Tuple, Union

from keras_npu_dump.errors import FormatError

Path = Union[str, "os.PathLike[str]"]

# Also for those who open the files of a listed folder in a loop of their own: with these
# no open waits, and a read of what is no file gives nothing or an error.
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Also readable: a journal that is deleted while it is open is copied from its descriptor.
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TYPE = 0o170000  # of st_mode; stat.S_IFMT costs a call for each of a million files
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
          stat.S_IFBLK: "a block device", stat.S_IFDIR: "a folder"}
# Text has no holes: larger files are looked at for one, before all of it is read.
_LOOK_FOR_HOLES = 64 << 20


class NotRegularError(FormatError):
    """What was to be a file is a FIFO, a socket, a device, a folder, or a link to nowhere."""


def open_regular(path: Path, dir_fd: Optional[int] = None) -> Tuple[int, int]:
    """Opens a regular file for reading.

    Args:
      path: relative to `dir_fd` if that is given.

    Returns:
      The descriptor, and the size of the file in bytes.

    Raises:
      NotRegularError: it is something else.
      OSError: it cannot be opened, as FileNotFoundError.
    """
    try:
        fd = os.open(path, READ, dir_fd=dir_fd)
    except OSError:
        what = kind_of(path, dir_fd)
        if what is None:
            raise
        raise NotRegularError(path, _reason(what)) from None
    status = os.fstat(fd)
    mode = status.st_mode
    if mode & _TYPE != stat.S_IFREG:
        os.close(fd)
        raise NotRegularError(path, _reason(_name(mode)))
    return fd, status.st_size


def check_regular(path: Path, dir_fd: Optional[int] = None) -> None:
    """Looks without opening: to open a device, or a FIFO that waits for its reader, does
    something. For what nobody has listed before.

    Raises:
      NotRegularError: it is something else than a file. What is not there raises nothing.
    """
    what = kind_of(path, dir_fd)
    if what is not None:
        raise NotRegularError(path, _reason(what))


def kind_of(path: Path, dir_fd: Optional[int] = None) -> Optional[str]:
    """"a FIFO", "a socket", "a link to a device", "a link to nowhere", "a folder", ...; None
    for a regular file, a link to one, and where nothing is there or may be looked at."""
    try:
        mode = os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode
    except (OSError, ValueError):
        return None
    if not stat.S_ISLNK(mode):
        return None if stat.S_ISREG(mode) else _name(mode)
    try:
        mode = os.stat(path, dir_fd=dir_fd).st_mode
    except PermissionError:
        return None
    except OSError as error:
        return "a link to itself" if error.errno == errno.ELOOP else "a link to nowhere"
    return None if stat.S_ISREG(mode) else "a link to " + _name(mode)


def what_is_there(path: Path) -> str:
    """For messages of what was expected elsewhere: "does not exist", "is a file", "is a FIFO"."""
    what = kind_of(path)
    if what is None:
        return "is a file" if os.path.lexists(path) else "does not exist"
    return "is " + what


def create(path: Path, dir_fd: Optional[int] = None, append: bool = False,
           follow: bool = True) -> int:
    """Opens a file of mode 0600 for writing: a new one, or an old one from its beginning.

    Args:
      append: what is there stays, and what is written comes behind it.
      follow: whether a link that stands there leads to the file; else it is something else.

    Returns:
      The descriptor.

    Raises:
      FileExistsError: something else has that name.
      OSError: the file cannot be made.
    """
    flags = _WRITE | (os.O_APPEND if append else os.O_TRUNC) | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags, 0o600, dir_fd=dir_fd)
    except OSError as error:
        what = kind_of(path, dir_fd)
        if what is None and error.errno == errno.ELOOP and not follow:
            what = "a link"
        if what is None:
            raise
        raise _taken(path, what) from None
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise _taken(path, _name(mode))
    return fd


def check_writable(path: Path) -> None:
    """For what is written beside `path` and put in its place.

    Raises:
      FileExistsError: something that is no file has that name: it is not ours to replace.
    """
    what = kind_of(path)
    if what not in (None, "a link to nowhere"):
        raise _taken(path, str(what))


def first_hole(fd: int, size: int) -> Optional[int]:
    """Where a large file has a hole, that is, bytes that were never written.

    None where it has none, where the file system does not tell, and for files that are
    soon read anyway.
    """
    if size <= _LOOK_FOR_HOLES or not hasattr(os, "SEEK_HOLE"):
        return None
    try:
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        return None
    return hole if hole < size else None


def open_text(path: Path) -> Tuple[int, int]:
    """`open_regular` of a large text that is read to its end.

    Raises:
      FormatError: it has a hole: a terabyte of nothing, or a file never written out.
    """
    fd, size = open_regular(path)
    hole = first_hole(fd, size)
    if hole is not None:
        os.close(fd)
        raise FormatError(path, "no text: nothing was ever written from byte %d on, of %d bytes"
                          % (hole, size), hole)
    return fd, size


def _name(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")


def _reason(what: str) -> str:
    return "expected a file, this is %s" % what


def _taken(path: Path, what: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "it is %s, no file to write to" % what, os.fspath(path))
