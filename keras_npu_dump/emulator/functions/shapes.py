"""Static shapes of every tensor in a flat graph, as TensorFlow infers them.

The inlined graph is imported once more, with the argument shapes of the traced function
and, for handles, the shapes of the variables behind them, which no proto holds.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from keras_npu_dump import messages
from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import operator_bodies, opinfo, tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat, Lookup
from keras_npu_dump.op_types import graph_parts

UNKNOWN_RANK = (-2,)
Shapes = Dict[Tuple[int, str], Tuple[int, ...]]


def infer(root: Flat, inputs: Sequence[Any], lookup: Lookup) -> Shapes:
    """The shapes of all tensors of a graph and its bodies.

    Args:
      root: the graph.
      inputs: the symbolic arguments of the traced function, for their shapes.
      lookup: from a function's name to its FunctionDef.

    Returns:
      Shapes by (id(flat), tensor); -1 is an unknown dimension, (-2,) an unknown rank (GE
      ge_ir.proto). Of a graph that TensorFlow does not import again only arguments have
      entries, and a warning says so.
    """
    shapes: Shapes = {}
    try:
        _infer(root, [_Given(tensor, getattr(tensor, "shape", None)) for tensor in inputs],
               lookup, shapes)
    except Exception as error:
        # Whatever TensorFlow raises: shapes only describe, and training must not fail for them.
        messages.warning("emulator: shapes in graph %s stay unknown (%s).", root.name, error)
    return shapes


def is_static(root: Flat, shapes: Shapes) -> bool:
    """Whether the shapes of all that comes in, arguments and iterators, are known.

    Args:
      root: the graph.
      shapes: see `infer`.
    """
    coming = [(id(root), name) for name, dtype in root.args if dtype not in tf_dtypes.OPAQUE]
    for flat in root.walk():
        for node in flat.nodes:
            if graph_parts.is_get_next(node.op):
                coming.extend((id(flat), tensor) for tensor, dtype in opinfo.outputs(node)
                              if dtype not in tf_dtypes.OPAQUE)
    return all(min(shapes.get(key, UNKNOWN_RANK), default=0) >= 0 for key in coming)


def as_tuple(shape: Any) -> Tuple[int, ...]:
    """A TensorShape as GE writes it: -1 for an unknown dimension, (-2,) for an unknown rank.

    Args:
      shape: TensorShape.
    """
    if shape.rank is None:
        return UNKNOWN_RANK
    return tuple(-1 if dim is None else int(dim) for dim in shape.as_list())


def proto_shape(shape: Any) -> Tuple[int, ...]:
    """A TensorShapeProto as GE writes it, see `as_tuple`.

    Args:
      shape: TensorShapeProto.
    """
    if shape.unknown_rank:
        return UNKNOWN_RANK
    return tuple(int(dim.size) for dim in shape.dim)


class _Given(NamedTuple):
    """What is known of one argument of a graph.

    Attributes:
      tensor: a symbolic tensor whose handle data the argument has, or None.
      shape: anything that TensorShape takes; None for an unknown rank.
    """

    tensor: Any = None
    shape: Any = None


def _infer(flat: Flat, given: Sequence[_Given], lookup: Lookup, shapes: Shapes) -> None:
    """Puts the shapes of a graph, then those of its bodies, into `shapes`."""
    from tensorflow.python.framework import func_graph
    graph = func_graph.FuncGraph("shapes")
    with graph.as_default():
        tensors = _placeholders(flat, given)
        # At once: they stay known where the import fails.
        _note(shapes, flat, tensors)
        expanded = operator_bodies.expand(flat, lookup)
        _import(expanded.nodes, tensors, lookup)
    for node in expanded.nodes:
        outputs = graph.get_operation_by_name(node.name).outputs
        tensors.update(zip((tensor for tensor, _ in opinfo.outputs(node)), outputs))
    # Every tensor that they are is known by now.
    tensors.update((output, tensors[inner]) for output, inner in expanded.tensors.items())
    _note(shapes, flat, tensors)
    for (name, _), body in flat.bodies.items():
        _infer(body, _given_to_body(flat.by_name[name], tensors), lookup, shapes)


def _note(shapes: Shapes, flat: Flat, tensors: Mapping[str, Any]) -> None:
    for name, tensor in tensors.items():
        shapes[(id(flat), name)] = as_tuple(tensor.shape)


def _placeholders(flat: Flat, given: Sequence[_Given]) -> Dict[str, Any]:
    """Argument -> a placeholder for it, in the default graph."""
    from tensorflow.python.framework import dtypes, tensor_shape
    from tensorflow.python.ops import array_ops, handle_data_util
    found = {}
    for number, (name, dtype) in enumerate(flat.args):
        source = given[number] if number < len(given) else _Given()
        found[name] = array_ops.placeholder(
            dtypes.as_dtype(dtype), tensor_shape.TensorShape(source.shape), name="arg_%d" % number)
        if source.tensor is not None:
            handle_data_util.copy_handle_data(source.tensor, found[name])
    return found


def _import(nodes: Sequence[Any], arguments: Mapping[str, Any], lookup: Lookup) -> None:
    """Imports nodes into the default graph, under their names."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.framework import importer
    graph_def = graph_pb2.GraphDef()
    index = _flat_index(nodes)
    read = set()
    for node in nodes:
        copy = graph_def.node.add()
        copy.CopyFrom(node)
        # What the function was traced with; it may hold less than the arguments tell now.
        copy.attr.pop("_output_shapes", None)
        del copy.input[:]
        for tensor in node.input:
            head = flat_lib.node_of(tensor)
            read.add(head)
            # The importer maps outputs of nodes only, so arguments become some.
            copy.input.append(index.get(tensor, tensor) if tensor not in arguments
                              else tensor + ":0")
    _add_library(graph_def, nodes, lookup)
    # It refuses a map with entries that nothing reads.
    importer.import_graph_def(graph_def, name="", input_map={
        name + ":0": tensor for name, tensor in arguments.items() if name in read})


def _given_to_body(node: Any, tensors: Mapping[str, Any]) -> List[_Given]:
    """What a loop or branch passes to the arguments of its bodies."""
    data, _ = flat_lib.split_control(node.input)
    if node.op not in graph_parts.WHILE_TYPES:
        # The first input chooses the branch and does not enter it.
        passed = [tensors.get(tensor) for tensor in data[1:]]
        return [_Given(tensor, getattr(tensor, "shape", None)) for tensor in passed]
    passed = [tensors.get(tensor) for tensor in data]
    # A loop variable may change its shape from round to round: the node says what stays.
    fixed = list(node.attr["output_shapes"].list.shape)
    if not fixed:
        return [_Given(tensor, getattr(tensor, "shape", None)) for tensor in passed]
    return [_Given(tensor, shape) for tensor, shape in zip(passed, fixed)]


def _flat_index(nodes: Sequence[Any]) -> Dict[str, str]:
    """`node:output:index` -> `node:position`, as a GraphDef names tensors."""
    names = {}
    for node in nodes:
        for position, (tensor, _) in enumerate(opinfo.outputs(node)):
            names[tensor] = "%s:%d" % (node.name, position)
    return names


def _add_library(graph_def: Any, nodes: Sequence[Any], lookup: Lookup) -> None:
    """The functions that nodes name, and those that these name."""
    seen: Set[str] = set()
    stack = list(nodes)
    while stack:
        for name in flat_lib.named_functions(stack.pop()):
            if name not in seen:
                seen.add(name)
                definition = lookup(name)
                graph_def.library.function.add().CopyFrom(definition)
                stack.extend(definition.node_def)
