"""Statistics dumps: one csv per operator, one row per tensor.

Two dialects exist (runtime `dump_task.cpp` for the CPU path, adump
`adx_dump_record.cpp` for the kernel path); both have 13 columns, and the
reader goes by the header's names, so that other orders and further columns
(`l2norm`) do no harm. Names of operator, type and task stand in the file's
name only.
"""
from __future__ import annotations

import os
import stat
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular
from keras_npu_dump.formats.stats.csv_columns import CsvRows, rows_in

HEADER = ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,"
          "Min Value,Avg Value,Count,Nan Count,Negative Inf Count,"
          "Positive Inf Count")

# io, data_type, format: text as in the file ("Input", "DT_FLOAT", "-");
# shape: tuple of ints, () for a scalar, None for NA; max, min, avg: NaN where
# the file gives none; count, nan, neg_inf, pos_inf: -1 where it gives none.
STATS_FIELDS = ("io", "index", "data_size", "data_type", "format", "shape",
                "max", "min", "avg", "count", "nan", "neg_inf", "pos_inf")
_FLOATS = ("max", "min", "avg")
_COUNTS = ("count", "nan", "neg_inf", "pos_inf")
STATS_DTYPE = np.dtype([
    ("io", object), ("index", np.int32), ("data_size", np.int64),
    ("data_type", object), ("format", object), ("shape", object),
    ("max", np.float64), ("min", np.float64), ("avg", np.float64),
    ("count", np.int64), ("nan", np.int64), ("neg_inf", np.int64),
    ("pos_inf", np.int64)])

_COLUMNS = {
    "Input/Output": "io", "Index": "index", "Data Size": "data_size",
    "Data Type": "data_type", "Format": "format", "Shape": "shape",
    "Max Value": "max", "Min Value": "min", "Avg Value": "avg",
    "Count": "count", "Nan Count": "nan", "Negative Inf Count": "neg_inf",
    "Positive Inf Count": "pos_inf"}
_STANDARD: Sequence[Optional[str]] = STATS_FIELDS
_REQUIRED = ("io", "index")
_HEADER_LINE = (HEADER + "\n").encode("ascii")

# A file has a row per tensor of one operator; more than this is another file.
MAX_BYTES = 64 << 20

Columns = Dict[str, np.ndarray]


class Parsed(NamedTuple):
    """Rows of several statistics files, files in the order given, rows in theirs.

    Attributes:
      columns: by name, one value a row.
      file_of: int64, per row the position of its file.
      problems: (position, error) of each file that cannot be read; it has no rows.
    """
    columns: Columns
    file_of: np.ndarray
    problems: List[Tuple[int, FormatError]]


def read_stats(path: Path, dir_fd: Optional[int] = None) -> np.ndarray:
    """Rows of one statistics file.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: descriptor of an open folder.

    Returns:
      1-D array of STATS_DTYPE, one row per tensor. Integer extremes beyond
      2**53 lose their last digits (floats of 64 bits). A header repeated in
      the file, which the kernel path can leave, is skipped.

    Raises:
      FormatError: no file but a folder, no header, a cell that is neither
        number nor any of the vendor's words for nothing, a row cut off.
      OSError: the file cannot be opened or read.
    """
    return parse_stats(read_bytes(path, dir_fd), path)


def read_bytes(path: Path, dir_fd: Optional[int] = None) -> bytes:
    """The text of a statistics file.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: descriptor of an open folder.

    Raises:
      FormatError: more than MAX_BYTES, or no regular file.
      OSError: the file cannot be opened or read.
    """
    fd, _ = open_regular(path, dir_fd)
    try:
        return read_text(fd, path)
    finally:
        os.close(fd)


def read_text(fd: int, path: Path, start: bytes = b"") -> bytes:
    """The whole text of an open statistics file.

    Args:
      fd: descriptor, behind the bytes `start` that were read already.
      path: of the file, for errors.

    Raises:
      FormatError: no regular file, or more than MAX_BYTES.
      OSError: it cannot be read.
    """
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise FormatError(path, "expected a file of statistics, found none")
    parts = [start]
    size = max(info.st_size, len(start))
    while size <= MAX_BYTES:
        part = os.read(fd, max(1 << 16, info.st_size - len(start) + 1))
        if not part:
            return b"".join(parts)
        parts.append(part)
        size = max(size, sum(map(len, parts)))
    raise FormatError(path, "%d bytes are too many for one operator's statistics" % size, 0)


def parse_stats(data: bytes, path: Path = "<bytes>") -> np.ndarray:
    """`read_stats` of a text that is in memory already.

    Args:
      data: the whole text of a file.
      path: of the file, for errors.

    Raises:
      FormatError: as `read_stats`.
    """
    parsed = parse_texts([data], lambda position: path, all_columns)
    for _, error in parsed.problems:
        raise error
    return rows_of(parsed.columns)


