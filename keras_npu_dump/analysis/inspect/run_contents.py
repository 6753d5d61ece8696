"""What is in a collected run: executions, operators, statistics, one tensor; as plain data."""
from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from keras_npu_dump.analysis.inspect.tensor_values import tensor_facts
from keras_npu_dump.analysis.run import Run
from keras_npu_dump.analysis.statistics import matching, statistics_of
from keras_npu_dump.analysis.tensors import find_tensor
from keras_npu_dump.analysis.views import PairView, StepView
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import ConfigError, InputError

_TENSOR = re.compile(r"(.+?)(?::(input|output))?(?::([0-9]+))?$", re.DOTALL)
_COLUMNS = ("io", "index", "turn", "data_type", "format", "shape", "max", "min", "avg", "count",
            "nan", "neg_inf", "pos_inf")
_BATCH = ("fit", "epoch", "batch")
_NEAR = 8
_INDICES = 20


def inspect_run(run: Run, op: Optional[str] = None, op_type: Optional[str] = None,
                step: Optional[Union[int, str]] = None, rank: Optional[Union[int, str]] = None,
                tensor: Optional[str] = None, role: Optional[str] = None) -> Dict[str, Any]:
    """Describes a run, its operators, or one tensor.

    Args:
      run: as `open_run` returns it.
      op: regular expression; operators of whose names, in the graph or in
        TensorFlow, a part matches.
      op_type: their type, whole; capitals do not matter.
      step: data_index, several of them as in dump_step ("0|3-5"), or
        "epoch:batch", or "fit:epoch:batch".
      rank: as in `run.ranks`.
      tensor: "NAME", "NAME:0" (an output), "NAME:output:0" or "NAME:input:1".
      role: of the graphs, or "all"; by default "train", and all for an overview.

    Returns:
      A dict that JSON can hold (NaN and infinities are texts), with "kind":
      "run": "dump_path", "ranks" and "graphs", training first, each with its
      "executions";
      "operators" (with op, op_type or step): a list of operators, each with
      its "tensors" in the chosen executions; "tensor": shape, layout,
      statistics, percentiles, histogram and worst places of the first of the
      chosen executions, and "also", the others.

    Raises:
      InputError: something that was not dumped. FormatError: a broken file.
    """
    if tensor is None and op is None and op_type is None and step is None:
        described = _overview(run, rank, role or "all")
    elif tensor is not None:
        described = _tensor(run, tensor, step, rank, role or "train")
    else:
        described = _operators(run, op, op_type, step, rank, role or "train")
    plain: Dict[str, Any] = _plain(described)
    return plain


def parse_execution(text: Union[int, str]) -> Callable[[StepView], bool]:
    """Which executions "5", "0|3-5", "epoch:batch" or "fit:epoch:batch" mean.

    Args:
      text: as `--step` takes it; a number is a data_index.

    Returns:
      Tells of an execution whether it is meant.

    Raises:
      InputError: none of these.
    """
    parts = str(text).split(":")
    if len(parts) == 1:
        try:
            steps = StepSet.parse(parts[0])
        except ConfigError:
            pass
        else:
            return lambda one: steps.is_all or (
                one.data_index is not None and one.data_index in steps)
    elif len(parts) <= len(_BATCH) and all(part.isdigit() for part in parts):
        wanted = dict(zip(_BATCH[-len(parts):], map(int, parts)))
        return lambda one: all((one.iteration or {}).get(name) == value
                               for name, value in wanted.items())
    raise InputError("step: expected data_index as in dump_step (5, 3-5 or 0|3-5), epoch:batch or "
                     "fit:epoch:batch. Received: %r" % text)


def _executions(run: Run, step: Optional[Union[int, str]], rank: Optional[Union[int, str]],
                role: str) -> List[StepView]:
    found = run.steps(rank, role)
    if not found:
        raise InputError(_nothing(run, role))
    if step is None:
        return found
    wanted = parse_execution(step)
    chosen = [one for one in found if wanted(one)]
    if not chosen:
        there = sorted({one.data_index for one in found if one.data_index is not None})
        raise InputError("step %s was not dumped; there are the data_index %s%s" % (
            step, ", ".join(map(str, there[:_INDICES])) or "of no execution",
            ", ..." if len(there) > _INDICES else ""))
    return chosen


def _overview(run: Run, rank: Optional[Union[int, str]], role: str) -> Dict[str, Any]:
    pairs = run.select(rank, role)
    if not pairs:
        raise InputError(_nothing(run, role))
    training = [pair for pair in pairs if pair.role == "train"]
    others = [pair for pair in pairs if pair.role not in ("train", "init")]
    setting = [pair for pair in pairs if pair.role == "init"]
    return {"kind": "run", "dump_path": run.dump_path, "ranks": run.ranks,
            "graphs": [_pair(pair) for pair in training + others + setting]}


