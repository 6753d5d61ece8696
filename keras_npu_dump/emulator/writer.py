"""Writes the files of one execution: one per operator and round, times rising."""
from __future__ import annotations

import os
import threading
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.emulator import opinfo
from keras_npu_dump.emulator.plan import DumpedOp, Plan, Source
from keras_npu_dump.emulator.twin import Activation
from keras_npu_dump.emulator.values import Values, dtype_name
from keras_npu_dump.formats import dtypes, mapping, names, stats, tensor

MARK = {"emulated": "keras_npu_dump"}
STREAM_ID = 0  # There are no streams here; the number is made up.


class Clock:
    """Microseconds since 1970 that never repeat within the process."""

    def __init__(self):
        self._last = 0
        self._lock = threading.Lock()

    def now(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, int(time.time() * 1000000))
            return self._last


CLOCK = Clock()


def write_execution(folder: str, plan: Plan, activation: Activation, args: Sequence[Any],
                    constants: Dict[Any, Any], as_stats: bool) -> int:
    """Writes all files of one execution and returns how many.

    Args:
      folder: `.../{model_name}/{model_id}/{data_index}`, made if missing, mode 0700.
      plan, activation, args, constants: see `Values`.
      as_stats: statistics instead of data.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return _Writer(folder, plan, Values(plan, args, constants), as_stats).write(activation)


class _Writer:

    def __init__(self, folder: str, plan: Plan, values: Values, as_stats: bool):
        self._folder = folder
        self._plan = plan
        self._values = values
        self._stats = as_stats
        self._files = 0

    def write(self, activation: Activation) -> int:
        """Operators in executable order; a body's rounds where its node stands."""
        ops = {op.node.name: op for op in self._plan.ops[id(activation.flat)]}
        for node in activation.flat.nodes:
            if node.name in ops:
                self._write_op(ops[node.name], activation)
            for (name, _), rounds in activation.children.items():
                if name == node.name:
                    for inner in rounds:
                        self.write(inner)
        return self._files

    def _write_op(self, op: DumpedOp, activation: Activation) -> None:
        stamp = CLOCK.now()
        name = names.format_dump_name(names.DumpName(
            op.node.op, op.node.name, op.task_id, STREAM_ID, stamp, csv=self._stats))
        inputs = [self._value(source, activation) for source in op.inputs]
        outputs = [self._value(source, activation, (op.node.name, index))
                   for index, source in enumerate(op.outputs)]
        path = mapping.create_dump_file(self._folder, name)
        if self._stats:
            stats.write_stats(path, inputs, outputs)
        else:
            tensor.write_file(path, op.node.name, inputs, outputs, stamp, attrs=MARK)
        self._files += 1

    def _value(self, source: Source, activation: Activation,
               origin: Optional[Tuple[str, int]] = None) -> tensor.Value:
        found = self._values.get(source, activation)
        if found is None:
            # Handles, strings and lists have no bytes; the entry keeps the positions true.
            return tensor.Value(b"", dtypes.dtype_number(dtype_name(source.dtype)), shape=(0,))
        array, number = found
        original = None
        if origin is not None:
            original = tensor.OriginalOp(origin[0], origin[1],
                                         dtypes.ge_dtype_number(dtype_name(source.dtype)), 2)
        return tensor.Value(array, number, shape=array.shape, original_shape=array.shape,
                            original_op=original)


def opaque(source: Source) -> bool:
    """Whether a source has no bytes."""
    return source.kind == "opaque" or source.dtype in opinfo.OPAQUE


def folder_of(parts: List[Any]) -> str:
    """Joins the levels of a dump folder."""
    return os.path.join(*(str(part) for part in parts))