def all_columns(rows: CsvRows) -> Columns:
    """Every column of STATS_DTYPE.

    Args:
      rows: of files with the same header; their faults grow.

    Returns:
      {name of STATS_FIELDS: array}; texts and shapes are object arrays.
    """
    rows.outputs()  # faults where the text is another
    columns: Columns = {
        "io": _objects(rows.texts("io")), "index": rows.integers("index"),
        "data_size": rows.integers("data_size"),
        "data_type": _objects(rows.texts("data_type")),
        "format": _objects(rows.texts("format")), "shape": rows.shapes()}
    for name in _FLOATS:
        columns[name] = rows.floats(name)
    for name in _COUNTS:
        columns[name] = rows.integers(name)
    return columns


def numeric_columns(rows: CsvRows) -> Columns:
    """Columns of numbers alone, which is quicker: size, format and shape are not looked at.

    Args:
      rows: of files with the same header; their faults grow.

    Returns:
      output: bool, True for outputs. index: int64, position among the inputs or
      outputs. dtype: int16, OutputDataType code, 0 unknown. max, min, avg: float64,
      NaN where the file gives none. count, nan, neg_inf, pos_inf: int64, -1 where
      it gives none.
    """
    columns: Columns = {"output": rows.outputs(), "index": rows.integers("index"),
                        "dtype": rows.dtypes()}
    for name in _FLOATS:
        columns[name] = rows.floats(name)
    for name in _COUNTS:
        columns[name] = rows.integers(name)
    return columns


def rows_of(columns: Columns) -> np.ndarray:
    """A structured array from columns.

    Args:
      columns: of `all_columns`.

    Returns:
      1-D array of STATS_DTYPE.
    """
    rows = np.empty(len(columns["index"]), STATS_DTYPE)
    for name in STATS_FIELDS:
        rows[name] = columns[name]
    return rows


def _objects(values: Sequence[Any]) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def parse_texts(texts: Sequence[bytes], path_of: Callable[[int], Path],
                read: Callable[[CsvRows], Columns]) -> Parsed:
    """Rows of many statistics files; those with the same header all at once.

    Args:
      texts: per file its whole text.
      path_of: position in `texts` -> path of the file, for errors.
      read: `all_columns` or `numeric_columns`.

    Returns:
      Parsed; a file in which anything is wrong is a problem that names the
      line and its position in bytes, and does no harm to the others.
    """
    alike: Dict[bytes, List[int]] = {}
    problems: List[Tuple[int, FormatError]] = []
    for position, text in enumerate(texts):
        if not text:
            problems.append((position, FormatError(path_of(position), "the file is empty", 0)))
            continue
        header = _HEADER_LINE if text.startswith(_HEADER_LINE) else text.partition(b"\n")[0]
        alike.setdefault(header, []).append(position)
    columns: List[Columns] = []
    file_of: List[np.ndarray] = []
    for header, positions in alike.items():
        fields = _fields(header)
        if isinstance(fields, str):
            problems.extend((position, FormatError(path_of(position), fields, 0))
                            for position in positions)
            continue
        start = len(header) + (header[-1:] != b"\n")
        rows = CsvRows([texts[position][start:] for position in positions], fields)
        found = read(rows)
        owners = np.array(positions, np.int64)[rows.file_of]
        if rows.faults:
            wrong = _first_faults(rows, owners)
            problems.extend((position, _fault(texts[position], path_of(position), row, reason))
                            for position, (row, reason) in wrong.items())
            keep = ~np.isin(owners, list(wrong))
            found = {name: column[keep] for name, column in found.items()}
            owners = owners[keep]
        columns.append(found)
        file_of.append(owners)
    problems.sort(key=lambda problem: problem[0])
    if not columns:
        columns, file_of = [read(CsvRows([], _STANDARD))], [np.zeros(0, np.int64)]
    if len(columns) == 1:
        return Parsed(columns[0], file_of[0], problems)
    owner = np.concatenate(file_of)
    order = np.argsort(owner, kind="stable")
    return Parsed({name: np.concatenate([part[name] for part in columns])[order]
                   for name in columns[0]}, owner[order], problems)


def _fields(header: bytes) -> Union[str, Sequence[Optional[str]]]:
    """Per cell the name of its column, None for an unknown column; or what is wrong."""
    if header == _HEADER_LINE:
        return _STANDARD
    line = header.rstrip(b"\r").decode("utf-8", "backslashreplace")
    fields = [_COLUMNS.get(name.strip()) for name in line.split(",")]
    known = [name for name in fields if name]
    if any(name not in known for name in _REQUIRED) or len(set(known)) != len(known):
        return "the first line is not the header of a statistics file: %.80r" % line
    return fields


def _first_faults(rows: CsvRows, owners: np.ndarray) -> Dict[int, Tuple[int, str]]:
    """{position of a file: (number of its first faulty row, what is wrong)}."""
    wrong: Dict[int, Tuple[int, str]] = {}
    for row in sorted(rows.faults):
        position = int(owners[row])
        if position not in wrong:
            first = int(np.searchsorted(owners, position))
            wrong[position] = (row - first, rows.faults[row])
    return wrong


def _fault(text: bytes, path: Path, row: int, reason: str) -> FormatError:
    """The error for the row of that number in a file."""
    offset = 0
    for number, line in enumerate(text.split(b"\n")):
        if number and rows_in(line):
            if not row:
                return FormatError(path, "line %d: %s" % (number + 1, reason), offset)
            row -= 1
        offset += len(line) + 1
    return FormatError(path, reason)
