"""What is told once of a whole run: options that came too late, iterations that never came."""
import glob
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from keras_npu_dump import messages, ways_out
from keras_npu_dump.capture.device import device_module
from keras_npu_dump.capture.device.dump_folder import time_folders
from keras_npu_dump.capture.model import tensorflow_1
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.quoting import shell_word
from keras_npu_dump.records.journal_lines import CALL

_NO_HOOK = ("NpuDumpCallback was made, but none of its hooks was ever called: it is in no"
            " callbacks=[...] of a fit(), or a list filtered by class has dropped it")

if TYPE_CHECKING:
    from keras_npu_dump.capture.process.capture import Capture
    from keras_npu_dump.records.manifest import Manifest


def tell_late_options(opened: Dict[str, Optional[str]], now: Dict[str, Optional[str]],
                      by_run: bool) -> None:
    """Names dump options that the script has set after the device had read them.

    Args:
      opened: the options at `npu_device.open()`, as text by name.
      now: the options at the begin of the first fit, or at the end.
      by_run: whether `keras-npu-dump run` has started the script.
    """
    late = [name for name in opened if opened[name] != now[name]]
    if late:
        messages.warning(
            "npu_device.open() came first and has read its options: %s. %s%s.",
            "; ".join("%s = %r has no effect" % (name, now[name]) for name in late),
            ways_out.in_time("set them before open()"),
            ", or as options of `run`, before the script" if by_run else ways_out.or_run())


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
    older = [] if failed else [text for text in [tensorflow_1.hint()] if text is not None]
    if capture.opened_options is None:
        return ["npu_device%s: nothing was dumped."
                % (" was never opened" if failed else ".open() was never called")] + older
    if not capture.journal.sections:
        if capture.record.fields["eager"]:
            return ["Every fit() ran with run_eagerly=True or under"
                    " tf.config.run_functions_eagerly(True), which executes no training graph on"
                    " the device: nothing was dumped of it. Leave it out to dump."]
        if not failed:
            return older or [_nobody_counted(capture)]
        return [] if capture.is_of_run else [
            "No training function was executed, so nothing of it was dumped: %s." % _how(capture)]
    if _is_uncounted(capture):
        if "DumpSession" in capture.faces:
            return ["`with dump:` was entered, and `with dump.step():` never: what was dumped is"
                    " tied to no batch. It goes around each call of the training function."]
        return ["Hooks of NpuDumpCallback were called by hand, and those of batches never: what was"
                " dumped is tied to no batch. on_train_batch_begin(batch) and"
                " on_train_batch_end(batch) go around each call of the training function."]
    return _own_loops(capture)


def _is_uncounted(capture: "Capture") -> bool:
    """Whether loops were begun and none of their steps."""
    return all(one.model == "loop" and not one.index for one in capture.journal.sections)


def still_untold(capture: "Capture") -> List[str]:
    """The lines of `unreached`, where nothing that was or will be told has them.

    Args:
      capture: of this process, when it was collected.
    """
    told = (capture.strict_told  # by an exception of ours
            or capture.opened_options is None or _is_uncounted(capture)  # `of_the_end`
            or (capture.is_of_run and capture.final is not None))  # run prints the manifest
    return [] if told else unreached(capture)


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
    elif capture.is_of_run:
        if capture.config.collect:
            return []  # what run prints says it of each function
        why = "No fit() was called"
    else:
        why = "No fit() with an NpuDumpCallback and no DumpSession was seen"
    return [why + ": what was dumped is tied to the executions of each training function, and"
            " epochs are not known. NpuDumpCallback() among the callbacks of fit(), or in a loop of"
            " the script's own `with DumpSession() as dump:` around it, `with dump.step():` around"
            " each step and `dump.next_epoch()` between epochs, tie it to batches."]


_AROUND = "`with dump:` goes around the loop and `with dump.step():` around each call."


def _nobody_counted(capture: "Capture") -> str:
    faces = capture.faces
    dumped = _has_dumped(capture)
    then = ("what was dumped is tied to no batch." if dumped else
            "nothing was dumped, and how many executions ran is not known.")
    ties = ("`with %sDumpSession() as dump:` around the loop and `with dump.step():` around each"
            " call %s%s.")
    verb = "tie them" if dumped else "count them"
    if capture.given_to:
        # Of what they run no batch is counted: data_index says it.
        return ("NpuDumpCallback was given to %s, and to no fit(): it counts batches of trainings,"
                " and %s%s" % (" and ".join(capture.given_to), then, "" if not dumped else
                               " data_index counts the executions of each graph from 0."))
    if "NpuDumpCallback" in faces:
        return "%s; %s %s" % (_NO_HOOK, then, ties % ("", verb, " without callbacks"))
    if "DumpSession" in faces:
        return "DumpSession was made, but never entered: %s %s" % (then, _AROUND)
    if capture.is_of_run and _has_only_used(capture):
        return ("No fit() was called, and what was dumped is of evaluation or prediction: its"
                " data_index counts the executions of each graph from 0.")
    if capture.is_of_run:
        return "No fit() was called, and no step of a loop was counted: %s %s" % (
            then, ties % ("keras_npu_dump.", verb, ", in the script"))
    return ("No fit() with an NpuDumpCallback and no DumpSession was seen: %s %s" % (
        then, ties % ("", verb, "")))


def _has_dumped(capture: "Capture") -> bool:
    """Whether the device has made a folder of dump data since this process began."""
    return bool(_time_folders(capture))


def _time_folders(capture: "Capture") -> List[str]:
    return [os.path.join(capture.dump_path, name)
            for name in time_folders(capture.dump_path, capture.since)]


def _has_only_used(capture: "Capture") -> bool:
    """Whether all functions that were dumped are those of Keras's evaluate() and predict()."""
    functions = {
        os.path.basename(path) for folder in _time_folders(capture)
        for between in ((), ("[0-9]*",))  # two time folders on the newest chips
        for path in glob.glob(os.path.join(glob.escape(folder), *between, "*", "__inference_*"))}
    return bool(functions) and all(
        name.startswith(("__inference_test_function", "__inference_predict_function"))
        for name in functions)


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
             if name in opened and not _is_same(name, opened[name], value)]
    if other:
        return "the device was opened with %s" % ", ".join(other)
    if device_module.is_default(capture.module) is False:
        return ("npu_device.open() was called, and `.as_default()` of what it returns never, so"
                " that functions ran on the CPU")
    return None


def _is_same(name: str, opened: Optional[str], wanted: Any) -> bool:
    text = device_module.option_text(wanted)
    if opened is None:  # an older npu_device does not have all options
        return text == device_module.NPU_DEFAULTS[name]
    return text == (os.path.join(current_folder(), opened) if name == "dump_path" else opened)


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
    # Whether the device counts executions in which the data ended, folders tell.
    counted = max(section.index + section.ends for section in capture.journal.sections)
    cause, died = _how(capture), capture.died
    text = ", %d executions ran" % ran
    if cause is not None:
        text = ": " + cause
        if died is None or died.data_index is None:
            text += " after %d executions" % ran if ran else " before the first execution"
    return ["%s not reached%s" % (which, text) for which in capture.steps.unreached(counted)]
