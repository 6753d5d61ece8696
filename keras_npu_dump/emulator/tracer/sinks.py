"""Nodes of a twin that give the values of its graph to Python, and when they run.

Where all values of a graph are small they go out together at its end, for a call of Python
takes longer than they do. Else they go out as they come, and what is kept of them is a row
of statistics or a place in a file: a large value alone, small ones with their neighbours. In
such a graph nothing small may stay until the end, not even a number that each sink returns:
between large values it would keep the allocator from joining what those leave behind
(ResNet50: a GB more).

So that values do not pile up before sinks that are behind, operators are taken in blocks, and
a block waits for the sinks of the last but one before it.
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
"""Bytes; a value of at least so many is large. Python's call takes as long as reducing it."""

BLOCK = 1 << 24
"""Bytes that the values of a block of operators have at least (but for the last block)."""

_LEAST = BLOCK >> 8
"""What a small value counts, so that no block has too many."""

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
        position = {node.name: index for index, node in enumerate(flat.nodes)}
        position.update((read.name, position[read.node]) for read in reads)
        self._position = position
        self._order = [node.name for node in flat.nodes]

    def add(self, wanted: Sequence[Tuple[str, int]], sizes: Mapping[str, int]) -> List[List[str]]:
        """Adds what takes the values of a graph; COLLECTED says where they are kept.

        Args:
          wanted: (tensor, dtype number of TensorFlow).
          sizes: tensor -> bytes, of the large ones.

        Returns:
          The tensors that go out together as they come, for each time; [] where all go out at
          the end, in the order of `wanted`.
        """
        end = flat_lib.node_of(COLLECTED)
        if not sizes:
            self._py_func(runs.AT_END, end if self._gate is None else _PREFIX + "collect",
                          [RUN], wanted, 1)
            if self._gate is not None:
                self._gate.either(_PREFIX + "collect:output:0", end)
            return []
        place = self._py_func(runs.BEGIN, _PREFIX + "begin", [self._run], (), 1)
        groups: List[List[str]] = []
        ends: List[List[str]] = []
        blocks = self._blocks(wanted, sizes)
        for block in blocks:
            ends.append([])
            small = [value for value in block if value[0] not in sizes]
            for group in [[value] for value in block if value[0] in sizes] + [small][:len(small)]:
                name = "%ssink_%d" % (_PREFIX, len(groups))
                index = added_nodes.int64(self._definition, name + "/group", len(groups))
                self._py_func(runs.AT_ONCE, name, [self._run, place, index], group, 0)
                groups.append([tensor for tensor, _ in group])
                ends[-1].append(name)
        self._hold_back(blocks, ends)
        sinks = [name for names in ends for name in names]
        if self._gate is None:
            self._after(end, place, sinks)
        else:
            self._gate.either(self._after(_PREFIX + "collect", place, sinks), end)
        # A loop's next round must not begin while values of this one are still there.
        loop_condition.run_also(self._definition, [end])
        return groups

    @property
    def _run(self) -> str:
        """RUN, only where values are wanted."""
        return RUN if self._gate is None else self._gate.run

    def _py_func(self, function: int, name: str, inputs: Sequence[str],
                 values: Sequence[Tuple[str, int]], outputs: int) -> str:
        """A call of Python with some scalars of int64 and with values; returns its output."""
        node = added_nodes.add_node(self._definition, "PyFunc", name)
        node.attr["token"].s = runs.token(function)
        node.attr["Tin"].list.type.extend([tf_dtypes.DT_INT64] * len(inputs))
        node.attr["Tout"].list.type.extend([tf_dtypes.DT_INT64] * outputs)
        node.input.extend(inputs)
        for tensor, dtype in values:
            node.input.append(tensor if self._gate is None else self._gate.taken(tensor, dtype))
            node.attr["Tin"].list.type.append(dtype)
        return name + ":output:0"

    def _after(self, name: str, tensor: str, nodes: Sequence[str]) -> str:
        """A scalar of int64 that is there once some nodes have run."""
        node = added_nodes.add_node(self._definition, "Identity", name)
        node.input.extend([tensor, *("^" + one for one in nodes)])
        node.attr["T"].type = tf_dtypes.DT_INT64
        return name + ":output:0"

    def _blocks(self, wanted: Sequence[Tuple[str, int]], sizes: Mapping[str, int]
                ) -> List[List[Tuple[str, int]]]:
        """The values in executable order, in blocks of some size."""
        blocks: List[List[Tuple[str, int]]] = []
        held = BLOCK
        for value in sorted(wanted, key=lambda value: self._place(value[0])):
            if held >= BLOCK:
                blocks.append([])
                held = 0
            held += max(_LEAST, sizes.get(value[0], 0))
            blocks[-1].append(value)
        return blocks

    def _place(self, tensor: str) -> int:
        """The place of the operator behind a tensor; -1 for an argument."""
        return self._position.get(flat_lib.node_of(tensor), -1)

    def _hold_back(self, blocks: Sequence[Sequence[Tuple[str, int]]],
                   ends: Sequence[Sequence[str]]) -> None:
        """Lets the operators of a block wait for the sinks of the last but one before it."""
        # An operator belongs to the first block that holds a value of it: all in the blocks before
        # that was made by operators before it, so that no wait makes a circle.
        block_of: Dict[int, int] = {}
        for number, block in enumerate(blocks):
            for tensor, _ in block:
                block_of.setdefault(self._place(tensor), number)
        nodes = {node.name: node for node in self._definition.node_def}
        for number, waited in enumerate(ends[:-2]):
            name = "%sblock_%d" % (_PREFIX, number)
            sinks = waited
            if self._gate is not None:
                # A node that waits for one that does not run would not run either.
                ended = self._after(name + "/ended", self._gate.run, sinks)
                sinks = [flat_lib.node_of(self._gate.either(ended, name + "/either"))]
            barrier = added_nodes.add_node(self._definition, "NoOp", name)
            barrier.input.extend("^" + sink for sink in sinks)
            if number:
                barrier.input.append("^%sblock_%d" % (_PREFIX, number - 1))
        for place, number in block_of.items():
            if number >= 2 and place >= 0:
                nodes[self._order[place]].input.append("^%sblock_%d" % (_PREFIX, number - 2))


def large(flat: Flat, wanted: Sequence[Tuple[str, int]],
          sizes: Optional[Mapping[Tuple[int, str], int]]) -> Dict[str, int]:
    """The large ones among the values of a graph.

    Args:
      flat: the graph.
      wanted: (tensor, dtype number of TensorFlow).
      sizes: (id(flat), tensor) -> bytes, where known. None for a graph whose values are all small.

    Returns:
      tensor -> bytes. A value whose size is not known is large, unless nearly all are known and
      none of them is large.
    """
    if sizes is None:
        return {}
    known = {tensor: sizes.get((id(flat), tensor), -1) for tensor, _ in wanted}
    found = {tensor: SMALL if size < 0 else size for tensor, size in known.items()
             if size < 0 or size >= SMALL}
    unknown = sum(size < 0 for size in known.values())
    return found if len(found) > unknown or unknown > len(known) // 4 else {}
