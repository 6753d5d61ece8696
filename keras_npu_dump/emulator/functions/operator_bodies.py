"""The operators of the NPU in a flat graph, replaced by what calculates them.

Only to infer shapes: TensorFlow knows nothing of the shape of what a call returns.
"""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import npu_operator, opinfo
from keras_npu_dump.emulator.functions.flat import Flat, Lookup
from keras_npu_dump.emulator.functions.flatten import flatten


class Expanded(NamedTuple):
    """A flat graph without operators of the NPU.

    Attributes:
      nodes: NodeDefs, with a NoOp for each operator.
      tensors: output of an operator -> the tensor (or argument) that it is among the nodes.
    """

    nodes: List[Any]
    tensors: Dict[str, str]


def expand(flat: Flat, lookup: Lookup) -> Expanded:
    """Puts the nodes of their functions in place of the operators of the NPU.

    Args:
      flat: the graph; it is not changed.
      lookup: from the name of a function to its FunctionDef.
    """
    found = Expanded([], {})
    for node in flat.nodes:
        copy = type(node)()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(found.tensors.get(tensor, tensor) for tensor in node.input)
        if npu_operator.operator_type(node):
            _add_body(found, copy, lookup)
        else:
            found.nodes.append(copy)
    return found


def _add_body(found: Expanded, call: Any, lookup: Lookup) -> None:
    body = flatten(lookup(call.attr["f"].func.name), lookup)
    data, _ = flat_lib.split_control(call.input)
    bound = {name: tensor for (name, _), tensor in zip(body.args, data)}

    def outside(tensor: str) -> str:
        head = flat_lib.node_of(tensor)
        if head in bound:
            return bound[head]
        return "%s%s/%s" % ("^" if tensor.startswith("^") else "", call.name, tensor.lstrip("^"))

    for node in body.nodes:
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = "%s/%s" % (call.name, node.name)
        del copy.input[:]
        copy.input.extend(outside(tensor) for tensor in node.input)
        found.nodes.append(copy)
    for (output, _), tensor in zip(opinfo.outputs(call), body.ret):
        found.tensors[output] = outside(tensor)
    # What waits for the operator finds a node of its name.
    done = type(call)()
    done.name, done.op = call.name, "NoOp"
    found.nodes.append(done)
