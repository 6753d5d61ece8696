"""SIGTERM under `keras-npu-dump run`: the script ends at once, and what is known gets written.

Python without us leaves SIGTERM to the system, which ends the process: no `except`, no
`finally` and no exit handler of the script runs, and no bare `except:` can swallow it. A
handler is needed all the same, for schedulers end trainings with SIGTERM, and journal,
manifest and table are wanted most after those. It stays near to what Python does:

- It raises nothing. An exception out of a handler comes up wherever the script is: inside
  an import, where TensorFlow takes it for an ImportError, in a `__del__`, where Python
  drops it, or before a bare `except:`. Instead the handler itself does what has to be
  done at the end and leaves the process.
- A child must have the system's SIGTERM from its first moment, or what `Pool.terminate()`
  sends is lost: the handler in C only makes a note, and a forked child drops such notes.
  So the signal is blocked from just before a fork until the child has no handler any more.
  What comes in between waits in the system, and nothing of it is left to a program that is
  executed: a mask would be.
- Before Python 3.10, which does so itself, a program is started by a fork that tells nobody.
  There it is told, as it is for a `preexec_fn`.
- A C library that forks without Python's knowledge gets a handler that sees it is elsewhere.

What is left: the handler runs between two steps of Python's main thread, so one long call
of C code is waited for.
"""
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from typing import Any, Callable, Iterator, List, Optional

STATUS = 128 + signal.SIGTERM  # what a shell sees of a process that SIGTERM has ended
# Schedulers and shells often send it twice at once. Who sends it again later means it.
_AT_ONCE = 2.0


class _State:
    """Of this process.

    Attributes:
      action: what is done at the end; None while SIGTERM is none of our business.
      pid: the process that it is done in.
      begun: when the first SIGTERM came (time.monotonic).
      ending: whether the action has begun.
      held: how many stretches of work are going on that must not be cut.
    """

    def __init__(self) -> None:
        self.action: Optional[Callable[[], None]] = None
        self.pid = 0
        self.begun: Optional[float] = None
        self.held = 0
        self.ending = False


_STATE = _State()


class _Masks(threading.local):
    """The masks of signals that this thread had before the forks that it is in."""

    def __init__(self) -> None:
        self.stack: List[Any] = []


_MASKS = _Masks()
_HOOKED: List[bool] = []


def end_with(action: Callable[[], None]) -> None:
    """From now on SIGTERM calls `action` and ends the process with status 143.

    Where SIGTERM is ignored, or has a handler already, it stays so; as it does where this
    is not the main thread, which alone may change that.
    """
    try:
        if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
            return
        _STATE.__init__()  # type: ignore[misc]
        _STATE.action, _STATE.pid = action, os.getpid()
        if not _HOOKED:
            _HOOKED.append(True)
            os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent,
                                after_in_child=_after_fork_in_child)
            _tell_forks_before_exec()
        signal.signal(signal.SIGTERM, _handle)
    except ValueError:
        pass


def leave() -> None:
    """Gives SIGTERM back to the system, if it is still ours."""
    if is_ours():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _STATE.action = None


def is_ours() -> bool:
    """Whether our handler is in place; a script may have put its own there."""
    return signal.getsignal(signal.SIGTERM) is _handle


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """SIGTERM waits until the work inside is done: it holds locks, or leaves half a file."""
    if _STATE.action is None or threading.current_thread() is not threading.main_thread():
        yield  # the handler runs in the main thread, and waits for the locks of others
        return
    _STATE.held += 1
    try:
        yield
    finally:
        _STATE.held -= 1
        if not _STATE.held and _STATE.begun is not None and not _STATE.ending:
            _end()


def _handle(number: int, frame: Any) -> None:
    if os.getpid() != _STATE.pid or _STATE.action is None:
        _end_as_the_system_does()  # forked by C code, or its turn is over
        return
    now = time.monotonic()
    if _STATE.begun is not None and now - _STATE.begun > _AT_ONCE:
        _end_as_the_system_does()
    if _STATE.begun is None:
        _STATE.begun = now
    if not _STATE.held and not _STATE.ending:
        _end()


def end_if_cut_short(error: BaseException) -> None:
    """Ends the process where SIGTERM came, and SIGINT before its handler could do anything.

    Python checks for signals as it enters a function, so the handler, too, may be left by a
    KeyboardInterrupt; the traceback tells.
    """
    if _STATE.action is None:
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not _handle.__code__:
        trace = trace.tb_next
    if trace is not None or _STATE.begun is not None:
        _end()


def _end() -> None:
    # SIGINT may come into each of these lines until it is ignored, and each enters a function.
    try:
        _act()
    finally:
        try:
            _act()
        finally:
            try:
                _act()
            finally:
                os._exit(STATUS)


def _act() -> None:
    """Does what is done at the end, once."""
    _ignore_sigint()
    if _STATE.ending:
        return
    _STATE.ending = True
    try:
        if _STATE.action is not None:
            _STATE.action()
    except BaseException:  # pylint: disable=broad-except
        with contextlib.suppress(BaseException):
            traceback.print_exc()


def _ignore_sigint() -> None:
    """Both may come together; then this one decides, and the other must not cut it short."""
    while True:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return
        except KeyboardInterrupt:
            continue


def _end_as_the_system_does() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _tell_forks_before_exec() -> None:
    """Has `subprocess` and multiprocessing's spawn call the hooks below, as os.fork() does."""
    if sys.version_info >= (3, 10):
        return  # vfork, with all signals blocked, and the handlers taken away in the child
    import _posixsubprocess
    original = _posixsubprocess.fork_exec

    def fork_exec(*arguments: Any) -> int:
        if arguments and arguments[-1] is None and is_ours():
            arguments = arguments[:-1] + (_nothing,)  # the preexec_fn
        return original(*arguments)

    _posixsubprocess.fork_exec = fork_exec


def _nothing() -> None:
    """Between fork and exec."""


def _before_fork() -> None:
    """Registered before those of the script, it runs last: what it blocks is blocked shortly."""
    mask = None
    if is_ours():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    _MASKS.stack.append(mask)


def _after_fork_in_parent() -> None:
    _restore_mask()


def _after_fork_in_child() -> None:
    if is_ours():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _STATE.__init__()  # type: ignore[misc]
    _restore_mask()  # what has come meanwhile ends the child here


def _restore_mask() -> None:
    mask = _MASKS.stack.pop() if _MASKS.stack else None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
