"""What the arguments of a function are: inputs, variables, iterators, other handles."""
from __future__ import annotations

from typing import List, Set

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.functions.shapes import UNKNOWN_RANK, as_tuple, proto_shape
from keras_npu_dump.emulator.graphs import handles
from keras_npu_dump.emulator.graphs.call import Call
from keras_npu_dump.emulator.graphs.graph_text import Argument
from keras_npu_dump.op_types import graph_parts


def describe(root: Flat, call: Call) -> List[Argument]:
    """What the arguments of a function stand for.

    Args:
      root: the function's graph.
      call: its first call.

    Returns:
      An Argument for each argument of `root`. Their names are unique and no node's name: a
      variable's is that of the user, an iterator's that of the adapter, any other's that of
      the argument.
    """
    taken = {node.name for flat in root.walk() for node in flat.nodes}
    variable_names = call.variable_names()
    variables = call.variables()
    read_from = iterators(root)
    consumed = {flat_lib.node_of(tensor) for node in root.nodes for tensor in node.input}
    consumed.update(flat_lib.node_of(tensor) for tensor in root.ret)
    found = []
    for index, (name, dtype) in enumerate(root.args):
        handle = call.args[index]
        if dtype == tf_dtypes.DT_RESOURCE and variables[index]:
            held = handle._handle_data.shape_and_type[0]
            found.append(Argument(
                "Variable", _unique(variable_names.get(handle._id, name), taken), held.dtype,
                proto_shape(held.shape)))
        elif name in read_from:
            iterator = _unique(handles.iterator_name(handle), taken)
            found.append(Argument("IteratorV2", iterator, dtype, ()))
        elif dtype == tf_dtypes.DT_VARIANT and name not in consumed:
            # The deleter of an iterator (TensorFlow 2.6): GE has nothing like it.
            found.append(Argument("", name, dtype, ()))
        else:
            symbolic = call.graph.inputs[index] if index < len(call.graph.inputs) else handle
            shape = getattr(symbolic, "shape", None)
            found.append(Argument("Data", _unique(name, taken), dtype,
                                  UNKNOWN_RANK if shape is None else as_tuple(shape)))
    return found


def _unique(name: str, taken: Set[str]) -> str:
    unique, count = name, 0
    while unique in taken:
        count += 1
        unique = "%s_%d" % (name, count)
    taken.add(unique)
    return unique


def iterators(root: Flat) -> Set[str]:
    """Names of the arguments of a graph from which an iterator operator reads.

    Args:
      root: the graph; operators in its bodies count, too.
    """
    found = set()
    for flat in root.walk():
        for node in flat.nodes:
            if not graph_parts.is_get_next(node.op):
                continue
            where, head = flat, flat_lib.node_of(node.input[0])
            while where.parent is not None and head in where.arg_index:
                outer = where.outer(head)
                if outer is None:
                    break
                where, head = where.parent, flat_lib.node_of(outer)
            if where is root and head in root.arg_index:
                found.add(head)
    return found
