"""What the values of one tensor are, as plain data (`run_text.py`: as text)."""
from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from keras_npu_dump.analysis.tensors import FoundTensor
from keras_npu_dump.formats import dtypes

PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
BINS = 16
WORST = 10


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
    """Everything that `inspect` shows of one tensor, as plain data.

    Args:
      found: the tensor.

    Raises:
      FormatError: its file is broken.
    """
    entry = found.entry
    original = found.original()
    from keras_npu_dump.formats.stats.compute_stats import compute_stats
    try:
        statistics = compute_stats(original.values)._asdict()
    except TypeError:
        statistics = {}
    facts: Dict[str, Any] = {
        "op": found.op, "op_type": found.op_type, "io": entry.kind, "index": entry.index,
        "data_index": found.step.data_index, "rank": found.step.rank, "turn": found.turn,
        "data_type": dtypes.dtype_name(entry.data_type),
        "format": dtypes.format_name(entry.format), "shape": list(entry.shape),
        "layout": original.layout, "original_shape": list(original.values.shape),
        "layout_note": original.reason, "bytes": entry.size, "path": found.path,
        "statistics": statistics}
    facts.update(describe_values(original.values))
    return facts
