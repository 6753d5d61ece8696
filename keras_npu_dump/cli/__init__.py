"""keras-npu-dump COMMAND: each command parses, calls one function, and prints.

Tables go to stdout, messages to stderr. Exit status: 0 all well, 1 the command found
a problem of severity error, 2 wrong usage or unreadable input.
"""
import argparse
import itertools
import os
import sys
from typing import Any, Callable, List, Optional

from keras_npu_dump import messages
from keras_npu_dump._version import __version__
from keras_npu_dump.cli import (
    collecting,
    diagnosing,
    explaining,
    exporting,
    inspecting,
    memory,
    triaging,
)
from keras_npu_dump.cli.common import PROGRAM, Parser
from keras_npu_dump.errors import DeviceOpenedError, DumpError, InputError, OutputError
from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal


def main(argv: Optional[List[str]] = None) -> int:
    """Runs one command.

    Args:
      argv: the words behind the program's name. Defaults to those of this process.

    Returns:
      The exit status: 0 all well, 1 a problem of severity error, 2 wrong usage or unreadable
      input, 130 after Ctrl-C.
    """
    streams.hold_places()
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        memory.check(single=arguments[:1] != ["run"])
        _check_language(arguments)
        if arguments[:1] == ["run"]:
            # Its options end at SCRIPT, which argparse cannot do beside absl flags.
            return _run(arguments[1:])
        options = _parser().parse_args(arguments)
        status: int = options.command(options)
        return status
    except DumpError as error:
        if isinstance(error, OutputError) and error.reader_gone:
            return 1  # there is nobody to tell
        # The lines to swap are ours; in all other messages a line break is part of a name.
        text = str(error) if isinstance(error, DeviceOpenedError) else terminal(str(error))
        messages.error("%s", text)
        return 2
    except MemoryError:
        messages.error("%s", memory.TEXT)
        return 2
    except FileNotFoundError:
        if _has_working_directory():
            raise
        messages.error("the working directory was deleted: change to another one, or give"
                       " absolute paths")
        return 2
    except KeyboardInterrupt:
        messages.info("interrupted")
        return 130


def _check_language(arguments: List[str]) -> None:
    """Refuses `--lang` before a command's name, and of other commands than explain.

    Raises:
      InputError: it stands there.
    """
    if arguments[:1] == ["explain"]:
        return
    known = arguments[:arguments.index("--")] if "--" in arguments else arguments
    if arguments[:1] == ["run"]:  # behind its SCRIPT all words are the script's
        known = list(itertools.takewhile(lambda word: word.startswith("-"), known[1:]))
    if any(word == "--lang" or word.startswith("--lang=") for word in known):
        raise InputError("--lang is an option of explain alone, behind its name: keras-npu-dump"
                         " explain CODE --lang zh")


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _run(arguments: List[str]) -> int:
    # The other commands start without absl's flags, a fifth of their start.
    from absl import flags as absl_flags

    from keras_npu_dump.cli import running
    try:
        return running.run(arguments)
    except absl_flags.Error as error:
        raise InputError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM, description="Dump data and executed graphs of Keras trainings on Ascend"
        " NPUs, paired.")
    parser.add_argument("--version", action="version", version="%s %s" % (PROGRAM, __version__))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="name")
    commands.required = True
    commands.add_parser("run", help="run an unchanged training script with dump on", add_help=False)
    collecting.add_arguments(_add(
        commands, "collect", collecting.collect,
        "find what belongs together, and write the manifest"))
    diagnosing.add_arguments(_add(
        commands, "doctor", diagnosing.doctor,
        "say what this machine would do, and what would make a dump fail"))
    inspecting.add_arguments(_add(
        commands, "inspect", inspecting.inspect,
        "say what a file is, or which operators and values a run has dumped"))
    triaging.add_arguments(_add(
        commands, "triage", triaging.triage,
        "find the operators where it first goes wrong, and what to dump next"))
    exporting.add_arguments(_add(
        commands, "export", exporting.export,
        "write dump data or graphs in a form that other tools read"))
    explaining.add_arguments(_add(
        commands, "explain", explaining.explain,
        "say what a problem code means, why it comes, and what to do"))
    return parser


def _add(commands: Any, name: str, command: Callable[[argparse.Namespace], int],
         text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(command=command)
    return parser
