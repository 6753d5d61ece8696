"""The seven numbers of a statistics dump, computed from values.

Semantics of the device (runtime `dump_task.h`), which differ from numpy's
where a tensor is not finite:

* max and min start with the first element and move by `>` and `<`: a NaN
  never replaces a number, but a NaN in the first place stays.
* the average is a running mean and so NaN as soon as one element is; if there
  are infinities of one sign only, it is that infinity.
"""
from __future__ import annotations

from typing import NamedTuple, Union

import numpy as np

_BLOCK = 1 << 16


class Statistics(NamedTuple):
    """max, min: of the values' own kind (int for bool and integers)."""
    max: Union[int, float]
    min: Union[int, float]
    avg: float
    count: int
    nan: int
    neg_inf: int
    pos_inf: int


def compute_stats(array: np.ndarray) -> Statistics:
    """Statistics of an array of any shape as the device computes them.

    Args:
      array: bool, integer, floating, or decoded to float32.

    Returns:
      Statistics; of an empty array all zero with count 0 (the device reads
      beyond it and prints garbage).

    Raises:
      TypeError: complex values or objects, which the device does not count.
    """
    kind = array.dtype.kind
    if kind not in "biuf":
        raise TypeError("no statistics of %s" % array.dtype)
    count = array.size
    if not count:
        zero = 0.0 if kind == "f" else 0
        return Statistics(zero, zero, 0.0, 0, 0, 0, 0)
    flat = array.reshape(-1)
    if kind != "f":
        top, bottom = flat.max(), flat.min()
        if kind == "b":
            average = np.count_nonzero(flat) / count
        else:
            average = float(flat.sum(dtype=np.float64)) / count
        return Statistics(int(top), int(bottom), average, count, 0, 0, 0)
    with np.errstate(all="ignore"):
        # A finite sum proves that every element is finite, in one pass.
        total = flat.sum(dtype=np.float64)
        if np.isfinite(total):
            return Statistics(float(flat.max()), float(flat.min()),
                              float(total / count), count, 0, 0, 0)
        return _not_finite(flat, count)


def _not_finite(flat: np.ndarray, count: int) -> Statistics:
    nan = int(np.count_nonzero(np.isnan(flat)))
    infinite = np.isinf(flat)
    infinities = int(np.count_nonzero(infinite))
    positive = int(np.count_nonzero(flat[infinite] > 0)) if infinities else 0
    negative = infinities - positive
    first = float(flat[0])
    if first != first:
        top = bottom = first
    else:
        # fmax and fmin leave NaN out, as the comparisons do
        top = float(np.fmax.reduce(flat))
        bottom = float(np.fmin.reduce(flat))
    if positive and not negative:
        average = float("inf")
    elif negative and not positive:
        average = float("-inf")
    elif nan or infinities:
        average = float("nan")
    else:
        # all finite, only their sum is not: halve before adding
        average = float(np.sum(flat.astype(np.float64) / count))
    return Statistics(top, bottom, average, count, nan, negative, positive)
