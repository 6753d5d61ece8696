"""Overflow detection: what enable_dump_debug leaves, as far as a CPU can tell.

A device looks at status registers, which know more than the numbers. Here an operator
overflows when a float16 output of it holds infinity, NaN or the largest finite number,
which is where a saturating device stops (msaccucmp takes 65504 for overflow, too). Other
kinds of overflow, and the addresses and status bits of the record, are not known: they
are filled with "none", and the status is 1.
"""
from __future__ import annotations

from typing import Any, Dict, Sequence

import numpy as np

from keras_npu_dump.emulator.functions import opinfo, tf_dtypes
from keras_npu_dump.emulator.ge import dump_writer
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.tracer.dump_plan import DumpedOp, Plan
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.emulator.tracer.values import Values
from keras_npu_dump.formats import mapping, names
from keras_npu_dump.formats.tensor import dump_file, opdebug

_LIMIT = np.float16(65504)  # the largest finite number
_FLOAT16 = 2  # OutputDataType


def may_overflow(node: Any) -> bool:
    """Whether the operator of a NodeDef has a float16 output.

    Args:
      node: NodeDef.
    """
    return any(dtype == tf_dtypes.DT_HALF for _, dtype in opinfo.outputs(node))


def overflows(value: dump_writer.Entry) -> bool:
    """Whether a float16 entry holds infinity, NaN or the largest finite number.

    Args:
      value: entry of a dump file.
    """
    if isinstance(value, str) or value.data_type != _FLOAT16 or not isinstance(
            value.data, np.ndarray):
        return False
    # NaN compares false with everything.
    return not bool(np.all(np.abs(value.data) < _LIMIT))


def write_execution(folder: str, plan: Plan, activation: Activation, args: Sequence[Any],
                    constants: Dict[Any, Any], session: GeSession, model_id: int) -> int:
    """Writes two files per operator that overflowed: its data, and the overflow record.

    Args:
      folder, plan, activation, args, constants, session: see `dump_writer.write_execution`.
      model_id: of the graph, for the record.

    Returns:
      How many files were written.

    Raises:
      OSError: a folder or file cannot be made or written.
    """
    values = Values(plan, args, constants)
    return _OverflowWriter(folder, plan, values, session, model_id).write(activation)


class _OverflowWriter(dump_writer.ExecutionWriter):
    """Writes what overflowed, and a record beside each."""

    def __init__(self, folder: str, plan: Plan, values: Values, session: GeSession, model_id: int):
        super().__init__(folder, plan, values, session)
        self._model_id = model_id

    def _write_op(self, op: DumpedOp, activation: Activation) -> None:
        outputs = self.outputs(op, activation)
        if any(overflows(value) for value in outputs):
            self._write(op, self.inputs(op, activation), outputs)
            self._write_record(op)

    def _write_record(self, op: DumpedOp) -> None:
        stamp = dump_writer.CLOCK.now()
        record = opdebug.pack_record("AIC", {
            "model_id": self._model_id, "stream_id": dump_writer.STREAM_ID, "task_id": op.task_id})
        name = names.format_dump_name(names.DumpName(
            "Opdebug", "Node_OpDebug", op.task_id, dump_writer.STREAM_ID, stamp))
        path = mapping.create_dump_file(self._folder, name)
        dump_file.write_file(path, "Node_OpDebug", (), [dump_file.TensorValue(
            record, original_op=dump_file.OriginalOp("Node_OpDebug", 0, 0, dump_writer.ND))], stamp,
            dfx_message=dump_writer.MARK)
        self._files += 1
