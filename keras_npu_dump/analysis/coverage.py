"""How much of a training a triage has looked at."""
from __future__ import annotations

from typing import Sequence, Set

from keras_npu_dump.analysis.columns import distinct
from keras_npu_dump.analysis.series import Series


def operators_seen(group: Sequence[Series]) -> int:
    """Operators with a file in any execution; one of several ranks counts once."""
    names: Set[str] = set()
    for series in group:
        positions: Set[int] = set()
        before = None
        for columns in series.columns:
            # Executions with the same rows share the array of their keys.
            if columns.key is not before:
                positions.update(distinct(columns.op))
            before = columns.key
        names.update(series.operators.names[position] for position in positions)
    return len(names)
