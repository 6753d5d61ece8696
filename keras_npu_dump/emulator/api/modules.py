"""The module tree `npu_device...` that `install()` puts into sys.modules."""
from __future__ import annotations

import importlib.machinery
import types
from typing import Any, Dict

from keras_npu_dump.emulator.api import npu_device, options, single_worker_stubs

_TOP = ("open", "global_options", "set_npu_loop_size", "npu_run_context", "set_device_sat_mode",
        "is_inf_nan_enabled")


def build() -> Dict[str, types.ModuleType]:
    """All modules by name, linked with each other and marked as emulated."""
    modules: Dict[str, types.ModuleType] = {}

    def module(name: str, **attributes: Any) -> types.ModuleType:
        made = types.ModuleType(name, "Emulated by keras_npu_dump.")
        made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        made.__path__ = []  # type: ignore[attr-defined]
        made.__emulated__ = True  # type: ignore[attr-defined]
        for key, value in attributes.items():
            setattr(made, key, value)
        modules[name] = made
        return made

    top = module("npu_device", **{name: getattr(npu_device, name) for name in _TOP})
    top.keep_dtype_scope = single_worker_stubs.keep_dtype_scope  # type: ignore[attr-defined]
    top.npu_recompute_scope = single_worker_stubs.npu_recompute_scope  # type: ignore[attr-defined]
    modules["npu_device.npu_device"] = npu_device
    module("npu_device.configs", **{cls.__name__: cls for _, cls in options.all_groups()})
    for name, cls in options.all_groups():
        module("npu_device.configs." + name, **{cls.__name__: cls})
    base = modules["npu_device.configs.option_base"]
    base.NpuBaseConfig = options.NpuBaseConfig  # type: ignore[attr-defined]
    base.DeprecatedValue = options.DeprecatedValue  # type: ignore[attr-defined]
    for place in ("npu_device.distribute", "npu_device.distribute.hccl"):
        module(place, **{name: getattr(single_worker_stubs, name)
                         for name in single_worker_stubs.DISTRIBUTE})
    callbacks = module("npu_device.distribute.npu_callbacks")
    callbacks.__getattr__ = single_worker_stubs.callback_class  # type: ignore[assignment]
    module("npu_device.train")
    optimizer = module("npu_device.train.optimizer")
    optimizer.__getattr__ = single_worker_stubs.optimizer_class  # type: ignore[assignment]
    for name in ("ops", "compat", "gen_npu_ops"):
        holder = module("npu_device." + name)
        holder.__getattr__ = single_worker_stubs.missing(holder.__name__)  # type: ignore[assignment]
    npu_device.gen_npu_ops = modules["npu_device.gen_npu_ops"]  # type: ignore[attr-defined]
    for name, made in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, made)
    return modules
