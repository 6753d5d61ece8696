"""`npu_device.gen_npu_ops`: the adapter's operators, which TensorFlow loads from a library."""
from __future__ import annotations

import types
from typing import Any

from keras_npu_dump.emulator.api import missing

GEN_NPU_OPS = types.ModuleType("npu_device.gen_npu_ops", "Emulated by keras_npu_dump.")


def _look_up(name: str) -> Any:
    raise missing.error("npu_device.gen_npu_ops", name, known=True)


vars(GEN_NPU_OPS).update(__getattr__=_look_up, __emulated__=True)
