"""What one file of a dump is, as a plain dict (`inspect_text.py`: as text).

Works on a single file of any kind, also outside of a run, and on a folder of
dump files (`inspect_folder`), without writing anything.
"""
from __future__ import annotations

import math
import os
from typing import Any, Dict, List, Optional, Union

import numpy as np

from keras_npu_dump.analysis.inspect.graph import describe_graphs
from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.files.regular import open_regular, what_is_there
from keras_npu_dump.formats import dtypes, mapping, names, sniff, tree
from keras_npu_dump.formats.stats import compute_stats, stats_file, stats_folder
from keras_npu_dump.formats.tensor import decode, dump_file
from keras_npu_dump.formats.tensor.extent import tail_bytes

_FIRST_VALUES = 8
_BLOCK = 8 << 20
_COUNTS = ("count", "nan", "neg_inf", "pos_inf")
_STATS = ("max", "min", "avg", "count", "nan", "neg_inf", "pos_inf")


def inspect_file(path: "Union[str, os.PathLike[str]]") -> Dict[str, Any]:
    """Describes a dump, statistics, overflow, graph or mapping file.

    The name says what a file should be, its content decides. Every dict has
    "kind" ("dump", "stats", "overflow", "graph", "mapping") and "path"; it
    holds nothing that JSON cannot (NaN and infinities are texts).

    Args:
      path: of the file, also outside of a dump.

    Returns:
      By kind: "tensors" with their statistics and first values; "rows" of
      statistics; "records" of overflows; "graphs" with the number of operators per
      type; "rows" of a mapping. "name" holds what the file's name says.

    Raises:
      InputError: not a file.
      FormatError: none of these kinds; the error of the kind that its name
        promises.
      OSError: it cannot be read.
    """
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise InputError("Expected a file or folder. Received: %s, which %s" % (
            path, what_is_there(path)))
    name = os.path.basename(path)
    full_name = name
    kind = names.classify(name)
    if kind == "digits":
        full_name = mapping.resolve(
            name, mapping.read_mapping(os.path.dirname(path) or "."))
        kind = names.classify(full_name)
    readers = {"dump": _dump, "stats": _stats, "overflow": _overflow,
               "graph": describe_graphs, "mapping": _mapping}
    order = [kind] if kind in readers else []
    if not order and _looks_like_graph(path):
        order = ["graph"]  # so that of a cut one its own error is told
    order += [other for other in ("dump", "stats", "graph")
              if other not in order]
    problem: Optional[FormatError] = None
    for candidate in order:
        try:
            result = readers[candidate](path, full_name)
        except FormatError as error:
            problem = problem or error
            continue
        result["path"] = path
        if full_name != name:
            result["full_name"] = full_name
        return result
    assert problem is not None
    raise problem


def _looks_like_graph(path: str) -> bool:
    fd, _ = open_regular(path)
    with os.fdopen(fd, "rb") as stream:
        return sniff.looks_like(stream.read(sniff.ENOUGH)) == "a graph file"


def _named(kind: str, full_name: str) -> Dict[str, Any]:
    """The part that the file's name tells."""
    name = names.parse_dump_name(full_name)
    result: Dict[str, Any] = {"kind": kind}
    if name is not None:
        result["name"] = {key: value for key, value in name._asdict().items()
                          if value is not None}
    return result


def _dump(path: str, full_name: str) -> Dict[str, Any]:
    header = dump_file.read_header(path)
    result = _named("dump", full_name)
    result.update(
        op_name=header.op_name, dump_time=header.dump_time,
        version=header.version, legacy=header.legacy,
        bytes=header.file_size, trailing_bytes=header.trailing)
    if header.attrs:
        result["attrs"] = header.attrs
    if header.dfx_message:
        result["dfx_message"] = header.dfx_message
    result["tensors"] = [_tensor(path, entry) for entry in header.entries]
    return result


def _tensor(path: str, entry: dump_file.TensorEntry) -> Dict[str, Any]:
    described: Dict[str, Any] = {
        "kind": entry.kind, "index": entry.index, "dtype": entry.dtype_name,
        "format": entry.format_name, "shape": list(entry.shape),
        "original_shape": None if entry.original_shape is None
        else list(entry.original_shape),
        "bytes": entry.size, "offset": entry.offset,
        "stored": entry.stored}
    if tail_bytes(entry):
        described["tail_bytes"] = tail_bytes(entry)
    if entry.sub_format:
        described["sub_format"] = entry.sub_format
    if entry.address:
        described["address"] = "0x%x" % entry.address
    if entry.original_op is not None:
        original = entry.original_op
        described["original_op"] = {
            "name": original.name, "output_index": original.output_index,
            "dtype": dtypes.ge_dtype_name(original.data_type),
            "format": dtypes.format_name(original.format)}
    if not entry.stored or not entry.size:
        return described
    if not decode.is_decoded(entry.data_type):
        described["note"] = "bytes; %s has no documented values" \
            % entry.dtype_name
        return described
    first = next(dump_file.iter_blocks(path, entry, 1 << 12))[:_FIRST_VALUES]
    described["first_values"] = [_plain(value) for value in first.tolist()]
    statistics = statistics_of(path, entry)
    if statistics is not None:
        described["statistics"] = {
            key: _plain(value) for key, value
            in zip(_STATS, statistics)}
    return described


