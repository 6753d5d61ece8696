"""The end of a process: why it ends, in the words of its record, and what is done then."""
import atexit
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional

from keras_npu_dump import messages, outages
from keras_npu_dump.capture.device import environment, fusion_result
from keras_npu_dump.capture.process import descriptors, end_messages, strict
from keras_npu_dump.errors import DumpError
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.quoting import terminal

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture


SIGTERM = "interrupted by SIGTERM"


def cause_of(error: Any) -> str:
    """Why a process has ended that an exception of the class `error` has ended."""
    if issubclass(error, KeyboardInterrupt):
        return "interrupted by SIGINT"
    return "ended by an exception (%s)" % error.__name__


def note(capture: "Capture", status: str, cause: Optional[str],
         error: Optional[BaseException] = None) -> None:
    """Notes how a process ends. The exception is not kept, which would keep its frames alive.

    Args:
      capture: of this process.
      status: "ended" or "failed".
      cause: why it has failed.
      error: the exception that has ended it; None without, and for a signal.
    """
    capture.ending = (status, cause)
    if error is not None or cause == SIGTERM:
        _try(lambda: _note_death(capture, error))


def _note_death(capture: "Capture", error: Optional[BaseException]) -> None:
    capture.died = capture.calls.what_ended(error)


def error_of_exit() -> Optional[BaseException]:
    """What has ended the interpreter, asked in an exit handler; None where all is well.

    It keeps the exception that it has printed last. An interactive one prints many.
    """
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def close_after_device(module: Any, close: Callable[[], None]) -> None:
    """Registers an exit handler that runs after npu_device's own.

    Dumps travel from the device to this process until it is closed; handlers run
    in reverse order of registration, so the vendor's is registered again, last.

    Args:
      module: npu_device.
      close: the handler.
    """
    inner = sys.modules.get(module.__name__ + ".npu_device")
    device_close = getattr(inner, "close", None)
    if callable(device_close):
        atexit.unregister(device_close)
    atexit.register(close)
    if callable(device_close):
        atexit.register(device_close)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the work inside is done, which is short.

    Who presses it twice ends a script with the first, and the second would cut off what is
    written at the end. Blocking the signal is not enough: another thread would take it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: List[Any] = []
    signal.signal(signal.SIGINT, lambda *what: came.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


def write_records(capture: "Capture") -> None:
    """Writes the last lines of journal and record.

    The training has ended well; its end must not become a traceback.

    Args:
      capture: of this process; nobody counts in it any more.
    """
    _try(capture.look_at_device)
    _try(lambda: capture.lookout.look(thorough=True))
    if capture.ending is None:
        error = error_of_exit()
        note(capture, "ended" if error is None else "failed",
             None if error is None else cause_of(type(error)), error)
    assert capture.ending is not None
    status, cause = capture.ending
    _try(capture.calls.cut_short)
    _try(capture.journal.close)
    _try(lambda: capture.record.end(
        status, cause, [one.index for one in capture.journal.sections], capture.journal.lost,
        capture.died))


def tell_and_collect(capture: "Capture") -> None:
    """Tells what is missing, and collects.

    Args:
      capture: of this process; its records are written.
    """
    if capture.config.is_off:
        return
    _try(capture.tell_late_options)
    _try(lambda: _keep_fusion_result(capture))
    lost = outages.summary()
    for line in ([] if lost is None else [lost]) + end_messages.of_the_end(capture):
        messages.warning("%s", terminal(line))
    if capture.config.collect:
        descriptors.make_room()
        _try(lambda: _collect_last(capture))
    for line in end_messages.still_untold(capture):
        messages.error("%s", terminal(line))
    if capture.strict and not capture.strict_told and not capture.is_of_run:
        _try(lambda: strict.tell_at_exit(
            capture, capture.final or capture.collect(write=False)))
    elif not capture.is_of_run and not capture.strict_told:
        _try(lambda: _tell_nothing(capture))


def _tell_nothing(capture: "Capture") -> None:
    """Who trains without `run` gets no table: that nothing is there is told in a line.

    Without `data_dump_collect` it is collected only where it costs little: where no step
    is there.
    """
    if capture.lookout.sees_steps():
        return
    manifest = capture.final or capture.collect(write=False)
    for line in end_messages.nothing_dumped(capture, manifest):
        messages.warning("%s", terminal(line))


def _keep_fusion_result(capture: "Capture") -> None:
    if capture.config.graph:
        folders = [current_folder(), capture.record.fields["cwd"]]
        fusion_result.keep(fusion_result.places(os.environ, capture.pid, folders),
                           environment.graph_folder(), capture.pid, capture.since)


def _collect_last(capture: "Capture") -> None:
    capture.final = capture.collect()


def _try(action: Callable[[], None]) -> None:
    try:
        action()
    except (OSError, DumpError, MemoryError) as error:
        messages.warning("The records of this run are not complete: %s",
                         str(error) or outages.in_words(error))
    except Exception as error:  # what the script itself has said of its end must stand
        messages.warning("The records of this run are not complete, which is a fault of"
                         " keras_npu_dump: %s: %s", type(error).__name__, error)
