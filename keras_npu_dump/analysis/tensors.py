"""One tensor of a dump: found by its operator's name, read in its original layout."""
from __future__ import annotations

import difflib
import os
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.views import StepView
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.names import sanitise
from keras_npu_dump.formats.tensor import dump_file, layouts
from keras_npu_dump.formats.tensor.message import TensorEntry

PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
BINS = 16
WORST = 10


class FoundTensor(NamedTuple):
    """Where a tensor lies.

    Attributes:
      step: the execution. position, op, op_type: of its operator.
      path: the dump file. entry: its description there. turn: see `Run.tensor`.
    """

    step: StepView
    position: int
    op: str
    op_type: str
    path: str
    entry: TensorEntry
    turn: int

    def original(self) -> layouts.Original:
        """Values, the name of their layout, and why they stayed in the device's, if so."""
        values = dump_file.read_array(self.path, self.entry)
        return layouts.to_original(values, self.entry, self._origin_format())

    def values(self) -> np.ndarray:
        return self.original().values

    def _origin_format(self) -> Optional[str]:
        described = self.step.pair.described([self.op]).get(self.op)
        if described is None:
            return None
        if self.entry.kind == "output":
            descs = described.output_descs
            return descs[self.entry.index].origin_format if self.entry.index < len(descs) else None
        slots = len(described.data_inputs)
        desc = described.input_desc_of(self.entry.index) if self.entry.index < slots else None
        return None if desc is None else desc.origin_format


def find_tensor(step: StepView, op: str, index: int = 0, io: str = "output",
                turn: int = -1) -> FoundTensor:
    """The tensor of an operator in one execution; see `Run.tensor`.

    Raises:
      InputError: no such operator, not dumped, or only its statistics were.
      FormatError: its file is broken.
    """
    if io not in ("input", "output"):
        raise InputError("io: expected 'input' or 'output'. Received: %r" % io)
    # Files first: what they know and the graph does not becomes an operator by it.
    listings = [(folder, step.pair.file_names.list(folder)) for folder in step.folders]
    positions = find_operators(step.pair.operators, op)
    mine = [(position, listed.times[number], os.path.join(folder, listed.names[number]),
             listed.stats[number])
            for folder, listed in listings for number, position in enumerate(listed.ops)
            if position in positions]
    if not mine:
        raise InputError("%s was not dumped in data_index %s" % (op, step.data_index))
    position = min(one[0] for one in mine)
    dumps = sorted(one[1:3] for one in mine if one[0] == position and not one[3])
    if not dumps:
        raise InputError("of %s only statistics were dumped (dump_data=stats)" % op)
    found = []
    for _, path in dumps:
        entry = dump_file.read_header(path).entry(io, index)
        if entry is not None:
            found.append((path, entry))
    if not found:
        header = dump_file.read_header(dumps[-1][1])
        raise InputError("%s has no %s %d in the dump; it has %d inputs and %d outputs" % (
            op, io, index, len(header.inputs), len(header.outputs)))
    if not -len(found) <= turn < len(found):
        raise InputError("%s ran %d times in data_index %s. Received: turn %d" % (
            op, len(found), step.data_index, turn))
    table = step.pair.operators
    path, entry = found[turn]
    return FoundTensor(step, position, table.names[position], table.types[position], path, entry,
                       turn % len(found))


