"""Nodes of a twin that give the values of its graph to Python, and when they run.

A large value goes out alone, as soon as it is there, and is let go when it was reduced or
written; the small ones of a graph go out together at its end, for a call of Python takes
longer than they do. So that large values do not pile up before sinks that are behind, the
operators that make them are taken in blocks, and a block waits for the sinks of the last
but one before it.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.tracer import added_nodes, loop_condition, runs
from keras_npu_dump.emulator.tracer.added_nodes import RUN
from keras_npu_dump.emulator.tracer.dump_plan import Read

SMALL = 1 << 15
"""Bytes; a value of at least so many goes out alone. Python's call takes as long as reducing it."""

BLOCK = 1 << 24
"""Bytes that the large values of a block of operators have at least (but for the last)."""

_PREFIX = "keras_npu_dump/"
COLLECTED = _PREFIX + "collected:output:0"
"""The tensor that says where the values of a graph are kept."""


class Sinks:
    """Adds the sinks of one graph to its FunctionDef.

    Args:
      definition: FunctionDef; its argument RUN is or will be there.
      flat: the graph.
      reads: variables read beside its operators.
      gated: whether an execution may want nothing (RUN is negative).
    """

    def __init__(self, definition: Any, flat: Flat, reads: Sequence[Read], gated: bool):
        self._definition = definition
        self._gate = added_nodes.Gate(definition) if gated else None
        self._position = {node.name: index for index, node in enumerate(flat.nodes)}
        self._position.update((read.name, self._position[read.node]) for read in reads)
        self._order = [node.name for node in flat.nodes]

    def add(self, wanted: Sequence[Tuple[str, int]], sizes: Mapping[str, int]) -> None:
        """Adds what takes the values of a graph; COLLECTED says where they are kept.

        Args:
          wanted: (tensor, dtype number of TensorFlow).
          sizes: tensor -> bytes, of the large ones.
        """
        inputs: List[str] = []
        dtypes: List[int] = []
        waits: List[Tuple[int, int, str]] = []
        for index, (tensor, dtype) in enumerate(wanted):
            taken = tensor if self._gate is None else self._gate.taken(tensor, dtype)
            dtypes.append(dtype)
            if tensor in sizes:
                taken = self._py_func("%ssink_%d" % (_PREFIX, index), runs.token(dtype),
                                      [taken], [dtype])
                dtypes[-1] = tf_dtypes.DT_INT64
                done = taken
                if self._gate is not None:
                    done = self._gate.either(taken, "%staken_%d" % (_PREFIX, index))
                waits.append((self._position.get(flat_lib.node_of(tensor), -1), sizes[tensor],
                              flat_lib.node_of(done)))
            inputs.append(taken)
        name = flat_lib.node_of(COLLECTED)
        if self._gate is None:
            self._py_func(name, runs.token(0), inputs, dtypes)
        else:
            self._gate.either(self._py_func(_PREFIX + "collect", runs.token(0), inputs, dtypes),
                              name)
        if waits:
            self._hold_back(waits)
            # A loop's next round must not begin while values of this one are still there.
            loop_condition.run_also(self._definition, [name])

    def _py_func(self, name: str, token: bytes, inputs: Sequence[str], dtypes: Sequence[int]
                 ) -> str:
        node = added_nodes.add_node(self._definition, "PyFunc", name)
        node.input.extend([RUN, *inputs])
        node.attr["token"].s = token
        node.attr["Tin"].list.type.extend([tf_dtypes.DT_INT64, *dtypes])
        node.attr["Tout"].list.type.append(tf_dtypes.DT_INT64)
        return name + ":output:0"

    def _hold_back(self, waits: List[Tuple[int, int, str]]) -> None:
        """Lets operators wait for sinks: (position of the operator, bytes, sink) of each."""
        waits.sort(key=lambda wait: wait[0])
        blocks: List[List[str]] = []
        block_of: Dict[int, int] = {}
        held = BLOCK
        for position, size, sink in waits:
            if held >= BLOCK:
                blocks.append([])
                held = 0
            held += size
            blocks[-1].append(sink)
            # An operator belongs to the first block that holds a value of it, so that all in
            # the blocks before was made by operators before it: no wait makes a circle.
            block_of.setdefault(position, len(blocks) - 1)
        nodes = {node.name: node for node in self._definition.node_def}
        for number, sinks in enumerate(blocks[:-2]):
            barrier = added_nodes.add_node(self._definition, "NoOp",
                                           "%sblock_%d" % (_PREFIX, number))
            barrier.input.extend("^" + sink for sink in sinks)
            if number:
                barrier.input.append("^%sblock_%d" % (_PREFIX, number - 1))
        for position, block in block_of.items():
            if block >= 2 and position >= 0:
                nodes[self._order[position]].input.append("^%sblock_%d" % (_PREFIX, block - 2))


def large(flat: Flat, wanted: Sequence[Tuple[str, int]],
          sizes: Optional[Mapping[Tuple[int, str], int]]) -> Dict[str, int]:
    """The large ones among the values of a graph.

    Args:
      flat: the graph.
      wanted: (tensor, dtype number of TensorFlow).
      sizes: (id(flat), tensor) -> bytes; what is not in it may be of any size. None for a
        graph whose values are all small.

    Returns:
      tensor -> bytes.
    """
    if sizes is None:
        return {}
    found = {tensor: sizes.get((id(flat), tensor), SMALL) for tensor, _ in wanted}
    return {tensor: size for tensor, size in found.items() if size >= SMALL}
