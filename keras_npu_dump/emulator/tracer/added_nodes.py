"""Nodes that an instrumented function has besides its own: lists, reads, a gate.

Each function adds to a FunctionDef and returns the tensor, as `node:output:index`, that the
new nodes give.
"""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import tf_dtypes
from keras_npu_dump.emulator.tracer.dump_plan import Read


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
      dtypes: of the arguments, numbers of TensorFlow.
    """
    names = []
    for index, dtype in enumerate(dtypes):
        arg = definition.signature.input_arg.add()
        arg.name, arg.type = "dump_list_%d" % index, dtype
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
    """Lets tensors out of a function, or empty tensors in their place.

    Made of Switch and Merge, which is what TensorFlow's own branches become before they
    run: a tensor on the path not taken is dropped at once.

    Args:
      definition: FunctionDef; it gets one more argument, a bool.
    """

    def __init__(self, definition: Any):
        self._definition = definition
        self._empty: Dict[int, str] = {}
        self._count = 0
        arg = definition.signature.input_arg.add()
        arg.name, arg.type = "keras_npu_dump_on", tf_dtypes.DT_BOOL

    def through(self, tensor: str, dtype: int) -> str:
        """The tensor where the argument is true, else an empty tensor.

        Args:
          tensor: what is let out.
          dtype: of it, number of TensorFlow.
        """
        if dtype not in self._empty:
            empty = add_node(self._definition, "Const", "dump_gate/empty_%d" % dtype)
            empty.attr["dtype"].type = dtype
            empty.attr["value"].tensor.dtype = dtype
            empty.attr["value"].tensor.tensor_shape.dim.add().size = 0
            self._empty[dtype] = self._switch(empty.name + ":output:0", dtype) + ":output_false:0"
        taken = self._switch(tensor, dtype) + ":output_true:0"
        name = "dump_gate/merge_%d" % self._count
        merge = add_node(self._definition, "Merge", name)
        merge.input.extend([self._empty[dtype], taken])
        merge.attr["T"].type = dtype
        merge.attr["N"].i = 2
        return name + ":output:0"

    def _switch(self, tensor: str, dtype: int) -> str:
        self._count += 1
        name = "dump_gate/switch_%d" % self._count
        switch = add_node(self._definition, "Switch", name)
        switch.input.extend([tensor, "keras_npu_dump_on"])
        switch.attr["T"].type = dtype
        return name
