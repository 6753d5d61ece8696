"""keras-npu-dump export: dump data and graphs in forms that other tools read."""
import argparse
import dataclasses
import os
from typing import Any, Dict, List, Sequence, Tuple

from keras_npu_dump.cli.common import print_json
from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.records.layout import MANIFEST_FILE

FORMATS = ("npy", "bin", "json", "msaccucmp")
MAX_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `export` to its parser."""
    parser.add_argument("path", metavar="PATH", help="a file, or any folder of a dump")
    parser.add_argument("--to", required=True, metavar="FORMAT", choices=FORMATS,
                        help="npy or bin (tensors in their original layout), json (graphs, as atc"
                        " --mode=5 gives them), msaccucmp (all that the vendor's comparator wants,"
                        " and its command line)")
    parser.add_argument("--output", metavar="DIR",
                        help="a folder, for msaccucmp also a .tar.gz (default: PATH_FORMAT"
                        " beside a dump folder; for a file or a part of a dump NAME_FORMAT in the"
                        " current folder)")


def export(options: argparse.Namespace) -> int:
    """Writes tensors or graphs below a path in another form; can be run again.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status: 1 where something could not be read or written as it is.

    Raises:
      InputError, FormatError: there is nothing to export, or no place to write to.
    """
    from keras_npu_dump.export.places import default_target
    from keras_npu_dump.report.progress_line import ProgressLine
    path = os.path.normpath(options.path)
    target = options.output or default_target(path, options.to)
    with ProgressLine() as progress:
        if options.to == "msaccucmp":
            from keras_npu_dump.export.msaccucmp import export_msaccucmp
            result: Any = export_msaccucmp(path, target, progress=progress)
        elif options.to == "json":
            from keras_npu_dump.export.graph_json import export_graph_json
            result = export_graph_json(path, target, progress)
        elif options.to == "npy":
            from keras_npu_dump.export.npy import export_npy
            result = export_npy(path, target, _origin_formats(path), progress)
        else:
            from keras_npu_dump.export.bin import export_bin
            result = export_bin(path, target, _origin_formats(path), progress)
    if options.json:
        print_json(dict(dataclasses.asdict(result), target=os.path.abspath(target)))
    else:
        _print_export(result, target)
    return 1 if result.problems else 0


def _origin_formats(path: str) -> Any:
    """Layouts in the framework, from the graphs that belong to what lies at `path`."""
    manifest = _manifest_above(os.path.abspath(path))
    if manifest is None:
        return None
    from keras_npu_dump.export.tensor_files import origin_formats_of
    from keras_npu_dump.formats.graph.graph_reader import read_graphs
    inside = os.path.abspath(path) + os.sep
    origins: Dict[Tuple[str, str, int], str] = {}
    for pair in manifest.pairs:
        if any((manifest.absolute(one.path) + os.sep).startswith(inside)
               or inside.startswith(manifest.absolute(one.path) + os.sep) for one in pair.steps):
            try:
                origins.update(origin_formats_of(read_graphs(manifest.absolute(pair.graph))))
            except (OSError, ValueError):
                pass  # gone or cut since, or no path at all: the tensors' own shapes decide
    return origins


def _manifest_above(folder: str) -> Any:
    """The nearest manifest at or above a path; None without one."""
    while folder != os.path.dirname(folder):
        file = os.path.join(folder, MANIFEST_FILE)
        if os.path.isfile(file):
            # Imported where there is something to read: a fifth of a small export's time.
            from keras_npu_dump.records.manifest import load_manifest
            try:
                return load_manifest(file)
            except (FormatError, InputError):
                pass  # another program's
        folder = os.path.dirname(folder)
    return None


def _comparisons(commands: Sequence[str], target: str) -> List[str]:
    """How to compare what was written: all at once, and one by one."""
    if not commands:
        return []
    from keras_npu_dump.files.quoting import shell_command
    folder, lines = target, []
    if not os.path.isdir(target):
        folder = "FOLDER"
        lines.append("Unpack it where CANN is; FOLDER is where it was unpacked.")
    return [
        *lines, "Compare all steps with golden data, where CANN is: %s GOLDEN" % shell_command(
            "bash", os.path.join(folder, "compare.sh")),
        "GOLDEN is a folder of yours with npy files of the same operators, made on a CPU or GPU.",
        "One by one, in %s:" % folder, *("  " + command for command in commands)]


def _print_export(result: Any, target: str) -> None:
    from keras_npu_dump.files.quoting import terminal
    from keras_npu_dump.report.printing import print_text
    from keras_npu_dump.sizes import human_bytes, plural
    lines = ["%s written (%s) to %s" % (plural(result.written, "file"), human_bytes(result.bytes),
                                        target)]
    lines += _comparisons(getattr(result, "commands", ()), target)
    for title, items in (
            ("there already", getattr(result, "skipped", 0)),
            ("passed over, they hold no tensors", result.passed)):
        if items:
            lines.append("%s: %s" % (title, plural(items, "file")))
    for title, items in (
            ("left as bytes, their type has no documented values", getattr(result, "raw", ())),
            ("left in the device's layout", getattr(result, "kept_layout", ())),
            ("problems", result.problems)):
        if items:
            lines.append("%s: %d" % (title, len(items)))
        lines += ["  " + ": ".join(map(str, item)) for item in items[:MAX_LINES]]
        if len(items) > MAX_LINES:
            lines.append("  ... and %d more" % (len(items) - MAX_LINES))
    print_text("\n".join(map(terminal, lines)))
