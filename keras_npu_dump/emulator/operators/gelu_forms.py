"""FastGelu and Gelu with their gradients (adapter, tf_adapter/ops/aicore).

FastGelu is x / (1 + e^(-1.702 x)) (ops-nn, fast_gelu); Gelu the form with tanh. Both are
calculated in float32 and rounded once, as kernels of newer chips do.
"""
from __future__ import annotations

import math
from typing import Any, List, Mapping

from keras_npu_dump.emulator.operators.npu_operators import NpuOperator, OperatorInput
from keras_npu_dump.emulator.operators.operator_calls import Called

_SLOPE = 1.702
_SCALE = math.sqrt(2.0 / math.pi)
_CUBE = 0.044715
_ALLOWED = ("float32", "float16", "bfloat16", "float64")


def _wide(tensor: Any) -> Any:
    import tensorflow as tf
    return tensor if tensor.dtype in (tf.float32, tf.float64) else tf.cast(tensor, tf.float32)


def _fast_gelu(attrs: Mapping[str, Any], x: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    wide = _wide(x)
    return [tf.cast(wide * tf.sigmoid(_SLOPE * wide), x.dtype)]


def _fast_gelu_grad(attrs: Mapping[str, Any], dy: Any, x: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    wide = _wide(x)
    gate = tf.sigmoid(_SLOPE * wide)
    slope = gate * (1.0 + _SLOPE * wide * (1.0 - gate))
    return [tf.cast(_wide(dy) * slope, x.dtype)]


def _tanh_of(x: Any) -> Any:
    import tensorflow as tf
    return tf.tanh(_SCALE * (x + _CUBE * x * x * x))


def _gelu(attrs: Mapping[str, Any], x: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    wide = _wide(x)
    return [tf.cast(0.5 * wide * (1.0 + _tanh_of(wide)), x.dtype)]


def _gelu_grad(attrs: Mapping[str, Any], dy: Any, x: Any, y: Any) -> List[Any]:
    import tensorflow as tf
    del attrs, y
    wide = _wide(x)
    inner = _tanh_of(wide)
    slope = 0.5 * (1.0 + inner) + 0.5 * wide * (1.0 - inner * inner) * _SCALE * (
        1.0 + 3.0 * _CUBE * wide * wide)
    return [tf.cast(_wide(dy) * slope, x.dtype)]


def _input(name: str) -> OperatorInput:
    return OperatorInput(name, "T", _ALLOWED)


FAST_GELU_GRAD = NpuOperator("FastGeluGrad", [_input("gradients"), _input("features")],
                             ("backprops",), _fast_gelu_grad, stateful=False)


def fast_gelu_gradient(op: Called, grad: Any) -> List[Any]:
    """The gradient of FastGelu (adapter train_ops.py).

    Args:
      op: the operator.
      grad: of its output.
    """
    return [FAST_GELU_GRAD(grad, op.inputs[0])]


FAST_GELU = NpuOperator("FastGelu", [_input("features")], ("activations",), _fast_gelu,
                        gradient=fast_gelu_gradient, stateful=False)
GELU_GRAD = NpuOperator(
    "GeluGrad", [_input("gradients"), _input("features"), _input("activations")], ("backprops",),
    _gelu_grad, stateful=False)


def _gelu_gradient(op: Called, grad: Any) -> List[Any]:
    return [GELU_GRAD(grad, op.inputs[0], op.outputs[0])]


GELU = NpuOperator("Gelu", [_input("features")], ("activations",), _gelu, gradient=_gelu_gradient,
                   stateful=False)
