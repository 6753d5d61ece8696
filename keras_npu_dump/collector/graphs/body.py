"""The body of a Build graph: its operators, and which of them leave dump files."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, FrozenSet, List, NamedTuple, Set, Tuple

from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.graph.ge_graph import Graph, NamedAttrs
from keras_npu_dump.formats.names import DumpName, sanitise
from keras_npu_dump.op_types import graph_parts

_LOCAL_LIBRARIES = ("DNN_VM_GE_LOCAL_OP_STORE",)
# Descriptions are the costliest part of a graph to read, and those of a sample
# tell graphs apart: the first of each type, then every so many of it.
_FIRST_DESCS, _EVERY_DESC = 10, 20
# Larger graphs are read operator by operator, without their options.
_STREAM_BYTES = 64 << 20
_OPTIONS = ("GlobalOptions", "SessionOptions", "GraphOptions")
# Attributes of an emulated graph (since 0.2): the operators that leave a file each time it
# runs, and whether it runs once in every execution.
LEAVES, ALWAYS = "_emulated_files", "_emulated_always"


Tensors = List[Tuple[str, Tuple[int, ...]]]


@dataclasses.dataclass
class OpFact:
    """One operator: what its dump files must look like.

    `inputs`, `outputs`: (dtype name, shape) of each desc; of many operators of
    one type they are read for a sample only, and are the first one's for the
    others, which `described` says. `expected` is False for what leaves no file
    by nature; `conditional` for what sits in a branch or a loop.
    """

    name: str
    type: str
    originals: Tuple[str, ...]
    inputs: Tensors
    outputs: Tensors
    expected: bool
    described: bool = True
    conditional: bool = False


class EmulatedPart(NamedTuple):
    """A graph of an emulated dump: each time it runs, each of `keys` leaves one file.

    `always`: it runs once in every execution, not any number of times.
    """

    keys: FrozenSet[str]
    always: bool


@dataclasses.dataclass
class Body:
    """A graph file read whole.

    Attributes:
      names: of all graphs in the file, the root first.
      keys: "type.name" of each operator as in dump file names -> OpFact.
      by_graph: name of each graph -> its keys.
      op_count: operators in all graphs of the file.
      types: of all operators.
      has_step: an operator keeps the step counter (`ge_global_step`).
      options: GE options that the graph carries.
      parts: what is known exactly of the files of an execution; empty but for
        emulated dumps.
      absent: names of graphs that are called and not in the file.
    """

    names: List[str]
    keys: Dict[str, OpFact]
    by_graph: Dict[str, FrozenSet[str]]
    op_count: int
    types: Set[str]
    has_step: bool
    options: Dict[str, str]
    parts: List[EmulatedPart] = dataclasses.field(default_factory=list)
    absent: List[str] = dataclasses.field(default_factory=list)
    operator_names: Set[str] = dataclasses.field(default_factory=set)
    owed_by: Dict[Tuple[str, FrozenSet[str]], FrozenSet[str]] = dataclasses.field(
        default_factory=dict)

    def owed(self, mode: str, layers: FrozenSet[str]) -> FrozenSet[str]:
        """Keys that leave a file in every execution, with these dump options."""
        if (mode, layers) not in self.owed_by:
            self.owed_by[mode, layers] = self._owed(mode, layers)
        return self.owed_by[mode, layers]

    def _owed(self, mode: str, layers: FrozenSet[str]) -> FrozenSet[str]:
        return frozenset(key for key, op in self.keys.items()
                         if op.expected and not op.conditional and _has_data(op, mode)
                         and (not layers or op.name in layers or layers.intersection(op.originals)))

    def names_of_operators(self) -> Set[str]:
        """Every name that dump_layer may use: GE's own and the original ones."""
        if not self.operator_names:
            for op in self.keys.values():
                self.operator_names.add(op.name)
                self.operator_names.update(op.originals)
        return self.operator_names


def _has_data(op: OpFact, mode: str) -> bool:
    if mode == "input":
        return any(dtype not in graph_parts.HANDLE_DTYPES for dtype, _ in op.inputs)
    if mode == "output":
        return any(dtype not in graph_parts.HANDLE_DTYPES for dtype, _ in op.outputs)
    return _has_data(op, "input") or _has_data(op, "output")


def read_body(path: str, size: int) -> Body:
    """Reads a graph file whole.

    Args:
      path: of the file.
      size: bytes; from 64 MiB on the operators are read one by one, and the options of the
        graph are not.

    Raises:
      FormatError, OSError: as `formats.graph_reader`.
    """
    reader = _Reader()
    if size > _STREAM_BYTES:
        for name, op in graph_reader.iter_ops(path):
            reader.add(name, op)
    else:
        for one in graph_reader.read_graphs(path):
            reader.start(one.name)
            for op in one.ops:
                reader.add(one.name, op)
            reader.note_files(one)
            if len(reader.names) == 1:
                reader.options = _options(one)
    return reader.body()


