"""The commands that read what a training has left: collect, inspect, export."""
import argparse
import dataclasses
import os
import sys
from typing import Any

from keras_npu_dump.cli.common import print_json

FORMATS = ("npy", "bin", "json")
MAX_LINES = 20


def collect(options: argparse.Namespace) -> int:
    from keras_npu_dump.collect.collecting import collect as pair
    from keras_npu_dump.report.manifest_table import print_manifest
    from keras_npu_dump.report.progress import Progress
    with Progress() as progress:
        manifest = pair(
            options.path, graphs=tuple(options.graphs),
            keywords=tuple(options.keyword or ("Iterator",)), role=options.role,
            output=options.output, verify=options.verify, budget=options.budget,
            progress=progress)
    if options.json:
        print_json(manifest.to_json())
    else:
        print_manifest(manifest)
    if manifest.empty:
        return 2  # nothing here is ours: the path is wrong, not the run
    return 1 if manifest.errors else 0


def inspect(options: argparse.Namespace) -> int:
    """Describes one file, or counts what is in a folder."""
    from keras_npu_dump.report.inspect_file import inspect_file, inspect_folder
    from keras_npu_dump.report.inspect_text import as_text
    describe = inspect_folder if os.path.isdir(options.path) else inspect_file
    description = describe(options.path)
    if options.json:
        print_json(description)
    else:
        sys.stdout.write(as_text(description))
    return 0


def export(options: argparse.Namespace) -> int:
    """Writes tensors or graphs below a path in another form; can be run again."""
    from keras_npu_dump.report.progress import Progress
    path = os.path.normpath(options.path)
    target = options.output or "%s_%s" % (path, options.to)
    with Progress() as progress:
        if options.to == "json":
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
    from keras_npu_dump.collect.manifest import load_manifest
    from keras_npu_dump.export.tensors import origin_formats_of
    from keras_npu_dump.formats.graph_reader import read_graphs
    folder = os.path.abspath(path)
    while not os.path.isfile(os.path.join(folder, "manifest.json")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    manifest = load_manifest(os.path.join(folder, "manifest.json"))
    inside = os.path.abspath(path) + os.sep
    origins: dict = {}
    for pair in manifest.pairs:
        if any((manifest.absolute(one.path) + os.sep).startswith(inside)
               or inside.startswith(manifest.absolute(one.path) + os.sep) for one in pair.steps):
            origins.update(origin_formats_of(read_graphs(manifest.absolute(pair.graph))))
    return origins


def _print_export(result: Any, target: str) -> None:
    from keras_npu_dump.report.sizes import human_bytes, plural
    print("%s written (%s), %d there already, from %s read"
          % (plural(result.written, "file"), human_bytes(result.bytes), result.skipped,
             plural(result.files, "file")))
    print("Folder: %s" % target)
    for title, items in (
            ("left as bytes, their type has no documented values", result.raw),
            ("left in the device's layout", result.kept_layout),
            ("not readable", result.problems)):
        if items:
            print("%s: %d" % (title, len(items)))
        for item in items[:MAX_LINES]:
            print("  " + ": ".join(map(str, item)))
        if len(items) > MAX_LINES:
            print("  ... and %d more" % (len(items) - MAX_LINES))
