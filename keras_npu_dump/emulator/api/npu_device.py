"""The stand-in for `npu_device.npu_device`: what training scripts call.

Signatures, errors and what has no effect are those of the adapter (npu_device.py).
"""
from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import Any, Dict, Iterator, Optional

from keras_npu_dump import messages, ranks
from keras_npu_dump.emulator.api.global_options import NpuConfig, NpuRunContextOptions
from keras_npu_dump.emulator.ge.engine import ENGINE
from keras_npu_dump.emulator.ge.ge_session import GeSession

__emulated__ = True
NPU = "/job:localhost/replica:0/task:0/device:NPU"

_npu_device_instances: Dict[int, "NpuDeviceHandle"] = {}
_global_npu_ctx: Optional["NpuDeviceHandle"] = None
_global_options: Optional[NpuConfig] = None
_lock = threading.Lock()
_sat_mode = [1]
# Read when the extension loads, not later.
if os.environ.get("NPU_LOOP_SIZE", "").isdigit():
    ENGINE.loop_size = int(os.environ["NPU_LOOP_SIZE"]) or 1


def global_options() -> NpuConfig:
    """The options of the process; `open()` reads them once."""
    global _global_options
    with _lock:
        if _global_options is None:
            _global_options = NpuConfig()
        return _global_options


def global_npu_ctx() -> Optional["NpuDeviceHandle"]:
    """The handle that is the default device, or None."""
    return _global_npu_ctx


def open(device_id: Optional[int] = None) -> "NpuDeviceHandle":
    """Opens the device and takes a snapshot of the options.

    A bad option does not show here but at the first graph, as on the device.

    Args:
      device_id: logical device number. Defaults to ASCEND_DEVICE_ID, or 0.

    Returns:
      The handle; a second call with the same id returns the same handle.

    Raises:
      RuntimeError: another device is open, or the cluster is not described.
      ValueError: both RANK_SIZE and CM_WORKER_SIZE are set, or a number in the environment
        cannot be read.
    """
    if device_id is None:
        device_id = int(os.environ.get("ASCEND_DEVICE_ID", "0"))
    options = global_options()
    with _lock:
        if device_id in _npu_device_instances:
            messages.debug("Npu instance on device %s already created", device_id)
            return _npu_device_instances[device_id]
        if _npu_device_instances:
            raise RuntimeError(
                "Failed create npu instance on device %s as existed instance on %s"
                % (device_id, list(_npu_device_instances)))
        workers, rank = ranks.as_npu_device(os.environ)
        ENGINE.open(GeSession(options.as_dict(), device_id))
        handle = NpuDeviceHandle(device_id, workers, rank)
        _npu_device_instances[device_id] = handle
        messages.info("emulator: npu_device is emulated; device %d is this machine's CPU or"
                      " GPU.", device_id)
        return handle


def close() -> None:
    """Closes the device; as in the adapter, it cannot be opened again."""
    ENGINE.close()


def _forked() -> None:
    global _lock
    _lock = threading.Lock()


atexit.register(close)
os.register_at_fork(after_in_child=_forked)


def set_npu_loop_size(loop_size: int) -> None:
    """Sets how many rounds a sunk loop makes per call.

    Args:
      loop_size: at least 1; anything less is an error on stderr and changes nothing.
    """
    if loop_size <= 0:
        messages.error("loop size must be greater than 0, got %s", loop_size)
        return
    ENGINE.loop_size = loop_size


def set_device_sat_mode(mode: int) -> None:
    """Sets what becomes of an overflow: 0 the largest number (saturation), 1 inf and NaN.

    A CPU or GPU cannot saturate: only what asks for the mode behaves otherwise here, as
    NpuLossScaleOptimizer.

    Args:
      mode: 0 to 2; a greater one is an error on stderr and changes nothing.

    Raises:
      TypeError: no such number (the adapter's library takes an unsigned integer).
    """
    if not isinstance(mode, int) or mode < 0:
        raise TypeError("SetDeviceSatMode(): incompatible function arguments. Expected an integer"
                        " from 0 on. Received: %r" % (mode,))
    if mode > 2:
        messages.error("sat mode must be 0, 1 or 2, got %s", mode)
        return
    _sat_mode[0] = mode


def is_inf_nan_enabled() -> bool:
    """Whether the mode is 1: overflow gives inf and NaN. So it is until another mode is set."""
    return _sat_mode[0] == 1


@contextlib.contextmanager
def npu_run_context(options: Optional[NpuRunContextOptions] = None) -> Iterator[None]:
    """Options of a stretch of code; checked, and without effect here.

    Args:
      options: see NpuRunContextOptions. Defaults to none.

    Raises:
      ValueError: `options` is something else.
    """
    if options is not None and not isinstance(options, NpuRunContextOptions):
        raise ValueError("options type must be NpuRunContextOptions")
    yield


class NpuDeviceHandle:
    """An opened device.

    Args:
      device_id: logical device number.
      workers_num: processes of the job.
      worker_id: rank of this process.
    """

    def __init__(self, device_id: int, workers_num: int, worker_id: int):
        self._device_id = device_id
        self._device_name = "%s:%d" % (NPU, device_id)
        self.workers_num = workers_num
        self.worker_id = worker_id

    def name(self) -> str:
        """The name of the device."""
        return self._device_name

    def is_cluster_worker(self) -> bool:
        """Whether there are several workers, and this process has a rank among them."""
        return self.workers_num > 1 and 0 <= self.worker_id < self.workers_num

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Functions that are executed inside run on the device."""
        from keras_npu_dump.emulator.api import defaults
        defaults.prepare()
        before, ENGINE.active = ENGINE.active, True
        try:
            yield
        finally:
            ENGINE.active = before

    def as_default(self) -> "NpuDeviceHandle":
        """Makes the device the default for all that is executed from now on."""
        global _global_npu_ctx
        from keras_npu_dump.emulator.api import defaults
        defaults.apply()
        ENGINE.active = True
        _global_npu_ctx = self
        defaults.convert()
        return self


def npu_compat_function(func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """tf.function without XLA.

    Args:
      func, args, kwargs: see tf.function; jit_compile and experimental_compile are dropped.
    """
    import tensorflow as tf
    kwargs.pop("jit_compile", None)
    kwargs.pop("experimental_compile", None)
    return tf.function(func, *args, **kwargs)
