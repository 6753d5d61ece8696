"""Which graphs GE would have to build again, where that is rehearsed.

A graph that is built later may change the format of a variable, at most once each (GE
variable_op_pass.cc, graph_rebuild_state_ctrl.h). Graphs that were built with the old format are
removed and added again when they run next, under the same graph id (adapter
npu_concrete_graph.cpp, IsGraphNeedRebuild): another model, which counts from 0.

Which graph changes which format depends on GE's passes, which are not emulated. With
`rebuild=yes` every later graph does so with each variable that an earlier one has.
"""
from __future__ import annotations

from typing import Dict, List, Sequence, Set

from keras_npu_dump.emulator.ge.loaded_graph import LoadedGraph


class Rebuilds:
    """The variables of loaded graphs, and whose format was changed since a graph was built."""

    def __init__(self) -> None:
        self._holders: Dict[int, List[LoadedGraph]] = {}
        self._changed: Set[int] = set()
        self._due: Set[int] = set()

    def built(self, graph: LoadedGraph, variables: Sequence[int]) -> None:
        """Notes a graph that was built for the first time.

        Args:
          graph: the later graph.
          variables: the identities of those that it takes.
        """
        for variable in dict.fromkeys(variables):
            earlier = self._holders.setdefault(variable, [])
            if earlier and variable not in self._changed:
                self._changed.add(variable)
                self._due.update(one.graph_id for one in earlier)
            earlier.append(graph)

    def take(self, graph: LoadedGraph) -> bool:
        """Whether a graph must be built again before it runs; it is told once.

        Args:
          graph: that is about to run.
        """
        due = graph.graph_id in self._due
        self._due.discard(graph.graph_id)
        return due
