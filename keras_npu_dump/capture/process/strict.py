"""data_dump_strict at the end of a training: what was executed has to be there, and whole.

At the end of a fit or session nothing is known of what later ones will reach, so only
executions that ran are looked for: their steps, files and graphs. Steps that never came
are told when the process ends. A device that is still sending is given time: as long as
the dump grows, and then a while longer; what is on its way even then is judged when the
process ends, after the device was closed.
"""
import os
import sys
import time
from typing import TYPE_CHECKING, List, Optional, Tuple

from keras_npu_dump import messages
from keras_npu_dump.capture.device import device_module
from keras_npu_dump.errors import DumpError, IncompleteDumpError
from keras_npu_dump.files.quoting import terminal

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture
    from keras_npu_dump.records.manifest import Manifest
    from keras_npu_dump.records.problems import Problem

# Seconds without any growth after which what is not there will not come, and seconds after
# which a dump that still grows is left to the end of the process.
QUIET, PATIENCE = 10.0, 60.0
_PAUSE = 1.0
# Of steps that a later fit may reach.
_OF_THE_END = ("step-not-reached",)


def check_training(capture: "Capture") -> None:
    """What a training that has ended well was to leave is there.

    Under `keras-npu-dump run` nothing is raised: the exit status tells it.

    Args:
      capture: of this process.

    Raises:
      IncompleteDumpError: it is not, or not whole.
      DumpError: what the watcher has found and no batch has raised.
    """
    if not capture.strict or capture.config.is_off or capture.is_of_run:
        return
    if sys.exc_info()[0] is not None:
        return  # hooks that a script calls while an exception is on its way; told at exit
    capture.raise_failure()
    problems = _settled_errors(capture)
    if problems:
        capture.strict_told = True
        raise IncompleteDumpError(_text(problems), problems)


def tell_at_exit(capture: "Capture", manifest: Optional["Manifest"]) -> None:
    """Tells in a line what is missing where nothing was raised.

    Who started with `run` is told by its exit status.

    Args:
      capture: of this process, at its end.
      manifest: what was collected then.
    """
    if not capture.strict or capture.strict_told or capture.is_of_run:
        return
    problems = errors_of(manifest)
    if problems:
        messages.error("%s", _text(problems))


def errors_of(manifest: Optional["Manifest"]) -> List["Problem"]:
    """The problems of severity error; none where nothing was collected."""
    return [] if manifest is None else manifest.errors


def _text(problems: List["Problem"]) -> str:
    more = "" if len(problems) == 1 else " (and %d more problems)" % (len(problems) - 1)
    return terminal("data_dump_strict: not all that was asked for was dumped: %s [%s]%s" % (
        problems[0].message, problems[0].code, more))


def _settled_errors(capture: "Capture") -> List["Problem"]:
    """The errors that stay when the dump has stopped growing; none while it grows."""
    emulated = device_module.is_emulated(capture.module)
    started = quiet_since = time.monotonic()
    before = None
    while True:
        problems = lost(capture)
        # The emulator writes a step before its execution returns.
        if not problems or emulated:
            return problems
        size, now = _size(capture.dump_path), time.monotonic()
        if size != before:
            before, quiet_since = size, now
        if now - quiet_since >= QUIET:
            return problems
        if now - started >= PATIENCE:
            return []
        time.sleep(_PAUSE)


def lost(capture: "Capture") -> List["Problem"]:
    """What of the executions that ran is not there, or not whole, as things are now."""
    try:
        manifest = capture.collect(settled=True, write=False)
    except (OSError, DumpError) as error:
        messages.warning("data_dump_strict: the dump cannot be looked at: %s", error)
        return []
    return [one for one in manifest.errors if one.code not in _OF_THE_END
            and (one.code != "not-dumped" or _has_run(capture))]


def _has_run(capture: "Capture") -> bool:
    """Whether an execution that was asked for ran, by this process's own count."""
    return any(capture.journal.next_wanted(0) < section.index
               for section in capture.journal.sections)


def _size(dump_path: str) -> Tuple[int, int]:
    """How many files there are, and their bytes."""
    count = total = 0
    for folder, _, names in os.walk(dump_path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
            count += 1
    return count, total
