"""Which value feeds which in a Build graph, through calls, branches and loops.

GE lists operators in topological order (GE `model_serialize.cc`); bodies of
loops, branches and calls stand where their caller stands. Edges are followed
through the callers: what a body takes in is the caller's input, what a caller
gives out is the body's result.
"""
from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Set, Tuple

from keras_npu_dump.formats.graph.edges import split_edge
from keras_npu_dump.formats.graph.ge_graph import Graph, GraphOp
from keras_npu_dump.op_types import graph_parts

Source = Tuple[int, int]  # position of an operator, number of its output
# Bodies inside bodies; what is deeper stands behind, as sub-graphs do that nobody calls.
_DEEPEST = 100


@dataclasses.dataclass
class LinkedGraph:
    """The operators of a file's graphs in execution order; lists are by position.

    Attributes:
      names, types, graphs, originals: as of `Operator`.
      sources: per operator and data input the (position, output) that feeds it,
        or None.
      consumers: per operator the positions of those that take its outputs;
        loops are closed: a body's result feeds the body again.
      bodies: position of a caller -> names of its bodies.
      results: positions of the operators whose values the graph gives out.
      root: name of the root graph; None without a graph.
    """

    names: List[str] = dataclasses.field(default_factory=list)
    types: List[str] = dataclasses.field(default_factory=list)
    graphs: List[Optional[str]] = dataclasses.field(default_factory=list)
    originals: List[Tuple[str, ...]] = dataclasses.field(default_factory=list)
    sources: List[List[Optional[Source]]] = dataclasses.field(default_factory=list)
    consumers: List[List[int]] = dataclasses.field(default_factory=list)
    bodies: Dict[int, List[str]] = dataclasses.field(default_factory=dict)
    results: Set[int] = dataclasses.field(default_factory=set)
    root: Optional[str] = None

    def add(self, name: str, op_type: str, graph: Optional[str],
            originals: Tuple[str, ...]) -> int:
        """Adds an operator that nothing feeds yet; returns its position."""
        self.names.append(name)
        self.types.append(op_type)
        self.graphs.append(graph)
        self.originals.append(originals)
        self.sources.append([])
        self.consumers.append([])
        return len(self.names) - 1


def link(graphs: Iterable[Graph]) -> LinkedGraph:
    """The operators of all graphs of a file, linked.

    Args:
      graphs: the root first. A sub-graph that nobody calls (old files) stands behind.

    Returns:
      An empty LinkedGraph where there are no graphs.
    """
    linker = _Linker()
    linker.link(list(graphs))
    return linker.linked


class _Linker:
    """Fills a `LinkedGraph`.

    Attributes:
      linked: the result.
      _ops: (graph, name) -> position. _edges: position -> edges as in the file.
      _callers: body -> position of the operator that calls it. _bodies: the reverse.
      _parents: position of a body's Data operator -> number of the caller's input.
      _results: body -> number of the caller's output -> edge that makes it.
      _takers: position of a body's Data operator -> operators that take it.
      _made_by: answers of `_through`.
    """

    def __init__(self) -> None:
        self.linked = LinkedGraph()
        self._ops: Dict[Tuple[str, str], int] = {}
        self._edges: Dict[int, List[str]] = {}
        self._callers: Dict[str, int] = {}
        self._bodies: Dict[int, List[str]] = {}
        self._parents: Dict[int, int] = {}
        self._results: Dict[str, Dict[int, str]] = {}
        self._takers: Dict[int, List[int]] = {}
        self._made_by: Dict[Source, Source] = {}

    def link(self, graphs: List[Graph]) -> None:
        """Places all operators, then resolves all edges."""
        by_name = {graph.name: graph for graph in graphs}
        placed: Set[str] = set()
        for graph in graphs:
            # The root first, its bodies inside it; a sub-graph that nobody
            # calls (old files) stands behind.
            self._place(graph, by_name, placed)
        table = self.linked
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

    def _place(self, graph: Graph, by_name: Dict[str, Graph], placed: Set[str],
               depth: int = 0) -> None:
        """Adds the operators of a graph, those of the bodies that they call before them."""
        if graph.name in placed:
            return
        placed.add(graph.name)
        for op in graph.ops:
            bodies = op.subgraph_names if op.type in graph_parts.SUBGRAPH_TYPES else []
            for name in bodies:
                if name in by_name and name != graph.name and depth < _DEEPEST:
                    self._place(by_name[name], by_name, placed, depth + 1)
            position = self.linked.add(op.name, op.type, graph.name, tuple(op.origins))
            self._ops[graph.name, op.name] = position
            self._edges[position] = op.data_inputs
            if bodies:
                self._bodies[position] = self.linked.bodies[position] = list(bodies)
                self._callers.update((name, position) for name in bodies)
            if op.type == "Data":
                parent = op.attr("_parent_node_index")
                if isinstance(parent, int):
                    self._parents[position] = parent
            elif op.type == "NetOutput":
                self._results[graph.name] = _results_of(op)

    def _resolve(self, graph_name: str, edge: str) -> Optional[Source]:
        """What really makes the value of an edge; None where the graph has no such operator."""
        named = self._named(graph_name, edge)
        return None if named is None else self._through(named)

    def _named(self, graph_name: str, edge: str) -> Optional[Source]:
        """What an edge names, as it stands in the file."""
        if not edge:
            return None
        name, index = split_edge(edge)
        position = self._ops.get((graph_name, name))
        return None if position is None or index < 0 else (position, index)

    def _through(self, output: Source) -> Source:
        """What really makes an output: looks into callers and out of bodies."""
        followed: List[Source] = []
        while output not in self._made_by:
            self._made_by[output] = output  # against circles
            followed.append(output)
            output = self._out_or_in(*output) or output
        maker = self._made_by[output]
        self._made_by.update(dict.fromkeys(followed, maker))
        return maker

    def _out_or_in(self, position: int, index: int) -> Optional[Source]:
        """What an argument of a body is outside, or an output of a caller inside; else None."""
        graph_name = self.linked.graphs[position] or ""
        if position in self._parents and graph_name in self._callers:
            caller = self._callers[graph_name]
            edges = self._edges[caller]
            slot = self._parents[position]
            if slot < len(edges):
                return self._named(self.linked.graphs[caller] or "", edges[slot])
        elif position in self._bodies:
            bodies = [one for one in self._bodies[position] if index in self._results.get(one, {})]
            loop = self.linked.types[position] in graph_parts.LOOP_TYPES
            if len(bodies) == 1 or (bodies and loop):
                return self._named(bodies[-1], self._results[bodies[-1]][index])
        return None

    def _close_bodies(self) -> None:
        """A body's result is its caller's; what a loop's body gives out it takes in again."""
        table = self.linked
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
        for position, op_type in enumerate(self.linked.types):
            if op_type == "NetOutput" and self.linked.graphs[position] == root:
                self.linked.results.update(
                    source[0] for source in self.linked.sources[position] if source is not None)


def _results_of(op: GraphOp) -> Dict[int, str]:
    """Number of each of the caller's outputs -> edge that makes it."""
    edges = {}
    descs = op.input_descs
    for slot, edge in enumerate(op.data_inputs):
        parent = descs[slot].attr("_parent_node_index") if slot < len(descs) else None
        edges[parent if isinstance(parent, int) else slot] = edge
    return edges
