"""What TensorFlow's operator registry says about a node: outputs, dtypes, state."""
from __future__ import annotations

from typing import Any, List, Tuple

from keras_npu_dump.emulator.functions import npu_operator, tf_dtypes
from keras_npu_dump.op_types import graph_parts


def op_type(node: Any) -> str:
    """The type of the operator that a node stands for: the NPU's, or TensorFlow's own.

    Args:
      node: NodeDef.
    """
    return npu_operator.operator_type(node) or str(node.op)


def is_call(node: Any) -> bool:
    """Whether a node calls a function that takes its place in a flat graph.

    Args:
      node: NodeDef.
    """
    return node.op in graph_parts.CALL_TYPES and not npu_operator.operator_type(node)


def op_def(node: Any) -> Any:
    """The OpDef of a NodeDef, or None for an operator that is not registered.

    Args:
      node: NodeDef.
    """
    from tensorflow.python.framework import op_def_registry
    return op_def_registry.get(node.op)


def _expand(arg: Any, node: Any) -> List[int]:
    """The dtypes of one declared argument, a list where it stands for several tensors."""
    if arg.type_list_attr:
        return list(node.attr[arg.type_list_attr].list.type)
    dtype = arg.type or node.attr[arg.type_attr].type
    return [dtype] * (node.attr[arg.number_attr].i if arg.number_attr else 1)


def outputs(node: Any) -> List[Tuple[str, int]]:
    """(tensor, dtype number of TensorFlow) of each output of a NodeDef, in order;
    [] for an operator that is not registered.

    Args:
      node: NodeDef.
    """
    found: List[Tuple[str, int]] = []
    definition = op_def(node)
    for arg in definition.output_arg if definition else ():
        for index, dtype in enumerate(_expand(arg, node)):
            found.append(("%s:%s:%d" % (node.name, arg.name, index), dtype))
    return found


def input_dtypes(node: Any) -> List[int]:
    """The dtype number of TensorFlow of each data input of a NodeDef, in order.

    Args:
      node: NodeDef.
    """
    definition = op_def(node)
    found = [dtype for arg in (definition.input_arg if definition else ())
             for dtype in _expand(arg, node)]
    return found[:npu_operator.input_count(node)] if npu_operator.operator_type(node) else found


def keeps_state(node: Any) -> bool:
    """Whether the kernel keeps something that belongs to the instantiated function.

    A generator of random numbers, or a table or queue that has no name by which another
    kernel could find it: told by the attributes "seed" and "shared_name" of stateful
    operators (TensorFlow's operator registry).

    Args:
      node: NodeDef.
    """
    definition = op_def(node)
    if not (definition and definition.is_stateful):
        return False
    if npu_operator.operator_type(node):
        return "seed" in npu_operator.attributes(node)
    known = {attr.name for attr in definition.attr}
    return "seed" in known or ("shared_name" in known and not node.attr["shared_name"].s and not (
        "use_node_name_sharing" in known and node.attr["use_node_name_sharing"].b))


def has_effects(node: Any) -> bool:
    """Whether TensorFlow runs a node even if nothing needs it, and that can be noticed.

    Args:
      node: NodeDef.
    """
    definition = op_def(node)
    return bool(definition and definition.is_stateful and not keeps_state(node)
                and node.op not in graph_parts.HANDLE_READER_TYPES)


def dumped(node: Any) -> bool:
    """Whether the device would run, and so could dump, the operator of a node.

    Args:
      node: NodeDef.
    """
    return node.op not in graph_parts.EMULATOR_SKIPS


def updates(node: Any) -> List[int]:
    """The positions of the inputs whose variables this operator changes.

    Args:
      node: NodeDef.
    """
    if not graph_parts.changes_handle(node.op):
        return []
    return [index for index, dtype in enumerate(input_dtypes(node))
            if dtype == tf_dtypes.DT_RESOURCE]


def bears_reading(op: str) -> bool:
    """Whether a variable may be read beside an operator of this type.

    Some that draw from a tf.random.Generator write into the buffer that the reader then
    shares, and the variable keeps its old state (seen with TensorFlow 2.6 and 2.21,
    StatefulRandomBinomial).

    Args:
      op: operator type.
    """
    return (op.startswith("Resource") or op in graph_parts.HANDLE_READER_TYPES
            or graph_parts.changes_handle(op))


def output_count(op: str) -> int:
    """How many outputs an operator type declares; 0 where it is not registered.

    Args:
      op: operator type.
    """
    from tensorflow.python.framework import op_def_registry
    definition = op_def_registry.get(op)
    return len(definition.output_arg) if definition is not None else 0
