"""Running a file as `python file` would: arguments, import path, traceback, status, exit.

What differs is that the interpreter goes on afterwards.
"""
import atexit
import builtins
import contextlib
import importlib.machinery
import os
import signal
import struct
import sys
import threading
import traceback
import types
from typing import Any, Callable, List, NamedTuple, Optional, Set

from keras_npu_dump import sigterm
from keras_npu_dump.capture.process import ending
from keras_npu_dump.files import streams
from keras_npu_dump.files.paths import current_folder

_BITS_OF_LONG = 8 * struct.calcsize("l") - 1  # without its sign
_KEPT: List[Any] = []  # the module that was __main__ before; its code still runs
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Functions of ours that stand between the script and what it calls, by file.
_OURS = frozenset((os.path.join(_PACKAGE, *file.split("/")), name) for file, name in (
    ("launch/fit_patch.py", "fit"), ("launch/fit_patch.py", "gradient"),
    ("launch/import_hook.py", "exec_module"), ("launch/import_hook.py", "find_spec"),
    ("launch/import_hook.py", "_found_by_others"),
    ("capture/device/device_module.py", "open"),
    ("capture/model/function_calls.py", "_call_flat"),
    ("capture/device/loop_size.py", "set_npu_loop_size")))
_OURS |= {(sigterm.__file__, "fork_exec")}


class End(NamedTuple):
    """How a script has ended: its exit status, why where that is not 0, and by what exception."""

    status: int
    cause: Optional[str]
    error: Optional[BaseException] = None


def run_as_main(script: str, arguments: List[str],
                is_told: Callable[[BaseException], bool]) -> End:
    """Runs `script` as `__main__` to its very end, its exit handlers included.

    Args:
      script: path of a Python file.
      arguments: its arguments.
      is_told: whether an exception that ends the script is told elsewhere: it gets no
        traceback.

    Returns:
      The exit status that the interpreter would give, and its cause.
    """
    sys.argv = [script] + list(arguments)
    _set_import_path(script)
    try:
        _execute(script)
        return End(0, None)
    except SystemExit as end:
        status = _status_of(end)
        return End(status, "ended with exit status %d" % status if status else None)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            sigterm.end_if_cut_short(error)
        if not is_told(error):
            try:
                _print_traceback(error)
            except SystemExit as end:  # of a hook of the script's own
                return End(_status_of(end), ending.cause_of(type(error)), error)
        return End(128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1,
                   ending.cause_of(type(error)), error)


def _execute(script: str) -> None:
    """Compiles and runs the file in a module that is `__main__` from now on.

    runpy.run_path does the same but for two things: from Python 3.9 on the interpreter has
    an absolute `__file__` beside the argv[0] that was given, and `__main__` stays after the
    script's end, for threads and exit handlers.
    """
    path = os.path.abspath(script) if sys.version_info >= (3, 9) else script
    with open(script, "rb") as file:
        source = file.read()
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=path, __builtins__=builtins, __spec__=None, __cached__=None, __annotations__={},
        __loader__=importlib.machinery.SourceFileLoader("__main__", path))
    module.__doc__ = None
    _KEPT.append(sys.modules.get("__main__"))
    sys.modules["__main__"] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def finish() -> None:
    """What the interpreter does at the end: waits for threads, then runs exit handlers.

    The device closes itself in such a handler, and its last files come with that.
    """
    try:
        _wait_for_threads()
    except BaseException:
        # Most often Ctrl-C while waiting; the interpreter tells of it and goes on, too.
        streams.say(traceback.format_exc().rstrip("\n"))
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # a handler's own error; it has printed its traceback


def _wait_for_threads() -> None:
    if sys.version_info >= (3, 9):
        # Workers of a ThreadPoolExecutor are no daemons there, and end only when this
        # tells them to. The interpreter calls it once more, which does nothing.
        threading._shutdown()  # type: ignore[attr-defined]
        return
    # Before, an exit handler ends the workers, and a second _shutdown() fails.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _set_import_path(script: str) -> None:
    """The script's folder in place of what `python -m` or the command put first."""
    here = os.path.dirname(os.path.abspath(script))
    package_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    working = current_folder()
    first = os.path.abspath(sys.path[0] or working or os.sep) if sys.path else None
    ours = {working, os.path.dirname(os.path.abspath(sys.modules["__main__"].__file__ or ""))
            if getattr(sys.modules.get("__main__"), "__file__", None) else working}
    if first in ours:
        del sys.path[0]
        if first == package_root:
            sys.path.append(first)  # parts of this package are imported later
    sys.path.insert(0, here)


def _status_of(end: SystemExit) -> int:
    """What the interpreter makes of it (CPython's handle_system_exit), as a shell sees it."""
    code: Any = end
    with contextlib.suppress(BaseException):  # a class of the script's own may refuse
        code = end.code
    if code is None:
        return 0
    if isinstance(code, int):
        # Of a number beyond C's long it takes -1. Methods of a class of the
        # script's own are not asked.
        bits = int.bit_length(code if int.__ge__(code, 0) else int.__invert__(code))
        return int.__and__(code, 0xFF) if bits <= _BITS_OF_LONG else 0xFF
    _print_exit_text(code)
    return 1


def _print_exit_text(code: Any) -> None:
    """In two writes: where the text cannot be made, the line break comes all the same."""
    stream: Any = sys.__stderr__ if getattr(sys, "stderr", None) is None else sys.stderr
    with contextlib.suppress(BaseException):
        stream.write(str(code))
    try:
        stream.write("\n")
        stream.flush()
    except BaseException:
        with contextlib.suppress(OSError):
            os.write(2, b"\n")


def _print_traceback(error: BaseException) -> None:
    """As `python script.py` prints it: without frames of ours."""
    _clean(error, set())
    trace = error.__traceback__
    start = trace
    while start is not None and start.tb_frame.f_globals.get("__name__") != "__main__":
        start = start.tb_next
    error.__traceback__ = start or (None if isinstance(error, SyntaxError) else trace)
    what = (type(error), error, error.__traceback__)
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        streams.say("sys.excepthook is missing")
        sys.__excepthook__(*what)
        return
    try:
        hook(*what)
    except SystemExit:
        raise
    except BaseException as failure:
        # Most often it prints, and there is no place to.
        failure.__context__ = None
        failure.__traceback__ = failure.__traceback__ and failure.__traceback__.tb_next
        streams.say("Error in sys.excepthook:")
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
        streams.say("\nOriginal exception was:")
        sys.__excepthook__(*what)


def _clean(error: Optional[BaseException], seen: Set[int]) -> None:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_ours(error.__traceback__)
    _clean(error.__cause__, seen)
    _clean(error.__context__, seen)


def _without_ours(trace: Any) -> Any:
    kept = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if (code.co_filename, code.co_name) not in _OURS:
            kept.append(trace)
        trace = trace.tb_next
    result = None
    for one in reversed(kept):
        result = types.TracebackType(result, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return result
