"""The stand-in for `npu_device.train.convert_dropout`: dropout with the NPU's two operators.

Signatures, checks and the gradient's registration are the adapter's (convert_dropout.py).
"""
from __future__ import annotations

import numbers
from typing import Any, List, Optional

import tensorflow as tf
import tensorflow.compat.v2 as tf2
from tensorflow.python.eager import context
from tensorflow.python.framework import ops, random_seed
from tensorflow.python.ops import nn_ops

from keras_npu_dump.emulator.operators import gen_npu_ops
from keras_npu_dump.emulator.operators.keras_tensors import unconverted

_ORIGINAL = "__OriginCall__"


@unconverted
def npu_dropout_v2(x: Any, rate: Any, noise_shape: Any = None, seed: Optional[int] = None,
                   name: Optional[str] = None) -> Any:
    """Dropout, by DropOutGenMask and DropOutDoMask; with a noise shape, TensorFlow's own.

    Args:
      x: float16 or float32 tensor.
      rate: the part of it that is dropped.
      noise_shape: of what is drawn. Defaults to the shape of `x`.
      seed: of the operation. Defaults to none.
      name: of the operators. Defaults to their types.

    Returns:
      A tensor of the shape and dtype of `x`.

    Raises:
      RuntimeError: TensorFlow executes eagerly.
      ValueError: `x` is not floating point, or `rate` leaves nothing.
    """
    keep_prob = 1.0 - rate
    if noise_shape is not None:
        original = getattr(npu_dropout_v2, _ORIGINAL, None)
        if original is None:
            raise Exception("dropout_v2 has no %s attr" % _ORIGINAL)
        return original(x, noise_shape=noise_shape, seed=seed, name=name, rate=1.0 - keep_prob)
    return dropout(x, keep_prob, seed=seed, name=name)


@unconverted
def dropout(x: Any, keep_prob: Any, noise_shape: Any = None, seed: Optional[int] = None,
            name: Optional[str] = None) -> Any:
    """Dropout by the two operators, as `npu_ops.dropout` (adapter npu_ops.py of npu_bridge).

    Args:
      x: float16 or float32 tensor.
      keep_prob: the part of it that is kept.
      noise_shape: of what is drawn. Defaults to the shape of `x`.
      seed: of the operation. Defaults to none.
      name: of the operators. Defaults to their types.

    Returns:
      A tensor of the shape and dtype of `x`.

    Raises:
      RuntimeError: TensorFlow executes eagerly.
      ValueError: `x` is not floating point, or `keep_prob` is not in (0, 1].
    """
    if context.executing_eagerly():
        raise RuntimeError("npu_ops.dropout() is not compatible with eager execution.")
    x = ops.convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError("x must be a floating point tensor. Received: %s" % x.dtype)
    if isinstance(keep_prob, numbers.Real) and not 0 < float(keep_prob) <= 1.0:
        raise ValueError("keep_prob must be a number in (0, 1]. Received: %g" % float(keep_prob))
    if isinstance(keep_prob, float) and keep_prob == 1.0:
        return x
    seed, seed2 = random_seed.get_seed(seed)
    shape = tf.shape(x) if noise_shape is None else noise_shape
    mask = gen_npu_ops.drop_out_gen_mask(shape, keep_prob, seed, seed2, name)
    return gen_npu_ops.drop_out_do_mask(x, mask, keep_prob, name)


def dropout_api_convert() -> None:
    """Puts it where TensorFlow's dropout is found, for the versions that the adapter names."""
    from keras_npu_dump.emulator.api.conversion import npu_convert
    convert = npu_convert.dropout_convert(npu_dropout_v2, version=["2.6.2~2.6.999"],
                                          mode=["graph"])
    tf.nn.dropout = convert(tf.nn.dropout)
    tf2.nn.dropout = convert(tf2.nn.dropout)
    nn_ops.dropout_v2 = convert(nn_ops.dropout_v2)


def dropout_domask_grad(op: Any, grad: Any) -> List[Any]:
    """The gradient of DropOutDoMask: the same mask again.

    Args:
      op: the operator.
      grad: of its output.
    """
    return [gen_npu_ops.drop_out_do_mask(grad, op.inputs[1], op.inputs[2]), None, None]


grad_registry_list = ops.gradient_registry.list()
if "DropOutDoMask" not in grad_registry_list:
    ops.RegisterGradient("DropOutDoMask")(dropout_domask_grad)
