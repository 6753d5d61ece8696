"""From the bytes of a tensor to values numpy can hold.

What the vendor's converter reads is decoded (mindstudio-probe 26.2,
`const_manager.py`), by the definitions of the types: where its
`dtype_conversion.py` differs (NaN of FLOAT8_E4M3FN, -inf, 48 codes of
HIFLOAT8), it contradicts ml_dtypes and the vendor's own en_dtypes. The other
types have no documented bit order in a dump and stay bytes.
"""
from __future__ import annotations

from typing import Dict, Sequence, Union

import numpy as np

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.dtypes import (
    DT_BF16,
    DT_FLOAT8_E4M3FN,
    DT_FLOAT8_E5M2,
    DT_HIFLOAT8,
    DT_UINT1,
)

Buffer = Union[bytes, bytearray, memoryview, np.ndarray]

_TABLES: Dict[int, np.ndarray] = {}


# Before numpy 2, and an index of 64 bits counts bytes.
_MAX_DIMS = 32
_MAX_BYTES = (1 << 63) - 1
_WIDEST = 16  # bytes of a complex128


def can_hold(shape: Sequence[int]) -> bool:
    """Whether numpy can have an array of a shape, of any dtype.

    Numpy counts without the dimensions that are 0: an empty array of shape
    (0, 2**40, 2**40) is too big for it.

    Args:
      shape: dimensions; a negative dimension cannot be held.
    """
    if len(shape) > _MAX_DIMS:
        return False
    size = _WIDEST
    for dim in shape:
        if dim < 0:
            return False
        size *= dim or 1
    return size <= _MAX_BYTES


def is_decoded(data_type: int) -> bool:
    """Whether `decode` gives values; otherwise it gives the bytes.

    Args:
      data_type: OutputDataType code.
    """
    return (dtypes.numpy_dtype(data_type) is not None
            or data_type in (DT_BF16, DT_UINT1) or data_type in _EIGHT_BIT)


def value_dtype(data_type: int) -> np.dtype:
    """Numpy type of what `decode` returns.

    Args:
      data_type: OutputDataType code.
    """
    dtype = dtypes.numpy_dtype(data_type)
    if dtype is not None:
        return dtype
    if data_type == DT_BF16 or data_type in _EIGHT_BIT:
        return np.dtype(np.float32)
    return np.dtype(np.uint8)


def stored_bytes(data_type: int, count: int) -> int:
    """Bytes that elements take.

    Args:
      data_type: OutputDataType code.
      count: of elements.

    Returns:
      Bytes, packed types rounded up; `count` itself for types of
      unknown width.
    """
    bits = dtypes.dtype_bits(data_type)
    if not bits:
        return count
    return (bits * count + 7) // 8


def decode(data: Buffer, data_type: int) -> np.ndarray:
    """Values of a tensor's bytes, flat.

    Args:
      data: the stored bytes, little-endian. A remainder smaller than one
        element is left out.
      data_type: OutputDataType code.

    Returns:
      A 1-D array; a view of `data` where numpy has the type. float32 for
      bfloat16 and the 8-bit floats, one uint8 (0 or 1) per bit for DT_UINT1,
      most significant bit first. uint8 bytes for types without a documented
      bit order (see `is_decoded`).
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    dtype = dtypes.numpy_dtype(data_type)
    if dtype is not None:
        size = dtype.itemsize
        if size == 1:
            return raw.view(dtype)
        rest = raw.size % size
        return (raw[:raw.size - rest] if rest else raw).view(dtype)
    if data_type == DT_BF16:
        halves = raw[:raw.size & ~1].view("<u2")
        words = halves.astype(np.uint32)
        words <<= 16
        return words.view(np.float32)
    if data_type == DT_UINT1:
        return np.unpackbits(raw)
    if data_type in _EIGHT_BIT:
        table = _TABLES.get(data_type)
        if table is None:
            table = np.array([_EIGHT_BIT[data_type](code)
                              for code in range(256)], dtype=np.float32)
            _TABLES[data_type] = table
        return table[raw]
    return raw


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 values as bfloat16, rounded to nearest even; NaN stays NaN.

    Args:
      values: of any shape, made float32.

    Returns:
      uint16 array of the same shape, to be written with data_type 27 (DT_BF16).
    """
    words = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (words.astype(np.uint64) + 0x7FFF + ((words >> 16) & 1)) >> 16
    nan = np.isnan(values)
    return np.where(nan, (words >> 16) | 0x40, rounded).astype(np.uint16)


def _float8(code: int, exponent_bits: int) -> float:
    """IEEE-like 8-bit float with the given number of exponent bits."""
    fraction_bits = 7 - exponent_bits
    sign = -1.0 if code & 0x80 else 1.0
    exponent = (code >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    scale = float(1 << fraction_bits)
    if exponent == 0:
        return sign * fraction / scale * 2.0 ** (1 - bias)
    return sign * (1 + fraction / scale) * 2.0 ** (exponent - bias)


def _float8_e5m2(code: int) -> float:
    if code & 0x7F == 0x7C:
        return -np.inf if code & 0x80 else np.inf
    if code & 0x7C == 0x7C:
        return np.nan
    return _float8(code, 5)


def _float8_e4m3fn(code: int) -> float:
    # "fn": no infinities, and only all ones is NaN (OCP 8-bit float).
    return np.nan if code & 0x7F == 0x7F else _float8(code, 4)


def _hifloat8(code: int) -> float:
    """HiFloat8: a prefix ("dot") tells how many exponent bits follow.

    As the vendor's own en_dtypes package has it. The vendor's converter takes
    codes of magnitude 0.5 to 4 for other values, and -inf for inf.
    """
    if code == 0x80:
        return np.nan
    if code & 0x7F == 0x6F:
        return -np.inf if code & 0x80 else np.inf
    if code == 0:
        return 0.0
    sign = -1.0 if code & 0x80 else 1.0
    body = code & 0x7F
    if body >> 3 == 0:  # denormal: the fraction is the exponent
        return sign * 2.0 ** ((code & 7) - 23)
    if body >> 3 == 1:  # no exponent bits
        return sign * (1 + (body & 7) / 8.0)
    width = (body >> 5) + 1
    fraction_bits = min(3, 5 - width)
    raw = (body >> fraction_bits) & ((1 << width) - 1)
    top = 1 << (width - 1)
    magnitude = top + (raw & (top - 1))
    exponent = -magnitude if raw & top else magnitude
    fraction = (body & ((1 << fraction_bits) - 1)) / float(1 << fraction_bits)
    return sign * (1 + fraction) * 2.0 ** exponent


_EIGHT_BIT = {
    DT_HIFLOAT8: _hifloat8,
    DT_FLOAT8_E5M2: _float8_e5m2,
    DT_FLOAT8_E4M3FN: _float8_e4m3fn,
}
