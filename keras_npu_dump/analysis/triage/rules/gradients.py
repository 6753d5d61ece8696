"""Gradients that are exactly zero or shrink to nothing, and outputs that never vary.

What is told from healthy looks by these rules: a bias before a batch
normalisation has a gradient that is zero up to rounding, so single leaves of
the backward pass prove nothing, the layer's other weights must be as dead. Zero
weights at the start make the gradients behind them zero once, so one execution
proves nothing either. A mask, a comparison, a filled tensor is constant by its
nature, so only operators that compute from varying inputs are asked.
"""
from __future__ import annotations

from typing import List, Optional, Set

import numpy as np

from keras_npu_dump.analysis.columns import distinct
from keras_npu_dump.analysis.triage.findings import explain
from keras_npu_dump.analysis.triage.findings.series import Aligned, Series
from keras_npu_dump.analysis.triage.findings.suspects import (
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    make_suspect,
)
from keras_npu_dump.op_types.training import BIAS_GRADIENT_TYPES, LAYER_TYPES

# Of the largest gradient in the same execution.
VANISHING = 1e-12
# Fewer elements may be equal by chance.
_FEW = 16
# Two executions may show zero because weights began at zero; one more does not.
_ENOUGH = 3


def find(series: Series) -> List[Suspect]:
    """Suspects of one rank.

    Args:
      series: the executions of a graph on that rank.
    """
    if not series.columns or not series.operators.known or series.partial:
        return []
    aligned = series.aligned
    return (_zero_gradients(series, aligned) + _vanishing(series, aligned)
            + _constant(series, aligned))


def _rows(aligned: Aligned, position: int, output: bool) -> np.ndarray:
    """Keys of an operator's floating outputs or inputs that any execution holds, as places."""
    start, end = np.searchsorted(aligned.op, [position, position + 1])
    rows = np.arange(start, end)
    chosen = (aligned.output[rows] == output) & aligned.floating[rows]
    held: np.ndarray = rows[chosen & (aligned.count[:, rows].max(axis=0) > 0)]
    return held


def _zero_gradients(series: Series, aligned: Aligned) -> List[Suspect]:
    """Where gradients of weights that are zero in every execution begin to be zero."""
    table = series.operators
    gradients = table.gradients
    leaves: List[int] = []
    dead: Set[int] = set()
    for position in table.leaf_gradients():
        rows = _rows(aligned, position, True)
        rows = rows[aligned.count[:, rows].max(axis=0) > 1] if len(rows) else rows
        if not len(rows):
            continue
        leaves.append(position)
        present = np.isfinite(aligned.size[:, rows]) | aligned.bad[:, rows]
        if (aligned.zero[:, rows] | ~present).all() and present.any():
            dead.add(position)
    weights = {one for one in dead if table.types[one] not in BIAS_GRADIENT_TYPES}
    if not weights:
        return []
    origin = _where_zero_begins(series, aligned, gradients, dead)
    if origin is None:
        return []
    number = 0
    count = len(series.columns)
    all_dead = len(dead) == len(leaves)
    confidence = LOW if count == 1 and not all_dead else MEDIUM
    if all_dead and count >= _ENOUGH:
        confidence = HIGH
    inputs = series.values(number, origin, False)
    message = ("the gradient becomes exactly zero here (%s), in %s; %d of %d gradients of weights "
               "are zero" % (explain.ranges_of(inputs), _executions(count), len(dead),
                             len(leaves)))
    return [make_suspect(series, number, origin, "zero-gradient", message, confidence,
                         len(dead))]


def _executions(count: int) -> str:
    return "every one of %d dumped executions" % count if count > 1 else "the dumped execution"


def _where_zero_begins(series: Series, aligned: Aligned, gradients: Set[int], dead: Set[int]
                       ) -> Optional[int]:
    """The first operator of the backward pass that is given a gradient and hands on zero."""
    table = series.operators
    above = table.reach(dead, forward=False) & gradients
    for position in sorted(above):
        outputs = _rows(aligned, position, True)
        if not len(outputs) or not aligned.zero[0, outputs].all():
            continue
        given = [source[0] for source in table.sources[position]
                 if source is not None and source[0] in gradients]
        inputs = _rows(aligned, position, False)
        slots = [slot for slot, source in enumerate(table.sources[position])
                 if source is not None and source[0] in given]
        flowing = [row for row in inputs.tolist() if int(aligned.index[row]) in slots]
        if flowing and all(aligned.size[0, row] > 0 for row in flowing):
            return position
        if not given and len(inputs) and (aligned.size[0, inputs] > 0).any():
            return position
    return None


def _vanishing(series: Series, aligned: Aligned) -> List[Suspect]:
    """The gradient of the first layers, where it is nothing beside that of the last."""
    table = series.operators
    if len(series.columns) < 2:
        return []
    sizes = {}
    for position in table.leaf_gradients():
        if table.types[position] in BIAS_GRADIENT_TYPES:
            continue
        rows = _rows(aligned, position, True)
        if len(rows) and (aligned.count[:, rows] > 1).any():
            with np.errstate(invalid="ignore"):
                sizes[position] = np.fmax.reduce(aligned.size[:, rows], axis=1)
    if len(sizes) < 2:
        return []
    table_of = np.array(list(sizes.values()))
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(table_of, axis=0)
        small = (table_of > 0) & (table_of < VANISHING * largest)
    always = small.all(axis=1)
    if not always.any():
        return []
    positions = [position for position, one in zip(sizes, always.tolist()) if one]
    position = max(positions)
    message = ("the gradient is %s here and %s elsewhere, in every one of %d dumped executions: "
               "it shrinks on its way back" % (
                   explain.number(sizes[position][0]), explain.number(largest[0]),
                   len(series.columns)))
    return [make_suspect(series, 0, position, "vanishing-gradient", message, MEDIUM,
                         len(positions) - 1)]


def _constant(series: Series, aligned: Aligned) -> List[Suspect]:
    """Layers whose output does not vary although their inputs do."""
    table = series.operators
    found: List[Suspect] = []
    for position in distinct(aligned.op[aligned.constant.any(axis=0) & aligned.output]):
        if table.types[position] not in LAYER_TYPES or table.is_gradient(position):
            continue
        outputs = _rows(aligned, position, True)
        inputs = _rows(aligned, position, False)
        if not len(outputs) or not len(inputs) or int(aligned.index[outputs[0]]) != 0:
            continue
        row = outputs[:1]
        if not aligned.constant[:, row].all() or aligned.count[:, row].min() < _FEW:
            continue
        several = inputs[aligned.count[:, inputs].max(axis=0) > 1]
        if not len(several) or aligned.constant[:, several].any():
            continue  # an input does not vary either, and explains it
        number, count = 0, len(series.columns)
        values = series.values(number, position, True)
        message = "%s gives %s in %s, although its inputs vary: %s" % (
            table.types[position], explain.span(values[0]), _executions(count),
            explain.ranges_of(series.values(number, position, False)))
        found.append(make_suspect(series, number, position, "constant-output", message,
                                  MEDIUM if count > 1 else LOW))
    return found

