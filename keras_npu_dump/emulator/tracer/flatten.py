"""Makes a flat graph of a FunctionDef: inlines calls, leaves out what would not run."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Set

from keras_npu_dump.emulator.tracer import opinfo
from keras_npu_dump.emulator.tracer.flat import (
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
      definition: FunctionDef.
      lookup: from the name of a function to its FunctionDef.
    """
    return _Flattener(lookup).flatten(definition)


class _Flattener:
    """Holds what one flattening shares: the names taken in the whole dump."""

    def __init__(self, lookup: Lookup):
        self._lookup = lookup
        self._names: Set[str] = set()

    def flatten(self, definition: Any, parent: Optional[Flat] = None, node: str = "",
                role: str = "") -> Flat:
        args = [(arg.name, arg.type) for arg in definition.signature.input_arg]
        rename = {arg: arg for arg, _ in args}
        nodes: List[Any] = []
        aliases: Dict[str, str] = {}
        prefix = "%s/%s" % (node, _SHORT.get(role, role)) if parent else ""
        ends = self._inline(definition, prefix, node, rename, [], nodes, aliases)
        ret = [ends[0][output.name] for output in definition.signature.output_arg]
        nodes = _resolve(nodes, aliases)
        ret = [_follow(tensor, aliases) for tensor in ret]
        nodes = _reachable(nodes, ret + ends[1])
        flat = Flat(definition.signature.name, definition, args, _sorted(nodes), ret, ends[1],
                    parent=parent, node=node or None, role=role or None)
        for item in flat.nodes:
            self._add_bodies(flat, item)
        return flat

    def _unique(self, name: str) -> str:
        unique, count = name, 0
        while unique in self._names:
            count += 1
            unique = "%s_%d" % (name, count)
        self._names.add(unique)
        return unique

    def _inline(self, definition, prefix, holder, bound, controls, nodes, aliases):
        """Appends the nodes of `definition` to `nodes`.

        Args:
          prefix: goes before each name that does not begin with `holder` already.
          holder: the node that holds this function, or "".
          bound: argument -> tensor of the caller.
          controls: control inputs of the call, given to every node.
          aliases: filled with `call:output:index` -> tensor behind it.

        Returns:
          ({output name: tensor}, [names of nodes that must run]).
        """
        names = {}
        for node in definition.node_def:
            name = node.name
            if prefix and (not name.startswith(holder + "/") or name in self._names):
                short = name[len(holder) + 1:] if name.startswith(holder + "/") else name
                name = "%s/%s" % (prefix, short)
            names[node.name] = self._unique(name)

        def outside(tensor):
            if tensor.startswith("^"):
                inner = tensor[1:]
                return "^" + (names[inner] if inner in names else node_of(bound[inner]))
            head, colon, rest = tensor.partition(":")
            return names[head] + colon + rest if head in names else bound[head]

        for node in definition.node_def:
            copy = type(node)()
            copy.CopyFrom(node)
            copy.name = names[node.name]
            del copy.input[:]
            copy.input.extend(outside(tensor) for tensor in node.input)
            copy.input.extend("^" + name for name in controls if "^" + name not in copy.input)
            copy.attr.pop("_class", None)
            if node.op in graph_parts.CALL_TYPES:
                self._inline_call(copy, copy.attr["f"].func.name, "output:%d", nodes, aliases)
            elif opinfo.op_def(node) is None:
                # A call of old: the operator is the function (tf.function has no such).
                self._inline_call(copy, node.op, "", nodes, aliases)
            else:
                nodes.append(copy)
        ends = [names[name] for name in [*definition.control_ret.values(), *_unfetched(definition)]]
        return {name: outside(tensor) for name, tensor in definition.ret.items()}, ends

    def _inline_call(self, call, function, numbered, nodes, aliases):
        """Inlines a call; its outputs are called `numbered`, or after the function's own."""
        body = self._lookup(function)
        data, controls = split_control(call.input)
        bound = {arg.name: tensor for arg, tensor in zip(body.signature.input_arg, data)}
        ret, ends = self._inline(body, call.name, call.name, bound, controls, nodes, aliases)
        tensors = [ret[output.name] for output in body.signature.output_arg]
        for index, (output, tensor) in enumerate(zip(body.signature.output_arg, tensors)):
            name = numbered % index if numbered else output.name + ":0"
            aliases["%s:%s" % (call.name, name)] = tensor
        # Stands for "the call has ended", so that dependants keep one control input each.
        done = type(call)()
        done.name, done.op = call.name, "NoOp"
        after = [node_of(tensor) for tensor in tensors if ":" in tensor] + ends + controls
        done.input.extend("^" + name for name in sorted(set(after)))
        nodes.append(done)

    def _add_bodies(self, flat: Flat, node: Any) -> None:
        if roles(node):
            for role in roles(node):
                definition = self._lookup(body_function(node, role).name)
                flat.bodies[(node.name, role)] = self.flatten(definition, flat, node.name, role)
            return
        held = named_functions(node)
        if held:
            flat.unread.append((node.name, "%s holds %s" % (node.op, ", ".join(held))))
        elif node.op in graph_parts.V1_CONTROL_TYPES:
            flat.unread.append((node.name, "TF1 control flow"))


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
    """Executable order, as near to the given one as possible (depth first)."""
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
