"""Export of graph files as JSON, as `atc --mode=5` gives them."""
from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Optional, Tuple

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.export.forms import ExportResult
from keras_npu_dump.export.places import writing
from keras_npu_dump.export.target_folder import TargetFolder
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.regular import check_regular, what_is_there
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

    Returns:
      What was done. Graphs that could not be read are in `problems`.

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
            try:
                size = _write(path, target, relative + ".json")
            except FormatError as error:
                if path == source:
                    raise
                result.problems.append((path, error.reason))
            else:
                if size is None:
                    result.skipped += 1
                else:
                    result.files += 1
                    result.written += 1
                    result.bytes += size
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


def _write(path: str, target: str, relative: str) -> Optional[int]:
    """The bytes that were written; None where the file is there and newer than the graph."""
    check_regular(path)
    folder = TargetFolder(target, os.path.dirname(relative))
    name = os.path.basename(relative)
    try:
        if _is_newer(folder, name, path):
            return None
        with folder.new_file(name) as fd, open(fd, "wb", closefd=False) as file:
            return sum(map(file.write, graph_bytes(path)))
    except BaseException:
        folder.remove_if_new()
        raise
    finally:
        folder.close()


def _is_newer(folder: TargetFolder, name: str, source: str) -> bool:
    try:
        return folder.status(name).st_mtime_ns >= os.stat(source).st_mtime_ns
    except OSError:
        return False


def graph_bytes(path: str) -> Iterator[bytes]:
    """A graph file as JSON, piece by piece.

    Args:
      path: of a ge_proto file.

    Raises:
      FormatError: it cannot be opened or read, or is no graph.
    """
    try:
        for piece in atc_json.iter_json(path):
            yield piece.encode("ascii")
    except OSError as error:
        raise FormatError(path, error.strerror or str(error)) from None
    except UnicodeError as error:  # half a character in the path, which is none then
        raise FormatError(path, str(error)) from None
