"""Functions of the adapter inside Keras's functional models (adapter utils/npu_wrapper.py).

A symbol is registered under a name; called with a Keras tensor, it becomes a layer that a saved
model finds again by that name.
"""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Dict, List, Optional, Union

_NAMES = "npu_api_names"
_SYMBOLS: Dict[str, Any] = {}
_PACKAGE = "npu_device.utils.npu_wrapper"
# Keras's modules as the adapter imports them (Keras 2), and where Keras 3 has the like; what
# Keras 3 has no like of is TensorFlow's copy of Keras 2.
_KERAS = {
    "core": ("keras.layers.core", "keras.src.layers.core"),
    "generic_utils": ("keras.utils.generic_utils", "tensorflow.python.keras.utils.generic_utils"),
    "backend": ("keras.backend", "keras.backend"),
    "keras_tensor": ("keras.engine.keras_tensor", "keras.src.backend.common.keras_tensor"),
}


def npu_symbol_register(names: Union[str, List[str], None], func: Any) -> Any:
    """Registers a function or class.

    Args:
      names: a name without `npu.`, a list of names, or nothing.
      func: what is registered.

    Returns:
      `func`.
    """
    if names:
        for name in names if isinstance(names, list) else [names]:
            _SYMBOLS[name] = func
        setattr(func, _NAMES, names)
    return func


def get_npu_symbol_from_name(name: Any) -> Any:
    """What is registered under a name, or None."""
    return _SYMBOLS.get(name)


def get_one_name_for_npu_symbol(symbol: Any) -> Optional[str]:
    """The first name of what is registered, or None."""
    names = getattr(symbol, _NAMES, None)
    return names[0] if isinstance(names, list) else names


def npu_functional_support(op: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function take Keras tensors, too: it becomes a layer.

    Args:
      op: a registered function of tensors.
    """
    @functools.wraps(op)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return op(*args, **kwargs)
        except (TypeError, ValueError):
            if not _has_keras_tensor(args, kwargs):
                raise
        return _layer_class()(op)(*args, **kwargs)
    return wrapper


def _has_keras_tensor(args: Any, kwargs: Any) -> bool:
    from tensorflow.python.util import nest
    kind = _keras("keras_tensor").KerasTensor
    return any(isinstance(one, kind) for one in nest.flatten([args, kwargs]))


@functools.lru_cache(maxsize=None)
def _layer_class() -> Any:
    core = _keras("core")
    if hasattr(core, "TFOpLambda"):
        return _lambda_of_keras_2(core.TFOpLambda)
    return _layer_of_keras_3()


def _lambda_of_keras_2(base: Any) -> Any:
    class NpuOpLambda(base):  # type: ignore[misc]
        """The layer of a symbol of the adapter.

        Args:
          function: a registered symbol.
          kwargs: of the layer; its name is made from the symbol's unless it is given.
        """

        def __init__(self, function: Any, **kwargs: Any):
            symbol = get_one_name_for_npu_symbol(function)
            kwargs.setdefault("name", _keras("backend").unique_object_name(
                symbol, zero_based=True, avoid_observed_names=True))
            super().__init__(function, **kwargs)
            self.symbol = symbol

        @classmethod
        def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
            """The layer of a saved model.

            Args:
              config: its configuration; "function" is the symbol's name.
              custom_objects: without effect.

            Raises:
              ValueError: no symbol has that name.
            """
            del custom_objects
            return cls(**dict(config, function=_symbol(config.get("function"))))

    register = _keras("generic_utils").register_keras_serializable
    return register(package=_PACKAGE)(NpuOpLambda)


def _layer_of_keras_3() -> Any:
    import tensorflow as tf
    base: Any = tf.keras.layers.Layer

    class NpuOpLambda(base):  # type: ignore[misc]
        """The layer of a symbol of the adapter, which Keras 3 has no TFOpLambda for.

        Args:
          function: a registered symbol.
          kwargs: of the layer.
        """

        def __init__(self, function: Any, **kwargs: Any):
            super().__init__(**kwargs)
            self.function = function
            self.symbol = get_one_name_for_npu_symbol(function)

        def call(self, *args: Any, **kwargs: Any) -> Any:
            """Calls the symbol."""
            return self.function(*args, **kwargs)

        def get_config(self) -> Any:
            """The layer's configuration; "function" is the symbol's name."""
            return dict(super().get_config(), function=self.symbol)

        @classmethod
        def from_config(cls, config: Any) -> Any:
            """The layer of a saved model.

            Raises:
              ValueError: no symbol has its name.
            """
            return cls(**dict(config, function=_symbol(config.get("function"))))

    return tf.keras.utils.register_keras_serializable(package=_PACKAGE)(NpuOpLambda)


def _symbol(name: Any) -> Any:
    function = get_npu_symbol_from_name(name)
    if not function:
        raise ValueError("NPU symbol `npu.%s` could not be found." % name)
    return function


def _keras(name: str) -> Any:
    for place in _KERAS[name]:
        try:
            return importlib.import_module(place)
        except ImportError:
            continue
    raise AttributeError("%s.%s: this Keras has no such module" % (_PACKAGE, name))


def __getattr__(name: str) -> Any:
    # All of them need Keras, so they are looked up when they are asked for (PEP 562).
    if name in _KERAS:
        return _keras(name)
    if name == "NpuOpLambda":
        return _layer_class()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
