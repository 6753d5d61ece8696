"""Operators of the NPU in Keras's functional API: each call becomes a layer."""
from __future__ import annotations

import functools
from typing import Any, Callable


def is_symbolic(value: Any) -> bool:
    """Whether a value is a tensor of Keras's functional API, of Keras 2 or 3.

    Args:
      value: anything.
    """
    return any(kind.__name__ == "KerasTensor" for kind in type(value).__mro__)


def unconverted(function: Any) -> Any:
    """Marks a function as one that autograph calls as it is.

    Args:
      function: whatever a script may call inside tf.function.
    """
    # As tf.autograph.experimental.do_not_convert does, without TensorFlow.
    function.autograph_info__ = {}
    return function


def in_layers(function: Callable[..., Any], name: str) -> Any:
    """A function that makes a layer of itself when it is called with Keras's tensors.

    In Keras 2 it is the layer of any function of TensorFlow, as the adapter's NpuOpLambda; in
    Keras 3 a Lambda.

    Args:
      function: takes tensors.
      name: what it is called.
    """
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not any(is_symbolic(value) for value in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        try:
            from keras.layers.core import TFOpLambda
        except ImportError:
            return _lambda(function, args, kwargs)
        return TFOpLambda(wrapper)(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = name
    return unconverted(wrapper)


def _lambda(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    import keras
    given = [value for value in (*args, *kwargs.values()) if is_symbolic(value)]

    def call(tensors: Any) -> Any:
        left = iter(tensors if isinstance(tensors, (list, tuple)) else [tensors])
        filled = [next(left) if is_symbolic(value) else value for value in args]
        named = {key: next(left) if is_symbolic(value) else value
                 for key, value in kwargs.items()}
        return function(*filled, **named)

    # Keras finds out the shape by calling it.
    return keras.layers.Lambda(call)(given if len(given) > 1 else given[0])
