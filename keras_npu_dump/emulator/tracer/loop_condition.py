"""The condition of a loop, calculated where its values can be kept.

A condition's function returns one value and nothing else may come out of it. So for a
loop whose condition is read out, the condition's operators move: once before the loop,
on its inputs, and once at the end of each round, on what the body returns. The result
travels as a variable of the loop, and the condition itself only passes it on. Every
operator runs as often as before, on the same values, and in the same order.
"""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.tracer import added_nodes


class Condition(NamedTuple):
    """The condition of a loop whose operators move.

    Attributes:
      flat: the condition's graph.
      nodes: its NodeDefs as they are to run: with the lists that come out of loops and
        branches inside the condition, and with the reads beside its operators.
      must_run: names of those that must run although nothing reads them.
    """

    flat: Flat
    nodes: Sequence[Any]
    must_run: Sequence[str]

    @property
    def predicate_dtype(self) -> int:
        """The dtype number of what it returns; mostly bool, but any scalar may be."""
        return int(self.flat.definition.signature.output_arg[0].type)


class Grafted:
    """A condition's nodes inside another function.

    Args:
      condition: whose they are.
      prefix: what stands before their names there.
      bound: argument of the condition -> the tensor that it is there.

    Attributes:
      must_run: the names there of nodes that must run although nothing reads them.
      predicate: the tensor there that is the condition's result.
    """

    def __init__(self, condition: Condition, prefix: str, bound: Mapping[str, str]):
        self._names = {node.name for node in condition.nodes}
        self._prefix = prefix
        self._bound = bound
        self.must_run = ["%s/%s" % (prefix, name) for name in condition.must_run]
        self.predicate = self.tensor(condition.flat.ret[0])

    def tensor(self, tensor: str) -> str:
        """What a tensor (or control input) of the condition is called there.

        Args:
          tensor: `node:output:index`, the name of an argument, or `^node`.
        """
        mark = "^" if tensor.startswith("^") else ""
        head = flat_lib.node_of(tensor)
        if head in self._names:
            return "%s%s/%s" % (mark, self._prefix, tensor[len(mark):])
        return self._bound[head]


def graft(definition: Any, condition: Condition, prefix: str, values: Sequence[str],
          controls: Sequence[str]) -> Grafted:
    """Adds the nodes of a condition to a function.

    Args:
      definition: FunctionDef to add to.
      condition: whose nodes they are.
      prefix: goes before their names.
      values: what the arguments of the condition are there.
      controls: names of nodes that they wait for.

    Returns:
      Where the nodes and tensors of the condition are in the function.
    """
    bound = {name: value for (name, _), value in zip(condition.flat.args, values)}
    bound[added_nodes.RUN] = added_nodes.RUN
    grafted = Grafted(condition, prefix, bound)
    for node in condition.nodes:
        copy = definition.node_def.add()
        copy.CopyFrom(node)
        copy.name = "%s/%s" % (prefix, node.name)
        inputs = [grafted.tensor(tensor) for tensor in node.input]
        inputs += ["^" + name for name in controls if "^" + name not in inputs]
        del copy.input[:]
        copy.input.extend(inputs)
    return grafted


def only_predicate(condition: Flat, name: str, dtypes: Sequence[int]) -> Any:
    """A condition that only passes on what was calculated elsewhere.

    Args:
      condition: the graph that it replaces.
      name: of the new function.
      dtypes: of its further arguments, numbers of TensorFlow; it returns the last of them.

    Returns:
      A FunctionDef.
    """
    definition = type(condition.definition)()
    definition.signature.CopyFrom(condition.definition.signature)
    definition.signature.name = name
    del definition.signature.control_output[:]
    passed = added_nodes.add_arguments(definition, dtypes)
    definition.ret[definition.signature.output_arg[0].name] = passed[-1]
    return definition


def run_also(definition: Any, nodes: Sequence[str]) -> None:
    """Makes further nodes of a FunctionDef run, by name, although nothing reads them.

    Args:
      definition: FunctionDef to add to.
      nodes: names of nodes in it.
    """
    for node in nodes:
        key = "must_run_%d" % len(definition.signature.control_output)
        definition.signature.control_output.append(key)
        definition.control_ret[key] = node
