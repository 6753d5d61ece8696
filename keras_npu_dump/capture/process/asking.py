"""What a capture takes of each request: who asks, what of it does not hold, what is kept."""
import sys
from typing import TYPE_CHECKING, Optional

from keras_npu_dump import messages
from keras_npu_dump.capture.request import notes
from keras_npu_dump.capture.request.resolve import ResolvedDump
from keras_npu_dump.capture.request.situation import RUN
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.masking import kept_arguments
from keras_npu_dump.config.options import RECORDS

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture


def take(capture: "Capture", resolved: ResolvedDump, config: DumpConfig,
         run: Optional[DumpConfig]) -> None:
    """Takes a request along, after it was applied.

    Args:
      capture: of this process.
      resolved: what became of the request.
      config: the request.
      run: the command line of the launcher; None without it.
    """
    _tell_differing(capture, resolved)
    capture.strict = capture.strict or config.strict
    for face in resolved.faces:
        if face not in capture.faces:
            capture.faces.append(face)
        of_run = face == RUN
        asked = run if of_run and run is not None else config
        # The launcher's own callback asks for nothing.
        if of_run or asked.explicit or RUN not in capture.faces:
            note_asked_by(capture, face)
        if "record" in asked.explicit:
            _keep(capture, asked.record, of_run)
    if not capture.record.fields["script"]:
        write_script(capture)


def note_asked_by(capture: "Capture", face: str) -> None:
    """Records who asks for this dump, once.

    Args:
      capture: of this process.
      face: such as NpuDumpCallback.
    """
    if face not in capture.record.fields["asked_by"]:
        capture.record.write(asked_by=capture.record.fields["asked_by"] + [face])


def write_script(capture: "Capture") -> None:
    """Records the script and its arguments, as they may be kept.

    Args:
      capture: of this process; `kept` says how much.
    """
    capture.record.write(script=kept_arguments(sys.argv, capture.kept))


def _keep(capture: "Capture", kept: str, by_run: bool) -> None:
    """The command line of `run` decides, where it says so; else the most private request."""
    if by_run or (not capture.kept_by_run and RECORDS.index(kept) > RECORDS.index(capture.kept)):
        capture.kept, capture.kept_by_run = kept, by_run
        write_script(capture)


def _tell_differing(capture: "Capture", resolved: ResolvedDump) -> None:
    """Tells what of the script's request does not hold; the same once, however often it asks."""
    for side, options in resolved.differing:
        new = [one for one in options if (one.name, one.asked) not in capture.overruled]
        capture.overruled.update((one.name, one.asked) for one in new)
        if new:
            # What the command line says is as it was asked for; what comes too late is not.
            say = messages.info if all(one.given for one in new) else messages.warning
            say("%s", notes.note(side, new))
