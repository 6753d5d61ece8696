"""Nodes that an instrumented function has besides its own: lists, reads, a gate.

Sinks, which take the values, are in `sinks.py`.

Each function adds to a FunctionDef and returns the tensor, as `node:output:index`, that the
new nodes give.
"""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import tf_dtypes
from keras_npu_dump.emulator.tracer.dump_plan import Read

RUN = "keras_npu_dump_run"
"""The argument with the number of the execution, see `runs.py`."""


def add_node(definition: Any, op: str, name: str) -> Any:
    """A new NodeDef, to be filled in.

    Args:
      definition: FunctionDef to add to.
      op: operator type.
      name: of the node; it must be free.
    """
    node = definition.node_def.add()
    node.op, node.name = op, name
    return node


def _scalar(definition: Any, name: str, value: int) -> str:
    node = add_node(definition, "Const", name)
    node.attr["dtype"].type = tf_dtypes.DT_INT32
    node.attr["value"].tensor.dtype = tf_dtypes.DT_INT32
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    return name + ":output:0"


def empty_list(definition: Any, name: str, dtype: int) -> str:
    """An empty TensorList whose elements may have any shape.

    Args:
      definition: FunctionDef to add to.
      name: of the node.
      dtype: of the elements, number of TensorFlow.

    Returns:
      The list, a variant tensor.
    """
    node = add_node(definition, "EmptyTensorList", name)
    node.input.append(_scalar(definition, name + "/shape", -1))
    node.input.append(_scalar(definition, name + "/size", -1))
    node.attr["element_dtype"].type = dtype
    node.attr["shape_type"].type = tf_dtypes.DT_INT32
    return name + ":handle:0"


def push(definition: Any, handle: str, tensor: str, dtype: int, name: str) -> str:
    """A TensorList with one more tensor at its end.

    Args:
      definition: FunctionDef to add to.
      handle: the list.
      tensor: what is added.
      dtype: of it, number of TensorFlow.
      name: of the node.
    """
    node = add_node(definition, "TensorListPushBack", name)
    node.input.extend([handle, tensor])
    node.attr["element_dtype"].type = dtype
    return name + ":output_handle:0"


def add_arguments(definition: Any, dtypes: Sequence[int]) -> List[str]:
    """Gives a function more arguments, behind its own, and returns their names.

    Args:
      definition: FunctionDef to add to.
      dtypes: of the arguments, numbers of TensorFlow; the first is RUN.
    """
    names = []
    for index, dtype in enumerate(dtypes):
        arg = definition.signature.input_arg.add()
        arg.name, arg.type = "dump_list_%d" % index if index else RUN, dtype
        names.append(arg.name)
    return names


def add_reads(definition: Any, reads: Sequence[Read]) -> None:
    """Reads variables right before or after an operator that takes or changes them.

    A read before waits for all that the operator waits for, and holds the operator back; what
    waits for the operator also waits for the reads after it. So each sees exactly the
    value of that moment, and the order of updates does not change.

    Args:
      definition: FunctionDef to add to.
      reads: what to read, and where; see `dump_plan.Plan.reads`.
    """
    by_name = {node.name: node for node in definition.node_def}
    later: Dict[str, List[str]] = {}
    for read in reads:
        target = by_name[read.node]
        data, controls = flat_lib.split_control(target.input)
        node = add_node(definition, "ReadVariableOp", read.name)
        node.input.append(data[read.input])
        node.attr["dtype"].type = read.dtype
        if read.after:
            node.input.append("^" + read.node)
            later.setdefault(read.node, []).append("^" + read.name)
        else:
            # Reads of several inputs do not wait for each other. Arguments (without ":") are there.
            waits = dict.fromkeys(flat_lib.node_of(one) for one in data if ":" in one)
            waits.update(dict.fromkeys(name for name in controls if "/dump_before_" not in name))
            node.input.extend("^" + name for name in waits)
            target.input.append("^" + read.name)
    for node in by_name.values():
        _, controls = flat_lib.split_control(node.input)
        node.input.extend(tensor for name in controls for tensor in later.get(name, ()))


class Gate:
    """Lets tensors out of a function only where the number of its execution is one.

    Made of Switch and Merge, which is what TensorFlow's own branches become before they
    run: a tensor on the path not taken is dropped at once, and no node behind it runs.

    Args:
      definition: FunctionDef, with the argument RUN.

    Attributes:
      run: RUN, let out.
    """

    def __init__(self, definition: Any):
        self._definition = definition
        self._count = 0
        zero = int64(definition, "dump_gate/zero", 0)
        node = add_node(definition, "GreaterEqual", "dump_gate/on")
        node.input.extend([RUN, zero])
        node.attr["T"].type = tf_dtypes.DT_INT64
        nothing = int64(definition, "dump_gate/nothing", -1)
        self._nothing = self._switch(nothing, tf_dtypes.DT_INT64) + ":output_false:0"
        self.run = self.taken(RUN, tf_dtypes.DT_INT64)

    def taken(self, tensor: str, dtype: int) -> str:
        """The tensor, which is there only where the execution gives values out.

        Args:
          tensor: what is let out.
          dtype: of it, number of TensorFlow.
        """
        return self._switch(tensor, dtype) + ":output_true:0"

    def either(self, tensor: str, name: str) -> str:
        """A scalar of int64 that is there only where values come out, or -1.

        Args:
          tensor: the scalar.
          name: of the node that always has one of the two.
        """
        merge = add_node(self._definition, "Merge", name)
        merge.input.extend([self._nothing, tensor])
        merge.attr["T"].type = tf_dtypes.DT_INT64
        merge.attr["N"].i = 2
        return name + ":output:0"

    def _switch(self, tensor: str, dtype: int) -> str:
        self._count += 1
        name = "dump_gate/switch_%d" % self._count
        switch = add_node(self._definition, "Switch", name)
        switch.input.extend([tensor, "dump_gate/on:z:0"])
        switch.attr["T"].type = dtype
        return name


def int64(definition: Any, name: str, value: int) -> str:
    """A constant scalar.

    Args:
      definition: FunctionDef to add to.
      name: of the node.
      value: of the scalar.
    """
    node = add_node(definition, "Const", name)
    node.attr["dtype"].type = tf_dtypes.DT_INT64
    node.attr["value"].tensor.dtype = tf_dtypes.DT_INT64
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int64_val.append(value)
    return name + ":output:0"
