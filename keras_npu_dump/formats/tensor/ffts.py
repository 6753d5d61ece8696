"""FFTS+ (Atlas A2): an operator cut into slices, put together again.

The device runs such an operator in threads and leaves a file per thread. In
manual mode the operator's name ends in `_lxslice<N>` and the shape in the
header is the slice's; in automatic mode the files differ in `thread_id` and
their headers hold the whole tensor's shape, so the slice's must be taken from
the JSON in the header's attribute `_sgt_json_info` (GE `sgt_slice_type.h`;
msaccucmp `ffts_parser.py` and `dump_data_object.py`).
"""
from __future__ import annotations

import json
import os
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path
from keras_npu_dump.formats.names import DumpName, parse_dump_name
from keras_npu_dump.formats.tensor import decode
from keras_npu_dump.formats.tensor.message import DumpHeader
from keras_npu_dump.formats.tensor.tensor_data import read_file

SLICE_ATTR = "_sgt_json_info"
FFTS_TASK_TYPE = 4


class SliceInfo(NamedTuple):
    """What a header says about its slice.

    Attributes:
      automatic: True if the header's shape is the whole tensor's.
      count: number of slices, 0 if it is not given.
      output_cuts: per output the number of parts along each axis.
      shapes: {"input"|"output": per thread, per tensor, per axis
        (lower, higher)}.
    """
    automatic: bool
    count: int  # type: ignore[assignment]  # not tuple.count
    output_cuts: List[List[int]]
    shapes: Dict[str, List[List[List[Tuple[int, int]]]]]


class Joined(NamedTuple):
    """Outputs of an operator.

    Attributes:
      op_name: without prefix and slice number.
      outputs: one array per output.
      axes: along which each was joined, None where it was not cut.
      files: used, in the order of the slices.
      complete: whether all slices were there.
    """
    op_name: str
    outputs: List[np.ndarray]
    axes: List[Optional[int]]
    files: List[str]
    complete: bool


def slice_info(header: DumpHeader) -> Optional[SliceInfo]:
    """What a header's slice attribute says (GE `sgt_slice_type.h`).

    Args:
      header: of a dump file.

    Returns:
      SliceInfo; None if there is no such attribute, or none that can be read.
    """
    text = header.attrs.get(SLICE_ATTR)
    if text is None:
        # The vendor's comparator takes the first attribute, whatever its name.
        text = next(iter(header.attrs.values()), "")
    if len(text) > 16 << 20 or not text.startswith("{"):
        return None
    try:
        data = json.loads(text)
        if "threadMode" not in data:
            return None
        cuts = [[_count(part) for part in cut]
                for cut in data.get("outputCutList") or []]
        shapes = {}
        for kind in ("input", "output"):
            shapes[kind] = [
                [[(_count(axis["lower"]), _count(axis["higher"]))
                  for axis in tensor] for tensor in thread]
                for thread in data.get(kind + "_tensor_slice") or []]
        return SliceInfo(bool(data["threadMode"]),
                         _count(data.get("slice_instance_num") or 0), cuts,
                         shapes)
    except (ValueError, TypeError, KeyError, AttributeError,
            RecursionError):
        return None


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("expected a count, found %r" % (value,))
    return value


def group_slices(file_names: Iterable[str]) -> Dict[Any, List[str]]:
    """Groups the names of FFTS+ files that belong to the same operator.

    Args:
      file_names: without their folder, in any order.

    Returns:
      {(op_type, op_name without slice, task_id, stream_id, context_id): names
      in the order of their slices}; groups of a single whole operator are
      left out. The last of several executions counts, as for the vendor
      (msaccucmp `ffts_parser.py`).
    """
    groups: Dict[Any, Dict[int, Tuple[int, str]]] = {}
    for file_name in file_names:
        name = parse_dump_name(file_name)
        if name is None or name.csv or name.is_overflow \
                or name.task_type != FFTS_TASK_TYPE:
            continue
        number = _slice_number(name)
        # Slices of a manual split are operators of their own and have
        # context ids of their own; threads of one operator share it.
        context = None if name.slice is not None else name.context_id
        key = (name.op_type, _without_slice(name), name.task_id,
               name.stream_id, context)
        slices = groups.setdefault(key, {})
        if number not in slices or slices[number][0] < name.timestamp:
            slices[number] = (name.timestamp, file_name)
    return {key: [slices[number][1] for number in sorted(slices)]
            for key, slices in groups.items() if len(slices) > 1}


