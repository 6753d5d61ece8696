"""A Build graph: what its head and, where needed, its body say for pairing."""
from __future__ import annotations

import dataclasses
import hashlib
import re
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

from keras_npu_dump.collect.graph_files import GraphFile
from keras_npu_dump.collect.problems import Problems
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import graph as graph_text
from keras_npu_dump.formats import graph_reader
from keras_npu_dump.formats.names import DumpName, sanitise

# Operators that run without leaving data: inputs, constants, control flow,
# queues, stacks (the vendor's dump_data_collect.md, GE dump_properties.cc).
QUIET_TYPES = frozenset((
    "Data", "RefData", "AnnData", "Const", "Constant", "ConstPlaceHolder", "FileConstant",
    "Placeholder", "PlaceHolder", "Variable", "VariableV2", "VarHandleOp", "VarIsInitializedOp",
    "IsVariableInitialized", "TemporaryVariable", "DestroyTemporaryVariable", "ReadVariableOp",
    "NoOp", "NetOutput", "End", "Identity", "IdentityN", "Merge", "RefMerge", "Switch",
    "RefSwitch", "SwitchN", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration",
    "RefNextIteration", "LoopCond", "ControlTrigger", "StreamActive", "StreamSwitch",
    "StreamSwitchN", "StreamMerge", "LabelSet", "LabelGoto", "LabelGotoEx", "LabelSwitch",
    "LabelSwitchByIndex", "If", "StatelessIf", "_If", "Case", "StatelessCase", "While",
    "StatelessWhile", "_While", "For", "PartitionedCall", "StatefulPartitionedCall",
    "StatelessPartitionedCall", "SymbolicGradient", "Iterator", "IteratorV2", "AnonymousIterator",
    "AnonymousIteratorV2", "AnonymousIteratorV3", "IteratorGetNext", "IteratorGetNextSync",
    "MakeIterator", "DeleteIterator", "GetNext", "DynamicGetNext", "DynamicGetNextV2",
    "OutfeedEnqueueOp", "OutfeedEnqueueOpV2", "OptionalFromValue", "OptionalGetValue",
    "QueueData", "QueueDequeue", "QueueEnqueue", "Stack", "StackPush", "StackPop", "StackClose",
    "Send", "Recv", "MemcpyAddrAsync", "FlowCtrl", "Assert", "Print", "Abort"))
# Called any number of times, or not at all: their sub-graphs owe no file.
_CONDITIONAL = re.compile(r"_?(Stateless|Stateful)?(If|Case|While|For)$")
_LOCAL_LIBRARIES = ("DNN_VM_GE_LOCAL_OP_STORE",)
# Tensors of these types never reach a dump file.
HANDLES = frozenset(("DT_RESOURCE", "DT_VARIANT", "DT_STRING", "DT_STRING_REF"))
_OPTIONS = ("GlobalOptions", "SessionOptions", "GraphOptions")


