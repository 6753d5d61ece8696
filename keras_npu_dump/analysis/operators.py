"""The operators of a Build graph in execution order, and which value feeds which.

GE lists operators in topological order (GE `model_serialize.cc`); bodies of
loops, branches and calls stand where their caller stands. Edges are followed
through the callers: what a body takes in is the caller's input, what a caller
gives out is the body's result.
"""
from __future__ import annotations

from typing import (
    Any,
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

from keras_npu_dump.formats.graph.edges import split_edge
from keras_npu_dump.formats.graph.ge_graph import Graph, GraphOp
from keras_npu_dump.formats.names import DumpName, sanitise
from keras_npu_dump.op_types import graph_parts, training
from keras_npu_dump.op_types.arithmetic import SAME_VALUE_TYPES

Source = Tuple[int, int]  # position of an operator, number of its output


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


class Operators:
    """All operators of one Build file, by position; and those that only files know.

    Args:
      graphs: of the file, the root first.
      reread: gives (graph name, operator) through the file once more, for what is
        seldom asked for.

    Attributes:
      names, types, graphs, originals: lists by position, see `Operator`.
      sources: per operator and data input the (position, output) that feeds it,
        or None.
      consumers: per operator the positions of those that take its outputs;
        loops are closed: a body's result feeds the body again.
      bodies: position of a caller -> names of its bodies.
      results: positions of the operators whose values the graph gives out.
      root: name of the root graph. known: how many come from the graph.
      memo: for what others derive from the graph and need more than once.
    """

    def __init__(self, graphs: Iterable[Graph] = (),
                 reread: Optional[Callable[[], Iterable[Tuple[str, GraphOp]]]] = None):
        self.names: List[str] = []
        self.types: List[str] = []
        self.graphs: List[Optional[str]] = []
        self.originals: List[Tuple[str, ...]] = []
        self.sources: List[List[Optional[Source]]] = []
        self.consumers: List[List[int]] = []
        self.root: Optional[str] = None
        self.results: Set[int] = set()
        self.bodies: Dict[int, List[str]] = {}
        self.memo: Dict[str, Any] = {}
        self._reread = reread
        self._by_key: Dict[str, List[int]] = {}
        self._by_name: Dict[str, int] = {}
        _Linker(self).link(list(graphs))
        self.known = len(self.names)

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
        base = _base_name(op_name)
        return self._add(base or op_type, op_type, None, ())

    @property
    def passes(self) -> Dict[Tuple[Optional[str], str], str]:
        """(graph, operator) -> GE's fusion pass that made it; only of those that have one."""
        if "passes" not in self.memo:
            self.memo["passes"] = {
                (graph, op.name): found for graph, op, found in (
                    (graph, op, fusion_pass(op))
                    for graph, op in (self._reread() if self._reread else ())) if found}
        return self.memo["passes"]

    def _add(self, name: str, op_type: str, graph: Optional[str],
             originals: Tuple[str, ...]) -> int:
        position = len(self.names)
        self.names.append(name)
        self.types.append(op_type)
        self.graphs.append(graph)
        self.originals.append(originals)
        self.sources.append([])
        self.consumers.append([])
        base = _base_name(sanitise(name))
        self._by_key.setdefault("%s.%s" % (sanitise(op_type), base), []).append(position)
        self._by_name.setdefault(name, position)
        return position

    # --- what an operator is, by type and name

    def is_gradient(self, position: int) -> bool:
        """Belongs to the backward pass."""
        return training.is_gradient(self.types[position],
                                    (self.names[position], *self.originals[position]))

    @property
    def gradients(self) -> Set[int]:
        """Positions of the graph's backward pass."""
        if "gradients" not in self.memo:
            self.memo["gradients"] = {position for position in range(self.known)
                                      if self.is_gradient(position)}
        return self.memo["gradients"]

    def is_update(self, position: int) -> bool:
        """Changes a variable, its first input; output 0, if any, is the new value."""
        return training.is_update(self.types[position])

    def is_variable(self, position: int) -> bool:
        return self.types[position] in graph_parts.VARIABLE_TYPES

    def is_constant(self, position: int) -> bool:
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


class _Linker:
    """Fills an `Operators` from the graphs of a file."""

    def __init__(self, table: Operators):
        self._table = table
        self._ops: Dict[Tuple[str, str], int] = {}
        self._edges: Dict[int, List[str]] = {}
        self._callers: Dict[str, int] = {}
        self._bodies: Dict[int, List[str]] = {}
        self._parents: Dict[int, int] = {}
        self._results: Dict[str, Dict[int, str]] = {}
        self._takers: Dict[int, List[int]] = {}
        self._memo: Dict[Tuple[int, int], Optional[Source]] = {}

    def link(self, graphs: List[Graph]) -> None:
        by_name = {graph.name: graph for graph in graphs}
        placed: Set[str] = set()
        for graph in graphs:
            # The root first, its bodies inside it; a sub-graph that nobody
            # calls (old files) stands behind.
            self._place(graph, by_name, placed)
        table = self._table
        for position, edges in self._edges.items():
            graph_name = table.graphs[position] or ""
            sources = [self._resolve(graph_name, edge) for edge in edges]
            table.sources[position] = sources
            for source in sources:
                if source is not None and position not in table.consumers[source[0]][-1:]:
                    table.consumers[source[0]].append(position)
            for edge in edges if self._parents else ():
                inner = self._ops.get((graph_name, edge.rpartition(":")[0]))
                if inner in self._parents:
                    self._takers.setdefault(inner, []).append(position)
        self._close_bodies()
        if graphs:
            table.root = graphs[0].name
            self._mark_results(graphs[0].name)

    def _place(self, graph: Graph, by_name: Dict[str, Graph], placed: Set[str]) -> None:
        if graph.name in placed:
            return
        placed.add(graph.name)
        for op in graph.ops:
            bodies = op.subgraph_names if op.type in graph_parts.SUBGRAPH_TYPES else []
            for name in bodies:
                if name in by_name and name != graph.name:
                    self._place(by_name[name], by_name, placed)
            position = self._table._add(op.name, op.type, graph.name,
                                        tuple(op.origins))
            self._ops[graph.name, op.name] = position
            self._edges[position] = op.data_inputs
            if bodies:
                self._bodies[position] = self._table.bodies[position] = list(bodies)
                self._callers.update((name, position) for name in bodies)
            if op.type == "Data":
                parent = op.attr("_parent_node_index")
                if isinstance(parent, int):
                    self._parents[position] = parent
            elif op.type == "NetOutput":
                self._results[graph.name] = _results_of(op)

    def _resolve(self, graph_name: str, edge: str) -> Optional[Source]:
        if not edge:
            return None
        name, index = split_edge(edge)
        position = self._ops.get((graph_name, name))
        return None if position is None or index < 0 else self._through(position, index)

    def _through(self, position: int, index: int) -> Optional[Source]:
        """What really makes an output: looks into callers and out of bodies."""
        key = (position, index)
        if key in self._memo:
            return self._memo[key]
        self._memo[key] = (position, index)  # against circles
        result: Optional[Source] = (position, index)
        graph_name = self._table.graphs[position] or ""
        if position in self._parents and graph_name in self._callers:
            caller = self._callers[graph_name]
            edges = self._edges[caller]
            slot = self._parents[position]
            if slot < len(edges):
                result = self._resolve(self._table.graphs[caller] or "", edges[slot]) or result
        elif position in self._bodies:
            bodies = [one for one in self._bodies[position] if index in self._results.get(one, {})]
            loop = self._table.types[position] in graph_parts.LOOP_TYPES
            if len(bodies) == 1 or (bodies and loop):
                inner = self._resolve(bodies[-1], self._results[bodies[-1]][index])
                result = inner or result
        self._memo[key] = result
        return result

    def _close_bodies(self) -> None:
        """A body's result is its caller's; what a loop's body gives out it takes in again."""
        table = self._table
        for caller, bodies in self._bodies.items():
            inner = [one for one in self._parents if table.graphs[one] in bodies]
            loop = table.types[caller] in graph_parts.LOOP_TYPES
            for body in bodies:
                for index, edge in self._results.get(body, {}).items():
                    source = self._resolve(body, edge)
                    if source is None:
                        continue
                    following = [caller]
                    for one in inner if loop else ():
                        if self._parents[one] == index:
                            following.extend(self._takers.get(one, ()))
                    known = table.consumers[source[0]]
                    known.extend(one for one in dict.fromkeys(following)
                                 if one != source[0] and one not in known)

    def _mark_results(self, root: str) -> None:
        """The operators whose values the graph gives to the framework."""
        for position, op_type in enumerate(self._table.types):
            if op_type == "NetOutput" and self._table.graphs[position] == root:
                self._table.results.update(
                    source[0] for source in self._table.sources[position] if source is not None)


def _base_name(op_name: str) -> str:
    """Without the marks of FFTS+ sub-graphs and slices."""
    if "sgt_graph_" in op_name or "_lxslice" in op_name:
        return DumpName("", op_name).base_op_name
    return op_name


def _results_of(op: GraphOp) -> Dict[int, str]:
    """Number of each of the caller's outputs -> edge that makes it."""
    edges = {}
    descs = op.input_descs
    for slot, edge in enumerate(op.data_inputs):
        parent = descs[slot].attr("_parent_node_index") if slot < len(descs) else None
        edges[parent if isinstance(parent, int) else slot] = edge
    return edges


def fusion_pass(op: GraphOp) -> Optional[str]:
    for key in ("pass_name", "pass_name_ub"):
        value: Union[str, List[str], None] = op.attr(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):
            names = [one for one in value if isinstance(one, str) and one]
            if names:
                return ", ".join(names)
    return None
