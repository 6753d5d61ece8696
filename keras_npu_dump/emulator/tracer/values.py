"""From eager tensors, arguments and constants to what a dump file holds."""
from __future__ import annotations

import functools
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.emulator.tracer.plan import Plan, Source
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.formats import dtypes

# TensorFlow's DataType -> name in dumps; the rest has the same name in both.
_RENAMED = {"DT_HALF": "DT_FLOAT16", "DT_BFLOAT16": "DT_BF16"}


@functools.lru_cache(maxsize=None)
def dtype_name(number: int) -> str:
    """The name that dumps and graphs use for a DataType number of TensorFlow."""
    from tensorflow.core.framework import types_pb2
    name = types_pb2.DataType.Name(number)
    return _RENAMED.get(name, name)


@functools.lru_cache(maxsize=None)
def dtype_numbers(number: int) -> Tuple[int, int]:
    """(OutputDataType, ge::DataType) for a DataType number of TensorFlow; 0 if unknown."""
    name = dtype_name(number)
    return dtypes.dtype_number(name) or 0, dtypes.ge_dtype_number(name) or 0


def as_array(tensor: Any) -> np.ndarray:
    """The tensor's values; on a CPU without a copy, in memory that the array keeps alive."""
    try:
        return np.asarray(tensor._numpy_internal())  # pylint: disable=protected-access
    except AttributeError:
        return tensor.numpy()


class Values:
    """Looks up the values of one execution, and lets go of each after its last use.

    Args:
      plan: of the graph.
      args: of the call.
      constants: cache of decoded constants, kept by the caller between executions.
    """

    def __init__(self, plan: Plan, args: Sequence[Any], constants: Dict[Any, np.ndarray]):
        self._args = args
        self._constants = constants
        self._left = dict(plan.uses)
        self._root = plan.root
        self._arrays: Dict[int, np.ndarray] = {}

    def get(self, source: Source, activation: Activation) -> Optional[np.ndarray]:
        """The array of a source in one run of a body, or None where there are no bytes."""
        kind = source.kind
        if kind == "opaque":
            return None
        if kind == "const":
            return self._constant(source)
        if kind == "arg":
            if source.index not in self._arrays:
                self._arrays[source.index] = as_array(self._args[source.index])
            return self._arrays[source.index]
        where = activation
        while where.flat is not source.flat:
            where = where.parent
        values = where.values
        array = values[source.tensor]
        if not isinstance(array, np.ndarray):
            array = as_array(array)
        # An array of the outermost graph goes with its last use; bodies are in lists anyhow.
        if where.flat is self._root and activation is where:
            left = self._left[source.key] - 1
            if left:
                self._left[source.key] = left
                values[source.tensor] = array
            else:
                del values[source.tensor]
        else:
            values[source.tensor] = array
        return array

    def _constant(self, source: Source) -> np.ndarray:
        if source.key not in self._constants and source.flat is not None:
            from tensorflow.python.framework import tensor_util
            node = source.flat.by_name[source.tensor]
            self._constants[source.key] = tensor_util.MakeNdarray(node.attr["value"].tensor)
        return self._constants[source.key]