class _Kind:
    """What all operators of one type have in common."""

    def __init__(self, name: str):
        self.prefix = sanitise(name) + "."
        self.quiet = name in graph_parts.QUIET_TYPES
        self.calls = graph_parts.may_hold_subgraphs(name)
        # Called any number of times, or not at all: their sub-graphs owe no file.
        self.conditional = name in graph_parts.CONDITIONAL_TYPES
        self.count = 0
        self.inputs: Tensors = []
        self.outputs: Tensors = []


class _Reader:
    """Takes in the operators of a file in their order and makes the Body of them."""

    def __init__(self) -> None:
        self.names: List[str] = []
        self.options: Dict[str, str] = {}
        self._keys: Dict[str, OpFact] = {}
        self._by_graph: Dict[str, List[str]] = {}
        self._kinds: Dict[str, _Kind] = {}
        self._count = 0
        self._has_step = False
        self._conditional: Set[str] = set()
        self._called: Set[str] = set()
        self._leaves: List[Tuple[str, FrozenSet[str], bool]] = []

    def start(self, name: str) -> None:
        if name not in self._by_graph:
            self.names.append(name)
            self._by_graph[name] = []

    def add(self, graph: str, op: Any) -> None:
        if graph not in self._by_graph:
            self.start(graph)
        name, type_name = op.name, op.type
        kind = self._kinds.get(type_name)
        if kind is None:
            kind = self._kinds[type_name] = _Kind(type_name)
        number = kind.count
        kind.count += 1
        self._count += 1
        if "ge_global_step" in name:
            self._has_step = True
        if kind.calls:
            called = op.subgraph_names
            self._called.update(called)
            if kind.conditional or graph in self._conditional:
                self._conditional.update(called)
        described = number < _FIRST_DESCS or number % _EVERY_DESC == 0
        if described:
            inputs = [(one.dtype, one.shape) for one in op.input_descs]
            outputs = [(one.dtype, one.shape) for one in op.output_descs]
            if not number:
                kind.inputs, kind.outputs = inputs, outputs
        else:
            inputs, outputs = kind.inputs, kind.outputs
        originals = op.original_op_names
        # Operators of FFTS+ sub-graphs carry a prefix that the comparator strips.
        base = sanitise(name)
        if "sgt_graph_" in base or "_lxslice" in base:
            base = DumpName(type_name, base).base_op_name
        key = kind.prefix + base
        self._keys[key] = OpFact(
            name, type_name, tuple(filter(None, originals)) if originals else (), inputs, outputs,
            not kind.quiet and not _no_task(op), described)
        self._by_graph[graph].append(key)

    def note_files(self, graph: Graph) -> None:
        """Takes in what the emulator has noted about the files of a graph that was just read."""
        names = graph.attrs.get(LEAVES)
        if isinstance(names, list):
            self._leaves.append((graph.name, frozenset(one for one in names if isinstance(
                one, str)), bool(graph.attrs.get(ALWAYS))))

    def _parts(self) -> List[EmulatedPart]:
        """Names of files that two graphs share tell nothing."""
        owners: Dict[str, int] = {}
        found = []
        for graph, names, always in self._leaves:
            keys = [key for key in self._by_graph[graph] if self._keys[key].name in names]
            found.append((keys, always))
        for keys in self._by_graph.values():
            for key in keys:
                owners[key] = owners.get(key, 0) + 1
        return [EmulatedPart(frozenset(key for key in keys if owners[key] == 1), always)
                for keys, always in found]

    def body(self) -> Body:
        for name in self._conditional:
            for key in self._by_graph.get(name, ()):
                self._keys[key].conditional = True
        return Body(self.names, self._keys,
                    {name: frozenset(keys) for name, keys in self._by_graph.items()},
                    self._count, set(self._kinds), self._has_step, self.options,
                    self._parts() if self._leaves else [],
                    sorted(self._called.difference(self.names)))


def _no_task(op: Any) -> bool:
    if op.attr("_no_task"):
        return True
    return op.attr("_ge_attr_op_kernel_lib_name") in _LOCAL_LIBRARIES


def _options(graph: Graph) -> Dict[str, str]:
    """GE options from the root graph's attributes (GE graph_utils.cc, level 1 and 2)."""
    found: Dict[str, str] = {}
    for group in _OPTIONS:
        value = graph.attrs.get(group)
        if isinstance(value, NamedAttrs):
            found.update((key, text) for key, text in value.attrs.items()
                         if isinstance(text, str))
    return found
