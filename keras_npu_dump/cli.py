"""keras-npu-dump COMMAND: each command parses, calls one function, and prints.

Tables go to stdout, messages to stderr. Exit status: 0 all well, 1 the command found
a problem of severity error, 2 wrong usage or unreadable input.
"""
import argparse
import contextlib
import json
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional

from absl import flags as absl_flags

from keras_npu_dump import __version__
from keras_npu_dump.errors import DumpError, InputError

PROGRAM = "keras-npu-dump"


def main(argv: Optional[List[str]] = None) -> int:
    """Runs one command; returns the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        if arguments[:1] == ["run"]:
            return _run(arguments[1:])
        options = _parser().parse_args(arguments)
        return options.command(options)
    except (DumpError, absl_flags.Error) as error:
        print("%s: %s" % (PROGRAM, error), file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("%s: interrupted" % PROGRAM, file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Dump data and executed graphs of Keras trainings on Ascend"
        " NPUs, paired.")
    parser.add_argument("--version", action="version", version="%s %s" % (PROGRAM, __version__))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="name")
    commands.required = True
    commands.add_parser("run", help="run an unchanged training script with dump on", add_help=False)
    collect = _add(commands, "collect", _collect,
                   "find what belongs together, and write the manifest")
    collect.add_argument("path", metavar="PATH",
                         help="the dump folder, or any folder below it")
    collect.add_argument("--graphs", action="append", default=[], metavar="DIR",
                         help="a folder with graph files; may be repeated")
    collect.add_argument("--keyword", action="append", default=None, metavar="WORD",
                         help="search the graphs for this word, as the vendor's procedure does;"
                         " may be repeated (default: Iterator)")
    collect.add_argument("--role", metavar="ROLE",
                         help="only graphs of this role: train, eval, predict, iterator, init")
    collect.add_argument("--output", metavar="FILE",
                         help="where the manifest goes (default: manifest.json in the dump folder)")
    collect.add_argument("--verify", action="store_true", help="open every dump file")
    collect.add_argument("--budget", type=int, default=20000, metavar="FILES",
                         help="how many dump files to open otherwise (default: 20000)")
    return parser


def _add(commands: Any, name: str, command: Callable[[argparse.Namespace], int],
         text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(command=command)
    return parser


def _collect(options: argparse.Namespace) -> int:
    from keras_npu_dump.collect import collect
    from keras_npu_dump.report.manifest_table import print_manifest
    from keras_npu_dump.report.progress import Progress
    with Progress() as progress:
        manifest = collect(
            options.path, graphs=tuple(options.graphs),
            keywords=tuple(options.keyword or ("Iterator",)), role=options.role,
            output=options.output, verify=options.verify, budget=options.budget,
            progress=progress)
    if options.json:
        _print_json(manifest.to_json())
    else:
        print_manifest(manifest)
    if manifest.empty:
        return 2  # nothing here is ours: the path is wrong, not the run
    return 1 if manifest.errors else 0


def _print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
    sys.stdout.flush()


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


def _run(arguments: List[str]) -> int:
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
            _print_json(outcome.capture.final.to_json())
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
