"""What the operators of a series take in a dump."""
from __future__ import annotations

from typing import List, Set

from keras_npu_dump.analysis.dump_size import DumpForm, DumpSize, Tensor, tensors_of
from keras_npu_dump.analysis.triage.findings.series import Series

_MODES = ("all", "output", "input")
# Stands for the names that a dump was limited to, where no record tells them.
_CHOSEN_FEW = frozenset((" ",))


def size_of(series: Series) -> DumpSize:
    """The sizes of a graph's operators, by all that was dumped of them.

    Args:
      series: its executions; without any, the graph's file alone tells.
    """
    tensors: List[Tensor] = []
    seen: Set[int] = set()
    before = None
    for columns in series.columns:
        if columns.key is before:  # executions with the same rows share them
            continue
        before = columns.key
        new = [one for one in tensors_of(columns) if one.position not in seen]
        seen.update(one.position for one in new)
        tensors += new
    return DumpSize(series.operators, tensors, _how(series, tensors), series.pair.described)


def _how(series: Series, tensors: List[Tensor]) -> DumpForm:
    """How it was dumped: as its record says, else as its tensors show."""
    record = series.pair.run_record
    options = {} if record is None else record.options
    mode = options.get("dump_mode")
    if mode not in _MODES:
        kinds = {one.output for one in tensors}
        mode = "all" if len(kinds) != 1 else "output" if True in kinds else "input"
    layers = frozenset(str(options.get("dump_layer") or "").split())
    return DumpForm("tensor", str(mode), layers or (_CHOSEN_FEW if series.partial else layers))
