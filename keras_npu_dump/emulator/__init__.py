"""A stand-in for `npu_device` on machines without an NPU: same options, errors and files.

    from keras_npu_dump import emulator
    emulator.install()
    import npu_device            # the stand-in

The user's TensorFlow step runs on the CPU or GPU. Training is equal bit for bit with and
without dump, between two emulated runs or beside a plain TensorFlow run with the same two
settings: Grappler's meta optimizer off (`as_default()` sees to it) and
TF_ENABLE_ONEDNN_OPTS=0 from before TensorFlow is imported (`install()` sees to it, where
it comes first). Against TensorFlow's defaults the last bits may differ.

Not emulated: GE's lowering and fusion (operator types stay TensorFlow's), distribution over
several workers, functions inside `tf.data`, Switch/Merge control flow, XLA, string and
ragged values beyond their parts. `run_eagerly` leaves no training graph, as on the device.
Tried on TensorFlow 2.6.5 and on the newest release. docs/emulator.md has the whole list.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Optional

from keras_npu_dump.errors import ConfigError

__all__ = ["children_folder", "install", "installed"]


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the stand-in at the moment of its import, when the adapter reads its variables.

    The adapter's modules import TensorFlow before they define anything: until that has ended,
    npu_device is there and empty.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None
                  ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != "npu_device":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None  # a plain module

    def exec_module(self, module: types.ModuleType) -> None:
        importlib.import_module("tensorflow")
        from keras_npu_dump.emulator.vendor_modules import module_tree
        module_tree.fill(module)


_FINDER = _StandInFinder()


def installed() -> bool:
    """Whether `import npu_device` gives the stand-in."""
    return _FINDER in sys.meta_path


def install() -> None:
    """Puts the stand-in where `import npu_device` finds it; a second call does nothing.

    Where TensorFlow is not imported yet, TF_ENABLE_ONEDNN_OPTS is set to 0 unless the user
    has set it: bit-equality of runs with and without dump needs it.

    Raises:
      ConfigError: a real npu_device can be imported.
    """
    if installed() or getattr(sys.modules.get("npu_device"), "__emulated__", False):
        return
    if "npu_device" in sys.modules or _importable():
        raise ConfigError(
            "the emulator stands in for npu_device where there is none; here a real npu_device"
            " can be imported. Leave out --emulate (or emulator.install()) to use it.")
    if "tensorflow" not in sys.modules:
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    sys.meta_path.insert(0, _FINDER)


def _importable() -> bool:
    spec = importlib.util.find_spec("npu_device")
    # A folder of that name without an __init__ is no module.
    if spec is None or spec.origin is None:
        return False
    return not os.path.abspath(spec.origin).startswith(children_folder() + os.sep)


def children_folder() -> str:
    """A folder where `import npu_device` finds the stand-in, for a spawned child."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")
