"""Numpy's own files, .npy, of arrays that are written piece by piece.

`numpy.save` wants the whole array and an open file of Python's. Tensors here
come in blocks, and are written through file descriptors; so only the bytes in
front of the values are made here (format version 1.0, `numpy.lib.format`).
"""
from __future__ import annotations

from typing import Dict, Sequence, Tuple

import numpy as np

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGN = 64  # values begin at a multiple of it, so that they can be mapped
_MAX_KEPT = 4096
_HEADS: Dict[Tuple["np.dtype", Tuple[int, ...]], bytes] = {}


def head(dtype: np.dtype, shape: Sequence[int]) -> bytes:
    """The bytes in front of the values of a .npy file, values in C order.

    Kept by type and shape: building it costs more than reading a small dump.

    Args:
      dtype: of the values, of a fixed size (no objects).
      shape: dimensions, () for a scalar.

    Returns:
      A multiple of 64 bytes. The file is complete with the array's own bytes
      (`numpy.ascontiguousarray(array)`) behind it.
    """
    key = (dtype, tuple(shape))
    known = _HEADS.get(key)
    if known is None:
        text = "{'descr': %r, 'fortran_order': False, 'shape': %r, }" % (
            dtype.str, tuple(int(dim) for dim in shape))
        length = len(_MAGIC) + 2 + len(text) + 1
        text += " " * (-length % _ALIGN) + "\n"
        known = _MAGIC + len(text).to_bytes(2, "little") + text.encode("latin1")
        if len(_HEADS) > _MAX_KEPT:
            _HEADS.clear()
        _HEADS[key] = known
    return known
