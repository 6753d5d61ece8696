"""What is told once of a whole run: options that came too late, iterations that never came."""
from typing import TYPE_CHECKING, Dict, List, Optional

from keras_npu_dump import messages
from keras_npu_dump.capture.device import device_module
from keras_npu_dump.files.quoting import shell_word
from keras_npu_dump.records.journal_lines import CALL

_NO_HOOK = ("NpuDumpCallback was made, but none of its hooks was ever called: it is in no"
            " callbacks=[...] of a fit(), or a list filtered by class has dropped it")

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture
    from keras_npu_dump.records.manifest import Manifest


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
        return [_nobody_counted(capture.faces)] if not failed else [] if capture.is_of_run else [
            "No training function was executed, so nothing of it was dumped: %s." % _how(capture)]
    if all(one.model == "loop" and not one.index for one in capture.journal.sections):
        return ["`with dump:` was entered, and `with dump.step():` never: what was dumped is tied"
                " to no batch. It goes around each call of the training function."]
    return _own_loops(capture) + unreached(capture)


def _how(capture: "Capture") -> Optional[str]:
    """Why the process failed, in the words of the exception where they are known."""
    if capture.died is not None:
        return capture.died.how()
    return None if capture.ending is None else capture.ending[1]


def _own_loops(capture: "Capture") -> List[str]:
    """Whose executions ran in no fit and in no step."""
    if any(section.reason != CALL for section in capture.journal.sections):
        return []
    if "NpuDumpCallback" in capture.faces:
        why = _NO_HOOK
    elif "DumpSession" in capture.faces:
        why = "DumpSession was made, but never entered"
    else:
        why = "No fit() with an NpuDumpCallback and no DumpSession was seen"
    return [why + ": what was dumped is tied to the executions of each training function, and"
            " epochs are not known. `with DumpSession() as dump:` around the loop, `with"
            " dump.step():` around each step and `dump.next_epoch()` between epochs tie it to"
            " batches."]


def _nobody_counted(faces: List[str]) -> str:
    if "NpuDumpCallback" in faces:
        return (_NO_HOOK + ". What was dumped is tied to no batch. `with DumpSession() as dump:`"
                " around the loop and `with dump.step():` around each call need no callbacks.")
    if "DumpSession" in faces:
        return ("DumpSession was made, but never entered: what was dumped is tied to no batch."
                " `with dump:` goes around the loop and `with dump.step():` around each call.")
    return ("No fit() with an NpuDumpCallback and no DumpSession was seen: what was dumped is tied"
            " to no batch. `with DumpSession() as dump:` around the loop and `with dump.step():`"
            " around each call tie them.")


def nothing_dumped(capture: "Capture", manifest: "Manifest") -> List[str]:
    """That no step of a training graph is there although one was executed, and why: a line.

    Args:
      capture: of this process, at its end.
      manifest: what was collected then.
    """
    wanted = not capture.config.is_off and capture.steps is not None and any(
        capture.journal.next_wanted(0) < section.index for section in capture.journal.sections)
    if not wanted or any(pair.role == "train" and pair.steps for pair in manifest.pairs):
        return []
    # What was not reached is told already.
    cause = _changed_before_open(capture) or next(
        (one.message for one in manifest.errors if one.code != "step-not-reached"), None)
    return ["Nothing of the training was dumped%s. `keras-npu-dump collect %s` says more." % (
        ": " + cause if cause else "", shell_word(capture.dump_path))]


def _changed_before_open(capture: "Capture") -> Optional[str]:
    """What the script did to the device between our settings and its training."""
    opened = capture.opened_options or {}
    other = ["%s = %r instead of %r" % (name, opened[name], device_module.option_text(value))
             for name, value in capture.config.npu_options.items()
             if name in opened and opened[name] != device_module.option_text(value)]
    if other:
        return "the device was opened with %s" % ", ".join(other)
    if device_module.is_default(capture.module) is False:
        return ("npu_device.open() was called, and `.as_default()` of what it returns never, so"
                " that functions ran on the CPU")
    return None


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
    cause, died = _how(capture), capture.died
    text = ", %d executions ran" % ran
    if cause is not None:
        text = ": " + cause
        if died is None or died.data_index is None:
            text += " after %d executions" % ran if ran else " before the first execution"
    return ["%s not reached%s" % (which, text) for which in capture.steps.unreached(ran)]
