"""Runs an unchanged training script with dump switched on.

The configuration is applied when the script calls `npu_device.open()`, so that what
the script sets itself is seen, and the callback is added to every fit after that.
"""
import importlib.util
import os
import re
import runpy
import signal
import sys
from typing import Any, List, NamedTuple, Optional

from absl import logging

from keras_npu_dump.capture import attach, device
from keras_npu_dump.capture.fit_patch import add_to_every_fit
from keras_npu_dump.capture.import_hook import when_imported
from keras_npu_dump.capture.paths import prepare_dump_path
from keras_npu_dump.capture.process import Capture
from keras_npu_dump.config import DumpConfig
from keras_npu_dump.errors import DeviceNotFoundError, DumpError, InputError

WHO = "keras-npu-dump run"
_MAX_SOURCES = 2000


class Outcome(NamedTuple):
    """What became of the script.

    Attributes:
      status: its exit status; 2 if its dump could not be set up.
      capture: what was dumped, or None.
      error: why the dump could not be set up, or None.
    """

    status: int
    capture: Optional[Capture]
    error: Optional[DumpError]


def run_script(config: DumpConfig, script: str, arguments: List[str], emulate: bool) -> Outcome:
    """Runs `script` as `__main__` with its own arguments.

    Args:
      config: what to dump; off runs the script (emulated, if asked) without dump.
      script: path of a Python file.
      arguments: everything after the script on the command line.
      emulate: put the emulator where `import npu_device` finds it.

    Raises:
      InputError: if there is no such script.
      DumpError: if the dump cannot be set up; nothing was run then.
    """
    if not os.path.isfile(script):
        raise InputError("SCRIPT: expected a Python file. Received: %r, which %s."
                         % (script, "is a folder" if os.path.isdir(script) else "does not exist"))
    if emulate:
        from keras_npu_dump import emulator
        emulator.install()
    elif not config.is_off:
        _check_device_is_there()
    if not config.is_off:
        prepare_dump_path(config.dump_path)
        config = config.replace(dump_path=os.path.abspath(os.path.expanduser(config.dump_path)))
    setup = _Setup(config)
    if emulate or not config.is_off:
        when_imported("npu_device", setup.watch)
        if not _mentions_npu_device(script):
            when_imported("tensorflow", setup.open_for_the_script)
    status = _run(setup, script, arguments)
    if setup.error is not None:
        return Outcome(2, None, setup.error)
    capture = attach.current()
    if not config.is_off and capture is None:
        logging.warning("The script ended without opening a device: nothing was dumped.")
    if capture is not None:
        capture.close("ended" if status == 0 else "failed")
    return Outcome(status, capture, None)


class _Setup:
    """What happens when the script opens its device."""

    def __init__(self, config: DumpConfig):
        self.config = config
        self.error: Optional[DumpError] = None

    def watch(self, module: Any) -> None:
        device.watch_open(module, self._apply, self._add_callback)

    def _apply(self) -> None:
        if self.config.is_off:
            return
        try:
            attach.start(self.config, True, WHO)
        except DumpError as error:
            self.error = error
            raise

    def _add_callback(self, device_id: Any) -> None:
        if self.config.is_off:
            return
        import tensorflow as tf

        from keras_npu_dump.capture.callback import NpuDumpCallback
        add_to_every_fit(tf.keras.Model, NpuDumpCallback)

    def open_for_the_script(self, tensorflow: Any) -> None:
        """For scripts that know nothing of npu_device."""
        try:
            module = device.find_device()
        except DumpError as error:
            self.error = error
            raise
        if not device.opened_ids(module):
            module.open().as_default()


def _check_device_is_there() -> None:
    try:
        found = "npu_device" in sys.modules or importlib.util.find_spec("npu_device") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise DeviceNotFoundError(
            "npu_device is not installed here. On an Ascend host install the one that belongs to"
            " its CANN; elsewhere rehearse on the CPU: `keras-npu-dump run --emulate SCRIPT`.")


def _mentions_npu_device(script: str) -> bool:
    """Whether the script, or a module beside it, speaks of npu_device at all."""
    word = re.compile(rb"\bnpu_device\b")
    sources = [script]
    for folder, names, files in os.walk(os.path.dirname(os.path.abspath(script))):
        names[:] = [name for name in names
                    if not name.startswith(".") and name not in ("site-packages", "__pycache__")]
        sources += [os.path.join(folder, name) for name in files if name.endswith(".py")]
        if len(sources) > _MAX_SOURCES:
            break
    for source in sources[:_MAX_SOURCES]:
        try:
            with open(source, "rb") as file:
                if word.search(file.read(1 << 20)):
                    return True
        except OSError:
            continue
    return False


def _run(setup: _Setup, script: str, arguments: List[str]) -> int:
    """The script's exit status, as the interpreter itself would give it."""
    sys.argv = [script] + list(arguments)
    sys.path[0:0] = [os.path.dirname(os.path.abspath(script))]
    _end_orderly_on_sigterm()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return _status_of(end)
    except BaseException as error:  # pylint: disable=broad-except
        if error is setup.error:
            return 2  # told in one message by the caller
        _print_traceback()
        return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end_orderly_on_sigterm() -> None:
    """Turns SIGTERM into SystemExit, so that journal and manifest are finished."""
    def end(number: int, frame: Any) -> None:
        sys.exit(128 + number)

    try:
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread
        pass


def _status_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _print_traceback() -> None:
    """As `python script.py` prints it: without the frames that started it."""
    kind, value, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_globals.get("__name__") != "__main__":
        trace = trace.tb_next
    if value is not None:
        sys.excepthook(kind, value.with_traceback(trace), trace)  # type: ignore[arg-type]
