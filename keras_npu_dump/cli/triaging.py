"""keras-npu-dump triage: where it first goes wrong, and what to dump next."""
import argparse

from keras_npu_dump.cli.common import print_json
from keras_npu_dump.cli.inspecting import rank_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `triage` to its parser."""
    parser.add_argument("path", metavar="PATH", help="the dump folder of a training")
    parser.add_argument("--rank", metavar="RANK", help="only this rank")
    parser.add_argument("--role", default="train", metavar="ROLE",
                        help="graphs of this role: train, eval, predict, iterator, init,"
                        " unknown or all (default: train)")
    parser.add_argument("--limit", type=int, default=16, metavar="OPERATORS",
                        help="at most so many in the next dump_layer (default: 16)")
    parser.add_argument("--flagfile", metavar="FILE",
                        help="where the flags of the next run go (default: next.flags in the dump"
                        " folder)")


def triage(options: argparse.Namespace) -> int:
    """Finds the suspects, writes the flags of the next run, and prints both.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status: 0 only for the verdict "healthy".
    """
    from keras_npu_dump.analysis.triage.triage import triage as examine
    from keras_npu_dump.report.progress_line import ProgressLine
    from keras_npu_dump.report.triage_text import print_triage
    with ProgressLine() as progress:
        found = examine(options.path, role=options.role, rank=rank_of(options.rank),
                        limit=options.limit, write=options.flagfile or True, progress=progress)
    if options.json:
        print_json(found.to_json())
    else:
        print_triage(found)
    return 0 if found.verdict == "healthy" else 1
