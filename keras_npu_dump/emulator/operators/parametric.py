"""PRelu with its gradient, and Centralization (adapter, npu_aicore_ops.cc)."""
from __future__ import annotations

from typing import Any, List, Mapping

from keras_npu_dump.emulator.operators.npu_operators import REQUIRED, NpuOperator
from keras_npu_dump.emulator.operators.operator_calls import Called


def _p_relu(attrs: Mapping[str, Any], x: Any, weight: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    return [tf.where(x > 0, x, x * weight)]


def _p_relu_grad(attrs: Mapping[str, Any], grads: Any, features: Any, weights: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    dx = tf.where(features > 0, grads, grads * weights)
    of_each = tf.where(features > 0, tf.zeros_like(grads), grads * features)
    shape = tf.shape(weights)
    padded = tf.concat([tf.ones([tf.rank(features) - tf.rank(weights)], tf.int32), shape], axis=0)
    axes = tf.where(tf.equal(padded, 1))[:, 0]
    return [dx, tf.reshape(tf.reduce_sum(of_each, axes), shape)]


P_RELU_GRAD = NpuOperator("PReluGrad", ("grads", "features", "weights"), ("dx", "da"), _p_relu_grad)


def _p_relu_gradient(op: Called, grad: Any) -> List[Any]:
    return list(P_RELU_GRAD(grad, *op.inputs))


P_RELU = NpuOperator("PRelu", ("x", "weight"), ("y",), _p_relu, gradient=_p_relu_gradient)


def _centralization(attrs: Mapping[str, Any], x: Any) -> List[Any]:
    import tensorflow as tf
    return [x - tf.reduce_mean(x, list(attrs["axes"]), keepdims=True)]


CENTRALIZATION = NpuOperator("Centralization", ("x",), ("y",), _centralization, {"axes": REQUIRED})