def find_operators(table: Operators, name: str) -> List[int]:
    """Positions of the operator of that name: the graph's, else TensorFlow's, else sanitised.

    Where there is none, "dense/MatMul" is "model/dense/MatMul", a whole end of one
    operator's name. The backward pass repeats the names of the forward pass: of both
    the forward operator is meant.

    Raises:
      InputError: there is none, or several end so; the text names them, or the nearest.
    """
    for names in (table.names, None, [sanitise(one) for one in table.names]):
        if names is None:
            found = [position for position, originals in enumerate(table.originals)
                     if name in originals]
        else:
            found = [position for position, one in enumerate(names) if one == name]
        if found:
            return found
    ends = [position for position, one in enumerate(table.names)
            if one.endswith("/" + name)
            or any(other.endswith("/" + name) for other in table.originals[position])]
    found = [position for position in ends if not table.is_gradient(position)] or ends
    several = list(dict.fromkeys(table.names[position] for position in found))
    if len(several) == 1:
        return found
    if several:
        raise InputError("several operators' names end in %r: %s%s" % (
            "/" + name, ", ".join(several[:8]), ", ..." if len(several) > 8 else ""))
    near = difflib.get_close_matches(name, table.names, 3, 0.5) if len(table) < 20000 else []
    raise InputError("no operator is called %r%s" % (
        name, "; near it: " + ", ".join(near) if near else ""))


def describe_values(values: np.ndarray) -> Dict[str, Any]:
    """Percentiles, histogram and the places of the worst values, as plain data.

    Args:
      values: of any shape; percentiles and histogram are of the finite ones.

    Returns:
      "percentiles": {"0": ..., "50": ...}; "histogram": {"edges": [...], "counts": [...]};
      "zeros": how many; "worst": [{"place": [index per axis], "value": ...}], not
      finite ones first, then the largest by magnitude. Empty where there are
      no numbers.
    """
    if values.dtype.kind not in "biuf" or not values.size:
        return {"percentiles": {}, "histogram": {"edges": [], "counts": []}, "zeros": None,
                "worst": []}
    flat = values.reshape(-1)
    finite = flat[np.isfinite(flat)].astype(np.float64) if flat.dtype.kind == "f" \
        else flat.astype(np.float64)
    percentiles: Dict[str, float] = {}
    histogram: Dict[str, Any] = {"edges": [], "counts": []}
    if finite.size:
        percentiles = {str(q): float(v) for q, v in zip(
            PERCENTILES, np.percentile(finite, PERCENTILES))}
        low, high = float(finite.min()), float(finite.max())
        if high > low and np.isfinite(high - low):
            counts, edges = np.histogram(finite, BINS)
            histogram = {"edges": edges.tolist(), "counts": counts.tolist()}
        else:
            histogram = {"edges": [low, high], "counts": [int(finite.size)]}
    return {"percentiles": percentiles, "histogram": histogram,
            "zeros": int(flat.size - np.count_nonzero(flat)), "worst": _worst(values)}


def _worst(values: np.ndarray) -> List[Dict[str, Any]]:
    flat = values.reshape(-1)
    if flat.dtype.kind == "b":
        return []
    with np.errstate(all="ignore"):
        size = np.abs(flat.astype(np.float64))
    size[np.isnan(size)] = np.inf
    count = min(WORST, len(flat))
    places = np.argpartition(-size, count - 1)[:count] if count < len(flat) else np.arange(count)
    order = sorted(places.tolist(), key=lambda one: (not np.isnan(float(flat[one])), -size[one],
                                                     one))
    return [{"place": [int(axis) for axis in np.unravel_index(one, values.shape)],
             "value": flat[one].item()} for one in order]


def tensor_facts(found: FoundTensor) -> Dict[str, Any]:
    """Everything that `inspect` shows of one tensor, as plain data."""
    entry = found.entry
    original = found.original()
    from keras_npu_dump.formats.stats.compute_stats import compute_stats
    try:
        statistics = compute_stats(original.values)._asdict()
    except TypeError:
        statistics = {}
    facts: Dict[str, Any] = {
        "op": found.op, "op_type": found.op_type, "io": entry.kind, "index": entry.index,
        "data_index": found.step.data_index, "rank": found.step.pair.rank, "turn": found.turn,
        "data_type": dtypes.dtype_name(entry.data_type),
        "format": dtypes.format_name(entry.format), "shape": list(entry.shape),
        "layout": original.layout, "original_shape": list(original.values.shape),
        "layout_note": original.reason, "bytes": entry.size, "path": found.path,
        "statistics": statistics}
    facts.update(describe_values(original.values))
    return facts
