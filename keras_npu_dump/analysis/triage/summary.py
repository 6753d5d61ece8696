"""What a triage looked at and what it could not look at, for its answer."""
from __future__ import annotations

from typing import Any, Dict, List

from keras_npu_dump.analysis.triage.findings import coverage
from keras_npu_dump.analysis.triage.findings.suspects import MAX_SUSPECTS, Suspect
from keras_npu_dump.analysis.triage.material import Material
from keras_npu_dump.records.manifest import Manifest

OF_DATA = ("nan", "infinity", "saturation", "underflow", "jump", "zero-gradient",
           "vanishing-gradient", "constant-output", "ranks-disagree")
OF_GRAPH = ("zero-gradient", "vanishing-gradient", "constant-output")
# Kinds of files, and what dump_data is called that leaves them.
_DUMP_DATA = (("stats", "stats"), ("dump", "tensor"), ("overflow", "overflow"))
_MOST_NAMES = 12


def checked(material: Material, manifest: Manifest, suspects: List[Suspect],
            observations: List[Suspect], covered: coverage.Coverage) -> Dict[str, Any]:
    """`Triage.checked`, without what was not read ("incomplete").

    Args:
      material: that was looked at.
      manifest: of the job.
      suspects, observations: that were found.
      covered: which executions were dumped of those that ran.
    """
    series = material.series
    kinds = {kind for one in series for step in one.steps for kind in step.kinds}
    without = not_checked(material, manifest)
    indices = sorted({step.data_index for one in series for step in one.steps
                      if step.data_index is not None})
    unseen = [coverage.not_dumped(covered, max(indices, default=None))]
    if not series:
        unseen = [coverage.overflow_limit(manifest.runs)]
    return {
        "ranks": material.ranks,
        "executions": sum(len(one.steps) for one in series),
        "counted": covered.counted,
        "data_indices": indices,
        "operators": coverage.operators_seen(series),
        "files": material.files,
        "tensors": material.tensors,
        "dump_data": [name for kind, name in _DUMP_DATA if kind in kinds],
        "graph": bool(series) and all(one.operators.known for one in series),
        "rules": [rule for rule in ("overflow-event",) + OF_DATA if rule not in without],
        "not_checked": without,
        "not_seen": [text for text in unseen if text],
        "observations": [one.to_json() for one in observations[:MAX_SUSPECTS]],
        "neighbours": {one.op: _neighbours(one) for one in suspects},
        "unreadable": [{"path": str(path), "reason": reason}
                       for path, reason in material.problems[:MAX_SUSPECTS]],
    }


def _neighbours(suspect: Suspect) -> Dict[str, Any]:
    return {
        "producers": suspect.producers[:_MOST_NAMES], "consumers": suspect.consumers[:_MOST_NAMES],
        "fusion_pass": suspect.fusion_pass, "also": suspect.also[:_MOST_NAMES],
        "ranks": suspect.ranks, "data_indices": suspect.steps,
        "consequences": suspect.consequences}


def not_checked(material: Material, manifest: Manifest) -> Dict[str, str]:
    """Rules that a dump gives nothing for, and why.

    Args:
      material: that was looked at.
      manifest: of the job.
    """
    reasons: Dict[str, str] = {}
    counts = [len(one.columns) for one in material.series]
    detecting = any(one.options.get("enable_dump_debug") for one in manifest.runs)
    if not (material.events or any(counts) or detecting):
        return dict.fromkeys(("overflow-event", *OF_DATA), "nothing was dumped")
    if material.events or not any(counts):
        return dict.fromkeys(OF_DATA, "an overflow dump holds only what overflowed")
    reasons["overflow-event"] = "no overflow records (enable_dump_debug)"
    if max(counts) == 1:
        reasons["jump"] = "one execution has nothing before it"
        reasons["vanishing-gradient"] = "one execution proves nothing"
    if not any(one.operators.known for one in material.series):
        reasons.update(dict.fromkeys(OF_GRAPH, "no graph"))
    elif all(one.partial for one in material.series):
        reasons.update(dict.fromkeys(OF_GRAPH, "only chosen operators were dumped"))
    if len(material.ranks) == 1:
        reasons["ranks-disagree"] = "one rank"
    return reasons
