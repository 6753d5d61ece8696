"""Rewrites a flat graph so that it also returns chosen tensors.

The outermost graph gets one more output per tensor. Tensors inside loop and branch
bodies are pushed onto lists (TensorList) that are threaded through the loop's
variables or the branch's outputs, list of lists where bodies are nested, so that every
value of every round comes out, exactly once, in order.
"""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.tracer import flat as flat_lib
from keras_npu_dump.emulator.tracer import loop_condition, opinfo, tf_dtypes
from keras_npu_dump.emulator.tracer.flat import Flat
from keras_npu_dump.op_types import graph_parts


@dataclasses.dataclass(frozen=True)
class Slot:
    """One tensor that comes out: of graph `flat`, inside `depth` lists."""

    flat: Flat
    tensor: str
    depth: int
    dtype: int


class Instrumented:
    """The function definitions of one instrumented graph.

    Args:
      flat: the outermost graph.
      wanted: id(graph) -> [(tensor, dtype number of TensorFlow)], for it and its bodies.
      name: of the new function; its bodies get names that begin with it.
      reads: id(graph) -> plan.Read objects: variables read beside an operator.
      gated: give the function one more argument, a bool, without which the tensors of the
        outermost graph come out empty and are not kept alive.

    Attributes:
      definitions: FunctionDefs to register, bodies first, the function itself last.
      slots: what the outputs after the original ones are.
    """

    def __init__(self, flat: Flat, wanted: Dict[int, List[Tuple[str, int]]], name: str,
                 reads: Optional[Mapping[int, Sequence[Any]]] = None, gated: bool = False):
        self._wanted = wanted
        self._reads = reads or {}
        self._name = name
        self.definitions: List[Any] = []
        self.slots = self.slots_of(flat)
        definition, _ = self._definition(flat, name, ())
        gate = _Gate(definition) if gated else None
        for index, (tensor, dtype) in enumerate(self._own_outputs(flat)):
            output = definition.signature.output_arg.add()
            output.name, output.type = "dumped_%d" % index, dtype
            if gate is not None and dtype != tf_dtypes.DT_VARIANT:
                tensor = gate.through(tensor, dtype)
            definition.ret[output.name] = tensor
        self.definitions.append(definition)

    def slots_of(self, flat: Flat, depth: int = 0) -> List[Slot]:
        """The slots of `flat` in order: its own tensors, then those of its bodies."""
        slots = [Slot(flat, tensor, depth, dtype)
                 for tensor, dtype in self._wanted.get(id(flat), ())]
        for body in flat.bodies.values():
            slots.extend(self.slots_of(body, depth + 1))
        return slots

    def own(self, flat: Flat) -> List[Tuple[str, int]]:
        """The wanted tensors that lie in `flat` itself."""
        return self._wanted.get(id(flat), [])

    def _lists(self, body: Flat) -> List[Slot]:
        return self.slots_of(body)

    def _own_outputs(self, flat: Flat) -> List[Tuple[str, int]]:
        """Tensors to return from (or push in) `flat`: its own, then its nodes' lists."""
        tensors = list(self.own(flat))
        for node, first, count in self._list_outputs(flat):
            tensors.extend(("%s:output:%d" % (node, first + index), tf_dtypes.DT_VARIANT)
                           for index in range(count))
        return tensors

    def _list_outputs(self, flat: Flat) -> List[Tuple[str, int, int]]:
        """(node, number of its first list output, how many), in the order of slots_of."""
        outputs, offset = [], {}  # type: List[Tuple[str, int, int]], Dict[str, int]
        for (name, _), body in flat.bodies.items():
            count = len(self._lists(body))
            if count:
                node = flat.by_name[name]
                attr = "T" if node.op in graph_parts.WHILE_TYPES else "Tout"
                first = len(node.attr[attr].list.type) + offset.get(name, 0)
                outputs.append((name, first, count))
                offset[name] = offset.get(name, 0) + count
        return outputs

    def _definition(self, flat: Flat, name: str, extra_args: Sequence[int]):
        """A FunctionDef of `flat`, its control nodes widened, and its extra arguments."""
        definition = type(flat.definition)()
        definition.CopyFrom(flat.definition)
        definition.signature.name = name
        del definition.node_def[:]
        definition.ret.clear()
        definition.control_ret.clear()
        del definition.signature.control_output[:]
        definition.attr.pop("_XlaMustCompile", None)
        definition.attr.pop("_noinline", None)
        definition.attr.pop("_implements", None)
        definition.attr.pop("_input_shapes", None)
        for index, tensor in enumerate(flat.ret):
            definition.ret[definition.signature.output_arg[index].name] = tensor
        for index, node in enumerate(flat.control_ret):
            key = "must_run_%d" % index
            definition.signature.control_output.append(key)
            definition.control_ret[key] = node
        definition.node_def.extend(flat.nodes)
        for node in definition.node_def:
            if node.op in graph_parts.WHILE_TYPES and any(
                    opinfo.keeps_state(inner) for role in flat_lib.roles(node)
                    for body in flat.bodies[(node.name, role)].walk() for inner in body.nodes):
                # TensorFlow starts rounds before others have ended: numbers that they draw
                # would go to any of them.
                node.attr["parallel_iterations"].i = 1
        _add_reads(definition, self._reads.get(id(flat), ()))
        counts = {node: 0 for node, _ in flat.bodies}
        for (node, _), body in flat.bodies.items():
            counts[node] += len(self._lists(body))
        for node in list(definition.node_def):
            if counts.get(node.name):
                self._widen(definition, flat, node)
        extra = []
        for index, dtype in enumerate(extra_args):
            arg = definition.signature.input_arg.add()
            arg.name, arg.type = "dump_list_%d" % index, dtype
            extra.append(arg.name)
        return definition, extra

    def _widen(self, definition, flat: Flat, node) -> None:
        """Gives a While, If or Case one list per wanted tensor, and bodies that fill them."""
        roles = flat_lib.roles(node)
        bodies = [flat.bodies[(node.name, role)] for role in roles]
        dtypes = [dtype for body in bodies for _, dtype in self._own_outputs(body)]
        data, controls = flat_lib.split_control(node.input)
        lists = [_empty_list(definition, "%s/dump_list_%d" % (node.name, index), dtype)
                 for index, dtype in enumerate(dtypes)]
        extra = [tf_dtypes.DT_VARIANT] * len(lists)
        condition = None
        if roles[0] == "cond" and self._own_outputs(bodies[0]):
            # See loop_condition.py: the condition is calculated before the loop and at the end of
            # each round, where its values can be kept, and travels as one more variable.
            widened, _ = self._definition(bodies[0], "", ())
            condition = loop_condition.Condition(bodies[0], widened.node_def)
            grafted = loop_condition.graft(definition, condition, node.name + "/dump_first", data,
                                           controls)
            self._keep(definition, condition.flat, lists, 0, grafted.tensor, node.name)
            lists = [*lists, grafted.tensor(condition.flat.ret[0])]
            extra.append(condition.predicate_dtype)
            controls += grafted.must_run
        del node.input[:]
        node.input.extend(data + lists + ["^" + name for name in controls])
        for attr in ("T",) if node.op in graph_parts.WHILE_TYPES else ("Tin", "Tout"):
            node.attr[attr].list.type.extend(extra)
        shapes = node.attr["output_shapes"].list.shape
        if shapes:
            for _ in extra:
                shapes.add()
        first = 0
        for role, body in zip(roles, bodies):
            name = re.sub(r"[^A-Za-z0-9_]", "_", "%s_%s_%s" % (self._name, node.name, role))
            flat_lib.body_function(node, role).name = name
            self.definitions.append(self._body(body, name, extra, first, role, condition))
            first += len(self._own_outputs(body))

    def _body(self, body: Flat, name: str, extra: List[int], first: int, role: str,
              condition: Optional[loop_condition.Condition]):
        """A body with extra arguments of dtypes `extra`; fills its lists from `first` on."""
        if role == "cond" and condition is not None:
            return loop_condition.only_predicate(condition.flat, name, extra)
        definition, passed = self._definition(body, name, extra)
        if role == "cond":
            return definition
        self._keep(definition, body, passed, first, lambda tensor: tensor, "body")
        if condition is not None:
            grafted = loop_condition.graft(definition, condition, "dump_condition", list(body.ret),
                                  list(body.control_ret))
            self._keep(definition, condition.flat, passed, 0, grafted.tensor, "condition")
            passed[-1] = grafted.tensor(condition.flat.ret[0])
            loop_condition.run_also(definition, grafted.must_run)
        for index, (tensor, dtype) in enumerate(zip(passed, extra)):
            output = definition.signature.output_arg.add()
            output.name, output.type = "dump_list_out_%d" % index, dtype
            definition.ret[output.name] = tensor
        return definition

    def _keep(self, definition, flat: Flat, lists: List[str], first: int,
              where: Callable[[str], str], name: str) -> None:
        """Pushes the tensors that come out of `flat` onto the lists from `first` on."""
        for index, (tensor, dtype) in enumerate(self._own_outputs(flat)):
            push = "%s/dump_push_%d" % (name, index)
            lists[first + index] = _push(definition, lists[first + index], where(tensor), dtype,
                                         push)


