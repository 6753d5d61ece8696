"""keras-npu-dump inspect: what a file is, or what a run has dumped."""
import argparse
import os
from typing import Any, Union

from keras_npu_dump.cli.common import print_json
from keras_npu_dump.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `inspect` to its parser."""
    parser.add_argument("path", metavar="PATH", help="a file, or any folder of a dump")
    parser.add_argument("--op", metavar="REGEX",
                        help="only operators whose GE or TensorFlow name matches")
    parser.add_argument("--type", metavar="TYPE",
                        help="only operators of this type; capitals do not matter")
    parser.add_argument("--step", metavar="STEP",
                        help="data_index as in dump_step (5, 3-5, 0|3-5), or epoch:batch, or"
                        " fit:epoch:batch")
    parser.add_argument("--rank", metavar="RANK", help="only this rank")
    parser.add_argument("--role", metavar="ROLE",
                        help="graphs of this role, or all (default: train; without --op, --type,"
                        " --step and --tensor all, train first)")
    parser.add_argument("--tensor", metavar="NAME",
                        help="one tensor: OPERATOR, OPERATOR:0, OPERATOR:input:1; of the first"
                        " chosen execution")


def inspect(options: argparse.Namespace) -> int:
    """Describes one file, the files of one folder, or the operators of a run.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status, 0.

    Raises:
      InputError, FormatError: the path, or what is asked of it, is wrong.
    """
    from keras_npu_dump.report.printing import print_text
    try:
        description, text = _described(options)
    except OSError as error:
        # Not readable for us, on a failing disk, or gone since it was listed.
        raise InputError("cannot read %s: %s" % (
            error.filename or options.path, error.strerror or error)) from None
    if options.json:
        print_json(description)
    else:
        print_text(text(description))
    return 0


def _described(options: argparse.Namespace) -> Any:
    """The description, and what makes a text of it."""
    asked = [name for name in ("op", "type", "step", "tensor", "rank", "role")
             if getattr(options, name) is not None]
    if os.path.isdir(options.path) and (asked or not _holds_dump_files(options.path)):
        from keras_npu_dump.analysis.inspect.run_contents import inspect_run
        from keras_npu_dump.analysis.run import open_run
        from keras_npu_dump.report.progress_line import ProgressLine
        from keras_npu_dump.report.run_text import inspect_run_text
        with ProgressLine() as progress:
            return inspect_run(
                open_run(options.path, progress=progress), op=options.op, op_type=options.type,
                step=options.step, rank=rank_of(options.rank), tensor=options.tensor,
                role=options.role), inspect_run_text
    from keras_npu_dump.analysis.inspect.file import inspect_file, inspect_folder
    from keras_npu_dump.report.inspect_text import as_text
    if os.path.isdir(options.path):
        return inspect_folder(options.path), as_text
    description = inspect_file(options.path)
    if asked and (description["kind"] != "graph" or set(asked) - {"op", "type"}):
        raise InputError("expected a folder of a dump with --%s%s. Received: %s, a file" % (
            asked[-1], "" if set(asked) - {"op", "type"} else ", or a graph file", options.path))
    if asked:
        from keras_npu_dump.analysis.inspect.graph import graph_operators
        description = graph_operators(options.path, options.op, options.type)
    return description, as_text


def rank_of(text: Any) -> Union[int, str, None]:
    """A rank as runs name it.

    Args:
      text: of --rank, or None.

    Returns:
      A number; text such as "device:0", which stands for the rank where no record tells it;
      None where none was asked for.
    """
    return int(text) if text is not None and text.isdigit() else text


def _holds_dump_files(folder: str) -> bool:
    from keras_npu_dump.formats.names import classify
    with os.scandir(folder) as entries:
        # os.path.isfile is False for a link to itself, where entry.is_file() raises.
        return any(classify(entry.name) in ("dump", "stats", "overflow")
                   and os.path.isfile(entry.path) for entry in entries)
