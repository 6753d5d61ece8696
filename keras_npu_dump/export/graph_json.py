"""Export of graph files as JSON, as `atc --mode=5` gives them."""
from __future__ import annotations

import os
import stat
from typing import Any, Callable, Iterator, Optional, Tuple

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.export.forms import ExportResult
from keras_npu_dump.export.places import writing
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.regular import (
    check_regular,
    check_writable,
    create,
    open_regular,
    what_is_there,
)
from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph import atc_json
from keras_npu_dump.formats.tree import walk


def export_graph_json(source: Any, target: Any,
                      progress: Optional[Progress] = None,
                      only_build: bool = True) -> ExportResult:
    """Writes ge_proto graph files below a path as `<graph file>.json`.

    Run again, it leaves out files that are there and newer than their graph:
    a file gets its name when it is complete.

    Args:
      source: a graph file, or a folder with graph files at any depth.
      target: folder, made if missing; folders below `source` are repeated.
      progress: called with ("export", files done, files in all).
      only_build: of a folder, only the graphs that were executed.

    Raises:
      InputError: no graph at `source`, or a target that cannot be written.
      FormatError: the one file that `source` is cannot be read.
    """
    source, target = os.fspath(source), os.fspath(target)
    result = ExportResult()
    work = list(_work(source, only_build, lambda error: result.problems.append(
        (error.filename, str(error.strerror)))))
    if not work:
        raise InputError("nothing to export: expected graph files "
                         "(ge_proto_*_Build.txt) in %s, found none" % source)
    with writing(target):
        for number, (path, relative) in enumerate(work):
            output = os.path.join(target, relative + ".json")
            if _is_newer(output, path):
                result.skipped += 1
            else:
                try:
                    result.bytes += _write(path, output)
                    result.written += 1
                    result.files += 1
                except FormatError as error:
                    if path == source:
                        raise
                    result.problems.append((path, error.reason))
            if progress is not None:
                progress("export", number + 1, len(work))
    return result


def _work(source: str, only_build: bool,
          tell: Callable[[OSError], None]) -> Iterator[Tuple[str, str]]:
    if os.path.isfile(source):
        base = os.path.basename(source)
        yield source, base[:-4] if base.endswith(".txt") else base
        return
    if not os.path.isdir(source):
        raise InputError("Expected a graph file or folder. Received: %s, which %s" % (
            source, what_is_there(source)))
    for folder, folders, files in walk(source, tell):
        # A folder of such a name is told, not passed over.
        for file in sorted(files + folders):
            name = names.parse_graph_name(file)
            if name is None or name.kind != "ge_proto" \
                    or only_build and not name.is_build:
                continue
            path = os.path.join(folder, file)
            yield path, os.path.relpath(path, source)[:-len(".txt")]


def _is_newer(output: str, source: str) -> bool:
    try:
        there = os.stat(output)
        return stat.S_ISREG(there.st_mode) and there.st_mtime_ns >= os.stat(source).st_mtime_ns
    except OSError:
        return False


def _write(path: str, output: str) -> int:
    try:
        check_regular(path)
        os.close(open_regular(path)[0])
    except OSError as error:
        raise FormatError(path, error.strerror or str(error)) from None
    try:
        check_writable(output)
        check_writable(output + ".part")
    except FileExistsError as error:
        raise FormatError(output, "%s: %s" % (output, error.strerror)) from None
    made = make_private(os.path.dirname(output))
    part = output + ".part"
    fd = create(part)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            for piece in atc_json.iter_json(path):
                file.write(piece)
            size = file.tell()
        os.replace(part, output)
    except BaseException:
        os.unlink(part)
        for folder in made:
            os.rmdir(folder)
        raise
    return size
