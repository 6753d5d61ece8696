"""The module tree `npu_device...` that importing the stand-in puts into sys.modules."""
from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any, Callable, Dict

from keras_npu_dump.emulator.api import global_options, npu_device, single_worker_stubs

_TOP = ("open", "global_options", "set_npu_loop_size", "npu_run_context", "set_device_sat_mode",
        "is_inf_nan_enabled")
_SCOPES = ("keep_dtype_scope", "npu_recompute_scope")


def fill(top: types.ModuleType) -> None:
    """Makes the modules of the stand-in, linked with each other and marked as emulated.

    Args:
      top: the module `npu_device`, whose import is under way.
    """
    modules: Dict[str, types.ModuleType] = {"npu_device": top}

    def module(name: str, **attributes: Any) -> types.ModuleType:
        made = modules.get(name)
        if made is None:
            made = modules[name] = types.ModuleType(name)
            made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        attributes.update(__doc__="Emulated by keras_npu_dump.", __path__=[], __emulated__=True)
        for key, value in attributes.items():
            setattr(made, key, value)
        return made

    module("npu_device", **{name: getattr(npu_device, name) for name in _TOP},
           **{name: getattr(single_worker_stubs, name) for name in _SCOPES})
    modules["npu_device.npu_device"] = npu_device
    _add_configs(module)
    for place in ("npu_device.distribute", "npu_device.distribute.hccl"):
        module(place, **{name: getattr(single_worker_stubs, name)
                         for name in single_worker_stubs.DISTRIBUTE})
    # What these hold needs TensorFlow, or is not there: asked for name by name (PEP 562).
    module("npu_device.distribute.npu_callbacks", __getattr__=single_worker_stubs.callback_class)
    module("npu_device.train")
    module("npu_device.train.optimizer", __getattr__=single_worker_stubs.optimizer_class)
    for name in ("ops", "compat", "gen_npu_ops"):
        full = "npu_device." + name
        module(full, __getattr__=single_worker_stubs.missing(full))
    for name, made in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, made)
    # Scripts import it from the inner module, too.
    vars(npu_device)["gen_npu_ops"] = modules["npu_device.gen_npu_ops"]
    sys.modules.update(modules)


def _add_configs(module: Callable[..., types.ModuleType]) -> None:
    """`npu_device.configs` with a module for each group, and the classes that it imports."""
    module("npu_device.configs")
    for name, classes in global_options.all_modules():
        module("npu_device.configs." + name, **{cls.__name__: cls for cls in classes})
