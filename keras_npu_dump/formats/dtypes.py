"""Codes that dump headers and graphs use for element types and layouts.

Two enums of element types exist and must not be mixed:

* `OutputDataType`, used by dump headers and by `dtype:` in graph text
  (runtime `dump_data.proto`, GE `ge_ir.proto`): DT_FLOAT is 1. Functions here
  take and give its codes, unless `ge` is in their name.
* `ge::DataType`, used by integer attributes inside operators (`dst_type`,
  `attr dt`) and, by an oversight of the vendor, by `OriginalOp.data_type`
  (GE `data_dumper.cc`): DT_FLOAT is 0.

Layout codes are those of `ge::Format`, low 8 bits (GE `types.h`).
"""
from __future__ import annotations

from typing import Dict, Optional

import numpy as np

# OutputDataType codes that this package asks for by name.
DT_FLOAT, DT_FLOAT16, DT_INT8, DT_UINT8 = 1, 2, 3, 4
DT_INT64, DT_BOOL, DT_DOUBLE, DT_BF16 = 8, 11, 12, 27
DT_UINT1, DT_HIFLOAT8, DT_FLOAT8_E5M2, DT_FLOAT8_E4M3FN = 29, 33, 34, 35
# Whole numbers and bool: DT_INT8 to DT_BOOL.
WHOLE_NUMBERS = frozenset(range(DT_INT8, DT_BOOL + 1))

_DTYPE_NAMES: Dict[int, str] = {
    0: "DT_UNDEFINED", 1: "DT_FLOAT", 2: "DT_FLOAT16", 3: "DT_INT8",
    4: "DT_UINT8", 5: "DT_INT16", 6: "DT_UINT16", 7: "DT_INT32",
    8: "DT_INT64", 9: "DT_UINT32", 10: "DT_UINT64", 11: "DT_BOOL",
    12: "DT_DOUBLE", 13: "DT_STRING", 14: "DT_DUAL_SUB_INT8",
    15: "DT_DUAL_SUB_UINT8", 16: "DT_COMPLEX64", 17: "DT_COMPLEX128",
    18: "DT_QINT8", 19: "DT_QINT16", 20: "DT_QINT32", 21: "DT_QUINT8",
    22: "DT_QUINT16", 23: "DT_RESOURCE", 24: "DT_STRING_REF", 25: "DT_DUAL",
    26: "DT_VARIANT", 27: "DT_BF16", 28: "DT_INT4", 29: "DT_UINT1",
    30: "DT_INT2", 31: "DT_UINT2", 32: "DT_COMPLEX32", 33: "DT_HIFLOAT8",
    34: "DT_FLOAT8_E5M2", 35: "DT_FLOAT8_E4M3FN", 36: "DT_FLOAT8_E8M0",
    37: "DT_FLOAT6_E3M2", 38: "DT_FLOAT6_E2M3", 39: "DT_FLOAT4_E2M1",
    40: "DT_FLOAT4_E1M2", 41: "DT_HIFLOAT4", 42: "DT_HIFLOAT4_SCALE",
}

_DTYPE_NUMBERS = {name: number for number, name in _DTYPE_NAMES.items()}

# ge::DataType (runtime `dump_datatype.h`).
_GE_NAMES: Dict[int, str] = {
    0: "DT_FLOAT", 1: "DT_FLOAT16", 2: "DT_INT8", 3: "DT_INT32",
    4: "DT_UINT8", 6: "DT_INT16", 7: "DT_UINT16", 8: "DT_UINT32",
    9: "DT_INT64", 10: "DT_UINT64", 11: "DT_DOUBLE", 12: "DT_BOOL",
    13: "DT_STRING", 14: "DT_DUAL_SUB_INT8", 15: "DT_DUAL_SUB_UINT8",
    16: "DT_COMPLEX64", 17: "DT_COMPLEX128", 18: "DT_QINT8",
    19: "DT_QINT16", 20: "DT_QINT32", 21: "DT_QUINT8", 22: "DT_QUINT16",
    23: "DT_RESOURCE", 24: "DT_STRING_REF", 25: "DT_DUAL",
    26: "DT_VARIANT", 27: "DT_BF16", 28: "DT_UNDEFINED", 29: "DT_INT4",
    30: "DT_UINT1", 31: "DT_INT2", 32: "DT_UINT2", 33: "DT_COMPLEX32",
    34: "DT_HIFLOAT8", 35: "DT_FLOAT8_E5M2", 36: "DT_FLOAT8_E4M3FN",
    37: "DT_FLOAT8_E8M0", 38: "DT_FLOAT6_E3M2", 39: "DT_FLOAT6_E2M3",
    40: "DT_FLOAT4_E2M1", 41: "DT_FLOAT4_E1M2", 42: "DT_HIFLOAT4",
    43: "DT_HIFLOAT4_SCALE",
}

