"""The parts of a graph that are not arithmetic, and which of them leave no dump files."""
from __future__ import annotations

import re

# --- where values come from

CONSTANT_TYPES = frozenset(("Const", "Constant", "ConstPlaceHolder", "FileConstant"))
"""Operators whose value stands in the graph (TensorFlow's Const and GE's)."""

FEED_TYPES = frozenset(("Data", "AnnData", "Placeholder"))
"""Arguments of a graph (GE's Data and AnnData, TensorFlow's Placeholder)."""

VARIABLE_TYPES = frozenset((
    "Variable", "VariableV2", "VarHandleOp", "RefData", "TemporaryVariable"))
"""Operators that stand for a variable; GE passes variables in as RefData where it has them
as arguments."""

GET_NEXT_TYPES = frozenset((
    "IteratorGetNext", "IteratorGetNextSync", "GetNext", "DynamicGetNext", "DynamicGetNextV2"))
"""Operators that take the next batch from an iterator (TensorFlow's and GE's)."""

ANONYMOUS_ITERATOR_TYPES = frozenset((
    "AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"))
"""TensorFlow's operators that make an iterator: V2 in 2.6, V3 in 2.21."""

ITERATOR_START_TYPES = frozenset(("MakeIterator", "MultiDeviceIteratorInit"))
"""TensorFlow's operators that fill an iterator. For MakeIterator the adapter runs a graph
`dp_init_<iterator>` (adapter make_iterator_op.cpp); the emulator does so for both."""

DATA_TYPES = FEED_TYPES | GET_NEXT_TYPES | frozenset(("Iterator", "IteratorV2", "QueueDequeue"))
"""Where a batch comes into a graph. Variables are left out: they are no data."""

_ITERATOR = re.compile(r"Iterator|GetNext")


def is_iterator(op_type: str) -> bool:
    """Whether an operator makes, fills or reads an iterator, of whatever version.

    Wider than the sets above: any type with Iterator or GetNext in its name.

    Args:
      op_type: name of the type.
    """
    return bool(_ITERATOR.search(op_type))


def is_get_next(op_type: str) -> bool:
    """Whether an operator of TensorFlow takes the next batch from an iterator.

    Args:
      op_type: name of the type.
    """
    return op_type.startswith("IteratorGetNext")


# --- variables, in TensorFlow's words

ASSIGN_VARIABLE_TYPES = frozenset((
    "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"))
"""TensorFlow's assignments to the variable behind a handle."""

HANDLE_READER_TYPES = frozenset((
    "ReadVariableOp", "VarHandleOp", "VariableShape", "VarIsInitializedOp", "ResourceGather",
    "ResourceGatherNd"))
"""TensorFlow's operators on a variable's handle that change nothing, although its registry
calls them stateful."""

ANSWERED_BY_ADAPTER_TYPES = frozenset(("VarIsInitializedOp", "DestroyResourceOp"))
"""Operators on a variable's handle for which the adapter runs no graph when they are eager."""


def changes_handle(op_type: str) -> bool:
    """Whether an operator of TensorFlow changes the variables behind its handles.

    Narrower than `training.is_update`, which also knows the names of GE: here each resource
    that the operator takes is a variable that it changes (TensorFlow's operator registry).

    Args:
      op_type: name of the type.
    """
    return op_type in ASSIGN_VARIABLE_TYPES or op_type.startswith(
        ("ResourceApply", "ResourceSparseApply", "ResourceScatter"))


def is_on_variable(op_type: str) -> bool:
    """Whether an operator of TensorFlow works on a variable: when it is eager, the adapter
    makes a graph of it alone (adapter npu_resource_op.cpp).

    Args:
      op_type: name of the type.
    """
    return (op_type.startswith("Resource") or op_type in ASSIGN_VARIABLE_TYPES
            or op_type in ("ReadVariableOp", "VariableShape"))


# --- control flow

CALL_TYPES = frozenset(("PartitionedCall", "StatefulPartitionedCall"))
"""TensorFlow's calls of a function: it runs exactly once."""

WHILE_TYPES = frozenset(("While", "StatelessWhile"))
"""TensorFlow's loops. Not its `For`, whose attributes are others."""

IF_TYPES = frozenset(("If", "StatelessIf"))
"""TensorFlow's branches between two functions."""

CASE_TYPES = frozenset(("Case", "StatelessCase"))
"""TensorFlow's branches between any number of functions."""

