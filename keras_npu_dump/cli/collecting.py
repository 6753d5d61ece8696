"""keras-npu-dump collect: find what belongs together, and write the manifest."""
import argparse
import os
from typing import Any

from keras_npu_dump import messages
from keras_npu_dump.cli.common import print_json
from keras_npu_dump.records.layout import MANIFEST_FILE
from keras_npu_dump.records.manifest_text import NORMAL, VERBOSE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `collect` to its parser."""
    parser.add_argument("path", metavar="PATH", help="the dump folder, or any folder below it")
    parser.add_argument("--graphs", action="append", default=[], metavar="DIR",
                        help="a folder with graph files; may be repeated")
    parser.add_argument("--keyword", action="append", default=None, metavar="WORD",
                        help="search the graphs for this word, as the vendor's procedure does;"
                        " may be repeated (default: Iterator)")
    parser.add_argument("--role", metavar="ROLE",
                        help="only graphs of this role: train, eval, predict, iterator, init")
    parser.add_argument("--output", metavar="FILE",
                        help="where the manifest goes (default: manifest.json in the dump folder)")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="show what speaks for each pair")
    parser.add_argument("--verify", action="store_true", help="open every dump file")
    parser.add_argument("--budget", type=int, default=20000, metavar="FILES",
                        help="how many dump files to open otherwise (default: 20000)")


def collect(options: argparse.Namespace) -> int:
    """Pairs, writes the manifest, and prints it.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status: 2 where nothing of ours is below the path.
    """
    from keras_npu_dump.collector.collect import collect as pair
    from keras_npu_dump.report.manifest_print import print_manifest
    from keras_npu_dump.report.progress_line import ProgressLine
    with ProgressLine() as progress:
        manifest = pair(
            options.path, graphs=tuple(options.graphs),
            keywords=tuple(options.keyword or ("Iterator",)), role=options.role,
            output=options.output, verify=options.verify, budget=options.budget,
            progress=progress)
    if manifest.path is None and not manifest.empty and _is_whole(options.path, manifest):
        # A part of a dump is answered, and written only where --output says.
        messages.warning("cannot write %s; --output FILE puts the manifest elsewhere",
                         os.path.join(manifest.dump_path, MANIFEST_FILE))
    if options.json:
        print_json(manifest.to_json())
    else:
        print_manifest(manifest, detail=VERBOSE if options.verbose else NORMAL)
    if manifest.empty:
        return 2  # nothing here is ours: the path is wrong, not the run
    return 1 if manifest.errors else 0


def _is_whole(path: str, manifest: Any) -> bool:
    """Whether the path is the dump folder or above it."""
    dump_path: str = manifest.dump_path
    return (dump_path + os.sep).startswith(os.path.join(os.path.abspath(path), ""))
