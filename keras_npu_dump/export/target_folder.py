"""A folder that files are exported to. Nothing in it is written through a link.

Links in the path of the target are the user's, and are followed. What stands below it
may be anybody's: a link there would lead our files to places that nobody has named.
"""
from __future__ import annotations

import contextlib
import os
import stat
from typing import Dict, Iterator

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.files.regular import kind_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TargetFolder:
    """The target or a folder below it, made of mode 0700 where it is missing.

    Attributes:
      path: of the folder.
    """

    def __init__(self, target: str, relative: str = ""):
        """Makes and opens the folder.

        Args:
          target: what the user named.
          relative: path below it, without `..`; "" and "." are the target itself.

        Raises:
          FormatError: below the target something else has the name of a folder.
          OSError: a folder cannot be made.
        """
        self.path = target
        self._made = make_private(target)
        self._fd = os.open(target or ".", _FOLDER)
        try:
            for part in relative.split(os.sep):
                if part not in ("", "."):
                    self._enter(part)
        except BaseException:
            self.close()
            raise

    def _enter(self, part: str) -> None:
        self.path = os.path.join(self.path, part)
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, 0o700, dir_fd=self._fd)
            self._made.insert(0, self.path)
        try:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=self._fd)
        except OSError:
            what = kind_of(part, self._fd)
            if what == "a folder":
                raise
            raise FormatError(self.path, "in the target: expected a folder, this is %s" % (
                what or "a file")) from None
        os.close(self._fd)
        self._fd = inner

    def close(self) -> None:
        """Closes the folder; it cannot be used any more."""
        os.close(self._fd)

    def remove_if_new(self) -> None:
        """Removes the folders that were made, where nothing was written to them."""
        for folder in self._made:
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def status(self, name: str) -> "os.stat_result":
        """What the file system tells of a file.

        Args:
          name: in this folder.

        Raises:
          FileNotFoundError: no regular file has this name; a link is none.
        """
        found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise FileNotFoundError(name)
        return found

    def sizes(self) -> Dict[str, int]:
        """The regular files that are there, by name, with their bytes."""
        with os.scandir(self._fd) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_size for entry in entries
                    if entry.is_file(follow_symlinks=False)}

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[int]:
        """A new file of mode 0600, which gets its name when it is complete.

        A file or a link of that name is replaced; where the block raises, it stays.

        Args:
          name: in this folder.

        Yields:
          A descriptor to write to, closed at the end.

        Raises:
          FormatError: something that is neither has the name: it is not ours to replace.
          OSError: the file cannot be made.
        """
        what = kind_of(name, self._fd)
        if what not in (None, "a link to nowhere"):
            raise FormatError(os.path.join(self.path, name),
                              "%s in the target: it is %s, no file to write to" % (name, what))
        part = ".keras-npu-dump-%s.part" % os.urandom(8).hex()
        fd = os.open(part, _NEW, 0o600, dir_fd=self._fd)
        try:
            try:
                yield fd
            finally:
                os.close(fd)
            os.replace(part, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=self._fd)
            raise
