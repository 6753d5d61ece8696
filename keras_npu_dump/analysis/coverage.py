"""How much of a training a triage has looked at."""
from __future__ import annotations

from typing import Iterable, List, Optional, Sequence, Set

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


def ranges(numbers: Iterable[Optional[int]]) -> List[str]:
    """[3, 8, 4, 5] -> ["3-5", "8"], as items of a dump_step."""
    found: List[List[int]] = []
    for number in sorted({one for one in numbers if one is not None}):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else "%d-%d" % (first, last) for first, last in found]
