"""keras-npu-dump run: an unchanged training script with dump on."""
import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, Dict, List

from absl import flags as absl_flags

from keras_npu_dump import messages
from keras_npu_dump.cli.common import PROGRAM, print_json
from keras_npu_dump.cli.script_streams import own_stdout
from keras_npu_dump.errors import DumpError, FormatError, InputError, OutputError
from keras_npu_dump.files.read_limited import MAX_FLAG_FILE, read_record
from keras_npu_dump.report.printing import put

if TYPE_CHECKING:
    from keras_npu_dump.config.dump_config import DumpConfig
    from keras_npu_dump.launch.launcher import Outcome

RUN_USAGE = """usage: %s run [--emulate] [--json | -v] [dump options] SCRIPT [ARGS...]

Runs an unchanged training script with dump on. Everything from SCRIPT on is the
script's own. Its exit status is passed through; 2 if the dump cannot be set up, 1 if
a dump is missing or not whole at the end with --data_dump_strict.
--flagfile=FILE reads options from a file, one a line, such as next.flags of triage.
""" % PROGRAM


class _Flags(absl_flags.FlagValues):
    """Reads flag files as everything else is read: no FIFOs and devices, and not without end.

    Attributes:
      flag_files: those that were read, in order.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # FlagValues keeps its own attributes there, all others are flags.
        self.__dict__["flag_files"] = []

    def _get_flag_file_lines(self, filename: Any, parsed_file_stack: Any = None) -> Any:
        if filename:
            self.flag_files.append(filename)
            try:
                read_record(filename, MAX_FLAG_FILE)
            except FormatError as error:
                raise InputError("--flagfile: %s" % error) from None
            except OSError as error:
                raise InputError("--flagfile: cannot read %s: %s" % (
                    filename, error.strerror or error)) from None
        try:
            return super()._get_flag_file_lines(  # type: ignore[no-untyped-call]
                filename, parsed_file_stack)
        except UnicodeDecodeError as error:
            raise InputError("--flagfile: expected text in %s, as this shell's locale says."
                             " Received: %s" % (error.encoding, filename)) from None


def _run_flags() -> _Flags:
    """The dump options in a FlagValues of their own: the global one is the script's."""
    from keras_npu_dump.flags import define_flags, switch_flag
    values = _Flags()
    values.set_gnu_getopt(False)
    for name, text in (("emulate", "Run on the CPU or GPU, with the emulator for npu_device. Not"
                        " given: as the run was that a --flagfile of triage continues."),
                       ("json", "One JSON document on stdout; the script's stdout goes to stderr."),
                       ("verbose", "Show what speaks for each pair (-v)."),
                       ("help", "Show this text.")):
        absl_flags.DEFINE_boolean(name, False, text, flag_values=values, module_name=PROGRAM,
                                  short_name="v" if name == "verbose" else None)
    absl_flags.DEFINE_boolean(
        "open_device", None, "Open the device for the script when it has imported TensorFlow. Not"
        " given: only if npu_device is imported nowhere in the script and its modules.",
        flag_values=values, module_name=PROGRAM)
    # Here dumping is what the command is for: not given means on.
    absl_flags.DEFINE_flag(
        switch_flag("data_dump_flag", None, "Dump operators' data: on, unless switched off here"
                    " or --over_dump is given."), values, "keras_npu_dump")
    define_flags(values)
    return values


def _run_config(values: absl_flags.FlagValues) -> "DumpConfig":
    """Dumping is on unless it was switched off, or overflow detection on."""
    from keras_npu_dump.config.dump_config import DumpConfig
    unused, used = (("data_dump_path", "over_dump_path") if values.over_dump
                    else ("over_dump_path", "data_dump_path"))
    if values[unused].value:
        messages.warning("--%s=%r has no effect %s --over_dump: the folder is --%s.", unused,
                         values[unused].value, "with" if values.over_dump else "without", used)
    overrides: Dict[str, Any] = {}
    if not values.over_dump:
        overrides["enable_dump"] = values.data_dump_flag is not False
    return DumpConfig.from_flags(values, **overrides)


def run(arguments: List[str]) -> int:
    """Runs a script with dump on.

    Args:
      arguments: of the command line behind `run`: options, SCRIPT, and the script's own.

    Returns:
      The exit status: the script's own, 1 where `data_dump_strict` turns a 0 into it, 2
      where there is no SCRIPT.

    Raises:
      DumpError: the dump cannot be set up, or its table cannot be printed.
      absl.flags.Error: an option is wrong.
    """
    values = _run_flags()
    if arguments[:1] == ["-h"]:
        arguments = ["--help"]
    rest = values([PROGRAM + " run"] + arguments)[1:]
    if values.help:
        put("")  # absl asks stdout for its width, which has to be there
        put(RUN_USAGE + values.module_help(PROGRAM) + values.module_help("keras_npu_dump") + "\n")
        return 0
    if not rest:
        messages.error("%s", "SCRIPT: expected a Python file after the options. Received:"
                       " nothing.\n" + RUN_USAGE.rstrip("\n"))
        return 2
    config = _run_config(values)
    _tell_options_after_script(rest[0], rest[1:])
    from keras_npu_dump.launch.launcher import run_script
    with contextlib.ExitStack() as stack:
        stdout = stack.enter_context(own_stdout(bool(values.json)))

        def at_sigterm(outcome: "Outcome") -> None:
            stack.close()
            try:
                _tell_end(config, outcome, values, stdout)
            except DumpError as error:
                messages.error("%s", error)

        outcome = run_script(config, rest[0], rest[1:], _is_emulated(values), values.open_device,
                             at_sigterm)
    if outcome.forked:
        return outcome.status
    return _tell_end(config, outcome, values, stdout)


