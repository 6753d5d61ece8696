"""The Build graphs of what runs eagerly: graphs of a single operator, and of loop sizes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions import opinfo, tf_dtypes
from keras_npu_dump.emulator.functions.shapes import proto_shape
from keras_npu_dump.emulator.graphs.graph_text import describe_tensor
from keras_npu_dump.formats.graph.edges import connect
from keras_npu_dump.formats.graph.ge_graph import Graph, GraphOp


class Input(NamedTuple):
    """An input of an eager operator.

    Attributes:
      variable: the name of the variable behind it, None for a plain value.
      dtype: of the value, or what the variable holds; number of TensorFlow.
      shape: of the same; -1 is an unknown dimension, (-2,) an unknown rank.
    """

    variable: Optional[str]
    dtype: int
    shape: Tuple[int, ...]


def describe(inputs: Sequence[Any],
             variable_name: Callable[[Any], Optional[str]]) -> List[Input]:
    """What the inputs of an eager operator are.

    Args:
      inputs: eager tensors, or what TensorFlow makes tensors of.
      variable_name: from a variable's handle to its name, None where it is not known.
    """
    from tensorflow.python.framework import ops
    found = []
    for value in inputs:
        data = getattr(value, "_handle_data", None)
        if data is not None and data.is_set:
            held = data.shape_and_type[0]
            found.append(Input(variable_name(value) or "Variable", held.dtype,
                               proto_shape(held.shape)))
        else:
            tensor = ops.convert_to_tensor(value)
            found.append(Input(None, tensor.dtype.as_datatype_enum,
                               tuple(int(dim) for dim in tensor.shape)))
    return found


def variable_graph(name: str, op: str, inputs: Sequence[Input], with_values: bool,
                   attrs: Dict[str, Any]) -> List[Graph]:
    """Variables and Data lead into a single operator, named as its type, and on to NetOutput.

    Args:
      name: what GE calls the graph.
      op: operator type.
      inputs: see `describe`.
      with_values: without effect: there are no constants.
      attrs: attributes of the graph.

    Returns:
      A list with the graph (adapter npu_resource_op.cpp).
    """
    del with_values
    ops: List[GraphOp] = []
    edges, descs = [], []
    taken: Dict[str, int] = {}
    for index, item in enumerate(inputs):
        desc = describe_tensor(item.dtype, item.shape, "ND")
        if item.variable is None:
            arg = "arg_%d" % index
            number = sum(1 for other in inputs[:index] if other.variable is None)
            ops.append(GraphOp(arg, "Data", [""], [desc], [desc], attrs={"index": number}))
        else:
            arg = item.variable
            if arg in taken:
                arg = "%s_%d" % (arg, index)
            taken[arg] = index
            ops.append(GraphOp(arg, "Variable", [], [], [desc]))
        edges.append(arg + ":0")
        descs.append(desc)
    if op == "ReadVariableOp":
        # Reading is an edge from the variable.
        ops.append(GraphOp("NetOutput", "NetOutput", edges, descs))
    else:
        count = opinfo.output_count(op)
        ops.append(GraphOp(op, op, edges, descs, [], original_op_names=[op]))
        ops.append(GraphOp("NetOutput", "NetOutput",
                           ["%s:%d" % (op, index) for index in range(count)] or [op + ":-1"]))
    connect(ops)
    return [Graph(name, ops, attrs)]


def iterator_graph(name: str, iterator: str, with_values: bool,
                   attrs: Dict[str, Any]) -> List[Graph]:
    """What the adapter hands to GE to fill an iterator's queue (adapter make_iterator_op.cpp).

    Args:
      name: what GE calls the graph.
      iterator: what the adapter calls the iterator.
      with_values: without effect: there are no constants.
      attrs: attributes of the graph.

    Returns:
      A list with the graph.
    """
    del with_values
    queue, resource = "DeviceQueue_" + iterator, "IteratorV2_" + iterator
    ops = [
        GraphOp(queue, "DeviceQueueDataset", attrs={"channel_name": iterator,
                                                    "_iterator_name": iterator}),
        GraphOp(resource, "IteratorV2", attrs={"shared_name": iterator}),
        GraphOp("InitMakeIterator_" + iterator, "MakeIterator", [queue + ":0", resource + ":0"],
                attrs={"_kernel": "dp", "_iterator_name": iterator}),
        GraphOp("NetOutput", "NetOutput", ["InitMakeIterator_%s:-1" % iterator]),
    ]
    connect(ops)
    return [Graph(name, ops, attrs)]


def loop_graph(name: str, variables: Sequence[str], constant: bool, with_values: bool,
               attrs: Dict[str, Any]) -> List[Graph]:
    """Assigns int64 scalars to the variables that steer a loop on the device.

    Args:
      name: what GE calls the graph.
      variables: their names.
      constant: whether the values stand in the graph, or come as Data.
      with_values: without effect: what the constants hold is not known.
      attrs: attributes of the graph.

    Returns:
      A list with the graph (adapter npu_device.cpp).
    """
    del with_values
    desc = describe_tensor(tf_dtypes.DT_INT64, (), "ND")
    ops: List[GraphOp] = []
    for variable in variables:
        source = variable + "_v"
        ops.append(GraphOp(variable, "Variable", output_descs=[desc]))
        ops.append(GraphOp(source, "Const", output_descs=[desc]) if constant else
                   GraphOp(source, "Data", [""], [desc], [desc], attrs={"index": 0}))
        ops.append(GraphOp(variable + "_assign", "AssignVariableOp",
                           [variable + ":0", source + ":0"], [desc, desc]))
    ops.append(GraphOp("NetOutput", "NetOutput",
                       ["%s_assign:-1" % variable for variable in variables]))
    connect(ops)
    return [Graph(name, ops, attrs)]