class _Gate:
    """Lets tensors out of a function, or an empty one in their place.

    Made of Switch and Merge, which is what TensorFlow's own branches become before they
    run: a tensor on the path not taken is dropped at once.
    """

    def __init__(self, definition):
        self._definition = definition
        self._empty: Dict[int, str] = {}
        self._count = 0
        arg = definition.signature.input_arg.add()
        arg.name, arg.type = "keras_npu_dump_on", tf_dtypes.DT_BOOL

    def through(self, tensor: str, dtype: int) -> str:
        """The tensor where the argument is true, else an empty one."""
        if dtype not in self._empty:
            empty = _node(self._definition, "Const", "dump_gate/empty_%d" % dtype)
            empty.attr["dtype"].type = dtype
            empty.attr["value"].tensor.dtype = dtype
            empty.attr["value"].tensor.tensor_shape.dim.add().size = 0
            self._empty[dtype] = self._switch(empty.name + ":output:0", dtype) + ":output_false:0"
        taken = self._switch(tensor, dtype) + ":output_true:0"
        merge = _node(self._definition, "Merge", "dump_gate/merge_%d" % self._count)
        merge.input.extend([self._empty[dtype], taken])
        merge.attr["T"].type = dtype
        merge.attr["N"].i = 2
        return merge.name + ":output:0"

    def _switch(self, tensor: str, dtype: int) -> str:
        self._count += 1
        switch = _node(self._definition, "Switch", "dump_gate/switch_%d" % self._count)
        switch.input.extend([tensor, "keras_npu_dump_on"])
        switch.attr["T"].type = dtype
        return switch.name


