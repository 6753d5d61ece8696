"""What is told once of a whole run: options that came too late, iterations that never came."""
from typing import TYPE_CHECKING, Dict, List, Optional

from keras_npu_dump import messages

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture


def tell_late_options(opened: Dict[str, Optional[str]], now: Dict[str, Optional[str]]) -> None:
    """Names dump options that the script has set after the device had read them.

    Args:
      opened: the options at `npu_device.open()`, as text by name.
      now: the options at the begin of the first fit.
    """
    late = [name for name in opened if opened[name] != now[name]]
    if late:
        messages.warning(
            "npu_device.open() came first and has read its options: %s no effect. Set them before"
            " open(), or as options of `keras-npu-dump run`.",
            "; ".join("%s = %r has" % (name, now[name]) for name in late))


def of_the_end(capture: "Capture") -> List[str]:
    """What did not come as it was asked for, a line each.

    Args:
      capture: of this process, at its end.
    """
    lost = list(capture.lookout.lost.values())
    told = ["Of this run something is missing: %s." % "; ".join(lost)] if lost else []
    return told + _not_asked(capture)


def _not_asked(capture: "Capture") -> List[str]:
    failed = capture.ending is not None and capture.ending[1] is not None
    if capture.opened_options is None:
        return ["npu_device%s: nothing was dumped."
                % (" was never opened" if failed else ".open() was never called")]
    if not capture.journal.sections:
        if capture.record.fields["eager"]:
            return ["Every fit() ran with run_eagerly=True, which executes no training graph on the"
                    " device: nothing was dumped of it. Leave it out to dump."]
        # What was to come when the process failed is not known.
        return [] if failed else [_nobody_counted(capture.faces)]
    if all(one.model == "loop" and not one.index for one in capture.journal.sections):
        return ["`with dump:` was entered, and `with dump.step():` never: what was dumped is tied"
                " to no batch. It goes around each call of the training function."]
    return unreached(capture)


def _nobody_counted(faces: List[str]) -> str:
    if "NpuDumpCallback" in faces:
        return ("NpuDumpCallback was made, but none of its hooks was ever called: it is in no"
                " callbacks=[...] of a fit(), or a list filtered by class has dropped it. What was"
                " dumped is tied to no batch. `with DumpSession() as dump:` around the loop and"
                " `with dump.step():` around each call need no callbacks.")
    if "DumpSession" in faces:
        return ("DumpSession was made, but never entered: what was dumped is tied to no batch."
                " `with dump:` goes around the loop and `with dump.step():` around each call.")
    return ("No fit() with an NpuDumpCallback and no DumpSession was seen: what was dumped is tied"
            " to no batch. `with DumpSession() as dump:` around the loop and `with dump.step():`"
            " around each call tie them.")


def unreached(capture: "Capture") -> List[str]:
    """The steps that were asked for and never executed, a line each.

    Args:
      capture: of this process.

    Returns:
      Lines; none where nobody counted, or where all executions were asked for.
    """
    if capture.steps is None or capture.config.enable_dump_debug or not capture.journal.sections:
        return []
    ran = max(section.index for section in capture.journal.sections)
    _, cause = capture.ending or ("ended", None)
    text = ", %d executions ran" % ran
    if cause is not None:
        text = ": %s after %d executions" % (cause, ran)
    return ["%s not reached%s" % (which, text) for which in capture.steps.unreached(ran)]
