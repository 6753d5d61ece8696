"""What TensorFlow's operator registry says about a node: outputs, dtypes, state."""
from __future__ import annotations

from typing import Any, List, Tuple

DT_STRING, DT_RESOURCE, DT_VARIANT = 7, 20, 21
# Values of these have no bytes that a device could dump.
OPAQUE = frozenset((DT_STRING, DT_RESOURCE, DT_VARIANT))
# From here on (the small floats and integers) TensorFlow keeps no tensors in lists.
FIRST_UNLISTED = 24

# GE keeps these in the graph but runs no task for them, or has no such operator at all
# (dump guide of the vendor: control, Data, RefData, Const and data-flow operators).
NOT_DUMPED = frozenset((
    "Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "ReadVariableOp", "VarHandleOp",
    "While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase",
    "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge",
    "RefEnter", "RefExit", "ControlTrigger", "VarIsInitializedOp"))

# Stateful in TensorFlow's eyes, and without any effect.
_READERS = frozenset((
    "ReadVariableOp", "VarHandleOp", "VariableShape", "VarIsInitializedOp", "ResourceGather",
    "ResourceGatherNd"))


def op_def(node: Any) -> Any:
    """The OpDef of a node, or None for an operator that is not registered."""
    from tensorflow.python.framework import op_def_registry
    return op_def_registry.get(node.op)


def _expand(arg: Any, node: Any) -> List[int]:
    """The dtypes of one declared argument, a list where it stands for several tensors."""
    if arg.type_list_attr:
        return list(node.attr[arg.type_list_attr].list.type)
    dtype = arg.type or node.attr[arg.type_attr].type
    return [dtype] * (node.attr[arg.number_attr].i if arg.number_attr else 1)


def outputs(node: Any) -> List[Tuple[str, int]]:
    """(tensor, dtype number of TensorFlow) of each output, in order."""
    found: List[Tuple[str, int]] = []
    definition = op_def(node)
    for arg in definition.output_arg if definition else ():
        for index, dtype in enumerate(_expand(arg, node)):
            found.append(("%s:%s:%d" % (node.name, arg.name, index), dtype))
    return found


def input_dtypes(node: Any) -> List[int]:
    """The dtype number of TensorFlow of each data input, in order."""
    definition = op_def(node)
    return [dtype for arg in (definition.input_arg if definition else ())
            for dtype in _expand(arg, node)]


def keeps_state(node: Any) -> bool:
    """Whether the kernel keeps something that belongs to the instantiated function.

    A generator of random numbers, or a table or queue that has no name by which another
    kernel could find it.
    """
    definition = op_def(node)
    if not (definition and definition.is_stateful):
        return False
    known = {attr.name for attr in definition.attr}
    return "seed" in known or ("shared_name" in known and not node.attr["shared_name"].s and not (
        "use_node_name_sharing" in known and node.attr["use_node_name_sharing"].b))


def has_effects(node: Any) -> bool:
    """Whether TensorFlow runs it even if nothing needs it, and that can be noticed."""
    definition = op_def(node)
    return bool(definition and definition.is_stateful and node.op not in _READERS
                and not keeps_state(node))


def dumped(node: Any) -> bool:
    """Whether the device would run, and so could dump, this operator."""
    return node.op not in NOT_DUMPED


def updates(node: Any) -> List[int]:
    """The positions of the inputs whose variables this operator changes."""
    if not changes_variables(node.op):
        return []
    return [index for index, dtype in enumerate(input_dtypes(node)) if dtype == DT_RESOURCE]


def changes_variables(op: str) -> bool:
    """Whether an operator of this type changes the variables behind its handles."""
    return op in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp") or (
        op.startswith(("ResourceApply", "ResourceSparseApply", "ResourceScatter")))


def bears_reading(op: str) -> bool:
    """Whether a variable may be read beside an operator of this type.

    Some that draw from a Generator write into the buffer that the reader then shares, and
    the variable keeps its old state (TensorFlow 2.6 and 2.21, StatefulRandomBinomial).
    """
    return op.startswith("Resource") or op in _READERS or changes_variables(op)


def output_count(op: str) -> int:
    """How many outputs an operator type declares."""
    from tensorflow.python.framework import op_def_registry
    definition = op_def_registry.get(op)
    return len(definition.output_arg) if definition is not None else 0
