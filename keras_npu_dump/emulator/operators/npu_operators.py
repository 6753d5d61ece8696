"""An operator of the NPU as the adapter registers it, with a form that a CPU can calculate.

An operator is called as the function that TensorFlow generates for it (`tf.load_op_library`):
inputs first, then the attributes without a default, then those with one, then `name`. Inside a
graph it becomes one node, see `functions/npu_operator.py`; eagerly it is calculated at once.
"""
from __future__ import annotations

import collections
import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.operators import operator_calls
from keras_npu_dump.emulator.operators.operator_calls import Called

FLOATS = ("float16", "float32")
"""The dtypes that most operators are registered with."""

REQUIRED = object()
"""In place of an attribute's default: there is none."""

Compute = Callable[..., Sequence[Any]]
Gradient = Callable[..., Sequence[Any]]


class OperatorInput:
    """An input of an operator.

    Args:
      name: of the input.
      dtype: name of the attribute that holds its dtype, and that inputs share; "" where the
        dtype is always the same.
      allowed: names of the dtypes that it may have; the first is what a number of Python
        becomes where nothing else decides.
      optional: whether it may be left out; only the last one may.
    """

    def __init__(self, name: str, dtype: str = "T", allowed: Sequence[str] = FLOATS,
                 optional: bool = False):
        self.name = name
        self.dtype = dtype
        self.allowed = tuple(allowed)
        self.optional = optional


class NpuOperator:
    """An operator.

    Args:
      name: its type in TensorFlow (adapter, tf_adapter/ops).
      inputs: OperatorInputs, or names of inputs whose dtype is the attribute T.
      outputs: names of its outputs.
      compute: called with the attributes, by name, and the inputs; returns the outputs.
      attrs: attribute -> default, in the order of the registration.
      gradient: called as TensorFlow calls gradient functions, with a `Called` and the
        gradients of the outputs; None for an operator whose gradient does not exist.
      ge_type: its type in GE. Defaults to `name`.
      stateful: whether it is registered as stateful, and so runs although nothing reads it.
      own_function: whether each call in a graph has a function of its own, so that what its
        kernels keep is its own, too.
      known: called with the inputs of a call; what it returns is passed to `compute` as
        the attribute `known`, for what can be told while a graph is made. Hashable.
      beside: returns tensors that `compute` takes and that are no inputs of the operator.
    """

    def __init__(self, name: str, inputs: Sequence[Any], outputs: Sequence[str],
                 compute: Compute, attrs: Optional[Mapping[str, Any]] = None,
                 gradient: Optional[Gradient] = None, ge_type: str = "", stateful: bool = True,
                 own_function: bool = False, known: Optional[Callable[..., Any]] = None,
                 beside: Optional[Callable[[], Sequence[Any]]] = None):
        self.name = name
        self.ge_type = ge_type or name
        self.inputs = [OperatorInput(item) if isinstance(item, str) else item for item in inputs]
        self.outputs = tuple(outputs)
        self.compute = compute
        self.attrs = dict(attrs or {})
        self.gradient = gradient
        self.stateful = stateful
        self.own_function = own_function
        self.known = known
        self.beside = beside
        self.signature = self._signature()
        self._result = collections.namedtuple(name, self.outputs)  # type: ignore[misc]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator.

        Args:
          args, kwargs: see `signature`.

        Returns:
          Its output, a named tuple of several, or None.

        Raises:
          TypeError: arguments or dtypes that it does not take.
        """
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        name = given.pop("name")
        values = [given.pop(item.name) for item in self.inputs]
        inputs, dtypes = self._converted(
            [value for item, value in zip(self.inputs, values)
             if not (item.optional and value is None)])
        attrs = {key: _as_default(value, self.attrs[key]) for key, value in given.items()}
        outputs = operator_calls.call(self, inputs, attrs, dtypes, name)
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else self._result(*outputs)

    def differentiate(self, called: Called, gradients: Sequence[Any]) -> List[Any]:
        """The gradients of the inputs.

        What the script has registered for the operator's type comes first, as its helpers
        do (ModelZoo, npu_ops.py).

        Args:
          called: the operator.
          gradients: of its outputs.

        Raises:
          LookupError: there is no gradient.
        """
        from tensorflow.python.framework import ops
        try:
            function = ops.gradient_registry.lookup(self.name)
        except LookupError:
            if self.gradient is None:
                raise
            function = self.gradient
        found = function(called, *gradients)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def _signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [item.name for item in self.inputs]
        names += [key for key, default in self.attrs.items() if default is REQUIRED]
        optional = {item.name for item in self.inputs if item.optional}
        found = [inspect.Parameter(name, kind) for name in names if name not in optional]
        found += [inspect.Parameter(name, kind, default=None) for name in names
                  if name in optional]
        found += [inspect.Parameter(key, kind, default=default)
                  for key, default in self.attrs.items() if default is not REQUIRED]
        return inspect.Signature([*found, inspect.Parameter("name", kind, default=None)])

    def _converted(self, values: Sequence[Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """(the inputs as tensors, attribute -> dtype): tensors decide, and the rest follows."""
        import tensorflow as tf
        dtypes: Dict[str, Any] = {}
        for item, value in zip(self.inputs, values):
            dtype = getattr(value, "dtype", None)
            if item.dtype and dtype is not None and item.dtype not in dtypes:
                dtypes[item.dtype] = tf.as_dtype(dtype)
        tensors = []
        for item, value in zip(self.inputs, values):
            tensor = self._tensor(item, value, dtypes.get(item.dtype))
            if item.dtype:
                dtypes.setdefault(item.dtype, tensor.dtype)
            if tensor.dtype.name not in item.allowed:
                raise TypeError(
                    "%s: the input '%s' may be %s. Received: %s" % (
                        self.name, item.name, " or ".join(item.allowed), tensor.dtype.name))
            tensors.append(tensor)
        return tensors, dtypes

    def _tensor(self, item: OperatorInput, value: Any, dtype: Any) -> Any:
        import tensorflow as tf
        if dtype is not None:
            return tf.convert_to_tensor(value, dtype=dtype, name=item.name)
        if len(item.allowed) == 1 or isinstance(value, (bool, int, float)):
            name = "float32" if "float32" in item.allowed else item.allowed[0]
            return tf.convert_to_tensor(value, dtype=name, name=item.name)
        if isinstance(value, (list, tuple)) and not value:
            return tf.convert_to_tensor(value, dtype=item.allowed[0], name=item.name)
        return tf.convert_to_tensor(value, name=item.name)


def _as_default(value: Any, default: Any) -> Any:
    """An attribute in the type of its default; None stands for the default itself."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, list):
        return tuple(value)
    if default is REQUIRED:
        return value
    return default if value is None else type(default)(value)
