"""Runs an unchanged training script with dump switched on.

The configuration is applied when the script asks for a dump itself, or calls
`npu_device.open()`, so that what the script sets is seen, and the callback is added to every fit
after that.
"""
import functools
import importlib.util
import os
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from keras_npu_dump import messages, sigterm
from keras_npu_dump.capture import attach
from keras_npu_dump.capture.device import device_module, disk_space
from keras_npu_dump.capture.device.dump_folder import prepare_dump_path
from keras_npu_dump.capture.model import function_calls, tensorflow_1
from keras_npu_dump.capture.process import ending
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.capture.request.command_line import absolute
from keras_npu_dump.capture.request.situation import RUN
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import DeviceNotFoundError, DumpError, InputError
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.regular import what_is_there
from keras_npu_dump.launch import import_scan, script_run
from keras_npu_dump.launch.fit_patch import add_to_all_models, before_first_gradient
from keras_npu_dump.launch.import_hook import when_imported
from keras_npu_dump.launch.opening import Opening


class Outcome(NamedTuple):
    """What became of the script.

    Attributes:
      status: its exit status; 2 if its dump could not be set up.
      capture: what was dumped, or None.
      error: why the dump could not be set up, or None.
      forked: whether this is a child that the script has forked, and which came to the
        script's end, too: the last words are for the process that `run` began.
    """

    status: int
    capture: Optional[Capture]
    error: Optional[DumpError]
    forked: bool = False


def run_script(config: DumpConfig, script: str, arguments: List[str], emulate: bool,
               open_device: Optional[bool] = None,
               at_sigterm: Callable[[Outcome], Any] = lambda outcome: None) -> Outcome:
    """Runs `script` as `__main__` with its own arguments.

    Args:
      config: what to dump; off runs the script (emulated, if asked) without dump.
      script: path of a Python file.
      arguments: everything after the script on the command line.
      emulate: put the emulator where `import npu_device` finds it.
      open_device: open the device for the script as soon as it has imported TensorFlow.
        Defaults to doing so where the script imports npu_device nowhere.
      at_sigterm: called with the outcome where SIGTERM ends the script; the process ends
        with it.

    Raises:
      InputError: if there is no such script.
      DumpError: if the dump cannot be set up; nothing was run then.
    """
    if not os.path.isfile(script):
        raise InputError("SCRIPT: expected a Python file. Received: %r, which %s."
                         % (script, what_is_there(script)))
    if emulate:
        _install_emulator()
    elif not config.is_off:
        _check_device_is_there()
    config = _with_folder(config)
    expected = import_scan.find_import(script) if open_device is None else None
    setup = _Setup(config, expected, open_device)
    setup.wait_for_imports(emulate)
    pid = os.getpid()
    sigterm.end_with(lambda: at_sigterm(_terminated(setup)))
    finishing = False
    try:
        status, capture = _run(setup, script, arguments)
        finishing = True
        script_run.finish()
        if os.getpid() != pid:
            return Outcome(status if setup.error is None else 2, capture, setup.error, forked=True)
        if capture is not None:
            capture.close()
    except BaseException as error:
        # A second Ctrl-C, which comes while the first one's end is noted.
        capture = attach.current_here()
        if capture is not None:
            if capture.ending is None:
                ending.note(capture, "failed", ending.cause_of(type(error)), error)
            if finishing:
                capture.close()  # the exit handlers, of which it is one, may be over
        raise
    finally:
        sigterm.leave()
    return _outcome(setup, status, capture)


def _run(setup: "_Setup", script: str,
         arguments: List[str]) -> Tuple[int, Optional[Capture]]:
    """Runs the script, and notes how it ended: its status, and what was dumped."""
    end = script_run.run_as_main(script, arguments, setup.is_told)
    setup.cause = end.cause
    capture = attach.current_here()
    if capture is not None:
        ending.note(capture, "failed" if end.status else "ended", end.cause, end.error)
    return end.status, capture


def _install_emulator() -> None:
    from keras_npu_dump import emulator
    emulator.install()
    when_imported("multiprocessing.spawn", _lead_children_to_emulator)


def _with_folder(config: DumpConfig) -> DumpConfig:
    """The same with its folder made: the script may go elsewhere before it opens its device.

    Raises:
      ConfigError: it cannot be made, or there is too little room.
    """
    if config.is_off:
        return config
    config = config.at(absolute(config.dump_path, current_folder()))
    disk_space.check_free_space(config.dump_path, config.min_free_gb)
    prepare_dump_path(config.dump_path)
    return config


def _outcome(setup: "_Setup", status: int, capture: Optional[Capture]) -> Outcome:
    if setup.error is not None:
        return Outcome(2, None, setup.error)
    if not setup.config.is_off and capture is None:
        messages.warning("%s", setup.why_not_opened())
    return Outcome(status, capture, None)


def _terminated(setup: "_Setup") -> Outcome:
    """SIGTERM has come: what the end of the script does, without the script's part in it."""
    capture = attach.current_here()
    setup.cause = ending.SIGTERM
    if capture is not None and not capture.closed:
        ending.note(capture, "failed", ending.SIGTERM)
        device_module.close(capture.module)
        capture.close()
    return _outcome(setup, sigterm.STATUS, capture)