_GE_NUMBERS = {name: number for number, name in _GE_NAMES.items()}

# Where numpy has a type of exactly that width and meaning. DT_UNDEFINED is
# bytes to the vendor's converter; DT_RESOURCE is a 64-bit handle.
_NUMPY = {number: np.dtype(text) for number, text in {
    0: "<i1", 1: "<f4", 2: "<f2", 3: "<i1", 4: "<u1", 5: "<i2", 6: "<u2",
    7: "<i4", 8: "<i8", 9: "<u4", 10: "<u8", 11: "?", 12: "<f8",
    14: "<i1", 15: "<u1", 16: "<c8", 17: "<c16", 18: "<i1", 19: "<i2",
    20: "<i4", 21: "<u1", 22: "<u2", 23: "<i8",
}.items()}

# The other way round; the first code that means exactly this type.
_OF_NUMPY = {
    "float32": 1, "float16": 2, "int8": 3, "uint8": 4, "int16": 5,
    "uint16": 6, "int32": 7, "int64": 8, "uint32": 9, "uint64": 10,
    "bool": 11, "float64": 12, "complex64": 16, "complex128": 17,
    # of ml_dtypes and TensorFlow, known by name: neither is imported here
    "bfloat16": 27, "int4": 28, "int2": 30, "uint2": 31,
    "float8_e5m2": 34, "float8_e4m3fn": 35, "float8_e8m0fnu": 36,
    "float4_e2m1fn": 39,
}

# Bits of one element where numpy has no such type; 0 = not of fixed width.
_BITS = {
    13: 0, 24: 0, 25: 0, 26: 0, 27: 16, 28: 4, 29: 1, 30: 2, 31: 2, 32: 32,
    33: 8, 34: 8, 35: 8, 36: 8, 37: 6, 38: 6, 39: 4, 40: 4, 41: 0, 42: 0,
}

_FORMAT_NAMES: Dict[int, str] = {
    0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z",
    5: "NC1C0HWPAD", 6: "NHWC1C0", 7: "FSR_NCHW", 8: "FRACTAL_DECONV",
    9: "C1HWNC0", 10: "FRACTAL_DECONV_TRANSPOSE",
    11: "FRACTAL_DECONV_SP_STRIDE_TRANS", 12: "NC1HWC0_C04",
    13: "FRACTAL_Z_C04", 14: "CHWN", 15: "FRACTAL_DECONV_SP_STRIDE8_TRANS",
    16: "HWCN", 17: "NC1KHKWHWC0", 18: "BN_WEIGHT", 19: "FILTER_HWCK",
    20: "HASHTABLE_LOOKUP_LOOKUPS", 21: "HASHTABLE_LOOKUP_KEYS",
    22: "HASHTABLE_LOOKUP_VALUE", 23: "HASHTABLE_LOOKUP_OUTPUT",
    24: "HASHTABLE_LOOKUP_HITS", 25: "C1HWNCoC0", 26: "MD", 27: "NDHWC",
    28: "FRACTAL_ZZ", 29: "FRACTAL_NZ", 30: "NCDHW", 31: "DHWCN",
    32: "NDC1HWC0", 33: "FRACTAL_Z_3D", 34: "CN", 35: "NC", 36: "DHWNC",
    37: "FRACTAL_Z_3D_TRANSPOSE", 38: "FRACTAL_ZN_LSTM", 39: "FRACTAL_Z_G",
    40: "RESERVED", 41: "ALL", 42: "NULL", 43: "ND_RNN_BIAS",
    44: "FRACTAL_ZN_RNN", 45: "NYUV", 46: "NYUV_A", 47: "NCL",
    48: "FRACTAL_Z_WINO", 49: "C1HWC0", 255: "MAX",
}