def statistics_of(path: str, entry: dump_file.TensorEntry
                  ) -> Optional[compute_stats.Statistics]:
    """Statistics of one dumped tensor in bounded memory.

    Args:
      path: of the dump file. entry: the tensor's description there.

    Returns:
      None for types that have none (complex, bytes).

    Raises:
      FormatError: the file is cut off.
    """
    if decode.value_dtype(entry.data_type).kind not in "biuf" \
            or not decode.is_decoded(entry.data_type):
        return None
    return compute_stats.stats_of_blocks(dump_file.iter_blocks(path, entry, _BLOCK))


def _plain(value: Any) -> Any:
    """A number as JSON has it; NaN and infinities as text."""
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _stats(path: str, full_name: str) -> Dict[str, Any]:
    result = _named("stats", full_name)
    result["rows"] = [_row(row) for row in stats_file.read_stats(path)]
    return result


def _row(row: np.void) -> Dict[str, Any]:
    described = {name: _field(name, row[name]) for name in stats_file.STATS_FIELDS}
    if described["nan"] is None:  # the file gives no statistics
        described.update(max=None, min=None, avg=None)
    return described


def _field(name: str, value: Any) -> Any:
    """A field of a row as JSON has it; None for a count that the file does not give."""
    plain = value.item() if isinstance(value, np.generic) else value
    if name in _COUNTS and plain == -1:
        return None
    return list(plain) if isinstance(plain, tuple) else _plain(plain)


def _overflow(path: str, full_name: str) -> Dict[str, Any]:
    from keras_npu_dump.formats.tensor import opdebug
    result = _named("overflow", full_name)
    result["records"] = [record._asdict() for record
                         in opdebug.read_overflow(path)]
    for record in result["records"]:
        record["status"] = list(record["status"])
    return result


def _mapping(path: str, _: str) -> Dict[str, Any]:
    folder = os.path.dirname(path) or "."
    rows = mapping.read_mapping(folder)
    return {"kind": "mapping", "rows": rows,
            "skipped_lines": mapping.count_skipped(folder),
            "missing_files": sorted(
                name for name in rows
                if not os.path.exists(os.path.join(folder, name)))}


def inspect_folder(path: "Union[str, os.PathLike[str]]") -> Dict[str, Any]:
    """Statistics of every tensor of the dumps below a path.

    Args:
      path: a folder, of one execution or of many.

    Returns:
      {"kind": "folder", "path", "files", "bytes", "tensors": [{"file",
      "kind", "index", "dtype", "format", "shape", and the seven statistics}],
      "problems": [{"path", "reason"}]}; "file" is relative to the path, with
      its long name where it is digits. Of tensor dumps the statistics are
      computed, of statistics dumps they are read; what is not given is None.

    Raises:
      InputError: not a folder. OSError: it cannot be read.
    """
    path = os.fspath(path)
    if not os.path.isdir(path):
        raise InputError("Expected a folder. Received: %s" % path)
    rows: List[Dict[str, Any]] = []
    problems: List[Dict[str, str]] = []
    files = size = 0
    for step in tree.walk_steps(path):
        relative = os.path.relpath(step.path, path)
        odd: List[FormatError] = []
        found = tree.list_files(step.path, odd)
        problems.extend({"path": error.path, "reason": error.reason} for error in odd)
        for kind, read in (("dump", stats_folder.compute_folder_stats),
                           ("stats", stats_folder.read_folder_stats)):
            chosen = [file for file in found if file.kind == kind]
            files += len(chosen)
            size += sum(file.size for file in chosen)
            table = read(step.path, [file.name for file in chosen])
            paths = [os.path.normpath(os.path.join(relative, file.full_name))
                     for file in chosen]
            rows.extend(_folder_rows(table, paths))
            problems.extend({"path": error.path, "reason": error.reason}
                            for _, error in table.problems)
    return {"kind": "folder", "path": path, "files": files, "bytes": size,
            "tensors": rows, "problems": problems}


def _folder_rows(table: stats_folder.FolderStats,
                 paths: List[str]) -> List[Dict[str, Any]]:
    rows = []
    for position, row in zip(table.file_of.tolist(), table.rows.tolist()):
        (io, index, _, dtype, layout, shape, high, low, average, count, nan,
         negative, positive) = row
        given = nan >= 0
        rows.append({
            "file": paths[position], "kind": io.lower(), "index": index,
            "dtype": dtype, "format": layout,
            "shape": None if shape is None else list(shape),
            "max": _plain(high) if given else None,
            "min": _plain(low) if given else None,
            "avg": _plain(average) if given else None,
            "count": count if count >= 0 else None,
            "nan": nan if given else None,
            "neg_inf": negative if given else None,
            "pos_inf": positive if given else None})
    return rows
