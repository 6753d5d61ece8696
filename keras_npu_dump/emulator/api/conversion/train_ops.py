"""The stand-in for `npu_device.ops.train_ops`: gelu (adapter train_ops.py)."""
from __future__ import annotations

import importlib
from typing import Any

from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import nn_ops
from tensorflow.python.util import nest

from keras_npu_dump.emulator.api.conversion import npu_symbols
from keras_npu_dump.emulator.operators import gen_npu_ops, keras_tensors
from keras_npu_dump.emulator.operators.gelu_forms import fast_gelu_gradient

# Both at the import of npu_device, as the adapter: a script that registers a gradient for
# FastGelu once more fails in its own line, there and here.
fast_gelu_grad = ops.RegisterGradient("FastGelu")(fast_gelu_gradient)
npu_symbols.npu_symbol_register("npu.ops.gelu", gen_npu_ops.fast_gelu)


@keras_tensors.unconverted
def gelu(x: Any) -> Any:
    """FastGelu in a graph, TensorFlow's own gelu (with erf) where it executes eagerly.

    Args:
      x: tensor, or a tensor of Keras's functional API, in which it becomes the layer
        NpuOpLambda, which saved models find again (adapter train_ops.py).

    Returns:
      A tensor of the shape and dtype of `x`.
    """
    if any(keras_tensors.is_symbolic(item) for item in nest.flatten([x])):
        return npu_symbols.NpuOpLambda(gen_npu_ops.fast_gelu)(x)
    if context.executing_eagerly():
        return nn_ops.gelu(x)
    return gen_npu_ops.fast_gelu(ops.convert_to_tensor(x))


def __getattr__(name: str) -> Any:
    """What the adapter's module has imported, and this one only on demand."""
    if name == "keras_tensor":
        try:
            return importlib.import_module("keras.engine.keras_tensor")
        except ImportError:
            return importlib.import_module("keras.src.backend.common.keras_tensor")
    raise AttributeError("npu_device.ops.train_ops.%s: the emulator does not have it." % name)
