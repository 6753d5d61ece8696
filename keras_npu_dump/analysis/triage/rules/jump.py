"""Values that jump against the same operator's earlier executions.

Two kinds. *Weights*: a training that diverges multiplies its weights with every
update, for several executions, before anything is infinite. A weight that comes
to ten times what it was, never to come back, diverges; the first of the updates
in a row that let it grow is where it starts. *Anything else*: an output a
thousand times as large as in every earlier execution, of an operator whose
inputs did not change in kind.

Why these numbers: a healthy training moves a weight by a percent or so an
update and by ten times over a whole training, if at all; gradients and losses
vary a hundredfold between batches, and a thousandfold where a network has
nearly learned its data, but are then small: so a jump must also be large as
such (above 1000). Weights that grew a thousandfold and still grow by half with the
last update that was dumped are reported with medium confidence, with high from a
million on, or where growth leads to values that are not finite. Weights that grew
and then stand still have found large numbers to learn (prices, say): that is odd,
and told with low confidence, unless a single update did all of it. (`merge` believes
a single update from zero, of which no factor is known, if something breaks after it.)
"""
from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from keras_npu_dump.analysis.graph.operators import Weight
from keras_npu_dump.analysis.triage.findings import explain
from keras_npu_dump.analysis.triage.findings.series import Aligned, Series
from keras_npu_dump.analysis.triage.findings.suspects import (
    EXECUTIONS_TO_SEE,
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    make_suspect,
)
from keras_npu_dump.analysis.triage.findings.weights import after_column, before_column

ONSET = 10.0
STILL_GROWING = 1.5
DIVERGED = 1e3
SURELY_DIVERGED = 1e6
JUMP = 1e3
LARGE = 1e3
_PASSED_ON = 10.0
# Stands for a weight that begins at zero, as a divisor.
_TINY = 1e-30


class _Path(NamedTuple):
    """A weight over the executions: magnitudes before and after its update."""

    weight: Weight
    before: np.ndarray
    after: np.ndarray
    bad: np.ndarray


def find(series: Series) -> List[Suspect]:
    """Suspects of one rank.

    Args:
      series: the executions of a graph on that rank.
    """
    if not series.columns:
        return []
    found = _diverging(series)
    if len(series.columns) > 1:
        found += _jumping(series)
    return found


def _diverging(series: Series) -> List[Suspect]:
    """The weight that diverges first; of several in one execution, that which grows most."""
    paths = [path for path in (_path(series, one) for one in series.operators.weights)
             if path is not None]
    if not paths:
        return []
    starts = np.array([path.before[0] for path in paths])
    starts = starts[np.isfinite(starts) & (starts > 0)]
    floor = float(np.median(starts)) if len(starts) else 1.0
    onsets: List[Tuple[int, float, float, _Path]] = []
    for path in paths:
        found = _onset(path, floor)
        if found is not None:
            onsets.append(found + (path,))
    if not onsets:
        return []
    first = min(number for number, _, _, _ in onsets)
    number, growth, total, path = max((one for one in onsets if one[0] == first),
                                      key=lambda one: one[1])
    message = "%s goes from %s to %s with this update%s" % (
        series.operators.names[path.weight.variable], explain.number(path.before[number]),
        explain.number(path.after[number]), _sequel(series, path, number))
    suspect = make_suspect(series, number, path.weight.update, "jump", message,
                           _confidence(path, number, growth, total), len(onsets) - 1)
    suspect.hints.upstream = path.weight.variable
    suspect.hints.until = _until(series, path, number)
    suspect.hints.leap = _leap(path, floor)
    return [suspect]


def _leap(path: _Path, floor: float) -> Optional[int]:
    """The first execution with an update that did all of it alone."""
    with np.errstate(invalid="ignore"):
        leaps = (path.after >= DIVERGED * np.fmax(path.before, floor)) & ~path.bad
    return int(np.argmax(leaps)) if leaps.any() else None


def _until(series: Series, path: _Path, number: int) -> Optional[int]:
    """The data_index up to which it must be seen, to see it diverge for sure."""
    base = max(float(path.before[0]), _TINY) if np.isfinite(path.before[0]) else 1.0
    last = min(number + EXECUTIONS_TO_SEE, len(series.steps) - 1)
    for place in range(number + 1, last):
        if path.bad[place] or path.after[place] >= SURELY_DIVERGED * base:
            last = place
            break
    first, until = series.steps[number].data_index, series.steps[last].data_index
    # Dumped executions may lie far apart; the next ones are as telling.
    return until if first is None or until is None else min(until, first + EXECUTIONS_TO_SEE)


def _confidence(path: _Path, number: int, growth: float, total: float) -> str:
    """How sure it is: `growth` in its first update, `total` over all executions."""
    if _still_growing(path):
        return HIGH if path.bad.any() or total >= SURELY_DIVERGED else MEDIUM
    return MEDIUM if growth >= DIVERGED and path.before[number] > 0 else LOW