_FORMAT_NUMBERS = {name: number for number, name in _FORMAT_NAMES.items()}
# Other spellings of the vendor: adump and GE's copies of the enum, and the
# name that GE text uses for a layout that was never set.
_FORMAT_NUMBERS.update(
    {"DHWCH": 31, "YUV": 45, "YUV_A": 46, "FORMAT_RESERVED": 40,
     "UNDEFINED": 40})


def dtype_name(code: int) -> str:
    """Name of an element type.

    Args:
      code: OutputDataType code.

    Returns:
      "DT_FLOAT" and so on; "DT_<code>" for a code that is not known.
    """
    name = _DTYPE_NAMES.get(code)
    return name if name is not None else "DT_%d" % code


def dtype_number(name: str) -> Optional[int]:
    """OutputDataType code of a name.

    Args:
      name: "DT_FLOAT" and so on; also "DT_<code>", as `dtype_name` gives it for a
        code that is not known.

    Returns:
      The code, or None for any other text.
    """
    number = _DTYPE_NUMBERS.get(name)
    if number is None:
        number = _trailing_number(name, "DT_")
    return number


def ge_dtype_name(code: int) -> str:
    """Name of an element type of GE's other enum.

    Args:
      code: ge::DataType code.

    Returns:
      "DT_FLOAT" and so on; "DT_GE_<code>" for a code that is not known.
    """
    name = _GE_NAMES.get(code)
    return name if name is not None else "DT_GE_%d" % code


def ge_dtype_number(name: str) -> Optional[int]:
    """ge::DataType code of a name.

    Args:
      name: "DT_FLOAT" and so on.

    Returns:
      The code, or None for a name that the enum lacks.
    """
    return _GE_NUMBERS.get(name)


def numpy_dtype(code: int) -> Optional[np.dtype]:
    """Numpy type of one stored element.

    Args:
      code: OutputDataType code.

    Returns:
      A little-endian dtype, or None where numpy has none: bfloat16, the 8-bit
      floats, packed types and strings. `tensor/decode.py` turns those that have a
      documented meaning into values. DT_UNDEFINED is int8, as in the vendor's
      converter (msaccucmp `const_manager.py`); DT_RESOURCE is a handle of 64 bits.
    """
    return _NUMPY.get(code)


def dtype_bits(code: int) -> int:
    """Width of one stored element.

    Args:
      code: OutputDataType code.

    Returns:
      Bits; 0 where the width is not fixed, or the code not known.
    """
    dtype = _NUMPY.get(code)
    if dtype is not None:
        return dtype.itemsize * 8
    return _BITS.get(code, 0)


def dtype_of(dtype: object) -> int:
    """OutputDataType code of an array's type.

    Args:
      dtype: a numpy dtype, or a dtype of ml_dtypes or TensorFlow, known by its `name`.

    Returns:
      The code, 0 (DT_UNDEFINED) where dumps have no such type.
    """
    return _OF_NUMPY.get(getattr(dtype, "name", str(dtype)), 0)


def format_name(code: int) -> str:
    """Name of a layout.

    Args:
      code: ge::Format code.

    Returns:
      "NHWC", "FRACTAL_Z" and so on; "FORMAT_<code>" for a code that is not known.
    """
    name = _FORMAT_NAMES.get(code)
    return name if name is not None else "FORMAT_%d" % code


def format_number(name: str) -> Optional[int]:
    """ge::Format code of a layout's name.

    Args:
      name: "NHWC" and so on; the vendor's second spellings ("DHWCH") and a prefix
        "FORMAT_" are taken, and what `format_name` gives for a code that is not known.

    Returns:
      The code, or None for any other text.
    """
    number = _FORMAT_NUMBERS.get(name)
    if number is None and name.startswith("FORMAT_"):
        number = _FORMAT_NUMBERS.get(name[7:])
        if number is None:
            number = _trailing_number(name, "FORMAT_")
    return number


def _trailing_number(name: str, prefix: str) -> Optional[int]:
    rest = name[len(prefix):]
    if name.startswith(prefix) and rest.isdigit() and rest.isascii() \
            and len(rest) < 11:
        return int(rest)
    return None
