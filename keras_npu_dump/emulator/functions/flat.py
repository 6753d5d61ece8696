"""A function as a flat graph: nested calls inlined, loop and branch bodies beside it.

Works on `FunctionDef` protos, so it needs no second trace and reaches whatever
TensorFlow can execute. A tensor is named as inside a FunctionDef: `node:output:index`,
or the name of an argument.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from keras_npu_dump.emulator.functions import opinfo
from keras_npu_dump.op_types import graph_parts

# From the name of a function to its FunctionDef.
Lookup = Callable[[str], Any]


@dataclasses.dataclass
class Flat:
    """A flat graph: of a function, or of a body of its loops and branches.

    Attributes:
      name: of the function it was made from.
      definition: FunctionDef of that function, unchanged.
      args: (name, dtype number of TensorFlow) of each argument.
      nodes: NodeDefs in an order in which they can be executed.
      ret: the tensor behind each output, in the order of the signature.
      control_ret: names of nodes that must run although nothing reads them.
      bodies: (node name, attribute) -> flat graph of a loop's or branch's body.
      unread: (node name, why) of nodes that hold bodies which are not read out.
      parent: the graph that holds a body; None for the outermost.
      node: the name of the node that holds it there, or None.
      role: which of the node's bodies it is, see `roles`, or None.
      by_name: name -> node.
      arg_index: name of an argument -> its position.
    """

    name: str
    definition: Any
    args: List[Tuple[str, int]]
    nodes: List[Any]
    ret: List[str]
    control_ret: List[str]
    bodies: Dict[Tuple[str, str], "Flat"] = dataclasses.field(default_factory=dict)
    unread: List[Tuple[str, str]] = dataclasses.field(default_factory=list)
    parent: Optional["Flat"] = None
    node: Optional[str] = None
    role: Optional[str] = None

    def __post_init__(self) -> None:
        self.by_name = {node.name: node for node in self.nodes}
        self.arg_index = {name: index for index, (name, _) in enumerate(self.args)}

    def walk(self) -> Iterator["Flat"]:
        """This graph and all bodies in it, outermost first."""
        yield self
        for body in self.bodies.values():
            yield from body.walk()

    @property
    def has_v1_control(self) -> bool:
        """Whether some values here may not exist, as on the path not taken of a Switch."""
        return any(node.op in graph_parts.V1_CONTROL_TYPES
                   for flat in self.walk() for node in flat.nodes)

    def outer(self, arg: str) -> Optional[str]:
        """The tensor of the graph around it that an argument always equals.

        Args:
          arg: name of an argument of this graph.

        Returns:
          The tensor's name in `parent`; None in the outermost graph, and for a variable of a
          loop that may change from round to round.
        """
        if self.parent is None:
            return None
        index = self.arg_index[arg]
        call = self.parent.by_name[self.node]
        if self.role not in ("cond", "body"):
            # The first input chooses the branch and does not enter it.
            return str(call.input[index + 1])
        body = self.parent.bodies[(call.name, "body")]
        if body.ret[index] == body.args[index][0]:
            return str(call.input[index])
        return None


def roles(node: Any) -> List[str]:
    """The bodies that a node has, by the names of its attributes.

    Args:
      node: NodeDef.

    Returns:
      ["cond", "body"] of a loop, ["then_branch", "else_branch"] of an If, "branch_N" of a
      Case, in the order in which GE numbers its sub-graphs; [] for any other node.
    """
    if node.op in graph_parts.WHILE_TYPES:
        return ["cond", "body"]
    if node.op in graph_parts.IF_TYPES:
        return ["then_branch", "else_branch"]
    if node.op in graph_parts.CASE_TYPES:
        return ["branch_%d" % index for index in range(len(node.attr["branches"].list.func))]
    return []


def body_function(node: Any, role: str) -> Any:
    """The attribute that names a body's function.

    Args:
      node: NodeDef with bodies.
      role: one of its `roles`.

    Returns:
      A NameAttrList, which may be changed.
    """
    if node.op in graph_parts.CASE_TYPES:
        return node.attr["branches"].list.func[int(role.rpartition("_")[2])]
    return node.attr[role].func


def named_functions(node: Any) -> List[str]:
    """The functions that a NodeDef names, in its attributes or (calls of old) as its operator.

    Args:
      node: NodeDef.
    """
    called = [node.op] if opinfo.op_def(node) is None else []
    return called + [function.name for value in node.attr.values()
                     for function in [value.func, *value.list.func] if function.name]


def keeps_state(root: Flat, lookup: Lookup) -> bool:
    """Whether a kernel in a graph, however deep, keeps state; see `opinfo.keeps_state`.

    Args:
      root: the graph.
      lookup: from a function's name to its FunctionDef.
    """
    nodes = [node for flat in root.walk() for node in flat.nodes]
    return any(opinfo.keeps_state(node) for node in _with_named(nodes, lookup))


def keeps_state_in_rounds(definition: Any, lookup: Lookup) -> bool:
    """Whether a loop in a function, however deep, holds a kernel that keeps state.

    Args:
      definition: FunctionDef.
      lookup: from a function's name to its FunctionDef.
    """
    loops = [node for node in _with_named(definition.node_def, lookup)
             if node.op in graph_parts.WHILE_TYPES]
    return any(opinfo.keeps_state(node) for node in _with_named(loops, lookup))


def _with_named(nodes: Iterable[Any], lookup: Lookup) -> Iterator[Any]:
    """The nodes, and those of whatever function they name, however deep."""
    stack = list(nodes)
    seen: Set[str] = set()
    while stack:
        node = stack.pop()
        yield node
        for name in named_functions(node):
            if name not in seen:
                seen.add(name)
                stack.extend(lookup(name).node_def)


def split_control(inputs: Any) -> Tuple[List[str], List[str]]:
    """(data inputs, names of the nodes behind control inputs) of a node's inputs.

    Args:
      inputs: of a NodeDef.
    """
    data = [name for name in inputs if not name.startswith("^")]
    return data, [name[1:] for name in inputs if name.startswith("^")]


def node_of(tensor: str) -> str:
    """The node (or argument) behind a tensor or control input.

    Args:
      tensor: `node:output:index`, the name of an argument, or `^node`.
    """
    return tensor.lstrip("^").split(":", 1)[0]
