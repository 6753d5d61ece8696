"""From eager tensors, arguments and constants to what a dump file holds."""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

import numpy as np

from keras_npu_dump.emulator.plan import Plan, Source
from keras_npu_dump.emulator.twin import Activation

# TensorFlow's DataType -> name in dumps; the rest has the same name in both.
_RENAMED = {"DT_HALF": "DT_FLOAT16", "DT_BFLOAT16": "DT_BF16"}


def dtype_name(number: int) -> str:
    """The name that dumps and graphs use for a DataType number of TensorFlow."""
    from tensorflow.core.framework import types_pb2
    name = types_pb2.DataType.Name(number)
    return _RENAMED.get(name, name)


def as_array(tensor: Any) -> np.ndarray:
    """The tensor's values; without a copy where TensorFlow lends its memory."""
    try:
        return np.asarray(memoryview(tensor))
    except (TypeError, ValueError, BufferError, NotImplementedError):
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

    def get(self, source: Source, activation: Activation) -> Optional[np.ndarray]:
        """The array of a source in one run of a body, or None where there are no bytes."""
        if source.kind == "opaque":
            return None
        if source.kind == "const":
            return self._constant(source)
        if source.kind == "arg":
            return as_array(self._args[source.index])
        where = activation
        while where.flat is not source.flat:
            where = where.parent
        tensor = where.values[source.tensor]
        if where.flat is self._root:
            self._left[source.key] -= 1
            if not self._left[source.key] and activation is where:
                del where.values[source.tensor]
        return as_array(tensor)

    def _constant(self, source: Source) -> np.ndarray:
        if source.key not in self._constants and source.flat is not None:
            from tensorflow.python.framework import tensor_util
            node = source.flat.by_name[source.tensor]
            self._constants[source.key] = tensor_util.MakeNdarray(node.attr["value"].tensor)
        return self._constants[source.key]