def _slice_number(name: DumpName) -> int:
    number = name.slice
    return number if number is not None else name.thread_id or 0


def _without_slice(name: DumpName) -> str:
    if name.slice is None:
        return name.op_name
    return name.op_name[:name.op_name.rindex("_lxslice")]


def slice_shape(info: Optional[SliceInfo], kind: str, thread: int,
                index: int) -> Optional[Tuple[int, ...]]:
    """Shape of a tensor of a thread in automatic mode.

    Args:
      info: of `slice_info`.
      kind: "input" or "output".
      thread: number of the thread, `DumpName.thread_id`.
      index: of the tensor among its kind.

    Returns:
      The slice's shape; None in manual mode, and where the attribute has none.
    """
    if info is None or not info.automatic:
        return None
    threads = info.shapes.get(kind, [])
    if thread >= len(threads) or index >= len(threads[thread]):
        return None
    axes = threads[thread][index]
    if any(higher < lower for lower, higher in axes):
        return None
    return tuple(higher - lower for lower, higher in axes)


def shaped_slice(values: np.ndarray,
                 shape: Optional[Tuple[int, ...]]) -> np.ndarray:
    """A slice's values in its own shape.

    Args:
      values: of a dump file, in any shape.
      shape: of `slice_shape`.

    Returns:
      The first values in that shape; all as they are where it is None, or has
      more elements than there are.
    """
    if shape is None:
        return values
    count = 1
    for dim in shape:
        count *= dim
    if count > values.size or not decode.can_hold(shape):
        return values
    return values.reshape(-1)[:count].reshape(shape)


def join_slices(paths: Sequence[Path]) -> Joined:
    """Reads the files of an operator and joins its outputs.

    Args:
      paths: a file per slice, in the order of the slices (`group_slices`).

    Raises:
      ValueError: no paths.
      FormatError: a file that cannot be read, no slice attribute, or slices
        that do not fit together.
      OSError: a file cannot be opened.
    """
    if not paths:
        raise ValueError("Expected the files of an operator. Received: none")
    parts: List[List[np.ndarray]] = []
    first: Optional[SliceInfo] = None
    op_name = ""
    for position, path in enumerate(paths):
        header, arrays = read_file(path)
        info = slice_info(header)
        name = parse_dump_name(os.path.basename(os.fspath(path)))
        if first is None:
            first = info
            op_name = name.base_op_name if name else header.op_name
        thread = position if name is None else _slice_number(name)
        outputs = []
        for entry, values in zip(header.entries, arrays):
            if entry.kind == "output":
                shape = slice_shape(info, "output", thread, entry.index)
                outputs.append(shaped_slice(values, shape))
        parts.append(outputs)
    if first is None:
        raise FormatError(paths[0], "the header does not say how the operator "
                          "was cut into slices")
    if len({len(outputs) for outputs in parts}) != 1:
        raise FormatError(paths[0], "the slices have different numbers of "
                          "outputs")
    joined, axes = [], []
    for index, slices in enumerate(zip(*parts)):
        axis = _cut_axis(first, index)
        axes.append(axis)
        if axis is None:
            joined.append(slices[0])
            continue
        try:
            joined.append(np.concatenate(slices, axis))
        except ValueError:
            raise FormatError(
                paths[0], "slices of output %d do not fit along axis %d: %s"
                % (index, axis, [part.shape for part in slices])) from None
    return Joined(op_name, joined, axes, [os.fspath(path) for path in paths],
                  first.count in (0, len(paths)))


def _cut_axis(info: SliceInfo, index: int) -> Optional[int]:
    if index < len(info.output_cuts):
        for axis, cut in enumerate(info.output_cuts[index]):
            if cut != 1:
                return axis
    return None
