"""Makes a flat graph of a FunctionDef: inlines calls, leaves out what would not run."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set

from keras_npu_dump.emulator.functions import npu_operator, opinfo
from keras_npu_dump.emulator.functions.flat import (
    Flat,
    Lookup,
    body_function,
    named_functions,
    node_of,
    roles,
    split_control,
)
from keras_npu_dump.op_types import graph_parts

_SHORT = {"then_branch": "then", "else_branch": "else"}


def flatten(definition: Any, lookup: Lookup) -> Flat:
    """Makes the flat graph of a function.

    Args:
      definition: FunctionDef; it is not changed.
      lookup: from the name of a function to its FunctionDef.

    Returns:
      The graph, with a graph for each body of its loops and branches. Names of nodes are
      unique over all of them, as names of dump files have to be.
    """
    return _Flattener(lookup).flatten(definition)


@dataclasses.dataclass
class _Place:
    """Where a function is inlined.

    Attributes:
      prefix: goes before each name that does not begin with `holder` already; "" for none.
      holder: the node that holds the function, or "".
      bound: argument of the function -> tensor of the caller.
      controls: names of the nodes that every node of the function waits for.
    """

    prefix: str
    holder: str
    bound: Dict[str, str]
    controls: Sequence[str] = ()


class _Ends(NamedTuple):
    """What an inlined function gives out.

    Attributes:
      ret: name of an output -> the tensor behind it.
      must_run: names of nodes that must run although nothing reads them.
    """

    ret: Dict[str, str]
    must_run: List[str]


class _Flattener:
    """Makes the graphs of a function and its bodies; they share the names that are taken."""

    def __init__(self, lookup: Lookup):
        self._lookup = lookup
        self._names: Set[str] = set()

    def flatten(self, definition: Any, parent: Optional[Flat] = None, node: str = "",
                role: str = "") -> Flat:
        """The graph of a function, or of a body that `node` of `parent` holds as its `role`."""
        args = [(arg.name, arg.type) for arg in definition.signature.input_arg]
        prefix = "%s/%s" % (node, _SHORT.get(role, role)) if parent else ""
        inliner = _Inliner(self._lookup, self._names)
        ends = inliner.inline(definition, _Place(prefix, node, {arg: arg for arg, _ in args}))
        ret = [_follow(ends.ret[output.name], inliner.aliases)
               for output in definition.signature.output_arg]
        nodes = _reachable(_resolve(inliner.nodes, inliner.aliases), ret + ends.must_run)
        flat = Flat(definition.signature.name, definition, args, _sorted(nodes), ret,
                    ends.must_run, parent=parent, node=node or None, role=role or None)
        for item in flat.nodes:
            self._add_bodies(flat, item)
        return flat

    def _add_bodies(self, flat: Flat, node: Any) -> None:
        if roles(node):
            for role in roles(node):
                definition = self._lookup(body_function(node, role).name)
                flat.bodies[(node.name, role)] = self.flatten(definition, flat, node.name, role)
            return
        held = [] if npu_operator.operator_type(node) else named_functions(node)
        if held:
            flat.unread.append((node.name, "%s holds %s" % (node.op, ", ".join(held))))
        elif node.op in graph_parts.V1_CONTROL_TYPES:
            flat.unread.append((node.name, "TF1 control flow"))


class _Inliner:
    """Gathers the nodes of a flat graph.

    Args:
      lookup: from the name of a function to its FunctionDef.
      names: names that are taken; those of new nodes are added.

    Attributes:
      nodes: NodeDefs, in the order of the functions.
      aliases: `call:output:index` of an inlined call -> the tensor behind it.
    """

    def __init__(self, lookup: Lookup, names: Set[str]):
        self.nodes: List[Any] = []
        self.aliases: Dict[str, str] = {}
        self._lookup = lookup
        self._names = names

    def inline(self, definition: Any, place: _Place) -> _Ends:
        """Adds copies of the nodes of a FunctionDef, and of the functions that it calls."""
        names: Dict[str, str] = {}
        for node in definition.node_def:
            names[node.name] = self._unique(self._prefixed(node.name, place))

        def outside(tensor: str) -> str:
            """What a tensor (or control input) of the function is called in the graph."""
            head, colon, rest = tensor.lstrip("^").partition(":")
            if head in names:
                found = names[head] + colon + rest
            else:
                found = place.bound[head]
            # A control input waits for a node, whatever tensor is bound to the argument.
            return "^" + node_of(found) if tensor.startswith("^") else found

        for node in definition.node_def:
            copy = type(node)()
            copy.CopyFrom(node)
            copy.name = names[node.name]
            del copy.input[:]
            copy.input.extend(outside(tensor) for tensor in node.input)
            copy.input.extend("^" + name for name in place.controls
                              if "^" + name not in copy.input)
            copy.attr.pop("_class", None)
            self._add(copy)
        must_run = [names[name]
                    for name in [*definition.control_ret.values(), *_unfetched(definition)]]
        return _Ends({name: outside(tensor) for name, tensor in definition.ret.items()}, must_run)

    def _add(self, node: Any) -> None:
        if opinfo.is_call(node):
            body = self._lookup(node.attr["f"].func.name)
            self._inline_call(node, body, ["output:%d" % index for index
                                           in range(len(body.signature.output_arg))])
        elif opinfo.op_def(node) is None:
            # A call of old: the operator is the function (tf.function has no such), and the
            # outputs are called after the function's own.
            body = self._lookup(node.op)
            self._inline_call(node, body, [output.name + ":0"
                                           for output in body.signature.output_arg])
        else:
            self.nodes.append(node)

    def _inline_call(self, call: Any, body: Any, outputs: Sequence[str]) -> None:
        """Inlines the function that a node calls.

        Args:
          call: NodeDef, its inputs as in the graph.
          body: FunctionDef.
          outputs: what the call's outputs are called behind its name.
        """
        data, controls = split_control(call.input)
        bound = {arg.name: tensor for arg, tensor in zip(body.signature.input_arg, data)}
        ends = self.inline(body, _Place(call.name, call.name, bound, controls))
        tensors = [ends.ret[output.name] for output in body.signature.output_arg]
        for output, tensor in zip(outputs, tensors):
            self.aliases["%s:%s" % (call.name, output)] = tensor
        # Stands for "the call has ended", so that dependants keep one control input each.
        done = type(call)()
        done.name, done.op = call.name, "NoOp"
        after = [node_of(tensor) for tensor in tensors if ":" in tensor]
        done.input.extend("^" + name for name in sorted({*after, *ends.must_run, *controls}))
        self.nodes.append(done)

    def _prefixed(self, name: str, place: _Place) -> str:
        """A name with the place before it, unless it has the holder there and is free."""
        inside = name.startswith(place.holder + "/")
        if not place.prefix or (inside and name not in self._names):
            return name
        return "%s/%s" % (place.prefix, name[len(place.holder) + 1:] if inside else name)

    def _unique(self, name: str) -> str:
        unique, count = name, 0
        while unique in self._names:
            count += 1
            unique = "%s_%d" % (name, count)
        self._names.add(unique)
        return unique


def _follow(tensor: str, aliases: Dict[str, str]) -> str:
    while tensor in aliases:
        tensor = aliases[tensor]
    return tensor


def _resolve(nodes: List[Any], aliases: Dict[str, str]) -> List[Any]:
    """Replaces outputs of inlined calls; controls on arguments need no waiting."""
    known = {node.name for node in nodes}
    for node in nodes:
        inputs = [_follow(tensor, aliases) for tensor in node.input]
        del node.input[:]
        seen = set()
        for tensor in inputs:
            if tensor.startswith("^"):
                if tensor in seen or tensor[1:] not in known:
                    continue
                seen.add(tensor)
            node.input.append(tensor)
    return nodes


def _unfetched(definition: Any) -> List[str]:
    """Names of nodes that nothing fetches and TensorFlow runs all the same.

    It prunes a function, but never what is stateful (PruneFunctionGraph); functions without
    automatic control dependencies, of tf.compat.v1.wrap_function or TF1 SavedModels, rely on it.
    """
    ends = [*definition.ret.values(), *definition.control_ret.values()]
    fetched = {node.name for node in _reachable(list(definition.node_def), ends)}
    return [node.name for node in definition.node_def
            if node.name not in fetched and opinfo.has_effects(node)]


def _reachable(nodes: List[Any], ends: List[str]) -> List[Any]:
    """Drops what would not run: TensorFlow prunes it, so must every reader."""
    by_name = {node.name: node for node in nodes}
    wanted: Set[str] = set()
    stack = [node_of(end) for end in ends]
    while stack:
        name = stack.pop()
        if name in wanted or name not in by_name:
            continue
        wanted.add(name)
        stack.extend(node_of(tensor) for tensor in by_name[name].input)
    return [node for node in nodes if node.name in wanted]


def _sorted(nodes: List[Any]) -> List[Any]:
    """Executable order, as near to the given order as possible (depth first)."""
    by_name = {node.name: node for node in nodes}
    done: Set[str] = set()
    order: List[Any] = []
    for root in nodes:
        stack = [(root, iter(root.input))]
        if root.name in done:
            continue
        done.add(root.name)
        while stack:
            node, inputs = stack[-1]
            for tensor in inputs:
                other = by_name.get(node_of(tensor))
                if other is not None and other.name not in done:
                    done.add(other.name)
                    stack.append((other, iter(other.input)))
                    break
            else:
                stack.pop()
                order.append(node)
    return order
