"""Where in a tensor it goes wrong: the place and the inputs there, if tensors were dumped."""
from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np

from keras_npu_dump.analysis.dump_files import ExecutionFiles
from keras_npu_dump.analysis.tensors import FoundTensor, find_tensor
from keras_npu_dump.analysis.triage.findings.explain import number
from keras_npu_dump.analysis.triage.findings.suspects import Suspect
from keras_npu_dump.errors import DumpError

_LARGEST = 256 << 20


def show_places(suspect: Suspect) -> None:
    """Adds the first bad place of a suspect's outputs, with its inputs there, to the message."""
    if suspect.reason not in ("nan", "infinity", "bad-data"):
        return
    series = suspect.series
    execution = series.steps[suspect.place.number]
    if not execution.kinds.get("dump"):
        return
    for value in series.values(suspect.place.number, suspect.position, True):
        if not value.bad:
            continue
        found = _find(execution, suspect.op, value.index, "output", value.turn)
        if found is None or found.entry.size > _LARGEST:
            return
        values = found.values()
        if values.dtype.kind != "f" or not values.size:
            return
        place = int(np.argmin(np.isfinite(values.reshape(-1))))
        where = np.unravel_index(place, values.shape)
        text = "; first at %s%s" % (
            [int(axis) for axis in where], " of output %d" % value.index if value.index else "")
        inputs = _inputs_at(suspect, execution, values.shape, where, value.turn)
        suspect.message += text + (", where %s" % ", ".join(inputs) if inputs else "")
        return


def _inputs_at(suspect: Suspect, execution: ExecutionFiles, shape: Tuple[int, ...],
               where: Tuple[np.intp, ...], turn: int) -> List[str]:
    """Inputs at a place of the output, where shapes are equal or broadcast to it."""
    texts = []
    for value in suspect.series.values(suspect.place.number, suspect.position, False):
        if value.turn != turn or not value.known:
            continue
        found = _find(execution, suspect.op, value.index, "input", turn)
        if found is None or found.entry.size > _LARGEST:
            continue
        try:
            array = np.broadcast_to(found.values(), shape)
        except ValueError:
            return []
        texts.append("input %d is %s" % (value.index, number(float(array[where]))))
    return texts


def _find(execution: ExecutionFiles, op: str, index: int, io: str, turn: int
          ) -> Optional[FoundTensor]:
    try:
        return find_tensor(execution, op, index, io, turn)
    except (DumpError, OSError):
        return None
