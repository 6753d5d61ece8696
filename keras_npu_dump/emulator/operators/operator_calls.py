"""Runs an operator of the NPU: at once where TensorFlow is eager, as one node in a graph."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set

from keras_npu_dump.emulator.functions import npu_operator
from keras_npu_dump.emulator.functions.reentrancy import own_work

_GRADIENT = "keras_npu_dump_"
# (operator, attributes, what comes in) -> the function that calculates it.
_FUNCTIONS: Dict[Any, Any] = {}
_REGISTERED: Set[str] = set()


class Called:
    """An operator that was called, as a gradient function takes it (TensorFlow's `op`).

    Attributes:
      type: of the operator, TensorFlow's name.
      inputs, outputs: tensors.
    """

    def __init__(self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any],
                 attrs: Mapping[str, Any]):
        self.type = op_type
        self.inputs = tuple(inputs)
        self.outputs = list(outputs)
        self._attrs = attrs

    def get_attr(self, name: str) -> Any:
        """The value of an attribute.

        Args:
          name: of the attribute.

        Raises:
          ValueError: the operator has none of that name.
        """
        if name not in self._attrs:
            raise ValueError("Operation %s has no attr named %s." % (self.type, name))
        value = self._attrs[name]
        # As TensorFlow gives strings.
        return value.encode("utf-8") if isinstance(value, str) else value


def call(operator: Any, inputs: Sequence[Any], attrs: Mapping[str, Any],
         dtypes: Mapping[str, Any], name: Any) -> List[Any]:
    """Runs an operator.

    Args:
      operator: the NpuOperator.
      inputs: tensors.
      attrs: attribute -> value.
      dtypes: attribute -> DType.
      name: of the node, or None.

    Returns:
      The outputs; [] where there are none.
    """
    import tensorflow as tf
    given = dict(attrs)
    if operator.known is not None:
        given["known"] = operator.known(*inputs)
    taken = list(inputs) if operator.beside is None else [*inputs, *operator.beside()]
    if tf.executing_eagerly():
        with _unrecorded(), own_work():
            outputs = [tf.convert_to_tensor(tensor)
                       for tensor in operator.compute(given, *taken)]
    else:
        carried = {key: _attr_value(value) for key, value in {**attrs, **dtypes}.items()}
        node = npu_operator.node_attributes(operator.ge_type, carried, len(inputs))
        outputs = _node(operator, taken, given, node, name or operator.name)
    _record(operator, inputs, outputs, attrs)
    return outputs


def _node(operator: Any, inputs: Sequence[Any], given: Mapping[str, Any],
          carried: Mapping[str, Any], name: str) -> List[Any]:
    """Adds the node of an operator to the graph that is being made."""
    import tensorflow as tf
    function = _function(operator, inputs, given)
    graph = tf.compat.v1.get_default_graph()
    # What comes from a graph outside brings nodes of its own, which must not get the names
    # that the function's own nodes have where TensorFlow inlines it.
    capture = getattr(graph, "capture", None)
    args = [tensor if capture is None else capture(tensor) for tensor in inputs]
    run = tf.raw_ops.StatefulPartitionedCall if operator.stateful else tf.raw_ops.PartitionedCall
    with _unrecorded():
        made = run(args=args, Tout=[tensor.dtype for tensor in function.outputs], f=function,
                   config="", config_proto=_config(), executor_type="", name=name)
    outputs = list(made) if operator.outputs else []
    node = outputs[0].op if outputs else made
    for key, value in carried.items():
        node._set_attr(key, value)
    node._set_attr("_gradient_op_type", _attr_value(_registered(operator)))
    for output, inner in zip(outputs, function.outputs):
        output.set_shape(inner.shape)
    return outputs


def _function(operator: Any, inputs: Sequence[Any], given: Mapping[str, Any]) -> Any:
    """The concrete function that calculates an operator for such inputs."""
    import tensorflow as tf
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    key = (operator.name, tuple(sorted(given.items())),
           tuple((spec.dtype, spec.shape.rank, str(spec.shape)) for spec in specs))
    found = None if operator.own_function else _FUNCTIONS.get(key)
    if found is None:
        def compute(*tensors: Any) -> List[Any]:
            return [tf.convert_to_tensor(tensor) for tensor in operator.compute(given, *tensors)]

        compute.__name__ = operator.name
        with tf.init_scope(), _unrecorded():
            found = tf.function(compute, autograph=False).get_concrete_function(*specs)
        if not operator.own_function:
            _FUNCTIONS[key] = found
    return found


def _record(operator: Any, inputs: Sequence[Any], outputs: Sequence[Any],
            attrs: Mapping[str, Any]) -> None:
    """Tells the tapes that are open; how to go back is asked for when one is."""
    def backward(*gradients: Any) -> List[Any]:
        called = Called(operator.name, inputs, outputs, attrs)
        return list(operator.differentiate(called, gradients))

    _recorder().record_operation(operator.name, list(outputs), list(inputs), backward)


def _registered(operator: Any) -> str:
    """The name under which TensorFlow finds the gradient of an operator's node."""
    name = _GRADIENT + operator.name
    if name not in _REGISTERED:
        from tensorflow.python.framework import ops

        def gradient(op: Any, *gradients: Any) -> List[Any]:
            attrs = {key: _python_value(value) for key, value
                     in npu_operator.attributes(op.node_def).items()}
            return list(operator.differentiate(
                Called(operator.name, op.inputs, op.outputs, attrs), gradients))

        ops.RegisterGradient(name)(gradient)
        _REGISTERED.add(name)
    return str(name)


def _recorder() -> Any:
    """TensorFlow's module that records operations on tapes."""
    try:
        from tensorflow.python.eager import record
    except ImportError:
        from tensorflow.python.eager import tape as record
    return record


@contextlib.contextmanager
def _unrecorded() -> Iterator[None]:
    with _recorder().stop_recording():
        yield


def _config() -> bytes:
    """As everywhere in the emulator, what a function does is not rewritten."""
    from tensorflow.core.protobuf import config_pb2
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return bytes(config.SerializeToString())


def _attr_value(value: Any) -> Any:
    """An attribute's value as an AttrValue."""
    from tensorflow.core.framework import attr_value_pb2
    kind = attr_value_pb2.AttrValue
    if hasattr(value, "as_datatype_enum"):
        return kind(type=value.as_datatype_enum)
    if isinstance(value, bool):
        return kind(b=value)
    if isinstance(value, int):
        return kind(i=value)
    if isinstance(value, float):
        return kind(f=value)
    if isinstance(value, (list, tuple)):
        return kind(list=kind.ListValue(i=[int(item) for item in value]))
    return kind(s=str(value).encode("utf-8"))


def _python_value(value: Any) -> Any:
    """The value of an AttrValue."""
    import tensorflow as tf
    kind = value.WhichOneof("value")
    if kind == "type":
        return tf.as_dtype(value.type)
    if kind == "s":
        return value.s.decode("utf-8")
    if kind == "list":
        return list(value.list.i)
    return getattr(value, kind)
