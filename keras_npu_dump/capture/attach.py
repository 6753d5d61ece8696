"""Asks for a dump: looks at the process, resolves the request, and has the answer applied."""
from typing import Any, Callable, List, NamedTuple, Optional

from keras_npu_dump import messages, ranks
from keras_npu_dump.capture.device import device_module
from keras_npu_dump.capture.process import asking
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.capture.request import notes
from keras_npu_dump.capture.request.command_line import SETTINGS, SWITCHES, side_of
from keras_npu_dump.capture.request.resolve import resolve
from keras_npu_dump.capture.request.situation import RUN, Held, Situation
from keras_npu_dump.capture.set_up import set_up
from keras_npu_dump.capture.this_process import existing_of_this_process, of_this_process
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import DumpError
from keras_npu_dump.files.paths import current_folder


class _CommandLine(NamedTuple):
    """What `keras-npu-dump run` was asked for, and who is told where that cannot be."""

    config: DumpConfig
    refused: Callable[[DumpError], None]


# All callbacks and sessions of one process share one capture.
_current: Optional[Capture] = None
_told: List[str] = []  # faces that came here from another process
_run: Optional[_CommandLine] = None
_off_told = False


def current() -> Optional[Capture]:
    """The capture; in a forked child its parent's, until the child asks for a dump itself."""
    return _current


def current_here() -> Optional[Capture]:
    """The capture of this very process; None in a forked child that has not asked for a dump."""
    return None if _current is None else existing_of_this_process(_current)


def of_run() -> Optional[Capture]:
    """The capture that the launcher has asked for, whatever the script's own flags are."""
    return _current if _current is not None and RUN in _current.faces else None


def of_copy(who: str) -> Optional[Capture]:
    """The capture for a copy of a callback or session, as training begins.

    A copy asks for nothing itself: it may have come, pickled, to a process that dumps
    nothing, and takes part in whatever dump its process has.

    Args:
      who: the name of its class, for messages.
    """
    if _current is None and who not in _told:
        _told.append(who)
        messages.warning(
            "This %s came from another process, and nobody has asked for a dump in this one: it"
            " dumps and counts nothing here. Make one in this process before npu_device.open().",
            who)
    return _current


def expect_run(config: DumpConfig, refused: Callable[[DumpError], None]) -> None:
    """The script is run by the launcher, whose command line wins over what the script asks for.

    Args:
      config: of the command line; where it is off, whatever the script asks for is off.
      refused: called with the error that a request of the script gets.
    """
    global _run
    _run = _CommandLine(config, refused)


def start(config: DumpConfig, who: str) -> Optional[Capture]:
    """Configures the device, or attaches to it where it is open already.

    Args:
      config: what to dump; where `config.explicit` is silent any dump will do.
      who: the caller's name, for messages.

    Returns:
      The capture of this process, or None if nothing is dumped.

    Raises:
      DeviceNotFoundError: without npu_device and without the emulator.
      DeviceOpenedError: if the device was opened with other options.
      ConfigError: if the script itself has set other options, for a bad path, or with
        too little free space.
    """
    if config.is_off:
        return None
    if _run is not None and _run.config.is_off:
        _tell_off(side_of(who))
        return None
    try:
        return _start(config, who)
    except DumpError as error:
        if _run is not None and who != RUN:
            _run.refused(error)
        raise


def switch_off(module: Any) -> None:
    """The command line of the launcher is off: so is what the script has set in the device.

    Args:
      module: npu_device, about to be opened.
    """
    options = device_module.read_options(module)
    on = {name: False for name in SWITCHES if options[name] == "1"}
    if on:
        device_module.write_options(module, on)
        _tell_off(SETTINGS)


def _tell_off(side: str) -> None:
    global _off_told
    if not _off_told:
        messages.info("%s", notes.off_note(side))
    _off_told = True


def _start(config: DumpConfig, who: str) -> Optional[Capture]:
    global _current
    module = device_module.find_device()
    capture = None if _current is None else of_this_process(_current)
    situation = _look(module, capture)
    resolved = resolve(config, who, situation)
    _current = capture = set_up(module, resolved, situation.cluster, capture)
    if capture is not None:
        asking.take(capture, resolved, config, situation.run)
    return capture


def _look(module: Any, capture: Optional[Capture]) -> Situation:
    held = None
    if capture is not None:
        capture.look_at_device()
        asked = capture.resolved.asked
        left_out = capture.config.is_off and not asked.is_off  # by data_dump_ranks
        held = Held(asked, capture.resolved.said_path,
                    None if left_out else capture.opened_options, tuple(capture.faces))
    return Situation(bool(device_module.opened_ids(module)), device_module.read_options(module),
                     ranks.read(), current_folder(), held, None if _run is None else _run.config)
