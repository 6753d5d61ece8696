"""FusedLayerNorm and its gradient, which GE calls LayerNorm and LayerNormGrad (ops-nn,
layer_norm_tf_plugin.cpp; adapter, npu_aicore_ops.cc)."""
from __future__ import annotations

from typing import Any, List, Mapping

from keras_npu_dump.emulator.operators.npu_operators import NpuOperator
from keras_npu_dump.emulator.operators.operator_calls import Called

_BACKWARD_EPSILON = 1e-12
"""What the gradient adds to the variance: it is not told the epsilon of the forward pass
(canndev, layer_norm_x_backprop.py)."""


def _wide(tensor: Any) -> Any:
    import tensorflow as tf
    return tf.cast(tensor, tf.float32)


def _from(axis: int, x: Any) -> List[int]:
    rank = x.shape.rank
    if rank is None:
        raise ValueError("fused_layer_norm: expected x of a known rank (the emulator's form needs"
                         " it). Received: %r" % x)
    first = axis + rank if axis < 0 else axis
    if not 0 <= first < rank:
        raise ValueError("FusedLayerNorm: expected an axis of %d dimensions. Received: %d"
                         % (rank, axis))
    return list(range(first, rank))


def _layer_norm(attrs: Mapping[str, Any], x: Any, gamma: Any, beta: Any) -> List[Any]:
    import tensorflow as tf
    axes = _from(attrs["begin_norm_axis"], x)
    wide = _wide(x)
    mean = tf.reduce_mean(wide, axes, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(wide, mean), axes, keepdims=True)
    normal = (wide - mean) * tf.math.rsqrt(variance + attrs["epsilon"])
    y = normal * _wide(gamma) + _wide(beta)
    return [tf.cast(tensor, x.dtype) for tensor in (y, mean, variance)]


def _layer_norm_grad(attrs: Mapping[str, Any], dy: Any, x: Any, variance: Any, mean: Any,
                     gamma: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    rank = x.shape.rank
    # The first dimension that the mean has lost is where normalizing began.
    lost = [axis for axis in range(rank) if mean.shape[axis] == 1 and x.shape[axis] != 1]
    axes = list(range(lost[0] if lost else rank - 1, rank))
    scale = tf.math.rsqrt(_wide(variance) + _BACKWARD_EPSILON)
    normal = (_wide(x) - _wide(mean)) * scale
    scaled = _wide(dy) * _wide(gamma)
    pd_x = scale * (scaled - tf.reduce_mean(scaled, axes, keepdims=True)
                    - normal * tf.reduce_mean(scaled * normal, axes, keepdims=True))
    outer = list(range(rank - gamma.shape.rank))
    pd_gamma = tf.reduce_sum(_wide(dy) * normal, outer)
    pd_beta = tf.reduce_sum(_wide(dy), outer)
    return [tf.cast(tensor, x.dtype) for tensor in (pd_x, pd_gamma, pd_beta)]


FUSED_LAYER_NORM_GRAD = NpuOperator(
    "FusedLayerNormGrad", ("dy", "x", "variance", "mean", "gamma"),
    ("pd_x", "pd_gamma", "pd_beta"), _layer_norm_grad, ge_type="LayerNormGrad")


def _gradient(op: Called, grad: Any, *rest: Any) -> Any:
    del rest
    return FUSED_LAYER_NORM_GRAD(grad, op.inputs[0], op.outputs[2], op.outputs[1], op.inputs[1])


FUSED_LAYER_NORM = NpuOperator(
    "FusedLayerNorm", ("x", "gamma", "beta"), ("y", "mean", "variance"), _layer_norm,
    {"begin_norm_axis": 0, "begin_params_axis": 0, "epsilon": 0.0000001}, gradient=_gradient,
    ge_type="LayerNorm")
