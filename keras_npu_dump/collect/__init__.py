"""Which graph file belongs to which dump folder, and how sure we are.

This room carries the name of its one public function, so the module itself can
be called: `keras_npu_dump.collect(path)` is `collecting.collect(path)`, no
matter whether the attribute `collect` of the package is this module (after
`import keras_npu_dump.collect`) or the function.
"""
import sys
import types

from keras_npu_dump.collect.collecting import collect
from keras_npu_dump.collect.manifest import (
    GraphRecord,
    Manifest,
    Pair,
    RunRecord,
    Step,
    load_manifest,
)
from keras_npu_dump.collect.problems import Problem

__all__ = ["GraphRecord", "Manifest", "Pair", "Problem", "RunRecord", "Step", "collect",
           "load_manifest"]


class _CallableModule(types.ModuleType):
    """The package's module, which passes calls on to the function `collect`."""

    def __call__(self, *args, **kwargs):
        return collect(*args, **kwargs)


_CallableModule.__call__.__doc__ = collect.__doc__
sys.modules[__name__].__class__ = _CallableModule
