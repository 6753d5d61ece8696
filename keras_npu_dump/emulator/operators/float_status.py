"""NpuGetFloatStatusV2 and NpuClearFloatStatusV2; GE calls them NPU... (adapter,
npu_mixed_precesion_ops.cc).

A device sets a register when an operator overflows. Here the operator looks at the tensors that
it waits for (`tf.control_dependencies`, as the adapter's loss scale has it, where they are the
gradients): the status is 1 where one of them holds infinity or NaN. Nothing has to be cleared.
"""
from __future__ import annotations

from typing import Any, List, Mapping

from keras_npu_dump.emulator.operators.npu_operators import NpuOperator

_SIZE = 8


def _get(attrs: Mapping[str, Any], *waited: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
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
        for op in graph._control_dependencies_for_inputs([]):
            found.extend(tensor for tensor in op.outputs if tensor.dtype.is_floating)
    if not found:
        raise RuntimeError(
            "npu_get_float_status_v2: the emulator looks at the tensors that it waits for, and"
            " there are none. Call it inside tf.function, under tf.control_dependencies of the"
            " gradients.")
    return found


GET_FLOAT_STATUS_V2 = NpuOperator("NpuGetFloatStatusV2", (), ("data",), _get,
                                  ge_type="NPUGetFloatStatusV2", beside=_waited)
CLEAR_FLOAT_STATUS_V2 = NpuOperator("NpuClearFloatStatusV2", (), (), _clear,
                                    ge_type="NPUClearFloatStatusV2")
