"""Loops that the device runs: how a call of them counts (adapter npu_concrete_graph.cpp).

A graph that returns nothing and in which all leads to a single While that consumes an
iterator is sunk: the device runs the body `loop size` times per call, and every round is
an execution of its own, `data_index = call * loop size + round`. With shapes that are not
known the host runs it as often, and it counts the same. A While beside other work
(Keras's steps_per_execution) stays inside: one execution, one data_index.
"""
from __future__ import annotations

import dataclasses
import functools
from typing import AbstractSet, Any, Dict, List, Optional, Sequence, Set

from keras_npu_dump import messages
from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.ge import dump_writer
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.graphs import build_file, eager_graphs
from keras_npu_dump.emulator.tracer.dump_plan import DumpedOp, Plan
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.emulator.tracer.values import Values
from keras_npu_dump.op_types import graph_names, graph_parts

NPU, HOST, BUILTIN = "NPU_LOOP", "HOST_LOOP", "BUILTIN_LOOP"
_said: Set[str] = set()


@dataclasses.dataclass(frozen=True)
class Loop:
    """A graph's loop.

    Attributes:
      kind: NPU, HOST or BUILTIN.
      node: the name of the While.
    """

    kind: str
    node: str

    @property
    def sunk(self) -> bool:
        """Whether every round is an execution of its own."""
        return self.kind != BUILTIN


def find(root: Flat, iterators: AbstractSet[str], static: bool) -> Optional[Loop]:
    """The loop of a graph by the adapter's rule (adapter npu_concrete_graph.cpp).

    Args:
      root: the graph.
      iterators: names of the arguments from which an iterator operator reads.
      static: whether all shapes are known before the graph runs.

    Returns:
      The loop; None where there is not exactly one While, or it takes no iterator.
    """
    loops = [node for node in root.nodes if node.op in graph_parts.WHILE_TYPES]
    if len(loops) != 1 or iterators.isdisjoint(loops[0].input):
        return None
    node = loops[0]
    feeding = {node.name}
    for other in reversed(root.nodes):
        if other.name in feeding:
            feeding.update(flat_lib.node_of(tensor) for tensor in other.input)
    rest = [other for other in root.nodes if other.name not in feeding and other.op != "NoOp"]
    if rest or root.ret:
        return Loop(BUILTIN, node.name)
    return Loop(NPU if static else HOST, node.name)


def say_builtin(name: str, size: int) -> None:
    """Warns of what a loop inside a graph needs on the device, once per graph.

    Args:
      name: of the graph.
      size: the loop size that is set.
    """
    if size == 1 and name not in _said:
        _said.add(name)
        messages.warning(
            "emulator: graph %s holds a loop that takes its data from an iterator. On the device"
            " npu_device.set_npu_loop_size(n) must give its rounds (steps_per_execution); it is"
            " 1 now.", name)


def check_rounds(name: str, rounds: int, size: int) -> None:
    """Warns, once per graph, if TensorFlow's loop made other rounds than the device would.

    Args:
      name: of the graph.
      rounds: how many TensorFlow made.
      size: the loop size that is set.
    """
    if rounds != size and name not in _said:
        _said.add(name)
        messages.warning(
            "emulator: the loop of %s ran %d rounds; the device would run %d per call"
            " (npu_device.set_npu_loop_size). Rounds beyond that are not dumped.",
            name, rounds, size)


class SizeGraphs:
    """The two graphs with which the adapter tells the device a new loop size."""

    def __init__(self) -> None:
        self._current = 1
        self._setter: Any = None

    def set(self, engine: Any, size: int) -> None:
        """Runs them if the size has changed since the last sunk loop.

        Args:
          engine: the Engine whose graphs they are.
          size: rounds per call.
        """
        if size == self._current:
            return
        self._current = size
        if self._setter is None:
            conditions = engine.new_graph(graph_names.SET_LOOP_CONDITIONS)
            engine.ran_once(conditions)
            self._write(engine, conditions, ["npu_runconfig/loop_cond", "npu_runconfig/one",
                                             "npu_runconfig/zero"], True)
            self._setter = engine.new_graph(graph_names.SET_LOOP_SIZE)
            self._write(engine, self._setter, ["npu_runconfig/iterations_per_loop"], False)
        self._setter.count += 1
        engine.ran_once(self._setter)

    def _write(self, engine: Any, graph: Any, names: List[str], constant: bool) -> None:
        if build_file.wanted(engine.session):
            build_file.write(engine.folder, engine.session, graph, functools.partial(
                eager_graphs.loop_graph, graph.ge_name, names, constant))


class _LoopWriter(dump_writer.ExecutionWriter):
    """Changes the folder with each round of the loop; rounds without a folder are not written."""

    def __init__(self, folders: Dict[int, str], loop: Loop, plan: Plan, values: Values,
                 session: GeSession):
        super().__init__(folders.get(0, ""), plan, values, session)
        self._folders = folders
        self._loop = loop

    def _inner(self, activation: Activation, node: Any) -> Any:
        for number, inner in enumerate(super()._inner(activation, node)):
            # Of a sunk loop only the body has values, so numbers are rounds.
            if activation.parent is None and node.name == self._loop.node:
                self._folder = self._folders.get(number, "")
            yield inner

    def _write_op(self, op: DumpedOp, activation: Activation) -> None:
        if self._folder:
            super()._write_op(op, activation)


def write_rounds(folders: Dict[int, str], loop: Loop, plan: Plan, activation: Activation,
                 args: Sequence[Any], constants: Dict[Any, Any], session: GeSession) -> None:
    """Writes the rounds of a sunk loop, each into the folder of its own execution.

    Args:
      folders: round -> folder; rounds that are not in it are not dumped.
      loop: the sunk loop.
      plan, activation, args, constants, session: see `dump_writer.write_execution`.
    """
    _LoopWriter(folders, loop, plan, Values(plan, args, constants), session).write(activation)
