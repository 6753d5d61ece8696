"""How many bytes a dump of an execution leaves: by what an execution has left before, and where
that does not show it by the shapes in the graph's file. Triage and doctor ask here."""
from __future__ import annotations

import os
from typing import Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.analysis.columns import Columns, read_columns
from keras_npu_dump.analysis.graph.file_operators import FileNames
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.graph.ge_graph import Desc, GraphOp
from keras_npu_dump.formats.tensor.header import read_header
from keras_npu_dump.op_types import graph_parts

# A file of statistics, and a line in it (formats/stats); the head of a dump file, and what it
# holds of a tensor (formats/tensor/header.py). Measured on what the emulator writes.
_STATS_FILE, _STATS_ROW = 134, 75
_DUMP_FILE, _DUMP_TENSOR = 60, 40
_FLOAT_BITS = 32
# A graph may claim any shape.
_MOST_ELEMENTS = 1 << 50


class DumpForm(NamedTuple):
    """The options that decide about the size of an execution.

    Attributes:
      data: "tensor" or "stats".
      mode: "input", "output" or "all".
      layers: names of operators; empty for all.
    """

    data: str
    mode: str = "all"
    layers: FrozenSet[str] = frozenset()


class Tensor(NamedTuple):
    """A tensor that an execution left: of the operator at `position`, in its run `turn`, its
    `number` among the operator's inputs or outputs."""

    position: int
    turn: int
    output: bool
    number: int
    bytes: int


class Size(NamedTuple):
    """Bytes of an execution.

    Attributes:
      bytes: of all operators whose size is known.
      unknown: how many operators have tensors of unknown size.
    """

    bytes: int
    unknown: int


def tensors_of(columns: Columns) -> List[Tensor]:
    """The tensors of an execution that was read.

    Args:
      columns: of the execution.
    """
    return [Tensor(op, turn, output, index, (max(0, count) * _bits(dtype) + 7) // 8)
            for op, turn, output, index, count, dtype in zip(
                columns.op.tolist(), columns.turn.tolist(), columns.output.tolist(),
                columns.index.tolist(), columns.count.tolist(), columns.dtype.tolist())]


def tensors_in(folders: Sequence[str], files: FileNames) -> List[Tensor]:
    """The tensors of an execution; of binary files the heads alone are read.

    Args:
      folders: of the execution.
      files: which operator each of their files belongs to.
    """
    listed = [(folder, files.list(folder)) for folder in folders]
    if all(all(one.stats) for _, one in listed):
        return tensors_of(read_columns(folders, files))
    found: List[Tensor] = []
    turns: Dict[int, int] = {}
    for folder, one in listed:
        for name, op, stats in zip(one.names, one.ops, one.stats):
            if stats:
                continue
            try:
                head = read_header(os.path.join(folder, name))
            except (FormatError, OSError):
                continue
            turn = turns[op] = turns.get(op, -1) + 1
            found.extend(Tensor(op, turn, entry.kind == "output", entry.index, entry.size)
                         for entry in head.entries if entry.kind in ("input", "output"))
    return found


class DumpSize:
    """Sizes of executions of one graph.

    Args:
      table: the operators of the graph.
      tensors: of an execution that was dumped; empty where none was.
      before: how that was dumped.
      describe: gives operators of the graph's file by their names.
    """

    def __init__(self, table: Operators, tensors: Iterable[Tensor], before: DumpForm,
                 describe: Callable[[Iterable[str]], Dict[str, GraphOp]]):
        self._table = table
        self._before = before
        self._describe = describe
        self._left: Dict[int, List[Tensor]] = {}
        self._outputs: Dict[Tuple[int, int], int] = {}
        for one in tensors:
            self._left.setdefault(one.position, []).append(one)
            if one.output:
                self._outputs[one.position, one.number] = one.bytes

    def of(self, wanted: DumpForm) -> Size:
        """The bytes of one execution.

        Args:
          wanted: how it is to be dumped.
        """
        table = self._table
        chosen = [position for position in range(len(table)) if not wanted.layers
                  or not wanted.layers.isdisjoint((table.names[position],
                                                   *table.originals[position]))]
        return self.of_operators(chosen, wanted)

    def of_operators(self, positions: Iterable[int], wanted: DumpForm) -> Size:
        """The bytes of some operators in one execution.

        Args:
          positions: of the operators.
          wanted: its `layers` do not matter.
        """
        total = unknown = 0
        pending = [one for one in positions if not self._leaves_nothing(one)]
        unseen = [self._table.names[one] for one in pending if not self._is_shown(one, wanted)]
        described = self._describe(unseen) if unseen else {}
        for position in pending:
            sizes = self._sizes(position, wanted, described.get(self._table.names[position]))
            turns = max(1, len({one.turn for one in self._left.get(position, ())}))
            unknown += None in sizes
            known = [size for size in sizes if size is not None]
            if sizes and wanted.data == "stats":
                unknown -= None in sizes  # a line is a line
                total += turns * _STATS_FILE + len(sizes) * _STATS_ROW
            elif sizes:
                total += turns * _DUMP_FILE + len(sizes) * _DUMP_TENSOR + sum(known)
        return Size(total, unknown)

    def _leaves_nothing(self, position: int) -> bool:
        if position in self._left:
            return False
        everything = self._left and not self._before.layers and self._before.mode == "all"
        return bool(everything) or self._table.types[position] in graph_parts.QUIET_TYPES

    def _is_shown(self, position: int, wanted: DumpForm) -> bool:
        """Whether the earlier dump has all tensors of the operator that are wanted."""
        return position in self._left and self._before.mode in ("all", wanted.mode)

    def _sizes(self, position: int, wanted: DumpForm, op: Optional[GraphOp]) -> List[Optional[int]]:
        """The bytes of each tensor; None for one of unknown size."""
        left = self._left.get(position, [])
        turns = max(1, len({one.turn for one in left}))
        found: List[Optional[int]] = []
        for output, without in ((False, "output"), (True, "input")):
            if wanted.mode == without:
                continue
            if left and self._before.mode != without:
                found += [one.bytes for one in left if one.output == output]
            elif op is not None:
                descs = op.output_descs if output else op.input_descs
                found += turns * [
                    self._by_graph(desc, None if output else self._made(position, index))
                    for index, desc in enumerate(descs)
                    if desc.dtype not in graph_parts.HANDLE_DTYPES]
        return found

    def _made(self, position: int, index: int) -> Optional[int]:
        """The bytes of an input, as the operator that makes it has left them."""
        sources = self._table.sources[position]
        source = sources[index] if index < len(sources) else None
        return None if source is None else self._outputs.get(source)

    @staticmethod
    def _by_graph(desc: Desc, made: Optional[int]) -> Optional[int]:
        if any(one < 0 for one in desc.shape):
            return made
        count = 1
        for dimension in desc.shape:
            count = min(count * dimension, _MOST_ELEMENTS)
        return (count * _bits(dtypes.dtype_number(desc.dtype) or 0) + 7) // 8


def _bits(dtype: int) -> int:
    """Bits of an element, those of a float where the type has no size."""
    return int(dtypes.dtype_bits(dtype) or _FLOAT_BITS)
