"""Writes every tensor below a path into files of its own.

What all tensor formats share: which files, in which folders, and what to say
where there is nothing. How one tensor becomes a file is said by a `Form`
(npy.py, bin.py), and done by `folder_writer.py`.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.export import places
from keras_npu_dump.export.folder_writer import FolderWriter
from keras_npu_dump.export.forms import ExportResult, Form, OriginFormats
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.files.regular import what_is_there
from keras_npu_dump.formats import tree
from keras_npu_dump.sizes import plural


def export(source: Any, target: Any, form: Form,
           origin_formats: Optional[OriginFormats] = None,
           progress: Optional[Progress] = None) -> ExportResult:
    """Writes the tensors of all dump files below `source` to `target`.

    The folders below `source` are repeated below `target`. Run again, it
    leaves out what is there and complete. Files are 0600, folders 0700.

    Args:
      source: a dump file, or any level of a dump tree.
      target: folder, made if there is something to write; not inside
        `source`'s step folders.
      form: npy or bin.
      origin_formats: layouts from the graph (`origin_formats_of`), for where
        the shapes alone do not tell NHWC from NCHW.
      progress: called with ("export", files done, files in all).

    Returns:
      What was done. What could not be read is in `problems`.

    Raises:
      InputError: no tensors at `source`, or a target that cannot be written.
      FormatError: the one file that `source` is cannot be read.
    """
    source, target = os.fspath(source), os.fspath(target)
    result = ExportResult()
    work = list(_work(source, result))
    total = sum(len(files) for _, _, files in work)
    done = 0
    with places.writing(target):
        for folder, relative, files in work:
            try:
                writer = FolderWriter(folder, target, relative, form, origin_formats or {}, result)
            except OSError as error:  # gone since it was listed
                result.problems.append((folder, error.strerror or str(error)))
                continue
            try:
                for file in files:
                    writer.add(file)
                    done += 1
                    if progress is not None:
                        progress("export", done, total)
            finally:
                writer.close()
    if not result.files:
        _nothing(source, work, result)
    return result


def _work(source: str, result: ExportResult
          ) -> Iterator[Tuple[str, str, List[tree.DumpFile]]]:
    """(folder, its path below the source, its files)."""
    if os.path.isfile(source):
        folder, name = os.path.split(source)
        found = [file for file in tree.list_files(folder or ".")
                 if file.name == name]
        # What a single file is, its content decides.
        yield folder or ".", "", [
            file if file.kind in ("stats", "overflow")
            else file._replace(kind="dump") for file in found]
        return
    if not os.path.isdir(source):
        raise InputError("Expected a dump file or folder. Received: %s, which %s" % (
            source, what_is_there(source)))
    for step in tree.walk_steps(source):
        try:
            odd: List[FormatError] = []
            files = tree.list_files(step.path, odd)
            result.problems.extend((error.path, error.reason) for error in odd)
        except OSError as error:
            result.problems.append((step.path, error.strerror or str(error)))
            continue
        yield step.path, os.path.relpath(step.path, source), files


def _nothing(source: str, work: List[Any], result: ExportResult) -> None:
    """Raises what there is to say of a source without any tensor, if that is all of it."""
    if result.problems:
        if os.path.isfile(source):
            raise FormatError(source, result.problems[0][1])
        return
    count = sum(file.kind == "stats" for _, _, files in work for file in files)
    if count:
        raise InputError(
            "nothing to export: %s holds statistics alone (dump_data=stats, %s) "
            "and no tensors. Dump with dump_data=tensor, or read the statistics "
            "with `keras-npu-dump inspect`" % (source, plural(count, "file")))
    raise InputError("nothing to export: expected a dump file, or a folder "
                     "with dump files at any depth. Received: %s" % source)


def origin_formats_of(graphs: Any) -> Dict[Tuple[str, str, int], str]:
    """Layouts in the framework, as the graphs of a file tell them.

    Args:
      graphs: of `graph_reader.read_graphs`.

    Returns:
      {(operator, "input" or "output", index): layout}, without those that no graph tells.
    """
    found: Dict[Tuple[str, str, int], str] = {}
    for graph in graphs:
        for op in graph.ops:
            for kind, descs in (("input", op.input_descs),
                                ("output", op.output_descs)):
                for index, desc in enumerate(descs):
                    layout = desc.origin_format
                    if layout:
                        found[(op.name, kind, index)] = layout
    return found
