"""Where a dump shows the values of the variables that training changes."""
from __future__ import annotations

from typing import Optional

import numpy as np

from keras_npu_dump.analysis.graph.operators import Weight
from keras_npu_dump.analysis.row_keys import make_key
from keras_npu_dump.analysis.triage.findings.series import Aligned


def column_of(aligned: Aligned, position: int, output: bool, index: int) -> Optional[int]:
    """Where a tensor's key stands in an Aligned (its first turn), None if absent.

    Args:
      aligned: the executions of a rank side by side.
      position: of the operator. output: of its outputs, not its inputs.
      index: among them.
    """
    key = int(make_key(np.array([position]), np.array([0]), np.array([output]),
                       np.array([index]))[0])
    place = int(np.searchsorted(aligned.keys, key))
    return place if place < len(aligned.keys) and int(aligned.keys[place]) == key else None


def before_column(aligned: Aligned, weight: Weight) -> Optional[int]:
    """The key of a weight's value when an execution begins.

    A reader's input is asked first: on a device an update works in place, and
    its own input is dumped when it is done.

    Args:
      aligned: the executions of a rank side by side. weight: of its graph.

    Returns:
      A place in `aligned.keys`, None where the dump does not hold it.
    """
    for position, slot in weight.readers:
        place = column_of(aligned, position, False, slot)
        if place is not None:
            return place
    return column_of(aligned, weight.update, False, 0)


def after_column(aligned: Aligned, weight: Weight) -> Optional[int]:
    """The key of a weight's value when its update is done; see `before_column`."""
    return column_of(aligned, weight.update, True, 0)
