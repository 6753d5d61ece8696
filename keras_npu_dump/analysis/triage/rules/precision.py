"""16-bit values that reach the ends of their type: stuck at the largest, or gone to zero.

A device that saturates turns what no longer fits into exactly 65504 (float16)
or 3.39e38 (bfloat16), without any infinity that would show it. At the other end
a cast, or a product, of small numbers becomes zero; training then stands still
where a loss scale would have helped. A tensor that holds zeros alone in one
execution may well be right (a gradient of a sample that is already learned), so
this is told with medium confidence only if every dumped execution shows it.
"""
from __future__ import annotations

from typing import List

import numpy as np

from keras_npu_dump.analysis.triage.findings import explain
from keras_npu_dump.analysis.triage.findings.series import Aligned, Series
from keras_npu_dump.analysis.triage.findings.suspects import (
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    make_suspect,
)
from keras_npu_dump.formats import dtypes
from keras_npu_dump.op_types.arithmetic import ACCUMULATING_TYPES

_FLOAT16, _BF16 = dtypes.DT_FLOAT16, dtypes.DT_BF16
_REALS = (_FLOAT16, _BF16, dtypes.DT_FLOAT, dtypes.DT_DOUBLE)
_LARGEST_FLOAT16 = explain.LARGEST["DT_FLOAT16"]
_LIMITS = ((_FLOAT16, _LARGEST_FLOAT16), (_BF16, explain.LARGEST["DT_BF16"]))
# Statistics have six digits: so close is equal, relative to the limit.
_SIX_DIGITS = 1e-6
# An input of another type (a constant, in float32) that is the largest number of float16.
_AT_FLOAT16 = 0.1
# Half of the smallest number: what is below rounds to zero, and nothing else does.
_VANISHES = {_FLOAT16: 2.0 ** -25, _BF16: 2.0 ** -134}


def find(series: Series) -> List[Suspect]:
    """Suspects of one rank.

    Args:
      series: the executions of a graph on that rank.
    """
    if not series.columns:
        return []
    return _saturated(series) + _vanished(series) + _faint(series)


def _saturated(series: Series) -> List[Suspect]:
    """Outputs that are exactly the largest number of their type; each operator once."""
    aligned = series.aligned
    stuck = np.zeros(aligned.size.shape, bool)
    for dtype, limit in _LIMITS:
        with np.errstate(invalid="ignore"):
            stuck |= (aligned.dtype == dtype) & (
                np.abs(aligned.size - limit) <= _SIX_DIGITS * limit) & ~aligned.bad
    found: List[Suspect] = []
    told = set()
    for number, key in zip(*np.nonzero(stuck & aligned.output)):
        position = int(aligned.op[key])
        if position in told or _given(aligned, stuck, int(number), position):
            continue
        told.add(position)
        op_type = series.operators.types[position]
        seen = series.inputs_seen(int(number), position)
        inputs = series.values(int(number), position, False)
        message = "%s gives exactly %s, the largest %s number, where larger ones belong: %s" % (
            op_type, explain.number(aligned.size[number, key]),
            explain.short_dtype(dtypes.dtype_name(int(aligned.dtype[key]))),
            explain.ranges_of(inputs))
        confidence = HIGH if seen and op_type in ACCUMULATING_TYPES else MEDIUM
        downstream = len(set(aligned.op[stuck[number]].tolist())) - 1
        found.append(make_suspect(series, int(number), position, "saturation", message,
                                  confidence, downstream))
    return found


def _given(aligned: Aligned, stuck: np.ndarray, number: int, position: int) -> bool:
    """An input holds the very number already: a constant of a mask, or a value passed on."""
    mine = (aligned.op == position) & ~aligned.output
    with np.errstate(invalid="ignore"):
        at_limit = stuck[number] | (
            np.abs(aligned.size[number] - _LARGEST_FLOAT16) < _AT_FLOAT16)
    return bool((mine & at_limit).any())


def _vanished(series: Series) -> List[Suspect]:
    """Outputs of zeros alone where the inputs are not zero, but too small for the type."""
    aligned = series.aligned
    sixteen = np.isin(aligned.dtype, [_FLOAT16, _BF16]) & aligned.output
    zeros = aligned.zero & sixteen & (aligned.count > 1)
    found: List[Suspect] = []
    for key in np.flatnonzero(zeros.any(axis=0)).tolist():
        position = int(aligned.op[key])
        numbers = np.flatnonzero(zeros[:, key])
        limit = _VANISHES[int(aligned.dtype[key])]
        shown = [int(number) for number in numbers
                 if _too_small(series, int(number), position, limit)]
        if not shown or any(one.position == position for one in found):
            continue
        always = len(shown) == int(np.isfinite(aligned.size[:, key]).sum()) and len(shown) > 1
        number = shown[0]
        inputs = series.values(number, position, False)
        message = "%s gives zero alone where its inputs are not: %s is below what %s can hold%s" % (
            series.operators.types[position], explain.ranges_of(inputs),
            explain.short_dtype(dtypes.dtype_name(int(aligned.dtype[key]))),
            ", in every dumped execution" if always else "")
        found.append(make_suspect(series, number, position, "underflow", message,
                                  MEDIUM if always else LOW))
    return found


def _too_small(series: Series, number: int, position: int, limit: float) -> bool:
    """What the operator computes from its inputs is not zero, and too small for the type."""
    values = [one for one in series.values(number, position, False)
              if one.known and one.dtype in _REALS]
    sizes = [one.size for one in values]
    if not sizes or not all(0 < size < np.inf for size in sizes):
        return False
    op_type = series.operators.types[position]
    if op_type == "Cast":
        return sizes[0] < limit
    return op_type in ("Mul", "Square") and (
        sizes[0] * (sizes[1] if len(sizes) > 1 else sizes[0]) < limit)


def _faint(series: Series) -> List[Suspect]:
    """Gradients that float16 can hold only with few digits, in every execution: the first."""
    aligned = series.aligned
    if len(series.columns) < 2:
        return []
    with np.errstate(invalid="ignore"):
        faint = (aligned.size > 0) & (aligned.size < explain.SMALLEST["DT_FLOAT16"])
    always = faint.all(axis=0) & (aligned.dtype == _FLOAT16) & aligned.output
    for key in np.flatnonzero(always & (aligned.count.min(axis=0) > 1)).tolist():
        position = int(aligned.op[key])
        if position < series.operators.known and position in series.operators.gradients:
            message = ("all values are below %s in every dumped execution, where float16 has few "
                       "digits left and then none: up to %s" % (
                           explain.number(explain.SMALLEST["DT_FLOAT16"]),
                           explain.number(aligned.size[:, key].max())))
            return [make_suspect(series, 0, position, "underflow", message, LOW)]
    return []
