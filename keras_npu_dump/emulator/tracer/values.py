"""From eager tensors, arguments and constants to what a dump file holds."""
from __future__ import annotations

import functools
from typing import Any, Dict, Sequence, Tuple

import numpy as np

from keras_npu_dump.emulator.tracer.dump_plan import Plan, Source
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.formats import dtypes

# TensorFlow's DataType -> name in dumps; the rest has the same name in both.
_RENAMED = {"DT_HALF": "DT_FLOAT16", "DT_BFLOAT16": "DT_BF16"}


@functools.lru_cache(maxsize=None)
def dtype_name(number: int) -> str:
    """The name that dumps and graphs use for a DataType number of TensorFlow.

    Args:
      number: DataType of TensorFlow.

    Raises:
      ValueError: TensorFlow has no such number.
    """
    from tensorflow.core.framework import types_pb2
    name: str = types_pb2.DataType.Name(number)
    return _RENAMED.get(name, name)


@functools.lru_cache(maxsize=None)
def dtype_numbers(number: int) -> Tuple[int, int]:
    """The numbers of a type in dumps and in graphs.

    Args:
      number: DataType of TensorFlow.

    Returns:
      (OutputDataType of dump files, ge::DataType of original operators); 0 where there is none.
    """
    name = dtype_name(number)
    return dtypes.dtype_number(name) or 0, dtypes.ge_dtype_number(name) or 0


def as_array(tensor: Any) -> np.ndarray:
    """The values of an eager tensor.

    Args:
      tensor: eager tensor.

    Returns:
      An array of the tensor's shape and dtype; on a CPU without a copy, in memory that the
      array keeps alive.
    """
    try:
        # Without the copy that numpy() makes.
        return np.asarray(tensor._numpy_internal())
    except AttributeError:
        return np.asarray(tensor.numpy())


class Values:
    """Looks up the values of an execution.

    Args:
      plan: of the graph.
      args: eager tensors, the arguments of the call.
      constants: cache of decoded constants by `Source.key`, kept by the caller between
        executions.
    """

    def __init__(self, plan: Plan, args: Sequence[Any], constants: Dict[Any, np.ndarray]):
        self._args = args
        self._constants = constants
        self._root = plan.root
        self._arrays: Dict[int, np.ndarray] = {}

    def get(self, source: Source, activation: Activation) -> Any:
        """The value of a source in a run of a graph or body.

        Args:
          source: what is looked for.
          activation: the run that takes it; values of the runs around it are found, too.

        Returns:
          An array, or what was kept of a large value; None where there are no bytes.
        """
        if source.kind == "tensor":
            while activation.flat is not source.flat and activation.parent is not None:
                activation = activation.parent
            return activation.values[source.tensor]
        if source.kind == "opaque":
            return None
        if source.kind == "const":
            return self._constant(source)
        if source.index not in self._arrays:
            self._arrays[source.index] = as_array(self._args[source.index])
        return self._arrays[source.index]

    def _constant(self, source: Source) -> np.ndarray:
        if source.key not in self._constants and source.flat is not None:
            from tensorflow.python.framework import tensor_util
            node = source.flat.by_name[source.tensor]
            self._constants[source.key] = tensor_util.MakeNdarray(node.attr["value"].tensor)
        return self._constants[source.key]