class _Setup:
    """What happens when the script opens its device, and when it trains."""

    def __init__(self, config: DumpConfig, expected: Optional[import_scan.ImportPlace],
                 open_device: Optional[bool]):
        self.config = config
        self.error: Optional[DumpError] = None
        self._refusal: Optional[DumpError] = None
        self.cause: Optional[str] = None  # of an end before its time
        # Said from where `run` was started; the script may go elsewhere.
        self._expected = expected and expected._replace(path=os.path.relpath(expected.path))
        self._open_device = open_device
        self._told = False
        self._opening: Optional[Opening] = None

    def wait_for_imports(self, emulate: bool) -> None:
        """Has everything done in time: when npu_device, TensorFlow and Keras are imported.

        Args:
          emulate: whether the emulator stands in for npu_device; then a device is opened
            also for a script that runs without dump.
        """
        dumps = not self.config.is_off
        attach.expect_run(self.config, self._refused)
        when_imported("npu_device", self.watch)
        if emulate or dumps:
            if self._open_device or (self._open_device is None and self._expected is None):
                self._opening = Opening(self.open_for_the_script)
                self._opening.wait()
            elif dumps:
                when_imported("tensorflow", self.watch_loops)
        if dumps:
            when_imported("tensorflow", lambda tensorflow: function_calls.install())
            add_to_all_models(self.make_callback)

    def _refused(self, error: DumpError) -> None:
        """What the script asks for cannot go with the command line; it may go on without."""
        self._refusal = error

    def watch(self, module: Any) -> None:
        """Applies the configuration when `npu_device.open()` is called."""
        device_module.watch_open(module, lambda: self._apply(module), lambda device_id: None)

    def _apply(self, module: Any) -> None:
        if self.config.is_off:
            attach.switch_off(module)
            return
        try:
            attach.start(self.config, RUN)
        except DumpError as error:
            self.error = error
            raise

    def open_for_the_script(self) -> None:
        """For scripts that know nothing of npu_device."""
        try:
            module = device_module.find_device()
        except DumpError as error:
            self.error = error
            raise
        if not device_module.opened_ids(module):
            module.open().as_default()

    def make_callback(self) -> Any:
        """The callback for all fits; None where fits may run on no device."""
        self._check_opened("fit() begins")
        if attach.current() is None:
            return None
        from keras_npu_dump.capture.callback import NpuDumpCallback
        return NpuDumpCallback()

    def watch_loops(self, tensorflow: Any) -> None:
        """A loop of the script's own is seen by its gradients."""
        before_first_gradient(tensorflow, lambda: self._check_opened("A gradient is computed"))

    def _check_opened(self, what: str) -> None:
        """Training begins: stops it where it would run on no device.

        Opening it for the script now would be too late: the model's variables are on the
        CPU, and what works on those the adapter runs there, too (FallbackCPU in
        npu_device.cpp and op_executors).

        Raises:
          DumpError: unless the launcher was told that fits may run before open().
        """
        if self._opening is not None:
            self._opening.needed()
        if attach.current() is not None or self.error is not None:
            return  # an error is told at the end, even if the script goes on after it
        text = ("%s and npu_device.open() has not been called: it runs on no NPU and nothing is"
                " dumped." % what)
        if self._open_device is False:
            if not self._told:
                self._told = True
                messages.warning("%s", text)
            return
        self.error = DumpError(
            text + self.why_expected() + " Expected: `npu_device.open().as_default()` before"
            " the model is built, now its variables are on the CPU. --noopen_device lets training"
            " begin before that.")
        raise self.error

    def why_not_opened(self) -> str:
        """Why a script that has ended has dumped nothing, and what to do about it."""
        if self.cause is not None:
            # What it would have done is not known.
            return "The script %s%s before it opened a device: nothing was dumped.%s" % (
                "" if self.cause.startswith("ended") else "was ", self.cause,
                "" if _is_there("tensorflow") else " TensorFlow is not installed in this Python; on"
                " an x86 machine without NPU `pip install 'keras_npu_dump[tf]'` brings it.")
        text = "The script ended without opening a device: nothing was dumped."
        older = tensorflow_1.hint()
        if older is not None:
            return "%s %s" % (text, older)
        if "tensorflow" not in sys.modules:
            return text + " It has not imported TensorFlow."
        return text + self.why_expected()

    def why_expected(self) -> str:
        """Why the device was not opened for the script, and how it will be."""
        if self._expected is None:
            return ""
        return (" The script is expected to open it, as npu_device is imported in %s, line %d;"
                " --open_device, before the script, has `run` open it."
                % self._expected)

    def is_told(self, error: BaseException) -> bool:
        """Whether the error is ours, and told in a message instead of a traceback."""
        # AutoGraph raises a copy of what comes out of a function that it traces.
        if isinstance(error, DumpError) and str(error) == str(self._refusal):
            self.error = self.error or error
        if self.error is not None and isinstance(error, DumpError):
            return True  # by our caller
        capture = attach.current_here()
        if capture is not None and error is capture.failure:
            messages.error("Training was stopped: %s", error)
            return True
        return False


def _lead_children_to_emulator(spawn: Any) -> None:
    """Children of spawn and forkserver find the stand-in on the path that they get."""
    from keras_npu_dump import emulator
    original = spawn.get_preparation_data

    @functools.wraps(original)
    def get_preparation_data(*arguments: Any, **keywords: Any) -> Any:
        data = original(*arguments, **keywords)
        if "sys_path" in data:
            data["sys_path"] = list(data["sys_path"]) + [emulator.children_folder()]
        return data

    spawn.get_preparation_data = get_preparation_data


def device_is_there() -> bool:
    """Whether npu_device is installed here; its stand-in counts once it is in its place."""
    return _is_there("npu_device")


def _is_there(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _check_device_is_there() -> None:
    if not device_is_there():
        raise DeviceNotFoundError(
            "npu_device is not installed here. On an Ascend host install the one that belongs to"
            " its CANN; elsewhere rehearse on the CPU: `keras-npu-dump run --emulate SCRIPT`.")