def _nothing(run: Run, role: str) -> str:
    roles = ", ".join(dict.fromkeys(pair.role for pair in run.pairs))
    if roles:
        return "role: expected one of those that were dumped, %s, or all. Received: %r" % (
            roles, role)
    causes = [one.message for one in run.manifest.problems] or ["no dump data is there"]
    return "nothing to inspect below %s: %s" % (run.path, causes[0])


def _pair(pair: PairView) -> Dict[str, Any]:
    return {
        "graph": pair.record.graph or None, "name": pair.graph_name, "role": pair.role,
        "rank": pair.rank, "device": pair.device, "confidence": pair.confidence,
        "executions": [{
            "data_index": one.data_index, "iteration": one.iteration,
            "files": sum(record.files for record in one.records),
            "bytes": sum(record.bytes for record in one.records), "kinds": one.kinds,
        } for one in pair.steps]}


def _operators(run: Run, op: Optional[str], op_type: Optional[str],
               step: Optional[Union[int, str]], rank: Optional[Union[int, str]],
               role: str) -> Dict[str, Any]:
    found: Dict[Tuple[str, str], Dict[str, Any]] = {}
    problems: List[Any] = []
    types: Counter[str] = Counter()
    for one in _executions(run, step, rank, role):
        table = one.pair.operators
        wanted = matching(one, op or "")
        types.update(table.types[position] for position in wanted)
        if op_type is not None:
            wanted = {position for position in wanted
                      if table.types[position].lower() == op_type.lower()}
        rows = statistics_of([one], positions=wanted)
        problems.extend({"path": str(path), "reason": reason} for path, reason in rows.problems)
        tensors: Dict[int, List[Dict[str, Any]]] = {}
        for row in rows:
            record = {"rank": one.pair.rank, "data_index": one.data_index,
                      "iteration": one.iteration}
            record.update((name, row[name]) for name in _COLUMNS)
            tensors.setdefault(int(row["position"]), []).append(record)
        for position in sorted(wanted):
            described = table[position]
            entry = found.setdefault((described.name, described.type), {
                "op": described.name, "op_type": described.type,
                "original_ops": list(described.original_ops),
                "fusion_pass": described.fusion_pass, "inputs": list(described.inputs),
                "consumers": list(described.consumers), "position": position, "tensors": []})
            entry["tensors"].extend(tensors.get(position, []))
    if not found:
        raise InputError(no_match(op, op_type, types))
    return {"kind": "operators", "dump_path": run.dump_path,
            "operators": sorted(found.values(), key=lambda one: one["position"]),
            "problems": problems}


def no_match(op: Optional[str], op_type: Optional[str], types: Iterable[str]) -> str:
    """Which filter let nothing through, as a sentence.

    Args:
      op: the regular expression for names, or None. op_type: the type, or None.
      types: of the operators whose names match.
    """
    there = list(dict.fromkeys(types))
    if op is not None and not there:
        return "op: no operator's name has a match of %r" % op
    near = difflib.get_close_matches(op_type or "", there, _NEAR, 0.6) or sorted(there)
    shown = ", ".join(near[:_NEAR]) + (", ..." if len(near) > _NEAR else "")
    if op is not None:
        return "op_type: of the operators whose names match %r none is of type %r, but of %s" % (
            op, op_type, shown)
    return "op_type: no operator is of type %r; there are %s" % (op_type, shown)


def _tensor(run: Run, tensor: str, step: Optional[Union[int, str]],
            rank: Optional[Union[int, str]], role: str) -> Dict[str, Any]:
    match = _TENSOR.match(tensor)
    if match is None:
        raise InputError("tensor: expected NAME:output:0. Received: %r" % tensor)
    name, io, index = match.groups()
    executions = _executions(run, step, rank, role)
    # After a new trace names may differ: the first execution of a graph with this name.
    named = (one for one in executions if one.pair.operators.by_name(name) is not None)
    shown = next(named, executions[0])
    found = find_tensor(shown, name, int(index or 0), io or "output")
    also = [{"data_index": one.data_index, "iteration": one.iteration, "rank": one.pair.rank}
            for one in executions if one is not shown
            and (one.pair is shown.pair or one.pair.operators.by_name(found.op) is not None)]
    return dict({"kind": "tensor"}, iteration=shown.iteration, **tensor_facts(found),
                also=also)


def _plain(value: Any) -> Any:
    """Only what JSON has: numpy's numbers become Python's, NaN and infinities texts."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
