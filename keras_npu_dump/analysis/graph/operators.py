"""The operators of a Build graph in execution order, and what each of them is."""
from __future__ import annotations

from typing import (
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
    Union,
)

from keras_npu_dump.analysis.graph.linker import link
from keras_npu_dump.formats.graph.ge_graph import Graph, GraphOp
from keras_npu_dump.formats.names import DumpName, sanitise
from keras_npu_dump.op_types import graph_parts, training
from keras_npu_dump.op_types.arithmetic import SAME_VALUE_TYPES


class Operator(NamedTuple):
    """One operator.

    Attributes:
      position: in execution order, from 0.
      name, type: as in the graph; of an operator that has files but no place in
        the graph, as in the file's name (sanitised).
      graph: name of the graph or sub-graph, None without a place in it.
      inputs: per data input "name:index" of the operator that makes it, followed
        through calls and bodies; "" where nothing is connected or known.
      consumers: names of the operators that take its outputs.
      original_ops: TensorFlow's operators that this one stands for.
      fusion_pass: GE's pass that made it, or None.
    """

    position: int
    name: str
    type: str
    graph: Optional[str]
    inputs: Tuple[str, ...]
    consumers: Tuple[str, ...]
    original_ops: Tuple[str, ...]
    fusion_pass: Optional[str]

    @property
    def producers(self) -> List[str]:
        """Names of the operators that make its inputs, each once."""
        return list(dict.fromkeys(edge.rpartition(":")[0] for edge in self.inputs if edge))


class Weight(NamedTuple):
    """A variable that gradients change and the forward pass reads.

    Attributes:
      variable: its position. update: that of the operator that changes it.
      readers: (position, input) of those that take its value before it changes.
    """

    variable: int
    update: int
    readers: List[Tuple[int, int]]