@dataclasses.dataclass
class OpFact:
    """One operator: what its dump files must look like.

    `inputs`, `outputs`: (dtype name, shape) of each desc. `expected` is False
    for what leaves no file by nature; `conditional` for what sits in a branch
    or a loop.
    """

    name: str
    type: str
    originals: Tuple[str, ...]
    inputs: List[Tuple[str, Tuple[int, ...]]]
    outputs: List[Tuple[str, Tuple[int, ...]]]
    expected: bool
    conditional: bool = False


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
    """

    names: List[str]
    keys: Dict[str, OpFact]
    by_graph: Dict[str, FrozenSet[str]]
    op_count: int
    types: Set[str]
    has_step: bool
    options: Dict[str, str]
    operator_names: Set[str] = dataclasses.field(default_factory=set)

    def owed(self, mode: str, layers: FrozenSet[str]) -> FrozenSet[str]:
        """Keys that leave a file in every execution, with these dump options."""
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


class BuildGraph:
    """A graph file with its head, and with its body once `read_body` was called."""

    def __init__(self, file: GraphFile, problems: Problems):
        self.file = file
        self.name: Optional[str] = None
        self.body: Optional[Body] = None
        self.error: Optional[str] = None
        self.role = "unknown"
        self.role_evidence: List[str] = []
        self._problems = problems
        try:
            self.name = graph_reader.read_head(file.path).name
        except (FormatError, OSError) as error:
            self._fail(error)

    @property
    def graph_id(self) -> Optional[int]:
        return self.file.name.graph_id

    @property
    def dump_name(self) -> Optional[str]:
        """The name of its folder, as the device writes it (runtime dump_task.h)."""
        return None if self.name is None else sanitise(self.name)

    def is_called(self, name: Optional[str]) -> bool:
        """The graph has this name, or this name with the id that some versions append."""
        if not name or not self.name:
            return False
        head, _, tail = self.name.rpartition("_")
        return self.name == name or (head == name and tail.isdigit()
                                     and self.graph_id in (None, int(tail)))

    def read_body(self, cache: Dict[Any, Body]) -> Optional[Body]:
        """Reads the file once; equal files of several ranks are read once for all."""
        if self.body is None and self.error is None:
            try:
                key = (self.file.size, _digest(self.file.path))
                if key not in cache:
                    cache[key] = _read(self.file.path)
                self.body = cache[key]
            except (FormatError, OSError) as error:
                self._fail(error)
        return self.body

    def _fail(self, error: Exception) -> None:
        self.error = str(error)
        self._problems.add("unreadable", "cannot read the graph file: %s" % error,
                           path=self.file.path)


def _has_data(op: OpFact, mode: str) -> bool:
    if mode == "input":
        return any(dtype not in HANDLES for dtype, _ in op.inputs)
    if mode == "output":
        return any(dtype not in HANDLES for dtype, _ in op.outputs)
    return _has_data(op, "input") or _has_data(op, "output")


def _digest(path: str) -> bytes:
    digest = hashlib.sha1()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            digest.update(chunk)
    return digest.digest()


def _read(path: str) -> Body:
    names: List[str] = []
    keys: Dict[str, OpFact] = {}
    by_graph: Dict[str, FrozenSet[str]] = {}
    types: Set[str] = set()
    count = 0
    has_step = False
    options: Dict[str, str] = {}
    conditional: Set[str] = set()
    for one in graph_reader.read_graphs(path):
        names.append(one.name)
        here = []
        for op in one.ops:
            count += 1
            types.add(op.type)
            has_step = has_step or "ge_global_step" in op.name
            if op.subgraph_names and (_CONDITIONAL.match(op.type) or one.name in conditional):
                conditional.update(op.subgraph_names)
            here.append(_add(op, keys))
        by_graph[one.name] = frozenset(here)
        if len(names) == 1:
            options = _options(one.attrs)
    for name in conditional:
        for key in by_graph.get(name, ()):
            keys[key].conditional = True
    return Body(names, keys, by_graph, count, types, has_step, options)


def _add(op: Any, keys: Dict[str, OpFact]) -> str:
    fact = OpFact(op.name, op.type, tuple(name for name in op.original_op_names or () if name),
                  [(one.dtype, tuple(one.shape)) for one in op.input_descs],
                  [(one.dtype, tuple(one.shape)) for one in op.output_descs],
                  op.type not in QUIET_TYPES and not _no_task(op))
    # Operators of FFTS+ sub-graphs carry a prefix that the comparator strips.
    base = DumpName(op.type, sanitise(op.name)).base_op_name
    key = "%s.%s" % (sanitise(op.type), base)
    keys[key] = fact
    return key


def _no_task(op: Any) -> bool:
    if op.attr("_no_task"):
        return True
    return op.attr("_ge_attr_op_kernel_lib_name") in _LOCAL_LIBRARIES


def _options(attrs: Any) -> Dict[str, str]:
    """GE options from the root graph's attributes (GE graph_utils.cc, level 1 and 2)."""
    found: Dict[str, str] = {}
    for group in _OPTIONS:
        value = attrs.get(group)
        if isinstance(value, graph_text.NamedAttrs):
            found.update((key, text) for key, text in value.attrs.items()
                         if isinstance(text, str))
    return found
