"""What opening does to TensorFlow in the vendor's npu_device.py; no NPU, and no dump files."""
import functools
import types

import tensorflow as tf
from tensorflow.python.eager import context

_npu_device_instances = {}
_options = types.SimpleNamespace(dump_config=types.SimpleNamespace(
    enable_dump="0", dump_path=None, dump_step=None, dump_mode="output", dump_data="tensor",
    dump_layer=None, enable_dump_debug="0", dump_debug_mode="all"))


class _Context(context.Context):
    """The vendor's takes the place of TensorFlow's own."""


def global_options():
    return _options


def set_npu_loop_size(loop_size):
    pass


def open(device_id=None):  # the vendor's name
    device_id = device_id or 0
    if not isinstance(context.context(), _Context):
        ctx = _Context()
        ctx.ensure_initialized()
        context._set_context(ctx)
        _npu_device_instances.clear()
    if device_id not in _npu_device_instances:
        print("opened")
    return _npu_device_instances.setdefault(device_id, _Handle())


class _Handle:
    worker_id = 0

    def as_default(self):
        import keras
        kept = tf.keras.layers.Dropout, keras.layers.Dropout  # what npu_convert replaces
        assert all(kept)
        tf.py_function = functools.partial(tf.py_function)
        return self
