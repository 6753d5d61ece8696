"""Suspects that are the consequence of another suspect: counted with it, not listed."""
from __future__ import annotations

from typing import List, Optional

import numpy as np

from keras_npu_dump.analysis.triage.findings.suspects import (
    EXECUTIONS_TO_SEE,
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    surer,
)

# Inputs so many times as large as in the first execution come from weights that jumped;
# of inputs that were zero, so many times this.
_GROWN, _SMALLEST = 1e3, 1e-6
_NOT_FINITE = ("nan", "infinity")


def explained_by_others(suspects: List[Suspect]) -> List[Suspect]:
    """Suspects without those that follow from one of them; in the order given.

    * Values that overflow because weights had grown thousandfold before belong
      to the update that let them grow.
    * A gradient that is zero because the operator it belongs to gives a constant
      belongs to that operator.
    * What a collective hands to this rank belongs to the rank that put it in.
    * A batch with a heavy tail is worth a look where something breaks on it.
    * So is an update that multiplied a weight a thousandfold where something
      breaks after it: it is believed as much as that.
    """
    for one in suspects:
        if one.reason == "jump" and one.confidence == LOW and any(
                other.confidence == HIGH and other.series is one.series
                and other.place.execution == one.place.execution for other in suspects):
            one.confidence = MEDIUM
        _believe_leap(one, suspects)
    kept: List[Suspect] = []
    for one in suspects:
        cause = _cause(one, suspects)
        if cause is None:
            kept.append(one)
            continue
        if one.op not in cause.also:
            cause.also.append(one.op)
        cause.downstream += one.downstream + 1
        if cause.reason == "jump" and "the first value" not in cause.message:
            cause.confidence = HIGH
            cause.message += "; the first value that is not finite comes at data_index %s (%s)" % (
                one.step, one.op)
    return kept


def _believe_leap(one: Suspect, suspects: List[Suspect]) -> None:
    """Raises an update that multiplied a weight to what breaks after it."""
    if one.hints.leap is None:
        return
    later = [other for other in suspects if other is not one and other.series is one.series
             and other.place.execution >= (one.place.ordinal, one.hints.leap)
             and other.reason != "ranks-disagree"]
    for other in later:
        if surer(other.confidence, one.confidence):
            one.confidence = other.confidence
    steps = [other.step for other in later if other.confidence != LOW and other.step is not None]
    if steps and one.step is not None and one.step <= min(steps) <= one.step + EXECUTIONS_TO_SEE:
        one.hints.until = max(one.hints.until or 0, min(steps))


def _cause(one: Suspect, suspects: List[Suspect]) -> Optional[Suspect]:
    """The first other suspect from which this follows, by any of the rules; None without."""
    for other in suspects:
        if other is one:
            continue
        if one.hints.from_rank and not other.hints.from_rank and other.rank not in one.ranks \
                and other.step == one.step and other.reason in _NOT_FINITE + ("bad-data",):
            return other
        if one.reason in _NOT_FINITE and other.reason == "jump" and _grew(one, other):
            return other
        if (one.reason == "zero-gradient" and other.reason == "constant-output"
                and _takes(one, other)):
            return other
    return None


def _grew(one: Suspect, jump: Suspect) -> bool:
    """Weights jumped before, and the inputs here are thousands of times the first ones."""
    series = one.series
    if (series is not jump.series or jump.hints.upstream is None
            or jump.place.time >= one.place.time):
        return False
    first = {value.index: value.size for value in series.values(0, one.position, False)
             if value.known}
    for value in series.values(one.place.number, one.position, False):
        before = first.get(value.index)
        if value.known and before is not None and value.size > _GROWN * max(before, _SMALLEST) \
                and np.isfinite(value.size):
            return True
    return False


def _takes(one: Suspect, other: Suspect) -> bool:
    """The other feeds it."""
    return one.series is other.series and other.op in one.producers
