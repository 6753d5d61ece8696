"""The file of the journal: lines are appended, and outlive a full disk and a deletion."""
import os
from typing import Iterator, Optional

from keras_npu_dump import outages
from keras_npu_dump.files import streams
from keras_npu_dump.files.atomic import create_beside, remove
from keras_npu_dump.files.regular import create

# Bytes that wait for a full disk to get room; what comes after them is lost.
_MAX_PENDING = 1 << 20
_CHUNK = 1 << 20


class JournalFile:
    """Appends lines to a file; whoever calls sees to it that one thread does at a time.

    Args:
      path: the file; made with the first line, readable by its owner only.

    Attributes:
      lost: how many lines have not come to the file, and will not.
    """

    def __init__(self, path: str):
        self.path = path
        self.lost = 0
        self._descriptor: Optional[int] = None
        self._pending = bytearray()
        self._torn = False  # the file ends inside a line, the rest of which is pending

    def append(self, line: bytes) -> None:
        """Writes a line, and before it those that wait. Where that fails it is told once."""
        try:
            self._pending += line
            self._flush()
        except (OSError, MemoryError) as error:
            # The training matters more than its record; a full disk may get room again.
            outages.tell("lines of the journal", error,
                         "The journal of iterations cannot be written")
            self._drop_late_lines()

    def _flush(self) -> None:
        """Writes what is waiting. One write of whole lines: a crash leaves at most one torn."""
        if self._descriptor is None:
            streams.hold_places()
            self._descriptor = create(self.path, append=True, follow=False)
        while self._pending:
            count = os.write(self._descriptor, self._pending)
            self._torn = self._pending[count - 1:count] != b"\n"
            del self._pending[:count]

    def _drop_late_lines(self) -> None:
        """Whole ones only: what begins a line, here or in the file, needs its end."""
        if len(self._pending) > _MAX_PENDING:
            end = self._pending.rfind(b"\n", 0, _MAX_PENDING)
            end = (end if end >= 0 else self._pending.index(b"\n")) + 1
            self.lost += self._pending.count(b"\n", end)
            del self._pending[end:]

    def is_in_place(self) -> bool:
        """Whether the file that is written to is still the one at its path."""
        if self._descriptor is None:
            return True
        try:
            here = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # nobody knows
        try:
            return os.path.samestat(here, os.fstat(self._descriptor))
        except OSError:
            return False  # the script has closed it, with all others it had

    def restore(self) -> bool:
        """Writes again a file that was deleted: while it is open its content is there.

        Returns:
          False where the content is gone (a network file system): the file begins anew.
        """
        old = self._descriptor
        if old is not None:
            try:
                self._descriptor = self._copy(old)
                os.close(old)
                return True
            except (_Unreadable, MemoryError):
                os.close(old)
                self._descriptor = None
            except FileNotFoundError:
                return True  # it is being deleted just now: at the next look
            except OSError as error:
                # No room: it stays where it is, and is tried again.
                outages.tell("copies of the journal", error,
                             "The journal of iterations was deleted and cannot be written again")
                return True
        if self._torn:
            # The end of a line that began in the file that is gone.
            del self._pending[:self._pending.find(b"\n") + 1]
            self._torn = False
        return False

    def _copy(self, old: int) -> int:
        """A new file with the content of an open one; its descriptor."""
        new, part = create_beside(self.path, append=True)
        try:
            for piece in _pieces(old):
                left = piece
                while left:
                    left = left[os.write(new, left):]
            os.fsync(new)
            os.replace(part, self.path)
        except BaseException:
            os.close(new)
            remove(part)
            raise
        return new

    def unwritten(self) -> bytes:
        """What a reader of the file at its path must know beside it, as lines."""
        if self._descriptor is None or (self.is_in_place() and not self._torn):
            return bytes(self._pending)
        try:
            return b"".join(_pieces(self._descriptor)) + bytes(self._pending)
        except (_Unreadable, MemoryError):
            return bytes(self._pending[self._pending.find(b"\n") + 1 if self._torn else 0:])

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class _Unreadable(Exception):
    """The content of an open file is gone."""


def _pieces(descriptor: int) -> Iterator[bytes]:
    """The content of an open file from its begin."""
    position = 0
    while True:
        try:
            piece = os.pread(descriptor, _CHUNK, position)
        except OSError as error:
            raise _Unreadable(str(error)) from error
        if not piece:
            return
        position += len(piece)
        yield piece
