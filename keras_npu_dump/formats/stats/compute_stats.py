"""The seven numbers of a statistics dump, computed from values.

Semantics of the device (runtime `dump_task.h`), which differ from numpy's
where a tensor is not finite:

* max and min start with the first element and move by `>` and `<`: a NaN
  never replaces a number, but a NaN in the first place stays.
* the average is a running mean and so NaN as soon as any element is; if there
  are infinities of a single sign, it is that infinity.
"""
from __future__ import annotations

from math import isfinite
from typing import Any, Iterable, NamedTuple, Optional, Union

import numpy as np


class Statistics(NamedTuple):
    """The statistics of a tensor, in the order of a statistics file's columns.

    Attributes:
      max, min: of the values' own kind (int for bool and integers).
      avg: the average.
      count: elements, whatever they are.
      nan, neg_inf, pos_inf: how many elements are NaN, -inf, inf.
    """
    max: Union[int, float]
    min: Union[int, float]
    avg: float
    count: int  # type: ignore[assignment]  # not tuple.count
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
    flat = array if array.ndim == 1 else array.reshape(-1)
    # The ufuncs' own reductions: the methods around them cost as much as a
    # tensor of some thousand elements.
    top = np.maximum.reduce(flat)
    bottom = np.minimum.reduce(flat)
    average: float
    if kind != "f":
        if kind == "b":
            average = np.count_nonzero(flat) / count
        else:
            average = float(np.add.reduce(flat, dtype=np.float64)) / count
        return Statistics(int(top), int(bottom), average, count, 0, 0, 0)
    # Both carry NaN on, so finite extremes prove that everything is finite.
    if isfinite(top) and isfinite(bottom):
        average = float(np.add.reduce(flat, dtype=np.float64)) / count
        if isfinite(average):
            return Statistics(float(top), float(bottom), average, count, 0, 0,
                              0)
    with np.errstate(all="ignore"):
        return _not_finite(flat, count)


def _not_finite(flat: np.ndarray, count: int) -> Statistics:
    nan = int(np.count_nonzero(np.isnan(flat)))
    infinite = np.isinf(flat)
    infinities = int(np.count_nonzero(infinite))
    positive = int(np.count_nonzero(flat[infinite] > 0)) if infinities else 0
    first = float(flat[0])
    if first != first:
        top = bottom = first
    else:
        # fmax and fmin leave NaN out, as the comparisons do
        top = float(np.fmax.reduce(flat))
        bottom = float(np.fmin.reduce(flat))
    average = 0.0
    if not nan and not infinities:
        # all finite, only their sum is not: divide before adding
        average = float(np.sum(flat.astype(np.float64) / count))
    return Statistics(top, bottom,
                      _average(average, nan, infinities - positive, positive),
                      count, nan, infinities - positive, positive)


def _average(finite: float, nan: int, negative: int, positive: int) -> float:
    if positive and not negative:
        return float("inf")
    if negative and not positive:
        return float("-inf")
    return float("nan") if nan or positive else finite


def stats_of_blocks(blocks: Iterable[np.ndarray]) -> Statistics:
    """`compute_stats` of an array that comes in blocks.

    Args:
      blocks: flat arrays of the same dtype, in order; each may be overwritten
        once the next is asked for. Memory: a block.

    Returns:
      As `compute_stats` of all blocks together, the average to rounding.

    Raises:
      TypeError: as `compute_stats`.
    """
    first: Optional[Statistics] = None
    top: Any = None
    bottom: Any = None
    count = nan = negative = positive = 0
    average = 0.0
    for block in blocks:
        if not block.size:
            continue
        part = compute_stats(block)
        first = first or part
        count += part.count
        nan += part.nan
        negative += part.neg_inf
        positive += part.pos_inf
        average += (part.avg - average) * (part.count / count)
        high, low = part.max, part.min
        if part is not first and high != high:
            # A NaN in front of a later block is not the tensor's first value.
            high = float(np.fmax.reduce(block))
            low = float(np.fmin.reduce(block))
        if top is None or high > top:
            top = high
        if bottom is None or low < bottom:
            bottom = low
    if first is None:
        return Statistics(0.0, 0.0, 0.0, 0, 0, 0, 0)
    return Statistics(top, bottom,
                      _average(average, nan, negative, positive), count, nan,
                      negative, positive)