V1_CONTROL_TYPES = frozenset((
    "Switch", "RefSwitch", "SwitchN", "_SwitchN", "Merge", "RefMerge", "Enter", "RefEnter",
    "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond"))
"""Control flow of TensorFlow 1, made of operators in one graph instead of functions."""

SWITCH_TYPES = frozenset((
    "Switch", "RefSwitch", "SwitchN", "StreamSwitch", "StreamSwitchN", "LabelSwitch",
    "LabelSwitchByIndex"))
"""Branches inside one graph, TensorFlow 1's and those that GE makes of them: which operators
run cannot be told from the graph."""

LOOP_TYPES = WHILE_TYPES | frozenset(("_While", "For"))
"""Loops in graphs of GE; `_While` is TensorFlow's inner form."""

CONDITIONAL_TYPES = LOOP_TYPES | IF_TYPES | CASE_TYPES | frozenset(("_If",))
"""Callers in graphs of GE that run a sub-graph any number of times, or not at all."""

SUBGRAPH_TYPES = CONDITIONAL_TYPES | CALL_TYPES | frozenset(("StatelessPartitionedCall",))
"""Callers in graphs of GE whose inputs are those of the sub-graph and whose outputs are its
results, so that values can be followed through."""

_MAY_HOLD_SUBGRAPHS = re.compile(r"(Call|If|Case|While|For|Gradient|Function|Graph)$")


def may_hold_subgraphs(op_type: str) -> bool:
    """Whether it is worth looking for names of sub-graphs in an operator of a GE graph.

    Wider than SUBGRAPH_TYPES: what is in a sub-graph of `SymbolicGradient`, say, runs with its
    caller, although its inputs are not the caller's.

    Args:
      op_type: name of the type.
    """
    return bool(_MAY_HOLD_SUBGRAPHS.search(op_type))


EDGE_TYPES = frozenset(("NoOp", "ReadVariableOp"))
"""TensorFlow's operators for which a Build graph has edges: reading is an edge from the
variable, and what waits for a NoOp waits for what the NoOp waits for."""


# --- what leaves no dump

HANDLE_DTYPES = frozenset(("DT_RESOURCE", "DT_VARIANT", "DT_STRING", "DT_STRING_REF"))
"""Names of the dtypes that have no bytes for a dump file (GE ge_ir.proto)."""

QUIET_TYPES = (
    CONSTANT_TYPES | FEED_TYPES | VARIABLE_TYPES | GET_NEXT_TYPES | ANONYMOUS_ITERATOR_TYPES
    | V1_CONTROL_TYPES | SUBGRAPH_TYPES | frozenset((
        "PlaceHolder", "VarIsInitializedOp", "IsVariableInitialized", "DestroyTemporaryVariable",
        "ReadVariableOp", "NoOp", "NetOutput", "End", "Identity", "IdentityN", "ControlTrigger",
        "StreamActive", "StreamSwitch", "StreamSwitchN", "StreamMerge", "LabelSet", "LabelGoto",
        "LabelGotoEx", "LabelSwitch", "LabelSwitchByIndex", "SymbolicGradient", "Iterator",
        "IteratorV2", "MakeIterator", "DeleteIterator", "OutfeedEnqueueOp", "OutfeedEnqueueOpV2",
        "OptionalFromValue", "OptionalGetValue", "QueueData", "QueueDequeue", "QueueEnqueue",
        "Stack", "StackPush", "StackPop", "StackClose", "Send", "Recv", "MemcpyAddrAsync",
        "FlowCtrl", "Assert", "Print", "Abort")))
"""Operators of a graph that need not leave a dump file: inputs, constants, control flow, queues,
stacks (the vendor's dump_data_collect.md, GE dump_properties.cc). Where such a file exists, that
is no fault."""

EMULATOR_SKIPS = (
    WHILE_TYPES | IF_TYPES | CASE_TYPES | V1_CONTROL_TYPES | frozenset((
        "Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "ReadVariableOp",
        "VarHandleOp", "VarIsInitializedOp", "ControlTrigger")))
"""TensorFlow's operators that the emulator writes no files for (the vendor's
dump_data_collect.md: control, Data, RefData, Const and data-flow operators).

Shorter than QUIET_TYPES on purpose: what GE would do with an Identity or an Assert after
lowering is not known, so readers do not miss their files and the emulator writes them."""
