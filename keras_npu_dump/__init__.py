"""Dump data and executed graphs of Keras trainings on Ascend NPUs, paired.

The public names are resolved when they are first used: importing the package takes
milliseconds and never imports TensorFlow.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

from keras_npu_dump._version import __version__

if TYPE_CHECKING:
    from keras_npu_dump import emulator as emulator
    from keras_npu_dump import errors as errors
    from keras_npu_dump import flags as flags
    from keras_npu_dump.analysis.run import open_run as open_run
    from keras_npu_dump.analysis.triage.triage import triage as triage
    from keras_npu_dump.capture.callback import NpuDumpCallback as NpuDumpCallback
    from keras_npu_dump.capture.session import DumpSession as DumpSession
    from keras_npu_dump.capture.session import apply as apply
    from keras_npu_dump.collector.collect import collect as collect
    from keras_npu_dump.config.dump_config import DumpConfig as DumpConfig
    from keras_npu_dump.config.steps import StepSet as StepSet

_NAMES = {
    "DumpConfig": "keras_npu_dump.config.dump_config",
    "DumpSession": "keras_npu_dump.capture.session",
    "NpuDumpCallback": "keras_npu_dump.capture.callback",
    "StepSet": "keras_npu_dump.config.steps",
    "apply": "keras_npu_dump.capture.session",
    "collect": "keras_npu_dump.collector.collect",
    "open_run": "keras_npu_dump.analysis.run",
    "triage": "keras_npu_dump.analysis.triage.triage",
}
_MODULES = ("emulator", "errors", "flags")

__all__ = ["DumpConfig", "DumpSession", "NpuDumpCallback", "StepSet", "__version__",
           "apply", "collect", "emulator", "errors", "flags", "open_run", "triage"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module("keras_npu_dump." + name)
    else:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