def _still_growing(path: _Path) -> bool:
    """With the last update that left finite values."""
    places = np.flatnonzero(~path.bad & np.isfinite(path.after))
    if not len(places):
        return False
    last = int(places[-1])
    return not path.after[last] < STILL_GROWING * path.before[last]


def _path(series: Series, weight: Weight) -> Optional[_Path]:
    """A weight over the executions; None where the dump does not show it."""
    aligned = series.aligned
    before, after = before_column(aligned, weight), after_column(aligned, weight)
    if before is None and after is None:
        return None
    if before is None:
        # dump_mode=output: what an update left is what the next one finds.
        values = aligned.size[:, after]
        start = np.concatenate([values[:1], values[:-1]])
        return _Path(weight, start, values, aligned.bad[:, after])
    start = aligned.size[:, before]
    bad = aligned.bad[:, before].copy()
    if after is None:
        values = np.concatenate([start[1:], start[-1:]])
        bad[:-1] |= bad[1:]
    else:
        values = aligned.size[:, after]
        bad |= aligned.bad[:, after]
    return _Path(weight, start, values, bad)


def _onset(path: _Path, floor: float) -> Optional[Tuple[int, float, float]]:
    """(execution, growth in its update, growth in all) where a weight begins to diverge."""
    base = max(float(path.before[0]) if np.isfinite(path.before[0]) else 0.0, floor)
    with np.errstate(invalid="ignore"):
        large = (path.after >= ONSET * base) & ~path.bad
        back = ~path.bad & ~(path.after >= ONSET * base)
    places = np.flatnonzero(large)
    if not len(places):
        return None
    lost = np.flatnonzero(back)
    number = int(places[0])
    if len(lost) and lost[-1] > number:
        return None  # it came back
    finite = path.after[~path.bad & np.isfinite(path.after)]
    total = float(finite.max()) / base
    if total < DIVERGED and not (path.bad[number:].any() and _still_growing(path)):
        return None
    number = _beginning(path, number, floor)
    start = float(path.before[number])
    growth = float(path.after[number]) / max(start if np.isfinite(start) else 0.0, floor)
    return number, growth, total


def _beginning(path: _Path, number: int, floor: float) -> int:
    """The first of the updates in a row that each let the weight grow."""
    while number and path.after[number - 1] >= STILL_GROWING * max(path.before[number - 1], floor):
        number -= 1
    return number


def _sequel(series: Series, path: _Path, number: int) -> str:
    """What became of the weight after execution `number`, as the end of a sentence."""
    parts = []
    finite = np.flatnonzero(~path.bad & np.isfinite(path.after))
    last = int(finite[-1])
    if last > number:
        parts.append("reaches %s at data_index %s" % (
            explain.number(path.after[last]), series.steps[last].data_index))
    ended = np.flatnonzero(path.bad)
    if len(ended):
        parts.append("is not finite from data_index %s on" % (
            series.steps[int(ended[0])].data_index))
    return ", " + " and ".join(parts) if parts else ""


def _jumping(series: Series) -> List[Suspect]:
    """Outputs a thousand times as large as in every execution before."""
    aligned = series.aligned
    found: List[Suspect] = []
    for number in range(1, len(series.columns)):
        with np.errstate(invalid="ignore"):
            base = np.fmax.reduce(aligned.size[:number], axis=0)
            size = aligned.size[number]
            known = np.isfinite(base) & ~aligned.bad[number] & aligned.floating
            jumped = known & (size >= JUMP * np.fmax(base, 1.0)) & (size >= LARGE)
            if not jumped.any():
                continue
            changed = aligned.bad[number] | (size > _PASSED_ON * base) | (
                np.isfinite(size) & ~np.isfinite(base))
        found.extend(_origins(series, number, aligned, jumped, changed, base))
    return found


def _origins(series: Series, number: int, aligned: Aligned, jumped: np.ndarray,
             changed: np.ndarray, base: np.ndarray) -> List[Suspect]:
    """The operators with a jump whose inputs did not change.

    Args:
      number: of the execution.
      jumped, changed: bool per key. base: largest magnitude before, per key.
    """
    table = series.operators
    passes_on = set(aligned.op[changed & ~aligned.output].tolist())
    found: List[Suspect] = []
    for key in np.flatnonzero(jumped & aligned.output).tolist():
        position = int(aligned.op[key])
        if position in passes_on or table.is_update(position) or any(
                one.position == position for one in found):
            continue
        if not series.inputs_seen(number, position):
            continue
        what = "the batch" if table.is_data(position) else table.types[position]
        message = "%s gives values up to %s, at most %s in the %s before%s" % (
            what, explain.number(aligned.size[number, key]), explain.number(base[key]),
            "execution" if number == 1 else "%d executions" % number,
            "" if table.is_data(position) else ", although its inputs did not change like that")
        # Data may well have a heavy tail; `merge` believes it if something
        # breaks in the same execution.
        found.append(make_suspect(series, number, position, "jump", message,
                                  LOW if table.is_data(position) else MEDIUM, len(passes_on)))
    return found