def _node(definition, op: str, name: str):
    node = definition.node_def.add()
    node.op, node.name = op, name
    return node


def _scalar(definition, name: str, value: int) -> str:
    node = _node(definition, "Const", name)
    node.attr["dtype"].type = tf_dtypes.DT_INT32
    node.attr["value"].tensor.dtype = tf_dtypes.DT_INT32
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    return name + ":output:0"


def _empty_list(definition, name: str, dtype: int) -> str:
    node = _node(definition, "EmptyTensorList", name)
    node.input.append(_scalar(definition, name + "/shape", -1))
    node.input.append(_scalar(definition, name + "/size", -1))
    node.attr["element_dtype"].type = dtype
    node.attr["shape_type"].type = tf_dtypes.DT_INT32
    return name + ":handle:0"


def _push(definition, handle: str, tensor: str, dtype: int, name: str) -> str:
    node = _node(definition, "TensorListPushBack", name)
    node.input.extend([handle, tensor])
    node.attr["element_dtype"].type = dtype
    return name + ":output_handle:0"


def _add_reads(definition, reads: Sequence[Any]) -> None:
    """Reads variables right before or after an operator that takes or changes them.

    A read before inherits the operator's control inputs and holds the operator back; what
    waits for the operator also waits for the reads after it. So each sees exactly the
    value of that moment, and the order of updates does not change.
    """
    by_name = {node.name: node for node in definition.node_def}
    later: Dict[str, List[str]] = {}
    for read in reads:
        target = by_name[read.node]
        data, controls = [], []  # type: List[str], List[str]
        for tensor in target.input:
            (controls if tensor.startswith("^") else data).append(tensor)
        node = _node(definition, "ReadVariableOp", read.name)
        node.input.append(data[read.input])
        node.attr["dtype"].type = read.dtype
        if read.after:
            node.input.append("^" + read.node)
            later.setdefault(read.node, []).append("^" + read.name)
        else:
            node.input.extend(tensor for tensor in controls if "/dump_before_" not in tensor)
            target.input.append("^" + read.name)
    for node in by_name.values():
        extra = [tensor for name in node.input for tensor in later.get(name[1:], ())
                 if name.startswith("^")]
        node.input.extend(extra)
