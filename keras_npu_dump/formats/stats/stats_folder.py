"""Statistics of a whole folder at once, read or computed.

A dump of one step is thousands of files of two or three tensors. One by one,
the time goes into Python's overhead per row. Here csv files of the standard
form are joined, split once and converted column by column
(`read_folder_stats`), and tensor dumps are read once and reduced without
anything in between (`compute_folder_stats`). Both give the same table.
"""
from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import open_regular
from keras_npu_dump.formats.dtypes import dtype_name, format_name, numpy_dtype
from keras_npu_dump.formats.stats.compute_stats import compute_stats, stats_of_blocks
from keras_npu_dump.formats.stats.stats_file import (
    HEADER,
    STATS_DTYPE,
    STATS_FIELDS,
    parse_shape,
    parse_stats,
    read_stats,
)
from keras_npu_dump.formats.tensor.decode import decode, is_decoded, value_dtype
from keras_npu_dump.formats.tensor.header import Path, header_of, parse_header
from keras_npu_dump.formats.tensor.tensor_data import blocks_of

_HEADER = (HEADER + "\n").encode("ascii")
_FIRST_READ = 1 << 14
_COLUMNS = 13
# Larger dump files are not read whole; smaller ones all into one buffer: a
# fresh one for each file makes the allocator give memory back and take it
# again, which costs as much as the read.
_WHOLE = 1 << 18
_NO_STATISTICS = (float("nan"),) * 3 + (-1,) * 4
_MISSING = {"": "nan", "NA": "nan", "-": "nan"}


class FolderStats(NamedTuple):
    """Attributes:
      rows: array of STATS_DTYPE, files in the order given, rows in theirs.
      file_of: per row the position of its file in the list.
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

    Raises:
      OSError: the folder cannot be opened. A file that cannot be read, or is
        none, is a problem in the result.
    """
    texts: List[bytes] = []
    owners: List[int] = []
    odd: dict = {}
    problems: List[Tuple[int, FormatError]] = []
    start = len(_HEADER)
    folder = os.fspath(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for position, name in enumerate(file_names):
            try:
                file, _ = open_regular(name, fd)
                try:
                    data = os.read(file, _FIRST_READ)
                finally:
                    os.close(file)
                if data.startswith(_HEADER) and data.endswith(b"\n") \
                        and len(data) < _FIRST_READ:
                    texts.append(data[start:])
                    owners.append(position)
                else:
                    odd[position] = read_stats(name, dir_fd=fd)
            except FormatError as error:
                problems.append((position, FormatError(
                    os.path.join(folder, name), error.reason, error.offset)))
            except OSError as error:
                problems.append((position, FormatError(
                    os.path.join(folder, name),
                    error.strerror or str(error))))
    finally:
        os.close(fd)
    rows = _columns(texts)
    if rows is None:
        # Something in there is not standard: find it file by file.
        for position, text in zip(owners, texts):
            path = os.path.join(folder, file_names[position])
            try:
                odd[position] = parse_stats(_HEADER + text, path)
            except FormatError as error:
                problems.append((position, error))
        texts, owners = [], []
        rows = np.empty(0, STATS_DTYPE)
    counts = [text.count(b"\n") for text in texts]
    file_of = np.repeat(np.array(owners, np.int64), counts)
    if odd:
        extra = [odd[position] for position in sorted(odd)]
        rows = np.concatenate([rows] + extra)
        file_of = np.concatenate([file_of] + [
            np.full(len(odd[position]), position) for position in sorted(odd)])
        order = np.argsort(file_of, kind="stable")
        rows, file_of = rows[order], file_of[order]
    problems.sort(key=lambda problem: problem[0])
    return FolderStats(rows, file_of.astype(np.int64), problems)


def compute_folder_stats(folder: Path,
                         file_names: Sequence[str]) -> FolderStats:
    """Computes what a statistics dump would say from many tensor dumps.

    Rows are those of the files' inputs and outputs; tensors without
    statistics (complex, packed, strings, not stored) have the row of a
    statistics dump for such types: NaN and -1. Memory: one file, or blocks
    of a large one.

    Args:
      folder: the step folder.
      file_names: as on disk, e.g. of `tree.list_files` with kind "dump".

    Raises:
      OSError: the folder cannot be opened. A file that cannot be read, or is
        none, is a problem in the result.
    """
    table: List[tuple] = []
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
            except FormatError as error:
                del table[before:]
                problems.append((position, FormatError(
                    os.path.join(folder, name), error.reason, error.offset)))
            except OSError as error:
                del table[before:]
                problems.append((position, FormatError(
                    os.path.join(folder, name),
                    error.strerror or str(error))))
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


def _add_file(table: List[tuple], fd: int, file_size: int, path: str,
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
            table.append(start + compute_stats(np.frombuffer(
                data, dtype, length // dtype.itemsize, offset)
                if length else np.empty(0, dtype)))
        else:
            table.append(start + compute_stats(decode(
                memoryview(data)[offset:offset + length], number)))


# Per OutputDataType number: its name, numpy's type, whether it has statistics.
_TYPES: Dict[int, Tuple[str, Optional[np.dtype], bool]] = {}


def _type(number: int) -> Tuple[str, Optional[np.dtype], bool]:
    if len(_TYPES) > 4096:
        _TYPES.clear()
    return (dtype_name(number), numpy_dtype(number),
            is_decoded(number) and value_dtype(number).kind != "c")


def _columns(texts: List[bytes]) -> Optional[np.ndarray]:
    """Rows of bodies in the standard form; None if one is not."""
    try:
        joined = b"".join(texts).decode("ascii")
    except UnicodeDecodeError:
        return None
    if "\r" in joined:
        return None
    cells = joined.replace("\n", ",").split(",")
    del cells[-1]
    count = len(cells) // _COLUMNS
    if len(cells) != count * _COLUMNS \
            or not set(cells[0::_COLUMNS]) <= {"Input", "Output"} \
            or joined.count("\n") != count:
        return None
    rows = np.empty(count, STATS_DTYPE)
    shapes = {}
    try:
        for number, field in enumerate(STATS_FIELDS):
            column = cells[number::_COLUMNS]
            if field in ("io", "data_type", "format"):
                rows[field] = column
            elif field == "shape":
                for text in set(column):
                    shapes[text] = parse_shape(text)
                target = rows[field]
                for row, text in enumerate(column):
                    target[row] = shapes[text]
            elif field in ("max", "min", "avg"):
                rows[field] = _floats(column)
            else:
                rows[field] = _ints(column)
    except (ValueError, OverflowError):
        return None
    return rows


def _floats(column: List[str]) -> List[float]:
    if "_" in "".join(column):
        raise ValueError("no number")
    try:
        return list(map(float, column))
    except ValueError:
        get = _MISSING.get
        return [float(get(cell, cell)) for cell in column]


def _ints(column: List[str]) -> List[int]:
    if "".join(column).isdigit():
        try:
            return list(map(int, column))
        except ValueError:
            pass  # an empty cell among them
    if any(cell.strip("0123456789") not in ("", "-", "NA")
           for cell in column):
        raise ValueError("no whole number")
    return [-1 if cell in _MISSING else int(cell) for cell in column]
