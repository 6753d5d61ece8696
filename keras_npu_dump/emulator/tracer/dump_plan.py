"""Which operators of a graph are dumped, and which tensors that takes.

Decided once per graph, before any output is added: what dump_mode and dump_layer leave
out is never computed a second time, never kept alive, never copied.
"""
from __future__ import annotations

import dataclasses
from typing import AbstractSet, Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import opinfo, tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat


class Source:
    """Where a value of an operator comes from.

    Attributes:
      kind: "tensor" (comes out of the instrumented graph), "arg" (of the call), "const"
        (stands in the graph), "opaque" (has no bytes).
      dtype: number of TensorFlow.
      flat: for "tensor" and "const", the graph in which it lies.
      tensor: its name there; for "const" the name of the node.
      index: of an argument.
      key: tells sources apart.
    """

    __slots__ = ("dtype", "flat", "index", "key", "kind", "tensor")

    def __init__(self, kind: str, dtype: int, flat: Optional[Flat] = None, tensor: str = "",
                 index: int = -1):
        self.kind = kind
        self.dtype = dtype
        self.flat = flat
        self.tensor = tensor
        self.index = index
        self.key = (id(flat), tensor)


@dataclasses.dataclass(frozen=True)
class Read:
    """A variable that is read right before or right after an operator.

    Attributes:
      node: name of the operator.
      input: position of the variable's handle among its data inputs.
      after: whether after it, when it has changed the variable, or before.
      dtype: of the variable, number of TensorFlow.
      argument: of the outermost graph, through which its handle comes in; -1 for none.
    """

    node: str
    input: int
    after: bool
    dtype: int
    argument: int = -1

    @property
    def name(self) -> str:
        """The name of the new ReadVariableOp."""
        return "%s/dump_%s_%d" % (self.node, "after" if self.after else "before", self.input)

    @property
    def tensor(self) -> str:
        """What it reads, as `node:output:index`."""
        return self.name + ":value:0"


@dataclasses.dataclass
class DumpedOp:
    """An operator that leaves files.

    Attributes:
      node: NodeDef.
      task_id: its number in the graph, from 1, dumped or not; it stands in file names.
      inputs: where its dumped inputs come from; [] where dump_mode leaves them out.
      outputs: the same for outputs, then the new values of the variables that it changes.
    """

    node: Any
    task_id: int
    inputs: List[Source]
    outputs: List[Source]