class Operators:
    """All operators of one Build file, by position; and those that only files know.

    Args:
      graphs: of the file, the root first.
      reread: gives (graph name, operator) through the file once more, for what is
        seldom asked for.

    Attributes:
      names, types, graphs, originals: lists by position, see `Operator`.
      sources, consumers, bodies, results, root: see `LinkedGraph`.
      known: how many operators come from the graph; those behind them only have files.
      has_end: the graph says what its results are.
    """

    def __init__(self, graphs: Iterable[Graph] = (),
                 reread: Optional[Callable[[], Iterable[Tuple[str, GraphOp]]]] = None):
        self._linked = link(graphs)
        self.names = self._linked.names
        self.types = self._linked.types
        self.graphs = self._linked.graphs
        self.originals = self._linked.originals
        self.sources = self._linked.sources
        self.consumers = self._linked.consumers
        self.bodies = self._linked.bodies
        self.results = self._linked.results
        self.root = self._linked.root
        self.known = len(self.names)
        self.has_end = "NetOutput" in self.types
        self._reread = reread
        self._by_key: Dict[str, List[int]] = {}
        self._by_name: Dict[str, int] = {}
        for position in range(self.known):
            self._index(position)
        # Filled when they are first asked for.
        self._passes: Optional[Dict[Tuple[Optional[str], str], str]] = None
        self._gradients: Optional[Set[int]] = None
        self._weights: Optional[List[Weight]] = None
        self._fed: List[bool] = []

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> Operator:
        edges = tuple("" if source is None else "%s:%d" % (self.names[source[0]], source[1])
                      for source in self.sources[position])
        return Operator(position, self.names[position], self.types[position],
                        self.graphs[position], edges, tuple(self.consumers_of(position)),
                        self.originals[position],
                        self.passes.get((self.graphs[position], self.names[position])))

    def __iter__(self) -> Iterator[Operator]:
        return (self[position] for position in range(len(self)))

    def producers_of(self, position: int) -> List[str]:
        """Names of the operators that make its inputs, each once."""
        return list(dict.fromkeys(self.names[source[0]] for source in self.sources[position]
                                  if source is not None))

    def consumers_of(self, position: int) -> List[str]:
        """Names of the operators that take its outputs, each once."""
        return list(dict.fromkeys(self.names[one] for one in self.consumers[position]))

    def by_name(self, name: str) -> Optional[int]:
        """Position of an operator by its name in the graph."""
        return self._by_name.get(name)

    def of_file(self, op_type: str, op_name: str) -> List[int]:
        """Positions of the operators that a dump file's name can mean, mostly one.

        The names are those of a `DumpName`; sanitising can make two names equal.
        """
        return self._by_key.get("%s.%s" % (op_type, _base_name(op_name)), [])

    def add_file(self, op_type: str, op_name: str) -> int:
        """A new operator that has a file and no place in the graph."""
        position = self._linked.add(_base_name(op_name) or op_type, op_type, None, ())
        self._index(position)
        return position

    def _index(self, position: int) -> None:
        name = self.names[position]
        key = "%s.%s" % (sanitise(self.types[position]), _base_name(sanitise(name)))
        self._by_key.setdefault(key, []).append(position)
        self._by_name.setdefault(name, position)

    @property
    def passes(self) -> Dict[Tuple[Optional[str], str], str]:
        """(graph, operator) -> GE's fusion pass that made it; only of those that have one."""
        if self._passes is None:
            self._passes = {}
            for graph, op in self._reread() if self._reread else ():
                found = fusion_pass(op)
                if found:
                    self._passes[graph, op.name] = found
        return self._passes

    # --- what an operator is, by type and name

    def is_gradient(self, position: int) -> bool:
        """Belongs to the backward pass."""
        return training.is_gradient(self.types[position],
                                    (self.names[position], *self.originals[position]))

    @property
    def gradients(self) -> Set[int]:
        """Positions of the graph's backward pass."""
        if self._gradients is None:
            self._gradients = {position for position in range(self.known)
                               if self.is_gradient(position)}
        return self._gradients

    def is_update(self, position: int) -> bool:
        """Changes a variable, its first input; output 0, if any, is the new value."""
        return training.is_update(self.types[position])

    def is_variable(self, position: int) -> bool:
        """Stands for a variable."""
        return self.types[position] in graph_parts.VARIABLE_TYPES

    def is_constant(self, position: int) -> bool:
        """Its value stands in the graph."""
        return self.types[position] in graph_parts.CONSTANT_TYPES

    def is_data(self, position: int) -> bool:
        """Where a batch comes in."""
        return self.types[position] in graph_parts.DATA_TYPES

    def variable_of(self, position: int, slot: int = 0) -> Optional[int]:
        """The variable that feeds an input, followed through operators that only hand on."""
        seen: Set[int] = set()
        while True:
            sources = self.sources[position]
            source = sources[slot] if slot < len(sources) else None
            if source is None or source[0] in seen:
                return None
            position = source[0]
            if self.is_variable(position):
                return position
            if self.types[position] not in SAME_VALUE_TYPES:
                return None
            seen.add(position)
            slot = 0

    def reach(self, starts: Iterable[int], forward: bool = True) -> Set[int]:
        """Positions reachable along data edges, the starts included."""
        found = set(starts)
        pending = list(found)
        while pending:
            position = pending.pop()
            if forward:
                following: Iterable[int] = self.consumers[position]
            else:
                following = [one[0] for one in self.sources[position] if one is not None]
            for one in following:
                if one not in found:
                    found.add(one)
                    pending.append(one)
        return found

    @property
    def fed(self) -> List[bool]:
        """Per operator: another operator feeds it that is neither variable nor constant."""
        if len(self._fed) != len(self):  # files may have added some
            self._fed = [any(
                source is not None and not self.is_variable(source[0])
                and not self.is_constant(source[0]) for source in sources)
                for sources in self.sources]
        return self._fed

    # --- what a training changes

    @property
    def weights(self) -> List[Weight]:
        """Weights of a training graph, in the order of their updates.

        Told by what feeds the update, not by names: moving averages and metrics
        come from the forward pass, and the optimizer's own variables are read by
        nothing that a gradient depends on.
        """
        if self._weights is None:
            self._weights = self._find_weights()
        return self._weights

    def _find_weights(self) -> List[Weight]:
        from_gradients = self.reach(self.gradients)
        to_gradients = self.reach(self.gradients, forward=False)
        found: Dict[int, Weight] = {}
        for position in range(self.known):
            if not self.is_update(position) or position not in from_gradients:
                continue
            variable = self.variable_of(position)
            if variable is None or variable in found:
                continue
            readers: List[Tuple[int, int]] = []
            for reader in self.consumers[variable]:
                if (reader in from_gradients or reader not in to_gradients
                        or self.is_update(reader)):
                    continue
                readers += [(reader, slot) for slot, source in enumerate(self.sources[reader])
                            if source is not None and source[0] == variable]
            if readers:
                found[variable] = Weight(variable, position, readers)
        return list(found.values())

    def leaf_gradients(self) -> List[int]:
        """Operators of the backward pass whose values leave it: the gradients of weights."""
        gradients = self.gradients
        return [position for position in sorted(gradients) if any(
            one not in gradients and self.types[one] != "NetOutput"
            for one in self.consumers[position])]


def _base_name(op_name: str) -> str:
    """Without the marks of FFTS+ sub-graphs and slices."""
    if "sgt_graph_" in op_name or "_lxslice" in op_name:
        return DumpName("", op_name).base_op_name
    return op_name


def fusion_pass(op: GraphOp) -> Optional[str]:
    """GE's fusion passes that made an operator, with commas between; None without any.

    Args:
      op: read with its attributes; GE writes them into `pass_name` and `pass_name_ub`.
    """
    for key in ("pass_name", "pass_name_ub"):
        value: Union[str, List[str], None] = op.attr(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):
            names = [one for one in value if isinstance(one, str) and one]
            if names:
                return ", ".join(names)
    return None
