"""How many bytes an execution of a Build graph leaves, by the shapes that stand in its file."""
from typing import FrozenSet, List, NamedTuple, Optional, Sequence

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.graph.ge_graph import Desc, GraphOp
from keras_npu_dump.op_types import graph_parts

# A file of statistics, and a line in it (formats/stats); the head of a dump file, and what it
# holds of a tensor (formats/tensor/header.py). Measured on what the emulator writes.
_STATS_FILE, _STATS_ROW = 134, 75
_DUMP_FILE, _DUMP_TENSOR = 60, 40


class Options(NamedTuple):
    """The options that decide about the size of a step.

    Attributes:
      data: "tensor" or "stats".
      mode: "input", "output" or "all".
      layers: names of operators; empty for all.
    """

    data: str
    mode: str
    layers: FrozenSet[str]


def step_bytes(path: str, options: Options) -> Optional[int]:
    """The bytes of one execution; operators in branches and loops count once.

    Args:
      path: of a Build file.
      options: of the dump.

    Returns:
      A number; None where the file cannot be read, or shapes are known only when it runs.
    """
    total = 0
    try:
        for _, op in graph_reader.iter_ops(path):
            if op.type in graph_parts.QUIET_TYPES or not _is_chosen(op, options.layers):
                continue
            sizes = _sizes(op, options.mode)
            if None in sizes:
                return None
            if options.data == "stats":
                total += (_STATS_FILE + _STATS_ROW * len(sizes)) if sizes else 0
            elif sizes:
                total += _DUMP_FILE + sum(_DUMP_TENSOR + (size or 0) for size in sizes)
    except (OSError, FormatError):
        return None
    return total


def _is_chosen(op: GraphOp, layers: FrozenSet[str]) -> bool:
    names = [op.name, *(op.original_op_names or ())]
    return not layers or not layers.isdisjoint(names)


def _sizes(op: GraphOp, mode: str) -> List[Optional[int]]:
    """The bytes of each tensor that is dumped; None for one of unknown size."""
    descs: Sequence[Desc] = [
        *(op.input_descs if mode != "output" else ()),
        *(op.output_descs if mode != "input" else ())]
    found: List[Optional[int]] = []
    for desc in descs:
        bits = dtypes.dtype_bits(dtypes.dtype_number(desc.dtype) or 0)
        if desc.dtype in graph_parts.HANDLE_DTYPES or not bits:
            continue
        count = 1
        for dimension in desc.shape:
            count *= dimension
        found.append(None if any(one < 0 for one in desc.shape) else (count * bits + 7) // 8)
    return found
