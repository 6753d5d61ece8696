"""Attributes of a TensorFlow node as GE writes attributes."""
from __future__ import annotations

from typing import Any, Dict

import numpy as np

from keras_npu_dump.emulator.functions import npu_operator
from keras_npu_dump.emulator.tracer.values import dtype_name
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.graph.ge_graph import AttrList, DataType, Desc, NamedAttrs, TensorAttr

_LEFT_OUT = frozenset((
    "_output_shapes", "_class", "_lower_using_switch_merge", "_read_only_resource_inputs",
    "config_proto", "executor_type", "_num_original_outputs", "_stateful_parallelism",
    "_xla_propagate_compile_time_consts"))


def convert(node: Any, with_values: bool) -> Dict[str, Any]:
    """The attributes of a TensorFlow node, as attributes of a GE operator.

    Args:
      node: NodeDef.
      with_values: whether tensors (the value of a Const) are kept.

    Returns:
      Values by name, in the classes of `formats.graph.ge_graph`; without those that only
      TensorFlow's own passes read, and without tensors of strings.
    """
    attrs: Dict[str, Any] = {}
    given = (npu_operator.attributes(node) if npu_operator.operator_type(node) else node.attr)
    for key, value in given.items():
        if key in _LEFT_OUT or (value.WhichOneof("value") == "tensor" and not with_values):
            continue
        converted = _value(value)
        if converted is not None:
            attrs[key] = converted
    return attrs


def _float(value: float) -> float:
    """The shortest decimal that is the same float32, as protobuf prints it."""
    return float(str(np.float32(value)))


def _dtype(number: int) -> DataType:
    return DataType(dtypes.ge_dtype_number(dtype_name(number)) or 0)


def _shape(shape: Any) -> AttrList:
    dims = [-2] if shape.unknown_rank else [dim.size for dim in shape.dim]
    return AttrList(dims, "INT")


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "s":
        return value.s.decode("utf-8", "surrogateescape")
    if kind in ("i", "b"):
        return getattr(value, kind)
    if kind == "f":
        return _float(value.f)
    if kind == "type":
        return _dtype(value.type)
    if kind == "shape":
        return _shape(value.shape)
    if kind == "tensor":
        return _tensor(value.tensor)
    if kind == "func":
        return NamedAttrs(value.func.name, {})
    if kind == "list":
        return _list(value.list)
    return None


def _tensor(proto: Any) -> Any:
    from tensorflow.python.framework import tensor_util
    array = tensor_util.MakeNdarray(proto)
    if array.dtype.kind == "O":
        return None
    return TensorAttr(Desc(dtype_name(proto.dtype), array.shape, "ND"), array.tobytes())


def _list(values: Any) -> Any:
    if values.s:
        return AttrList([item.decode("utf-8", "surrogateescape") for item in values.s], "STRING")
    if values.i:
        return AttrList(values.i, "INT")
    if values.f:
        return AttrList([_float(item) for item in values.f], "FLOAT")
    if values.b:
        return AttrList(values.b, "BOOL")
    if values.type:
        return AttrList([_dtype(number) for number in values.type], "DATA_TYPE")
    if values.shape:
        return [_shape(shape) for shape in values.shape] if all(
            shape.dim or shape.unknown_rank for shape in values.shape) else None
    return AttrList([], "STRING")
