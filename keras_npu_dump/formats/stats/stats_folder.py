"""Statistics of a whole folder at once, read or computed.

A dump of one step is thousands of files of two or three tensors. One by one,
the time goes into Python's overhead per row. Here the csv files of a folder are
parsed together (`read_folder_stats`), and tensor dumps are read once and reduced
without anything in between (`compute_folder_stats`). Both give the same table.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular
from keras_npu_dump.formats.dtypes import dtype_name, format_name, numpy_dtype
from keras_npu_dump.formats.stats.compute_stats import compute_stats, stats_of_blocks
from keras_npu_dump.formats.stats.csv_columns import CsvRows
from keras_npu_dump.formats.stats.stats_file import (
    STATS_DTYPE,
    STATS_FIELDS,
    Columns,
    Parsed,
    all_columns,
    numeric_columns,
    parse_texts,
    read_text,
    rows_of,
)
from keras_npu_dump.formats.tensor.decode import decode, is_decoded, value_dtype
from keras_npu_dump.formats.tensor.extent import elements_of
from keras_npu_dump.formats.tensor.header import header_of, parse_header
from keras_npu_dump.formats.tensor.tensor_data import blocks_of

_FIRST_READ = 1 << 14
# Larger dump files are not read whole; smaller files all into the same buffer: a
# fresh buffer for each makes the allocator give memory back and take it
# again, which costs as much as the read.
_WHOLE = 1 << 18
_NO_STATISTICS = (float("nan"),) * 3 + (-1,) * 4


class FolderStats(NamedTuple):
    """Statistics of many files.

    Attributes:
      rows: 1-D array of STATS_DTYPE, files in the order given, rows in theirs.
      file_of: int64, per row the position of its file in the list.
      problems: (position of the file, error) of files that cannot be read.
    """
    rows: np.ndarray
    file_of: np.ndarray
    problems: List[Tuple[int, FormatError]]


def read_folder_stats(folder: Path, file_names: Sequence[str]) -> FolderStats:
    """Reads many statistics files of one folder.

    Args:
      folder: the step folder.
      file_names: as on disk, e.g. of `tree.list_files` with kind "stats".

    Returns:
      FolderStats; a file that cannot be read, or is none, is a problem in it.

    Raises:
      OSError: the folder cannot be opened.
    """
    parsed = _parse_folder(folder, file_names, all_columns)
    return FolderStats(rows_of(parsed.columns), parsed.file_of, parsed.problems)


def read_folder_columns(folder: Path, file_names: Sequence[str]) -> Parsed:
    """The numbers alone of many statistics files of one folder.

    Args:
      folder, file_names: as for `read_folder_stats`.

    Returns:
      Parsed with the columns of `stats_file.numeric_columns`; a file that cannot
      be read, or is none, is a problem in it.

    Raises:
      OSError: the folder cannot be opened.
    """
    return _parse_folder(folder, file_names, numeric_columns)


def _parse_folder(folder: Path, file_names: Sequence[str],
                  read: Callable[[CsvRows], Columns]) -> Parsed:
    texts: List[bytes] = []
    owners: List[int] = []
    problems: List[Tuple[int, FormatError]] = []
    folder = os.fspath(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for position, name in enumerate(file_names):
            try:
                file, _ = open_regular(name, fd)
                try:
                    text = os.read(file, _FIRST_READ)
                    if len(text) == _FIRST_READ:
                        text = read_text(file, name, text)
                finally:
                    os.close(file)
                texts.append(text)
                owners.append(position)
            except (FormatError, OSError) as error:
                problems.append((position, _in_folder(error, folder, name)))
    finally:
        os.close(fd)
    parsed = parse_texts(
        texts, lambda number: os.path.join(folder, file_names[owners[number]]), read)
    problems.extend((owners[number], error) for number, error in parsed.problems)
    problems.sort(key=lambda problem: problem[0])
    file_of = np.array(owners, np.int64)[parsed.file_of]
    return Parsed(parsed.columns, file_of, problems)


def _in_folder(error: Union[FormatError, OSError], folder: str, name: str) -> FormatError:
    """An error of one file of a folder, with the file's whole path."""
    path = os.path.join(folder, name)
    if isinstance(error, FormatError):
        return FormatError(path, error.reason, error.offset)
    return FormatError(path, error.strerror or str(error))


