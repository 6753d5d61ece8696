"""Writes statistics files as the device and the host do, in either dialect.

Which types, layouts and shapes have a name, and how numbers are printed: runtime
`dump_task.cpp` (CPU path), adump `adx_dump_record.cpp` (kernel path).
"""
from __future__ import annotations

from typing import Any, Callable, List, Sequence

import numpy as np

from keras_npu_dump.files.regular import Path
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.stats.compute_stats import Statistics, compute_stats
from keras_npu_dump.formats.stats.stats_file import HEADER
from keras_npu_dump.formats.tensor import decode
from keras_npu_dump.formats.tensor.tensor_writer import TensorValue, as_value, payload, write_parts

# OutputDataType codes whose statistics the CPU path computes: the numbers of
# DT_FLOAT to DT_DOUBLE; the kernel path has bfloat16 as well.
CPU_TYPES = frozenset(range(dtypes.DT_FLOAT, dtypes.DT_DOUBLE + 1))
KERNEL_TYPES = CPU_TYPES | frozenset((dtypes.DT_BF16,))
# What the CPU path has names for; it writes "-" for the rest.
_CPU_NAMES = frozenset(range(26))
_CPU_FORMATS = frozenset(range(41))
_KERNEL_MAX_DIMS = 25  # with more, the kernel path's Shape is NA


def write_stats(path: Path, inputs: Sequence[Any] = (),
                outputs: Sequence[Any] = (), dialect: str = "cpu") -> int:
    """Writes a statistics file, mode 0600, and returns its size in bytes.

    Args:
      path: replaced if it exists.
      inputs, outputs: tensors as for `dump_file.write_file`, or their rows (`row_of`).
      dialect: "cpu" (aicpu path) or "kernel" (Atlas A2 and newer), by default "cpu".

    Raises:
      ValueError: an unknown dialect, or an array of a type dumps do not have.
      OSError: the file cannot be written; what was written is deleted.
    """
    make = _maker(dialect)
    lines = [HEADER]
    for io, values in (("Input", inputs), ("Output", outputs)):
        for index, value in enumerate(values):
            row = value if isinstance(value, str) else make(as_value(value))
            lines.append("%s,%d,%s" % (io, index, row))
    lines.append("")
    return write_parts(path, ["\n".join(lines).encode("utf-8")])


def row_of(value: Any, dialect: str = "cpu") -> str:
    """What a statistics file says of a tensor, whichever input or output it is.

    Args:
      value: tensor as for `dump_file.write_file`.
      dialect: as for `write_stats`.

    Raises:
      ValueError: an unknown dialect, or an array of a type dumps do not have.
    """
    return _maker(dialect)(as_value(value))


def _maker(dialect: str) -> Callable[[TensorValue], str]:
    if dialect not in ("cpu", "kernel"):
        raise ValueError("Expected dialect 'cpu' or 'kernel'. Received: %r"
                         % (dialect,))
    return _cpu_row if dialect == "cpu" else _kernel_row


def _cpu_row(value: TensorValue) -> str:
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


def _kernel_row(value: TensorValue) -> str:
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
    cells = [str(size), name, layout, text if len(shape) <= _KERNEL_MAX_DIMS else "NA"]
    if value.data is None or number not in KERNEL_TYPES:
        return ",".join(cells + ["NA", "NA", "NA", str(count)] + ["NA"] * 3)
    stats = _statistics(data, number)
    values = stat_cells(stats, kernel=True, keep_int=number == dtypes.DT_INT64)
    values[3] = str(count)
    return ",".join(cells + values)


def _statistics(data: Any, number: int) -> Statistics:
    return compute_stats(decode.decode(
        data if isinstance(data, (bytes, bytearray, memoryview))
        else data.view(np.uint8), number))


def stat_cells(stats: Statistics, kernel: bool = False,
               keep_int: bool = False) -> List[str]:
    """The seven statistic cells as the device prints them.

    Args:
      stats: of a tensor.
      kernel: averages and float extremes pass through 32 bits, integers are
        cut to 32 bits.
      keep_int: 64-bit integers stay whole in the kernel dialect.
    """
    cells = []
    for value in (stats.max, stats.min, stats.avg):
        if isinstance(value, float):
            cells.append("%g" % (_through_32_bits(value) if kernel else value))
        else:
            whole = int(value)
            if kernel and not keep_int:
                whole = (whole + (1 << 31)) % (1 << 32) - (1 << 31)
            cells.append("%d" % whole)
    cells += ["%d" % count for count in stats[3:]]
    return cells


def _through_32_bits(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))
