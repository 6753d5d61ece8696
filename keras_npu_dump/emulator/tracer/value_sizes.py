"""How large the values of a graph are, as far as that is known before it runs."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence, Tuple

from keras_npu_dump.emulator.tracer.dump_plan import Plan

_UNKNOWN_DIM = 32
"""An unknown dimension is mostly that of the batch."""


def of_plan(plan: Plan, shapes: Mapping[Tuple[int, str], Sequence[int]],
            variables: Sequence[int]) -> Dict[Tuple[int, str], int]:
    """The sizes of what a graph's dumped executions need.

    Args:
      plan: of the graph.
      shapes: by (id(flat), tensor); -1 an unknown dimension, (-2,) an unknown rank.
      variables: for each argument of the graph the bytes of the variable behind it.

    Returns:
      Bytes by (id(flat), tensor); nothing where not even the rank is known.
    """
    from tensorflow.python.framework import dtypes
    sizes: Dict[Tuple[int, str], int] = {}
    for key, tensors in plan.wanted.items():
        for tensor, dtype in tensors:
            shape = shapes.get((key, tensor))
            if shape is not None and min(shape, default=0) > -2:
                sizes[(key, tensor)] = dtypes.as_dtype(dtype).size * elements(shape)
    for key, reads in plan.reads.items():
        for read in reads:
            if read.argument >= 0:
                sizes[(key, read.tensor)] = variables[read.argument]
    return sizes


def elements(shape: Sequence[int]) -> int:
    """How many elements a shape has; a guess where a dimension is not known.

    Args:
      shape: -1 is an unknown dimension.
    """
    count = 1
    for dim in shape:
        count *= _UNKNOWN_DIM if dim < 0 else dim
    return count


def of_variable(handle: Any) -> int:
    """The bytes of the variable behind an argument; 0 where there is none.

    Args:
      handle: eager tensor, an argument of the call.
    """
    from tensorflow.python.framework import dtypes
    data = getattr(handle, "_handle_data", None)
    held = list(data.shape_and_type) if data is not None and data.is_set else []
    if len(held) != 1:
        return 0
    shape = [int(dim.size) for dim in held[0].shape.dim]
    return int(dtypes.as_dtype(held[0].dtype).size * elements(shape))
