"""Statistics dumps: one csv per operator, one row per tensor.

Two dialects exist (runtime `dump_task.cpp` for the CPU path, adump
`adx_dump_record.cpp` for the kernel path); both have 13 columns, and the
reader goes by the header's names, so that other orders and further columns
(`l2norm`) do no harm. Names of operator, type and task stand in the file's
name only.
"""
from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.stats.compute_stats import Statistics, compute_stats
from keras_npu_dump.formats.tensor.tensor_writer import as_value, payload, write_parts

HEADER = ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,"
          "Min Value,Avg Value,Count,Nan Count,Negative Inf Count,"
          "Positive Inf Count")

# io, data_type, format: text as in the file ("Input", "DT_FLOAT", "-");
# shape: tuple of ints, () for a scalar, None for NA; max, min, avg: NaN where
# the file gives none; count, nan, neg_inf, pos_inf: -1 where it gives none.
STATS_FIELDS = ("io", "index", "data_size", "data_type", "format", "shape",
                "max", "min", "avg", "count", "nan", "neg_inf", "pos_inf")
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
_STANDARD = [_COLUMNS[name] for name in HEADER.split(",")]
_REQUIRED = ("io", "index")
_MISSING = frozenset(("", "-", "NA", "N/A"))
_TEXTS = frozenset(("io", "data_type", "format"))
_FLOATS = frozenset(("max", "min", "avg"))

# A file has a row per tensor of one operator; more than this is another file.
MAX_BYTES = 64 << 20
_MAX_INT = (1 << 63) - 1

# Types whose statistics the CPU path computes.
CPU_TYPES = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
KERNEL_TYPES = CPU_TYPES | frozenset((27,))
_CPU_NAMES = frozenset(range(26))
_CPU_FORMATS = frozenset(range(41))


def read_stats(path: Path, dir_fd: Optional[int] = None) -> np.ndarray:
    """Rows of one statistics file.

    Returns:
      1-D array of STATS_DTYPE, one row per tensor. Integer extremes beyond
      2**53 lose their last digits (floats of 64 bits). A header repeated in
      the file, which the kernel path can leave, is skipped.

    Raises:
      FormatError: no header, a cell that is neither number nor one of the
        vendor's words for nothing, a row cut off.
      OSError: the file cannot be opened or read.
    """
    return parse_stats(read_bytes(path, dir_fd), path)


def read_bytes(path: Path, dir_fd: Optional[int] = None) -> bytes:
    """The text of a statistics file.

    Raises:
      FormatError: more than MAX_BYTES, or no regular file.
      OSError: the file cannot be opened or read.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        if size > MAX_BYTES:
            raise FormatError(path, "%d bytes are too many for one operator's "
                              "statistics" % size, 0)
        return _read_all(fd, size)
    finally:
        os.close(fd)


def _read_all(fd: int, size: int) -> bytes:
    data = os.read(fd, size + 1)
    while True:
        more = b"" if len(data) > size else os.read(fd, 1 << 16)
        if not more:
            return data
        data += more
        if len(data) > MAX_BYTES:
            return data


def parse_stats(data: bytes, path: Path = "<bytes>") -> np.ndarray:
    """`read_stats` of bytes that are already in memory."""
    if not data:
        raise FormatError(path, "the file is empty", 0)
    text = data.decode("utf-8", "backslashreplace")
    lines = text.split("\n")
    first = lines[0].rstrip("\r")
    if first == HEADER:
        columns: Sequence[Optional[str]] = _STANDARD
    else:
        columns = _columns(first, path)
    rows = []
    offset = 0
    for number, line in enumerate(lines):
        if line and line[-1] == "\r":
            line = line[:-1]
        if number and line and not line.startswith("Input/Output"):
            try:
                rows.append(_row(line, columns))
            except ValueError as error:
                raise FormatError(path, "line %d: %s" % (number + 1, error),
                                  offset) from None
        offset += len(line) + 1
    result = np.empty(len(rows), dtype=STATS_DTYPE)
    for number, row in enumerate(rows):
        result[number] = row
    return result


def _columns(line: str, path: Path) -> List[Optional[str]]:
    columns = [_COLUMNS.get(name.strip()) for name in line.split(",")]
    known = [name for name in columns if name]
    if any(name not in known for name in _REQUIRED) \
            or len(set(known)) != len(known):
        raise FormatError(path, "the first line is not the header of a "
                          "statistics file: %.80r" % line, 0)
    return columns


def _row(line: str, columns: Sequence[Optional[str]]) -> Tuple[Any, ...]:
    cells = line.split(",")
    if len(cells) != len(columns):
        # A failed row of a selected layout lacks its Count cell, and only
        # that (adx_dump_record.cpp).
        if len(cells) == len(columns) - 1 and "count" in columns \
                and "NA" in cells:
            cells.insert(list(columns).index("count"), "NA")
        else:
            raise ValueError("expected %d cells, found %d"
                             % (len(columns), len(cells)))
    row: Dict[str, Any] = {}
    for name, cell in zip(columns, cells):
        if name is None:
            continue
        if name in _TEXTS:
            row[name] = cell
        elif name in _FLOATS:
            row[name] = np.nan if cell in _MISSING else _float(cell)
        elif name == "shape":
            row[name] = parse_shape(cell)
        else:
            row[name] = -1 if cell in _MISSING else _int(cell)
    if row["io"] not in ("Input", "Output"):
        raise ValueError("expected Input or Output, found %.40r" % row["io"])
    return tuple(row.get(name, _DEFAULTS[name]) for name in _STANDARD)


_DEFAULTS: Dict[str, Any] = {
    "io": "", "index": -1, "data_size": -1, "data_type": "-", "format": "-",
    "shape": None, "max": np.nan, "min": np.nan, "avg": np.nan, "count": -1,
    "nan": -1, "neg_inf": -1, "pos_inf": -1}


def _float(cell: str) -> float:
    if "_" in cell or len(cell) > 64:
        raise ValueError("%.40r is no number" % cell)
    return float(cell)


def _int(cell: str) -> int:
    digits = cell[1:] if cell[:1] == "-" else cell
    if not digits.isdigit() or not digits.isascii() or len(digits) > 20:
        raise ValueError("%.40r is no whole number" % cell)
    value = int(cell)
    return max(-_MAX_INT, min(value, _MAX_INT))


def parse_shape(cell: str) -> Optional[Tuple[int, ...]]:
    """Shape cell: "4x50" is (4, 50), "-" a scalar, "NA" None."""
    if cell == "-" or cell == "":
        return ()
    if cell in _MISSING:
        return None
    return tuple(_int(dim) for dim in cell.split("x"))


def write_stats(path: Path, inputs: Sequence[Any] = (),
                outputs: Sequence[Any] = (), dialect: str = "cpu") -> int:
    """Writes a statistics file, mode 0600, and returns its size in bytes.

    Args:
      path: replaced if it exists.
      inputs, outputs: tensors as for `tensor.write_file`.
      dialect: "cpu" (aicpu path) or "kernel" (Atlas A2 and newer).

    Raises:
      ValueError: an unknown dialect, or an array of a type dumps do not have.
    """
    if dialect not in ("cpu", "kernel"):
        raise ValueError("Expected dialect 'cpu' or 'kernel'. Received: %r"
                         % (dialect,))
    make = _cpu_row if dialect == "cpu" else _kernel_row
    lines = [HEADER]
    for io, values in (("Input", inputs), ("Output", outputs)):
        for index, value in enumerate(values):
            lines.append("%s,%d,%s" % (io, index, make(as_value(value))))
    lines.append("")
    return write_parts(path, ["\n".join(lines).encode("utf-8")])


def _cpu_row(value: Any) -> str:
    data, number, shape, size = payload(value)
    name = dtypes.dtype_name(number) if number in _CPU_NAMES else "-"
    layout = dtypes.format_name(value.format) \
        if value.format in _CPU_FORMATS else "-"
    cells = [str(size), name, layout, "x".join(map(str, shape)) or "-"]
    if value.data is None or number not in CPU_TYPES:
        cells += [""] * 7
    else:
        cells += stat_cells(_statistics(data, number))
    return ",".join(cells)


def _kernel_row(value: Any) -> str:
    data, number, shape, size = payload(value)
    name = dtypes.dtype_name(number)
    if dtypes.dtype_number(name) is None or name[3:].isdigit():
        name = "UNKNOW"
    layout = dtypes.format_name(value.format)
    if layout == "DHWCN":
        layout = "DHWCH"
    elif layout.startswith("FORMAT_"):
        layout = "UNKNOW"
    text = "x".join(map(str, shape)) or "-"
    count = 1
    for dim in shape:
        count *= dim
    cells = [str(size), name, layout, text if len(shape) <= 25 else "NA"]
    if value.data is None or number not in KERNEL_TYPES:
        return ",".join(cells + ["NA", "NA", "NA", str(count)] + ["NA"] * 3)
    stats = _statistics(data, number)
    values = stat_cells(stats, kernel=True, keep_int=number == 8)
    values[3] = str(count)
    return ",".join(cells + values)


def _statistics(data: Any, number: int) -> Statistics:
    from keras_npu_dump.formats.tensor import decode
    return compute_stats(decode.decode(
        data if isinstance(data, (bytes, bytearray, memoryview))
        else data.view(np.uint8), number))


def stat_cells(stats: Statistics, kernel: bool = False,
               keep_int: bool = False) -> List[str]:
    """The seven statistic cells as the device prints them.

    Args:
      stats: of one tensor.
      kernel: averages and float extremes pass through 32 bits, integers are
        cut to 32 bits.
      keep_int: 64-bit integers stay whole in the kernel dialect.
    """
    cells = []
    for value in (stats.max, stats.min, stats.avg):
        if isinstance(value, float):
            if kernel:
                with np.errstate(over="ignore"):
                    value = float(np.float32(value))
            cells.append("%g" % value)
        else:
            value = int(value)
            if kernel and not keep_int:
                value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
            cells.append("%d" % value)
    cells += ["%d" % count for count in stats[3:]]
    return cells
