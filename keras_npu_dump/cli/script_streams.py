"""stdout while a script runs, and what of it is left to print on afterwards.

A script may close stdout, put a file or a tee in its place, or leave in it what cannot be
written. All of that stays as it is, so that the interpreter's end finds what it would
find without us and gives the same status (120 where a last flush fails). What we print
afterwards goes to a descriptor of our own.
"""
import contextlib
import io
import os
import sys
from typing import Any, Iterator, Optional, Tuple

from keras_npu_dump.errors import OutputError
from keras_npu_dump.files import streams


class OriginalStdout:
    """Where stdout led before the script."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._descriptor: Optional[int] = None
        self._file: Optional[Tuple[int, int]] = None
        with contextlib.suppress(Exception):  # none, or an object of another kind
            number = stream.fileno()
            self._file = _file(number)
            self._descriptor = os.dup(number)

    def get(self) -> Any:
        """A stream to print on, after what the script has printed itself.

        Raises:
          OutputError: if there was none, or the script has closed all descriptors.
        """
        if self._stream is not None and self._descriptor is None:
            return self._stream
        with contextlib.suppress(Exception):
            self._stream.flush()  # what fails is tried again at the interpreter's end
        if not self.is_there:
            raise OutputError(
                "stdout: expected a place to print to. Received: a closed descriptor.")
        assert self._descriptor is not None
        return open(self._descriptor, "w", encoding=self._stream.encoding,
                    errors=self._stream.errors, closefd=False)

    def give_back(self, descriptor: int) -> None:
        """Lets a descriptor lead there again.

        Args:
          descriptor: 1, where that led to stderr while the script ran.
        """
        if self.is_there:
            assert self._descriptor is not None
            os.dup2(self._descriptor, descriptor, os.get_inheritable(descriptor))

    @property
    def is_there(self) -> bool:
        """Whether the copy of the descriptor still leads to the same file."""
        return self._descriptor is not None and _file(self._descriptor) == self._file


@contextlib.contextmanager
def own_stdout(to_stderr: bool) -> Iterator[OriginalStdout]:
    """Keeps where stdout leads while a script runs.

    Args:
      to_stderr: until then what the script prints goes to stderr, also what C code and
        children of it print.
    """
    before = sys.stdout
    with contextlib.suppress(Exception):
        before.flush()
    place = OriginalStdout(before)
    if not (to_stderr and place.is_there and before.fileno() == 1):
        yield place
        return
    _lead_to_stderr(1)
    replaced = sys.stdout = _Lossy.stream(before)
    try:
        yield place
    finally:
        with contextlib.suppress(Exception):
            replaced.flush()
        if sys.stdout is replaced:
            sys.stdout = before
        place.give_back(1)


def _lead_to_stderr(descriptor: int) -> None:
    try:
        is_there = streams.is_stream(2)
    except OSError:
        is_there = False
    if is_there:
        os.dup2(2, descriptor)
        return
    # Without stderr it goes nowhere: no script fails for our document.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _Lossy(io.RawIOBase):
    """Descriptor 1; what stderr, to which it leads, does not take is lost, not an error.

    The script's own stdout is in order, and without us it would print there.
    """

    name = "<stdout>"
    mode = "wb"

    @classmethod
    def stream(cls, like: Any) -> io.TextIOWrapper:
        raw = cls()
        unbuffered = isinstance(getattr(like, "buffer", None), io.RawIOBase)  # python -u
        return io.TextIOWrapper(
            raw if unbuffered else io.BufferedWriter(raw),
            encoding=like.encoding, errors=like.errors, newline="\n",
            line_buffering=like.line_buffering, write_through=unbuffered)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def isatty(self) -> bool:
        return os.isatty(1)

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(1, rest):]
        return size


def _file(descriptor: int) -> Optional[Tuple[int, int]]:
    """Which file a descriptor leads to; None if it is closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino
