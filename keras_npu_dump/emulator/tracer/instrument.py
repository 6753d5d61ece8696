"""Rewrites a flat graph so that it also gives out chosen tensors.

Sinks take them (`sinks.py`), and the graph gets one more output, which says where they are
kept. That of a loop's or branch's body is pushed onto a list (TensorList) that is threaded
through the loop's variables or the branch's outputs, list of lists where bodies are nested,
so that every value of every round is found, exactly once, in order.
"""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import opinfo, tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.tracer import added_nodes, loop_condition, sinks
from keras_npu_dump.emulator.tracer.dump_plan import Read
from keras_npu_dump.emulator.tracer.loop_condition import Condition
from keras_npu_dump.op_types import graph_parts

# Attributes of a function that would not be true of its twin.
_DROPPED_ATTRS = ("_XlaMustCompile", "_noinline", "_implements", "_input_shapes")


@dataclasses.dataclass(frozen=True)
class Slot:
    """Where the places come out at which the values of a graph are kept.

    Attributes:
      flat: the graph.
      depth: in how many nested lists it comes; 0 in the outermost graph.
    """

    flat: Flat
    depth: int


class Instrumented:
    """The function definitions of an instrumented graph.

    Args:
      flat: the outermost graph.
      wanted: id(graph) -> [(tensor, dtype number of TensorFlow)], for it and its bodies.
      name: of the new function; its bodies get names that begin with it.
      reads: id(graph) -> variables read beside an operator.
      gated: whether some executions give nothing out (the further argument is `runs.OFF`).
      sizes: see `sinks.large`.

    Attributes:
      definitions: FunctionDefs to register, bodies first, the function itself last.
      slots: what the outputs after the original ones are.
    """

    def __init__(self, flat: Flat, wanted: Mapping[int, Sequence[Tuple[str, int]]], name: str,
                 reads: Optional[Mapping[int, Sequence[Read]]] = None, gated: bool = False,
                 sizes: Optional[Mapping[Tuple[int, str], int]] = None):
        self._wanted = wanted
        self._large = {id(inner): sinks.large(inner, wanted.get(id(inner), ()), sizes)
                       for inner in flat.walk()}
        self._groups: Dict[int, List[List[str]]] = {}
        # Asked for at each round of each execution.
        self._names = {id(inner): [tensor for tensor, _ in self.wanted(inner)]
                       for inner in flat.walk()}
        self._reads = reads or {}
        self._gated = gated
        self._name = name
        self.definitions: List[Any] = []
        self.slots = self.slots_of(flat)
        definition = self._definition(flat, name)
        outputs = self._own_outputs(flat)
        if outputs:
            added_nodes.add_arguments(definition, [tf_dtypes.DT_INT64])
        for index, (own, dtype) in enumerate(outputs):
            _add_output(definition, "dumped_%d" % index, dtype, own)
        self.definitions.append(definition)

    def slots_of(self, flat: Flat, depth: int = 0) -> List[Slot]:
        """The slots of a graph in order: its own, then those of its bodies.

        Args:
          flat: the graph, or a body of it.
          depth: of the lists in which its own comes.
        """
        slots = [Slot(flat, depth)] if self.wanted(flat) else []
        for body in flat.bodies.values():
            slots.extend(self.slots_of(body, depth + 1))
        return slots

    def wanted(self, flat: Flat) -> Sequence[Tuple[str, int]]:
        """(tensor, dtype number of TensorFlow) of what is wanted that lies in `flat` itself.

        Args:
          flat: the graph, or a body of it.
        """
        return self._wanted.get(id(flat), ())

    def names(self, flat: Flat) -> Sequence[str]:
        """The tensors of `wanted`.

        Args:
          flat: the graph, or a body of it.
        """
        return self._names[id(flat)]

    def groups(self, flat: Flat) -> Sequence[Sequence[str]]:
        """Those of them that go out together as they come, see `sinks.Sinks.add`.

        Args:
          flat: the graph, or a body of it.
        """
        return self._groups[id(flat)]

    def _own_outputs(self, flat: Flat) -> List[Tuple[str, int]]:
        """Tensors to return from (or push in) `flat`: its own place, then its nodes' lists."""
        tensors = [(sinks.COLLECTED, tf_dtypes.DT_INT64)] if self.wanted(flat) else []
        for node, first, count in self._list_outputs(flat):
            tensors.extend(("%s:output:%d" % (node, first + index), tf_dtypes.DT_VARIANT)
                           for index in range(count))
        return tensors

    def _list_outputs(self, flat: Flat) -> List[Tuple[str, int, int]]:
        """(node, number of its first list output, how many), in the order of slots_of."""
        outputs: List[Tuple[str, int, int]] = []
        taken: Dict[str, int] = {}
        for (name, _), body in flat.bodies.items():
            count = len(self.slots_of(body))
            if count:
                node = flat.by_name[name]
                attr = "T" if node.op in graph_parts.WHILE_TYPES else "Tout"
                before = taken.get(name, 0)
                # The first output behind the node's own is RUN, which goes through.
                outputs.append((name, len(node.attr[attr].list.type) + 1 + before, count))
                taken[name] = before + count
        return outputs

    def _definition(self, flat: Flat, name: str) -> Any:
        """A FunctionDef of `flat`, with the reads, its control nodes widened."""
        definition = _plain(flat, name)
        reads = self._reads.get(id(flat), ())
        added_nodes.add_reads(definition, reads)
        # The next round of a loop, and what comes behind a branch, wait for what must run in it:
        # only so no later update is seen by a read that belongs before it.
        loop_condition.run_also(definition, [read.name for read in reads])
        holders = {node for (node, _), body in flat.bodies.items() if self.slots_of(body)}
        for node in list(definition.node_def):
            if node.name in holders:
                self._widen(definition, flat, node)
        if self.wanted(flat):
            added = sinks.Sinks(definition, flat, reads, self._gated)
            self._groups[id(flat)] = added.add(self.wanted(flat), self._large[id(flat)])
        return definition

    def _widen(self, definition: Any, flat: Flat, node: Any) -> None:
        """Gives a While, If or Case a list per body, and bodies that fill them."""
        roles = flat_lib.roles(node)
        bodies = [flat.bodies[(node.name, role)] for role in roles]
        data, controls = flat_lib.split_control(node.input)
        lists = [added_nodes.empty_list(definition, "%s/dump_list_%d" % (node.name, index), dtype)
                 for index, (_, dtype) in enumerate(
                     output for body in bodies for output in self._own_outputs(body))]
        passed = [added_nodes.RUN, *lists]
        dtypes = [tf_dtypes.DT_INT64] + [tf_dtypes.DT_VARIANT] * len(lists)
        condition = None
        if roles[0] == "cond" and self._own_outputs(bodies[0]):
            # See loop_condition.py: the condition is calculated before the loop and at the end of
            # each round, where its values can be kept, and travels as one more variable.
            moved = self._definition(bodies[0], "")
            condition = Condition(bodies[0], moved.node_def, list(moved.control_ret.values()))
            grafted = loop_condition.graft(definition, condition, node.name + "/dump_first", data,
                                           controls)
            self._keep(definition, condition.flat, passed, grafted.tensor, node.name, 1)
            passed.append(grafted.predicate)
            dtypes.append(condition.predicate_dtype)
            controls += grafted.must_run
        _widen_node(node, [*data, *passed, *("^" + name for name in controls)], dtypes)
        first = 1
        for role, body in zip(roles, bodies):
            name = re.sub(r"[^A-Za-z0-9_]", "_", "%s_%s_%s" % (self._name, node.name, role))
            flat_lib.body_function(node, role).name = name
            if role != "cond":
                made = self._filling_body(body, name, dtypes, first, condition)
            elif condition is not None:
                made = loop_condition.only_predicate(body, name, dtypes)
            else:
                made = self._definition(body, name)
                added_nodes.add_arguments(made, dtypes)
            self.definitions.append(made)
            first += len(self._own_outputs(body))

    def _filling_body(self, body: Flat, name: str, dtypes: Sequence[int], first: int,
                      condition: Optional[Condition]) -> Any:
        """A FunctionDef of a body that takes lists, fills its own, and returns all.

        Args:
          body: the graph.
          name: of the function.
          dtypes: of the further arguments: RUN, the lists, and the condition's result.
          first: the number of the first list that is its own, RUN counted.
          condition: of the loop, if it is calculated at the end of the body.
        """
        definition = self._definition(body, name)
        passed = added_nodes.add_arguments(definition, dtypes)
        self._keep(definition, body, passed, lambda tensor: tensor, "body", first)
        if condition is not None:
            # It waits for all that must run in the round, reads included: what it changes is not
            # to be seen by a read that belongs before it.
            grafted = loop_condition.graft(definition, condition, "dump_condition", body.ret,
                                           list(definition.control_ret.values()))
            self._keep(definition, condition.flat, passed, grafted.tensor, "condition", 1)
            passed[-1] = grafted.predicate
            loop_condition.run_also(definition, grafted.must_run)
        for index, (tensor, dtype) in enumerate(zip(passed, dtypes)):
            _add_output(definition, "dump_list_out_%d" % index, dtype, tensor)
        return definition

    def _keep(self, definition: Any, flat: Flat, lists: List[str], where: Callable[[str], str],
              name: str, first: int) -> None:
        """Pushes what comes out of a graph onto lists.

        Args:
          definition: FunctionDef in which it is.
          flat: the graph.
          lists: RUN, then tensors of the lists; those from `first` on are replaced by the
            longer ones.
          where: what a tensor of the graph is called in the function.
          name: before the names of the new nodes.
        """
        for index, (tensor, dtype) in enumerate(self._own_outputs(flat)):
            lists[first + index] = added_nodes.push(
                definition, lists[first + index], where(tensor), dtype,
                "%s/dump_push_%d" % (name, index))


def _plain(flat: Flat, name: str) -> Any:
    """A FunctionDef that does what `flat` does, nodes and bodies as they are."""
    definition = type(flat.definition)()
    definition.CopyFrom(flat.definition)
    definition.signature.name = name
    del definition.node_def[:]
    definition.ret.clear()
    definition.control_ret.clear()
    del definition.signature.control_output[:]
    for attr in _DROPPED_ATTRS:
        definition.attr.pop(attr, None)
    for output, tensor in zip(definition.signature.output_arg, flat.ret):
        definition.ret[output.name] = tensor
    loop_condition.run_also(definition, flat.control_ret)
    definition.node_def.extend(flat.nodes)
    for node in definition.node_def:
        if node.op in graph_parts.WHILE_TYPES and _keeps_state(flat, node):
            # TensorFlow starts rounds before others have ended: numbers that they draw
            # would go to any of them.
            node.attr["parallel_iterations"].i = 1
    return definition


def _keeps_state(flat: Flat, node: Any) -> bool:
    """Whether a kernel in the bodies of a node keeps state."""
    return any(opinfo.keeps_state(inner) for role in flat_lib.roles(node)
               for body in flat.bodies[(node.name, role)].walk() for inner in body.nodes)


def _widen_node(node: Any, inputs: Sequence[str], dtypes: Sequence[int]) -> None:
    """Gives a While, If or Case other inputs, and inputs and outputs of further dtypes."""
    del node.input[:]
    node.input.extend(inputs)
    for attr in ("T",) if node.op in graph_parts.WHILE_TYPES else ("Tin", "Tout"):
        node.attr[attr].list.type.extend(dtypes)
    shapes = node.attr["output_shapes"].list.shape
    if shapes:
        for _ in dtypes:
            shapes.add()


def _add_output(definition: Any, name: str, dtype: int, tensor: str) -> None:
    output = definition.signature.output_arg.add()
    output.name, output.type = name, dtype
    definition.ret[name] = tensor
