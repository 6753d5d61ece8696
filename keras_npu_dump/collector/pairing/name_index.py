"""Which graphs could have the name of a dump folder, without asking each of them.

A network of some hundred variables has as many graphs that set one of them, on every
rank: rules that look at every graph for every folder would take minutes.
"""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.rules.by_name import dated, names_of, numbered, whole_name


class NameIndex:
    """Graphs by every name under which a rule about names may know them.

    Args:
      graphs: all that there are. Names of sub-graphs are known of those whose body was
        read; see `note_bodies`.
    """

    def __init__(self, graphs: Sequence[BuildGraph]):
        self._graphs = graphs
        self._of_key: Dict[Any, List[int]] = {}
        self._position = {id(graph): number for number, graph in enumerate(graphs)}
        self._read: Set[int] = set()
        for number, graph in enumerate(graphs):
            name = graph.dump_name
            if name:
                for key in (name, ("stem", numbered(name)), ("dated", dated(name))):
                    self._add(key, number)
        self.note_bodies(graphs)

    def note_bodies(self, graphs: Sequence[BuildGraph]) -> None:
        """Takes in the names of sub-graphs of these, where they are known by now."""
        for graph in graphs:
            number = self._position[id(graph)]
            if graph.body is not None and number not in self._read:
                self._read.add(number)
                for name in names_of(graph):
                    self._add(name, number)

    def _add(self, key: Any, number: int) -> None:
        self._of_key.setdefault(key, []).append(number)

    def named(self, model_name: Optional[str]) -> List[BuildGraph]:
        """Graphs of which one of the rules about names may say yes, in their order."""
        found: Set[int] = set()
        for key in _keys(model_name or ""):
            found.update(self._of_key.get(key, ()))
        return [self._graphs[number] for number in sorted(found)]


def _keys(model_name: str) -> Iterator[Any]:
    whole = whole_name(model_name)
    yield model_name
    yield whole
    if numbered(whole) is not None:
        yield numbered(whole)
    yield "stem", whole
    if dated(model_name) is not None:
        yield "dated", dated(model_name)
