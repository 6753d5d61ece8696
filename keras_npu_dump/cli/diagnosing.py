"""keras-npu-dump doctor: what this machine would do, and what would make a dump fail."""
import argparse

from keras_npu_dump.cli.common import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The same dump options as `run`: they are what is examined."""
    from keras_npu_dump import flags
    parser.add_argument("--emulate", action="store_true",
                        help="examine a run with the emulator in place of npu_device")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="show the variables, too, that are not set")
    flags.add_arguments(parser)


def doctor(options: argparse.Namespace) -> int:
    """Examines this machine, and prints what was found.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status: 1 where a dump would fail.
    """
    from keras_npu_dump.config.dump_config import DumpConfig
    from keras_npu_dump.doctor.diagnosis import examine
    from keras_npu_dump.report.doctor_text import doctor_text
    from keras_npu_dump.report.printing import print_text
    config = (DumpConfig.from_flags(options) if options.over_dump
              else DumpConfig.from_flags(options, enable_dump=True))
    diagnosis = examine(config, options.emulate)
    if options.json:
        print_json(diagnosis.to_json())
    else:
        print_text(doctor_text(diagnosis, options.verbose))
    return 1 if diagnosis.errors else 0