def compute_folder_stats(folder: Path,
                         file_names: Sequence[str]) -> FolderStats:
    """Computes what a statistics dump would hold from many tensor dumps.

    Rows are those of the files' inputs and outputs; tensors without
    statistics (complex, packed, strings, not stored) have the row of a
    statistics dump for such types: NaN and -1. Memory: a file, or blocks
    of a large file.

    Args:
      folder: the step folder.
      file_names: as on disk, e.g. of `tree.list_files` with kind "dump".

    Raises:
      OSError: the folder cannot be opened. A file that cannot be read, or is
        none, is a problem in the result.
    """
    table: List[Tuple[Any, ...]] = []
    file_of: List[int] = []
    problems: List[Tuple[int, FormatError]] = []
    memory = bytearray(_WHOLE)
    folder = os.fspath(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for position, name in enumerate(file_names):
            before = len(table)
            try:
                file, size = open_regular(name, fd)
                try:
                    _add_file(table, file, size, name, memory)
                finally:
                    os.close(file)
            except (FormatError, OSError) as error:
                del table[before:]
                problems.append((position, _in_folder(error, folder, name)))
            file_of += [position] * (len(table) - before)
    finally:
        os.close(fd)
    rows = np.empty(len(table), STATS_DTYPE)
    for field, column in zip(STATS_FIELDS, zip(*table)):
        if field == "shape":
            target = rows[field]
            for number, shape in enumerate(column):
                target[number] = shape
        else:
            rows[field] = column
    return FolderStats(rows, np.array(file_of, np.int64), problems)


def _add_file(table: List[Tuple[Any, ...]], fd: int, file_size: int, path: str,
              memory: bytearray) -> None:
    size = os.readv(fd, [memory])
    # What an earlier file left behind `size` is never reached: a header and
    # its tensors are compared with the file's size.
    data: Optional[bytearray] = memory if size >= 8 else memory[:size]
    header = None
    if size < _WHOLE:
        header = parse_header(data or b"", size, path)
    if header is None:
        data = None
        size = file_size
        header = header_of(fd, size, path)
    for entry in header.entries:
        kind = entry.kind
        if kind == "input":
            io = "Input"
        elif kind == "output":
            io = "Output"
        else:
            continue
        number = entry.data_type
        known = _TYPES.get(number)
        if known is None:
            known = _TYPES[number] = _type(number)
        name, dtype, counted = known
        length, offset = entry.size, entry.offset
        start = (io, entry.index, length, name, format_name(entry.format),
                 entry.shape)
        if not entry.stored or not counted:
            table.append(start + _NO_STATISTICS)
        elif data is None:
            table.append(start + stats_of_blocks(
                blocks_of(fd, size, path, entry)))
        elif dtype is not None:
            count = length // dtype.itemsize
            if count != _product(entry.shape):
                shaped = elements_of(entry, length)
                count = count if shaped is None else shaped
            table.append(start + compute_stats(np.frombuffer(data, dtype, count, offset)
                                               if count else np.empty(0, dtype)))
        else:
            values = decode(memoryview(data)[offset:offset + length], number)
            table.append(start + compute_stats(values[:elements_of(entry, length)]))


def _product(shape: Sequence[int]) -> int:
    product = 1
    for dim in shape:
        product *= dim
    return product


# Per OutputDataType number: its name, numpy's type, whether it has statistics.
_TYPES: Dict[int, Tuple[str, Optional[np.dtype], bool]] = {}


def _type(number: int) -> Tuple[str, Optional[np.dtype], bool]:
    if len(_TYPES) > 4096:
        _TYPES.clear()
    return (dtype_name(number), numpy_dtype(number),
            is_decoded(number) and value_dtype(number).kind != "c")
