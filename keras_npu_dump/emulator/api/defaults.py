"""What `as_default()` changes in TensorFlow, once per process and without undo.

As the adapter (npu_device.py): a tf.function that is called while another one is being
entered is inlined by calling its Python function, and XLA is dropped. Beyond it, so that
runs with and without dump are equal bit for bit: Grappler's meta optimizer is
off, for dumped tensors would keep it from rewriting what it rewrites otherwise. Keras 3
gets back the function names of Keras 2, which tell training from evaluation.
"""
from __future__ import annotations

import functools
import os
import threading
from typing import Any, Callable, Iterator, Optional, Set

from keras_npu_dump import messages, ways_out
from keras_npu_dump.emulator.api import eager_ops, watch
from keras_npu_dump.op_types.graph_names import KERAS_3_STEPS

_STATE = threading.local()
_DONE: Set[str] = set()


def apply() -> None:
    """Makes the emulated device the default; once per process.

    Raises:
      DeviceNotFoundError: see `watch.install`.
    """
    if "applied" in _DONE:
        return
    _DONE.add("applied")
    import tensorflow as tf
    prepare()
    _inline_nested(type(tf.function(lambda: None)))
    _drop_xla(tf)
    _watch_keras(tf)


def convert() -> None:
    """Puts the NPU's operators where the adapter does; once per process, after `apply`."""
    if "converted" in _DONE:
        return
    _DONE.add("converted")
    from keras_npu_dump.emulator.api.conversion import npu_convert
    npu_convert.npu_convert_api()


def prepare() -> None:
    """Begins to watch, with the settings that dump and no dump need to be bit-equal.

    Raises:
      DeviceNotFoundError: see `watch.install`.
    """
    if "prepared" in _DONE:
        return
    _DONE.add("prepared")
    import tensorflow as tf
    watch.install()
    eager_ops.install()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    _check_onednn()


def onednn_is_on() -> bool:
    """Whether TensorFlow, already imported, uses oneDNN's rewrites."""
    if os.environ.get("TF_ENABLE_ONEDNN_OPTS", "").lower() in ("1", "true"):
        return True  # TensorFlow 2.6 follows the variable and answers no all the same
    try:
        from tensorflow.python.util import _pywrap_util_port
        return bool(_pywrap_util_port.IsMklEnabled())
    except (ImportError, AttributeError):
        return False


def _check_onednn() -> None:
    if onednn_is_on():
        messages.warning(
            "emulator: TensorFlow was imported with oneDNN on, so a run with dump may differ from"
            " one without in the last bits. %s%s.",
            ways_out.in_time("set TF_ENABLE_ONEDNN_OPTS=0 before it is imported"),
            # `run` leaves alone what the user has set.
            "" if "TF_ENABLE_ONEDNN_OPTS" in os.environ else ways_out.or_run("--emulate "))


def _inline_nested(function_class: Any) -> None:
    """Inlines a tf.function that is called while another one is being entered (adapter
    npu_device.py, `_never_nested_function_call`)."""
    original = function_class.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(_STATE, "entered", None):
            try:
                return _raw(self)(*args, **kwargs)
            except Exception as error:
                # As the adapter: whatever it is, call it nested.
                messages.debug("emulator: %s is called, not inlined (%r)", self, error)
                return original(self, *args, **kwargs)
        _STATE.entered = True
        try:
            return original(self, *args, **kwargs)
        finally:
            _STATE.entered = False

    function_class.__call__ = functools.wraps(original)(call)


def _raw(function: Any) -> Callable[..., Any]:
    """The Python function inside a tf.function, converted by autograph if it would be."""
    raw: Callable[..., Any] = function._python_function
    if not getattr(function, "_autograph", False):
        return raw
    from tensorflow.python.autograph.core import ag_ctx, converter
    from tensorflow.python.autograph.impl import api
    options = converter.ConversionOptions(
        recursive=True, user_requested=True,
        optional_features=getattr(function, "_experimental_autograph_options", None))

    def converted(*args: Any, **kwargs: Any) -> Any:
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED, options):
            return api.converted_call(raw, args, kwargs, options=options)

    return converted


def _drop_xla(tf: Any) -> None:
    """Makes tf.function, by all its names, forget that it is to be compiled by XLA."""
    original = tf.function

    @functools.wraps(original)
    def function(func: Any = None, *args: Any, **kwargs: Any) -> Any:
        for name in ("jit_compile", "experimental_compile"):
            if kwargs.get(name):
                kwargs[name] = False
        if func is not None:
            _rename(func)
        return original(func, *args, **kwargs)

    tf.function = function
    tf.compat.v2.function = function
    try:
        from tensorflow.python.eager import def_function
        def_function.function = function
    except ImportError:
        pass


def _rename(func: Any) -> None:
    """Names a step function of Keras 3 after what it is made for, as Keras 2 does."""
    role = getattr(_STATE, "role", None)
    if role and getattr(func, "__name__", "") in KERAS_3_STEPS:
        func.__name__ = role


def _watch_keras(tf: Any) -> None:
    for maker in _makers(tf):
        for role in ("train", "test", "predict"):
            _watch_maker(maker, role)


def _makers(tf: Any) -> Iterator[type]:
    """The classes that make Keras's step functions."""
    try:
        from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
        yield TensorFlowTrainer
    except ImportError:
        pass
    model = getattr(tf.keras, "Model", None)
    if model is not None and "make_train_function" in vars(model):
        yield model


def _watch_maker(maker: type, role: str) -> None:
    """Notes the role, "train", "test" or "predict", while Keras makes the function for it."""
    name = "make_%s_function" % role
    original: Optional[Callable[..., Any]] = vars(maker).get(name)
    if original is None:
        return

    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(_STATE, "role", None)
        _STATE.role = "%s_function" % role
        if getattr(self, "run_eagerly", False) and "eager" not in _DONE:
            _DONE.add("eager")
            messages.warning(
                "emulator: %s runs eagerly (run_eagerly): on the device, as here, there is no"
                " %s graph, and nothing of it is dumped.", getattr(self, "name", "the model"),
                role)
        try:
            return original(self, *args, **kwargs)
        finally:
            _STATE.role = before

    setattr(maker, name, make)
