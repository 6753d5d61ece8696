"""keras-npu-dump run: an unchanged training script with dump on."""
import contextlib
import os
import sys
from typing import Any, Dict, Iterator, List

from absl import flags as absl_flags

from keras_npu_dump.cli.common import PROGRAM, print_json
from keras_npu_dump.errors import InputError

RUN_USAGE = """usage: %s run [--emulate] [--json] [dump options] SCRIPT [ARGS...]

Runs an unchanged training script with dump on. Everything from SCRIPT on is the
script's own. Its exit status is passed through.
""" % PROGRAM


def _run_flags() -> absl_flags.FlagValues:
    """The dump options in a FlagValues of their own: the global one is the script's."""
    from keras_npu_dump.flags import define_flags
    values = absl_flags.FlagValues()
    values.set_gnu_getopt(False)
    for name, text in (("emulate", "Run on the CPU or GPU, with the emulator for npu_device."),
                       ("json", "One JSON document on stdout; the script's stdout goes to stderr."),
                       ("help", "Show this text.")):
        absl_flags.DEFINE_boolean(name, False, text, flag_values=values, module_name=PROGRAM)
    define_flags(values)
    return values


def _run_config(values: absl_flags.FlagValues) -> Any:
    """Dumping is on unless it was switched off, or overflow detection on."""
    from keras_npu_dump.config import DumpConfig
    overrides: Dict[str, Any] = {}
    if not values.over_dump:
        overrides["enable_dump"] = (
            values.data_dump_flag is not False or not values["data_dump_flag"].present)
    return DumpConfig.from_flags(values, **overrides)


def run(arguments: List[str]) -> int:
    values = _run_flags()
    rest = values([PROGRAM + " run"] + arguments)[1:]
    if values.help:
        print(RUN_USAGE + values.main_module_help())
        print(values.module_help("keras_npu_dump"))
        return 0
    if not rest:
        raise InputError("SCRIPT: expected a Python file after the options. Received: nothing.\n"
                         + RUN_USAGE)
    config = _run_config(values)
    from keras_npu_dump.capture.launcher import run_script
    with _stdout_to_stderr() if values.json else contextlib.nullcontext():
        outcome = run_script(config, rest[0], rest[1:], bool(values.emulate))
        sys.stdout.flush()
    if outcome.error is not None:
        raise outcome.error
    if outcome.capture is not None and outcome.capture.final is not None:
        if values.json:
            print_json(outcome.capture.final.to_json())
        else:
            from keras_npu_dump.report.manifest_table import print_manifest
            print_manifest(outcome.capture.final, after_training=True)
    return outcome.status


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """For what the script prints, and what C code and children of it print."""
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
