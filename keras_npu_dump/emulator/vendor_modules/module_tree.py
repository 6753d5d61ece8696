"""Makes the modules of `module_table` when they are imported.

Every module of the stand-in is a plain module whose names are looked up when they are used
for the first time (PEP 562), so that importing npu_device costs no more of TensorFlow than the
adapter's does, and so that what this TensorFlow or Keras does not have is told where it is used.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
from typing import Any, Optional

from keras_npu_dump.emulator.api import missing
from keras_npu_dump.emulator.vendor_modules import module_table

_OURS = "keras_npu_dump."


class _TableFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `npu_device...` in the table, and nothing else."""

    def find_spec(self, name: str, path: Any = None, target: Any = None
                  ) -> Optional[importlib.machinery.ModuleSpec]:
        del path, target
        if name == "npu_device" or name not in module_table.TABLE:
            return None
        package = any(other.startswith(name + ".") for other in module_table.TABLE)
        return importlib.machinery.ModuleSpec(name, self, is_package=package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        del spec  # a plain module

    def exec_module(self, module: types.ModuleType) -> None:
        _give_names(module, module.__name__)


_FINDER = _TableFinder()


def fill(top: types.ModuleType) -> None:
    """Makes the modules that importing npu_device brings, and lets the others be imported.

    Args:
      top: the module `npu_device`, whose import is under way.
    """
    # Reads NPU_LOOP_SIZE and registers close(), as the adapter's library when it loads.
    importlib.import_module("keras_npu_dump.emulator.api.npu_device")
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _give_names(top, "npu_device")
    for name in module_table.TABLE:
        if name != "npu_device" and module_table.loaded_at_import(name):
            importlib.import_module(name)
    if "tensorflow.python.framework.ops" in sys.modules:
        # Registers a symbol and a gradient, as the adapter's does when it is imported.
        importlib.import_module("keras_npu_dump.emulator.api.conversion.train_ops")
    # The import of npu_device.distribute has put that package where the API's module belongs.
    for name, source in module_table.TABLE["npu_device"].items():
        if source is not None and source.startswith("npu_device._api."):
            setattr(top, name, sys.modules[source])


def _give_names(module: types.ModuleType, place: str) -> None:
    row = module_table.TABLE[place]
    hidden = module_table.PRIVATE.get(place, {})

    def look_up(name: str) -> Any:
        source = row.get(name) or hidden.get(name)
        if source is None:
            raise missing.error(place, name, known=name in row)
        value = resolve(source)
        if (getattr(value, "__module__", None) or "").startswith(_OURS):
            if inspect.isfunction(value):
                _show_as_the_adapter(value)
            elif inspect.isclass(value) and "<locals>" in value.__qualname__:
                value.__module__, value.__qualname__ = place, name  # where pickle finds it
        setattr(module, name, value)
        return value

    vars(module).update(
        __getattr__=look_up, __dir__=lambda: sorted({*vars(module), *row}),
        __doc__="Emulated by keras_npu_dump.", __emulated__=True)
    if row:
        vars(module)["__all__"] = [name for name, source in row.items() if source is not None]


def resolve(source: str) -> Any:
    """What a source of the table names.

    Args:
      source: "module" or "module:attribute".

    Raises:
      ImportError, AttributeError: it is not there.
    """
    place, _, attribute = source.partition(":")
    found = importlib.import_module(place)
    return getattr(found, attribute) if attribute else found


def _show_as_the_adapter(function: Any) -> None:
    """The adapter's functions have no annotations: `inspect.signature` and help say the same."""
    signature = inspect.signature(function)
    function.__signature__ = signature.replace(
        parameters=[one.replace(annotation=inspect.Parameter.empty)
                    for one in signature.parameters.values()],
        return_annotation=inspect.Signature.empty)
