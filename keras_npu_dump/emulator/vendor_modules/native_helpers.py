"""Helpers of `npu_device.npu_device` whose work is done in the adapter's library."""
from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any, Callable, Iterator, Optional, Set

from keras_npu_dump import messages
from keras_npu_dump.emulator.api import npu_device
from keras_npu_dump.emulator.compat_v1.v1_words import say_sessions_are_not_dumped

_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_THREAD = threading.local()
# Operators that were loaded inside watch_op_register(): the device's own.
npu_specific_ops: Set[str] = set()


def stupid_repeat(word: str, times: int) -> None:
    """Logs a word, as often as said.

    Args:
      word: what is logged.
      times: how often.

    Raises:
      TypeError: another kind of argument.
    """
    if not isinstance(word, str) or not isinstance(times, int):
        raise TypeError("StupidRepeat(): incompatible function arguments. Expected (str, int)."
                        " Received: (%r, %r)" % (word, times))
    for _ in range(times):
        messages.debug("%s", word)


@contextlib.contextmanager
def watch_op_register() -> Iterator[None]:
    """Operators that a library registers inside count as the device's own."""
    before = _registered()
    yield
    npu_specific_ops.update(_registered() - before)


def _registered() -> Set[str]:
    """Names of all operators that TensorFlow knows."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session
    known = op_def_pb2.OpList()
    buffer = pywrap_tf_session.TF_GetAllOpList()
    known.ParseFromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return {operator.name for operator in known.op}


def wrap_cpu_only_api(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose Python bodies (`tf.py_function`) run on the CPU.

    Args:
      func: to be called; what it makes inside of `NpuCompatEagerFunc` stays on the CPU.
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _THREAD.device = _CPU
        try:
            return func(*args, **kwargs)
        finally:
            _THREAD.device = None
    return wrapper


@functools.lru_cache(maxsize=None)
def _eager_function_class() -> Any:
    from tensorflow.python.eager import context
    from tensorflow.python.ops import script_ops
    base: Any = script_ops.EagerFunc

    class NpuCompatEagerFunc(base):  # type: ignore[misc]
        """The body of a `tf.py_function`; on the CPU if it was made in `wrap_cpu_only_api`."""

        def __init__(self, *args: Any, **kwargs: Any):
            self._npu_specific_device: Optional[str] = getattr(_THREAD, "device", None)
            super().__init__(*args, **kwargs)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if not self._npu_specific_device:
                return super().__call__(*args, **kwargs)
            with context.device(self._npu_specific_device):
                return super().__call__(*args, **kwargs)

    return NpuCompatEagerFunc


def enable_v1() -> None:
    """Makes TensorFlow behave as version 1 does, and leaves the device to sessions.

    The adapter loads a second library then, whose "NpuOptimizer" takes the graphs of sessions to
    the device. Here TensorFlow runs them, and nothing of them is dumped.
    """
    import tensorflow as tf
    opened = list(npu_device._npu_device_instances)
    if opened:
        os.environ["ASCEND_DEVICE_ID"] = str(opened[0])
    tf.compat.v1.disable_v2_behavior()
    say_sessions_are_not_dumped()


def __getattr__(name: str) -> Any:
    # Its base needs TensorFlow, so the class is made when it is asked for (PEP 562).
    if name == "NpuCompatEagerFunc":
        return _eager_function_class()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
