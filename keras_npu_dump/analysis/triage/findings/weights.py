"""The variables that training changes, and where a dump shows their values."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional

import numpy as np

from keras_npu_dump.analysis.operators import Operators
from keras_npu_dump.analysis.row_keys import make_key
from keras_npu_dump.analysis.triage.findings.series import Aligned


class Weight(NamedTuple):
    """A variable that gradients change and the forward pass reads.

    Attributes:
      variable: its position. update: that of the operator that changes it.
      readers: (position, input) that take its value before it changes.
    """

    variable: int
    update: int
    readers: List[tuple]


def find_weights(table: Operators) -> List[Weight]:
    """Weights of a training graph, in the order of their updates.

    Told by what feeds the update, not by names: moving averages and metrics
    come from the forward pass, and the optimizer's own variables are read by
    nothing that a gradient depends on.
    """
    if "weights" not in table.memo:
        table.memo["weights"] = _weights(table)
    return table.memo["weights"]


def _weights(table: Operators) -> List[Weight]:
    gradients = table.gradients
    from_gradients = table.reach(gradients)
    to_gradients = table.reach(gradients, forward=False)
    found: Dict[int, Weight] = {}
    for position in range(table.known):
        if not table.is_update(position) or position not in from_gradients:
            continue
        variable = table.variable_of(position)
        if variable is None or variable in found:
            continue
        readers = []
        for reader in table.consumers[variable]:
            if reader in from_gradients or reader not in to_gradients or table.is_update(reader):
                continue
            readers += [(reader, slot) for slot, source in enumerate(table.sources[reader])
                        if source is not None and source[0] == variable]
        if readers:
            found[variable] = Weight(variable, position, readers)
    return list(found.values())


def leaf_gradients(table: Operators) -> List[int]:
    """Operators of the backward pass whose values leave it: the gradients of weights."""
    gradients = table.gradients
    return [position for position in sorted(gradients) if any(
        one not in gradients and table.types[one] != "NetOutput"
        for one in table.consumers[position])]


def column_of(aligned: Aligned, position: int, output: bool, index: int) -> Optional[int]:
    """Where a tensor's key stands in an Aligned (its first turn), None if absent."""
    key = int(make_key(np.array([position]), np.array([0]), np.array([output]),
                       np.array([index]))[0])
    place = int(np.searchsorted(aligned.keys, key))
    return place if place < len(aligned.keys) and int(aligned.keys[place]) == key else None


def before_column(aligned: Aligned, weight: Weight) -> Optional[int]:
    """The key of a weight's value when an execution begins.

    A reader's input is asked first: on a device an update works in place, and
    its own input is dumped when it is done.
    """
    for position, slot in weight.readers:
        place = column_of(aligned, position, False, slot)
        if place is not None:
            return place
    return column_of(aligned, weight.update, False, 0)


def after_column(aligned: Aligned, weight: Weight) -> Optional[int]:
    """The key of a weight's value when its update is done."""
    return column_of(aligned, weight.update, True, 0)
