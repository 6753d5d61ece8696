"""Static shapes of every tensor in a flat graph, as TensorFlow infers them.

The inlined graph is imported once more, with the argument shapes of the traced function
and, for handles, the shapes of the variables behind them, which no proto holds.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

from keras_npu_dump import messages
from keras_npu_dump.emulator.tracer import flat as flat_lib
from keras_npu_dump.emulator.tracer import opinfo, tf_dtypes
from keras_npu_dump.emulator.tracer.flat import Flat
from keras_npu_dump.op_types import graph_parts

UNKNOWN_RANK = (-2,)
Shapes = Dict[Tuple[int, str], Tuple[int, ...]]


def infer(root: Flat, inputs: Sequence[Any], lookup: Any) -> Shapes:
    """Shapes by (id(flat), tensor); -1 is an unknown dimension, (-2,) an unknown rank.

    Args:
      root: the graph.
      inputs: the symbolic arguments of the traced function, for their shapes.
      lookup: from a function's name to its FunctionDef.

    A graph that TensorFlow does not import again has no entries: its shapes are unknown.
    """
    shapes: Shapes = {}
    try:
        _infer(root, inputs, lookup, shapes)
    except Exception as error:  # pylint: disable=broad-except
        # Shapes are a description; training must not fail for them.
        messages.warning("emulator: shapes in graph %s stay unknown (%s).", root.name, error)
    return shapes


def is_static(root: Flat, shapes: Shapes) -> bool:
    """Whether the shapes of all that comes in, arguments and iterators, are known."""
    coming = [(id(root), name) for name, dtype in root.args if dtype not in tf_dtypes.OPAQUE]
    for flat in root.walk():
        for node in flat.nodes:
            if graph_parts.is_get_next(node.op):
                coming.extend((id(flat), tensor) for tensor, dtype in opinfo.outputs(node)
                              if dtype not in tf_dtypes.OPAQUE)
    return all(min(shapes.get(key, UNKNOWN_RANK), default=0) >= 0 for key in coming)


def as_tuple(shape: Any) -> Tuple[int, ...]:
    """A TensorShape as GE writes it."""
    if shape.rank is None:
        return UNKNOWN_RANK
    return tuple(-1 if dim is None else int(dim) for dim in shape.as_list())


def proto_shape(shape: Any) -> Tuple[int, ...]:
    """A TensorShapeProto as GE writes it."""
    if shape.unknown_rank:
        return UNKNOWN_RANK
    return tuple(int(dim.size) for dim in shape.dim)


def _infer(flat: Flat, sources: Sequence[Any], lookup: Any, shapes: Shapes,
           fixed: Optional[Sequence[Any]] = None) -> None:
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.framework import dtypes, func_graph, importer, tensor_shape
    from tensorflow.python.ops import array_ops, handle_data_util
    graph_def = graph_pb2.GraphDef()
    index = _flat_index(flat)
    for node in flat.nodes:
        copy = graph_def.node.add()
        copy.CopyFrom(node)
        copy.attr.pop("_output_shapes", None)
        del copy.input[:]
        copy.input.extend(index.get(tensor, tensor) for tensor in node.input)
    _add_library(graph_def, flat, lookup)
    graph = func_graph.FuncGraph("shapes")
    with graph.as_default():
        bound = {}
        for number, (name, dtype) in enumerate(flat.args):
            source = sources[number] if number < len(sources) else None
            shape = fixed[number] if fixed else getattr(source, "shape", None)
            placeholder = array_ops.placeholder(
                dtypes.as_dtype(dtype), tensor_shape.TensorShape(shape), name="arg_%d" % number)
            if source is not None:
                handle_data_util.copy_handle_data(source, placeholder)
            bound[name] = placeholder
            shapes[(id(flat), name)] = as_tuple(placeholder.shape)
        used = {flat_lib.node_of(tensor) for node in flat.nodes for tensor in node.input}
        input_map = {name + ":0": tensor for name, tensor in bound.items() if name in used}
        for node in graph_def.node:
            for place, tensor in enumerate(node.input):
                if tensor in bound:
                    node.input[place] = tensor + ":0"
        importer.import_graph_def(graph_def, input_map=input_map, name="")
    tensors = dict(bound)
    for node in flat.nodes:
        outputs = graph.get_operation_by_name(node.name).outputs
        for (tensor, _), output in zip(opinfo.outputs(node), outputs):
            shapes[(id(flat), tensor)] = as_tuple(output.shape)
            tensors[tensor] = output
    for (name, _), body in flat.bodies.items():
        node = flat.by_name[name]
        data, _ = flat_lib.split_control(node.input)
        loop = node.op in graph_parts.WHILE_TYPES
        passed = [tensors.get(tensor) for tensor in (data if loop else data[1:])]
        given = node.attr["output_shapes"].list.shape if loop else ()
        _infer(body, passed, lookup, shapes, list(given) or None)


def _flat_index(flat: Flat) -> Dict[str, str]:
    """`node:output:index` -> `node:position`, as a GraphDef names tensors."""
    names = {}
    for node in flat.nodes:
        for position, (tensor, _) in enumerate(opinfo.outputs(node)):
            names[tensor] = "%s:%d" % (node.name, position)
    return names


def _add_library(graph_def: Any, flat: Flat, lookup: Any) -> None:
    """The functions that nodes name, and those that these name."""
    seen = set()
    stack = list(flat.nodes)
    while stack:
        for name in flat_lib.named_functions(stack.pop()):
            if name not in seen:
                seen.add(name)
                definition = lookup(name)
                graph_def.library.function.add().CopyFrom(definition)
                stack.extend(definition.node_def)