def _is_emulated(values: _Flags) -> bool:
    """As the command line says; else as the run was that a flag file continues, where one does."""
    from keras_npu_dump.cli.earlier_run import emulated_before
    from keras_npu_dump.launch.launcher import device_is_there
    if values["emulate"].present or not values.flag_files:
        return bool(values.emulate)
    before = emulated_before(values.flag_files)
    if before is None:
        return False
    if device_is_there():
        messages.warning("%s continues a dump that was emulated (%s). Here npu_device is installed,"
                         " so this run is on the NPU.", before.flag_file, before.record)
        return False
    messages.info("%s continues a dump that was emulated (%s), so this run is emulated, too."
                  " --noemulate runs on the NPU.", before.flag_file, before.record)
    return True


def _tell_end(config: "DumpConfig", outcome: "Outcome", values: absl_flags.FlagValues,
              stdout: Any) -> int:
    """Prints what became of a run, and returns the exit status."""
    if outcome.error is not None:
        raise outcome.error
    capture = outcome.capture
    final = None if capture is None else capture.final
    try:
        if values.json:
            print_json(_document(config) if final is None else final.to_json(), stdout.get())
        elif capture is not None and final is not None:
            from keras_npu_dump.records.manifest_text import BRIEF, NORMAL, VERBOSE
            from keras_npu_dump.report.manifest_print import print_manifest
            # The script may have printed it: `print(dump.manifest)`.
            print_manifest(final, after_training=True, file=stdout.get(),
                           detail=VERBOSE if values.verbose else
                           BRIEF if capture.was_printed(final) else NORMAL)
    except OutputError as error:
        # The script's status is its own, and the answer is on disk.
        if not error.reader_gone:
            messages.warning("What was dumped cannot be printed%s. %s", "" if final is None else
                             ", it is in %s" % final.path, error)
    asked = config.strict or (outcome.capture is not None and outcome.capture.strict)
    if not outcome.status and asked and _is_missing(config, outcome):
        messages.error("data_dump_strict: not all that was asked for was dumped, so the exit status"
                       " is 1; the script's own is 0.")
        return 1
    return outcome.status


def _tell_options_after_script(script: str, arguments: List[str]) -> None:
    """Names options of ours that go to a script which does not know them."""
    from keras_npu_dump.config.options import FLAGS
    from keras_npu_dump.launch.import_scan import knows_word
    known = {"emulate", "open_device"}.union(flag.name for flag in FLAGS)
    late = []
    for argument in arguments:
        match = re.match(r"--?(no)?(\w+)(=|$)", argument)
        name = match and (match.group(2) if match.group(2) in known else
                          (match.group(1) or "") + match.group(2))
        if name in known:
            late.append(name)
    # The last two are how a script gets them all from us.
    late = [name for name in dict.fromkeys(late) if os.path.isfile(script) and not any(
        knows_word(script, word) for word in (name, "define_flags", "add_arguments"))]
    if late:
        messages.warning(
            "%s after SCRIPT: the script gets it, and it seems to know no such option. Options of"
            " `run` stand before SCRIPT.", ", ".join("--" + name for name in late))


def _is_missing(config: "DumpConfig", outcome: "Outcome") -> bool:
    """Whether a dump was asked for and did not come, or not whole."""
    from keras_npu_dump.capture.process import end_messages, strict
    if config.is_off or outcome.capture is None:
        return not config.is_off
    final = outcome.capture.final
    if final is None:
        return bool(end_messages.unreached(outcome.capture) or strict.lost(outcome.capture))
    return bool(final.errors)


def _document(config: "DumpConfig") -> Any:
    """The manifest of a run that was not captured: it says so, and nothing else."""
    from keras_npu_dump.records.manifest import Manifest
    from keras_npu_dump.records.problems import Problem
    cause = ("dump is switched off" if config.is_off
             else "the script opened no device" if config.collect
             else "data_dump_collect is off: `keras-npu-dump collect` pairs later")
    return Manifest(dump_path=os.path.abspath(config.dump_path), problems=[
        Problem("not-dumped", "info", "nothing was collected: " + cause)]).to_json()
