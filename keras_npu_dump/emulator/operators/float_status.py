"""NpuGetFloatStatusV2 and NpuClearFloatStatusV2; GE calls them NPU... (adapter,
npu_mixed_precesion_ops.cc).

A device sets a register when an operator overflows. Here the operator looks at the tensors that
it waits for (`tf.control_dependencies`, as the adapter's loss scale has it, where they are the
gradients): the status is 1 where one of them holds infinity or NaN. Where it waits for none,
eagerly for example, it is 0, and a line says so once. Nothing has to be cleared.
"""
from __future__ import annotations

from typing import Any, List, Mapping

from keras_npu_dump import messages
from keras_npu_dump.emulator.operators.npu_operators import NpuOperator

_SIZE = 8
_SAID: List[bool] = []


def _get(attrs: Mapping[str, Any], *waited: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    if not waited:
        return [tf.zeros([_SIZE], tf.int32)]
    bad = [tf.logical_not(tf.reduce_all(tf.math.is_finite(tensor))) for tensor in waited]
    status = tf.cast(tf.reduce_any(tf.stack(bad)), tf.int32)
    return [tf.concat([[status], tf.zeros([_SIZE - 1], tf.int32)], axis=0)]


def _clear(attrs: Mapping[str, Any]) -> List[Any]:
    del attrs
    return []


def _waited() -> List[Any]:
    """The float tensors of the operators that a new operator would wait for."""
    import tensorflow as tf
    found: List[Any] = []
    if not tf.executing_eagerly():
        graph = tf.compat.v1.get_default_graph()
        left, seen = list(graph._control_dependencies_for_inputs([])), set()
        while left:
            op = left.pop()
            if op.name not in seen:
                seen.add(op.name)
                found.extend(tensor for tensor in op.outputs if tensor.dtype.is_floating)
                if not op.outputs:
                    left.extend(op.control_inputs)  # tf.group, or what an optimizer returns
    if not found and not _SAID:
        _SAID.append(True)
        messages.warning(
            "emulator: npu_get_float_status_v2 looks at the tensors that it waits for, and there"
            " are none: it tells no overflow. Call it inside tf.function, under"
            " tf.control_dependencies of the gradients.")
    return found


GET_FLOAT_STATUS_V2 = NpuOperator("NpuGetFloatStatusV2", (), ("data",), _get,
                                  ge_type="NPUGetFloatStatusV2", beside=_waited)
CLEAR_FLOAT_STATUS_V2 = NpuOperator("NpuClearFloatStatusV2", (), (), _clear,
                                    ge_type="NPUClearFloatStatusV2")
