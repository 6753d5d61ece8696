"""Writing to standard streams that may be closed, full, or not there at all.

What is written here is either out or lost; nothing of it stays in the stream's buffer.
A rest in there would be tried again when the interpreter ends, and would make 120 of
an exit status of 0.
"""
import contextlib
import errno
import io
import os
import select
import signal
import sys
from typing import Any, Iterator, Optional

from keras_npu_dump.files.quoting import terminal_lines


def say(text: str) -> None:
    """Writes lines to stderr, as it is by now; where that is not possible they are lost.

    Args:
      text: without its last line end. What a terminal would obey is shown by its code.
    """
    tell(getattr(sys, "stderr", None), terminal_lines(text) + "\n")


def tell(stream: Any, text: str) -> bool:
    """Writes what nobody's work depends on, as it is. Never raises.

    Args:
      stream: any object with `write`, or None.
      text: with its line end.

    Returns:
      Whether it is out.
    """
    try:
        write(stream, text)
        return True
    except Exception:  # pylint: disable=broad-except
        # A stream may be anything that a script has put there, and raise anything.
        return False


def write(stream: Any, text: str, patient: bool = False) -> None:
    """Writes text, after what waits in the stream.

    Args:
      stream: any object with `write`; past the buffer of one that the interpreter made.
      text: characters that the stream's encoding does not have come as `\\xe4`.
      patient: wait where the descriptor takes nothing now (O_NONBLOCK).

    Raises:
      OSError: what the operating system says; BrokenPipeError where the reader has left.
      Exception: what a stream of another kind raises; ValueError if it is closed.
    """
    descriptor = _descriptor(stream)
    if descriptor is None:
        stream.write(printable(text, stream))
        flush = getattr(stream, "flush", None)  # a tee need not have it
        if flush is not None:
            flush()
        return
    stream.flush()
    if not is_stream(descriptor):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    with _without_sigpipe():
        _write_all(descriptor, printable(text, stream).encode(stream.encoding, stream.errors),
                   patient)


def printable(text: str, stream: Any) -> str:
    """The text, with `\\xe4` for what the stream's encoding does not have.

    A path may hold any letter, and where stdout is ASCII that must not be the
    end of a command.

    Args:
      text: any text.
      stream: with `encoding` and `errors`, or without.
    """
    encoding = getattr(stream, "encoding", None)
    if not isinstance(encoding, str):
        return text
    try:
        text.encode(encoding, getattr(stream, "errors", None) or "strict")
        return text
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # not a name that Python knows
        return text


def is_terminal(stream: Any) -> bool:
    """Whether a stream leads to a terminal; False for one that is closed.

    Args:
      stream: any object.
    """
    try:
        return bool(stream.isatty())
    except Exception:  # pylint: disable=broad-except
        return False


def is_stream(descriptor: int) -> bool:
    """Whether a descriptor is still what its stream was made for.

    Standard streams are open in children. A file that Python has opened is not, also where
    it got the number of a stream that was closed: what is printed must not land in it.

    Args:
      descriptor: 0, 1 or 2; all others are.
    """
    return descriptor > 2 or os.get_inheritable(descriptor)


def hold_places() -> None:
    """Keeps files from getting the numbers of standard streams that are closed.

    The next file opened takes the lowest free number. As 1 or 2 it would receive what C
    code prints. What is put there cannot be read or written, as if it was closed, and is
    closed in children.
    """
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):  # no /dev/null in a jail, no descriptors left
            if _is_open(descriptor):
                continue
            place = os.open(os.devnull, os.O_RDONLY if descriptor else os.O_WRONLY)
            if place > 2:  # another thread has opened something
                os.close(place)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _descriptor(stream: Any) -> Optional[int]:
    """Of a stream that only passes bytes on to it; None of all others."""
    if type(stream) is not io.TextIOWrapper:
        return None  # notebooks, tees, captures of tests
    binary = stream.buffer
    if type(binary) not in (io.BufferedWriter, io.FileIO):  # FileIO with `python -u`
        return None
    raw = getattr(binary, "raw", binary)
    return raw.fileno() if type(raw) is io.FileIO else None


def _write_all(descriptor: int, data: bytes, patient: bool) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest):]
        except BlockingIOError:
            if not patient:
                raise
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()


@contextlib.contextmanager
def _without_sigpipe() -> Iterator[None]:
    """A script may have asked to be killed by what it writes itself, not by our words."""
    number = getattr(signal, "SIGPIPE", None)
    if number is None or signal.getsignal(number) == signal.SIG_IGN:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    except BrokenPipeError:
        if number not in before:
            signal.sigtimedwait([number], 0)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