class Plan:
    """What a graph's dumped executions need.

    Args:
      root: the graph.
      variables: for each argument the dtype of the variable behind it; 0 where there is none.
      mode: "input", "output" or "all".
      layers: names of operators, none for all (GE dump_properties.cc: exact match).
      chosen: says of a NodeDef whether it may leave files. Defaults to all.
      unread: id(flat) of graphs that nothing is to come out of.

    Attributes:
      ops: id(flat) -> its DumpedOps in executable order.
      root: the graph.
      wanted: id(flat) -> [(tensor, dtype number of TensorFlow)] that the instrumented graph
        gives out.
      reads: id(flat) -> variables read for operators that take or change them.
      sizes: (id(flat), tensor) -> bytes of what is wanted, where known; the engine sets it.
      found: names of `layers` that exist.
    """

    def __init__(self, root: Flat, variables: Sequence[int], mode: str,
                 layers: AbstractSet[str] = frozenset(),
                 chosen: Optional[Callable[[Any], bool]] = None,
                 unread: AbstractSet[int] = frozenset()):
        self.root = root
        self._variables = variables
        self._mode = mode
        self.ops: Dict[int, List[DumpedOp]] = {}
        self.reads: Dict[int, List[Read]] = {}
        self.sizes: Dict[Tuple[int, str], int] = {}
        self.found: Set[str] = set()
        self._wanted: Dict[int, Dict[str, int]] = {}
        task_id = 0
        for flat in root.walk():
            self._wanted[id(flat)] = {}
            self.reads[id(flat)] = []
            self.ops[id(flat)] = []
            if id(flat) in unread:
                continue
            for node in flat.nodes:
                if not opinfo.dumped(node):
                    continue
                task_id += 1
                if (layers and node.name not in layers) or (chosen and not chosen(node)):
                    continue
                self.found.add(node.name)
                op = self._dumped(flat, node, task_id)
                if any(source.kind != "opaque" for source in op.inputs + op.outputs):
                    self.ops[id(flat)].append(op)
        self.wanted = {key: list(tensors.items()) for key, tensors in self._wanted.items()}

    @property
    def empty(self) -> bool:
        """Whether no operator of the graph would leave a file."""
        return not any(self.ops.values())

    def _dumped(self, flat: Flat, node: Any, task_id: int) -> DumpedOp:
        data, _ = flat_lib.split_control(node.input)
        inputs = self._inputs(flat, node, data) if self._mode in ("input", "all") else []
        outputs = self._outputs(flat, node, data) if self._mode in ("output", "all") else []
        return DumpedOp(node, task_id, inputs, outputs)

    def _inputs(self, flat: Flat, node: Any, data: Sequence[str]) -> List[Source]:
        found: List[Source] = []
        for index, (tensor, dtype) in enumerate(zip(data, opinfo.input_dtypes(node))):
            if dtype != tf_dtypes.DT_RESOURCE:
                found.append(self._use(self._source(flat, tensor, dtype)))
            elif node.op == "AssignVariableOp":
                # A plain assignment does not read, and may be a variable's first value.
                found.append(Source("opaque", dtype))
            else:
                found.append(self._variable(flat, node, data, index, after=False))
        return found

    def _outputs(self, flat: Flat, node: Any, data: Sequence[str]) -> List[Source]:
        found = [self._use(self._source(flat, tensor, dtype))
                 for tensor, dtype in opinfo.outputs(node)]
        return found + [self._variable(flat, node, data, index, after=True)
                        for index in opinfo.updates(node)]

    def _use(self, source: Source) -> Source:
        if source.kind == "tensor":
            self._wanted[id(source.flat)].setdefault(source.tensor, source.dtype)
        return source

    def _source(self, flat: Flat, tensor: str, dtype: int) -> Source:
        if dtype in tf_dtypes.OPAQUE:
            return Source("opaque", dtype)
        if flat.parent is not None and dtype >= tf_dtypes.FIRST_UNLISTED:
            return Source("opaque", dtype)  # out of bodies values come in lists
        head = flat_lib.node_of(tensor)
        if head in flat.by_name:
            if flat.by_name[head].op == "Const":
                return Source("const", dtype, flat, head)
            return Source("tensor", dtype, flat, tensor)
        if flat.parent is None:
            return Source("arg", dtype, index=flat.arg_index[head])
        outer = flat.outer(head)
        if outer is not None:
            # What never changes inside comes out once, of the graph around it.
            return self._source(flat.parent, outer, dtype)
        return Source("tensor", dtype, flat, tensor)

    def _variable(self, flat: Flat, node: Any, data: Sequence[str], index: int, after: bool
                  ) -> Source:
        """The value of the variable behind a data input, before or after the operator."""
        argument = self._argument(flat, data[index]) if opinfo.bears_reading(node.op) else -1
        dtype = self._variables[argument] if argument >= 0 else 0
        if not dtype:
            return Source("opaque", tf_dtypes.DT_RESOURCE)
        read = Read(node.name, index, after, dtype, argument)
        self.reads[id(flat)].append(read)
        return self._use(Source("tensor", dtype, flat, read.tensor))

    def _argument(self, flat: Flat, tensor: str) -> int:
        """The outermost argument that a handle is, however deep; -1 where it is not known."""
        head = flat_lib.node_of(tensor)
        while head in flat.arg_index:
            if flat.parent is None:
                return flat.arg_index[head]
            outer = flat.outer(head)
            if outer is None:
                return -1
            flat, head = flat.parent, flat_lib.node_of(outer)
        return -1


def files_of(graph: Any, session: Any) -> Dict[int, Dict[str, Any]]:
    """What a reader of the dump can count on, as attributes of each flat graph by its id.

    `_emulated_files` names the operators that leave one file each time the graph runs;
    with `_emulated_always` it runs once in every execution. Overflow detection owes nothing.
    """
    if graph.plan is None or session.debug:
        return {}
    sunk = None
    if graph.loop is not None and graph.loop.sunk:
        # Every round of the body is an execution; what stands around it is in none.
        sunk = graph.plan.root.bodies.get((graph.loop.node, "body"))
    found: Dict[int, Dict[str, Any]] = {}
    for flat in graph.plan.root.walk():
        names = [op.node.name for op in graph.plan.ops[id(flat)]]
        if names and not (graph.loop is not None and graph.loop.sunk and flat.parent is None):
            found[id(flat)] = {"_emulated_files": names}
            if flat is sunk or (flat.parent is None and sunk is None):
                found[id(flat)]["_emulated_always"] = True
    return found
