"""What is in a collected run: executions, operators, statistics, one tensor; as plain data."""
from __future__ import annotations

import math
import re
from typing import Any, Dict, List, Optional, Tuple, Union

from keras_npu_dump.analysis.executions import PairView, StepView
from keras_npu_dump.analysis.run import Run
from keras_npu_dump.analysis.statistics import matching, statistics_of
from keras_npu_dump.analysis.tensors import find_tensor, tensor_facts
from keras_npu_dump.errors import InputError
from keras_npu_dump.report.tables import render_table
from keras_npu_dump.sizes import human_bytes

_TENSOR = re.compile(r"(.+?)(?::(input|output))?(?::([0-9]+))?$", re.DOTALL)
_COLUMNS = ("io", "index", "turn", "data_type", "format", "shape", "max", "min", "avg", "count",
            "nan", "neg_inf", "pos_inf")
MAX_ROWS = 60
_BAR = 40


def inspect_run(run: Run, op: Optional[str] = None, op_type: Optional[str] = None,
                step: Optional[Union[int, str]] = None, rank: Optional[Union[int, str]] = None,
                tensor: Optional[str] = None, role: Optional[str] = "train") -> Dict[str, Any]:
    """Describes a run, its operators, or one tensor.

    Args:
      op: regular expression; operators of whose names, in the graph or in
        TensorFlow, a part matches.
      op_type: their type, whole and exact.
      step: data_index, or "epoch:batch", or "fit:epoch:batch".
      rank: as in `run.ranks`.
      tensor: "NAME", "NAME:0" (an output), "NAME:output:0" or "NAME:input:1".
      role: of the graphs; all with None.

    Returns:
      A dict that JSON can hold (NaN and infinities are texts), with "kind":
      "run": "dump_path", "ranks" and "graphs", each with its "executions";
      "operators" (with op, op_type or step): a list of operators, each with
      its "tensors" in the chosen executions; "tensor": shape, layout,
      statistics, percentiles, histogram and worst places.

    Raises:
      InputError: something that was not dumped. FormatError: a broken file.
    """
    if tensor is not None:
        return _plain(_tensor(run, tensor, step, rank, role))
    if op is None and op_type is None and step is None:
        return _plain(_overview(run, rank, role))
    return _plain(_operators(run, op, op_type, step, rank, role))


def parse_execution(text: Union[int, str]) -> Dict[str, int]:
    """Keywords for `Run.step` from a data_index, "epoch:batch" or "fit:epoch:batch".

    Raises:
      InputError: none of these.
    """
    parts = str(text).split(":")
    if not all(part.isdigit() for part in parts) or len(parts) > 3:
        raise InputError("step: expected a data_index, epoch:batch or fit:epoch:batch. "
                         "Received: %r" % text)
    names: Tuple[str, ...] = (("data_index",), ("epoch", "batch"),
                              ("fit", "epoch", "batch"))[len(parts) - 1]
    return dict(zip(names, map(int, parts)))


def _executions(run: Run, step: Optional[Union[int, str]], rank: Optional[Union[int, str]],
                role: Optional[str]) -> List[StepView]:
    found = run.steps(rank, role)
    if step is None:
        return found
    wanted = parse_execution(step)
    chosen = [one for one in found if all(
        (one.data_index if name == "data_index" else (one.iteration or {}).get(name)) == value
        for name, value in wanted.items())]
    if not chosen:
        run.step(rank=rank, role=role, **wanted)  # says what there is
    return chosen


def _overview(run: Run, rank: Optional[Union[int, str]], role: Optional[str]) -> Dict[str, Any]:
    pairs = run.select(rank, role) if rank is not None else run.pairs
    return {"kind": "run", "dump_path": run.dump_path, "ranks": run.ranks,
            "graphs": [_pair(pair) for pair in pairs]}


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
               role: Optional[str]) -> Dict[str, Any]:
    found: Dict[Tuple[str, str], Dict[str, Any]] = {}
    problems: List[Any] = []
    for one in _executions(run, step, rank, role):
        table = one.pair.operators
        wanted = matching(one, op or "")
        if op_type is not None:
            wanted = {position for position in wanted if table.types[position] == op_type}
        rows = statistics_of([one], positions=wanted)
        problems.extend({"path": str(path), "reason": reason} for path, reason in rows.problems)
        tensors: Dict[int, List[Dict[str, Any]]] = {}
        for row in rows:
            record = {"rank": one.pair.rank, "data_index": one.data_index}
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
    if op is not None and not found:
        raise InputError("op: no operator's name has a match of %r" % op)
    if op_type is not None and not found:
        raise InputError("op_type: no operator is of type %r" % op_type)
    return {"kind": "operators", "dump_path": run.dump_path,
            "operators": sorted(found.values(), key=lambda one: one["position"]),
            "problems": problems}


def _tensor(run: Run, tensor: str, step: Optional[Union[int, str]],
            rank: Optional[Union[int, str]], role: Optional[str]) -> Dict[str, Any]:
    match = _TENSOR.match(tensor)
    if match is None:
        raise InputError("tensor: expected NAME:output:0. Received: %r" % tensor)
    name, io, index = match.groups()
    execution = _executions(run, step, rank, role)
    if not execution:
        raise InputError("nothing was dumped below %s" % run.path)
    found = find_tensor(execution[0], name, int(index or 0), io or "output")
    return dict({"kind": "tensor"}, **tensor_facts(found))


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


def inspect_run_text(description: Dict[str, Any]) -> str:
    """The description of `inspect_run` for reading."""
    return {"run": _run_text, "operators": _operators_text,
            "tensor": _tensor_text}[description["kind"]](description)


def _run_text(description: Dict[str, Any]) -> str:
    lines = ["Dump folder: %s" % description["dump_path"]]
    for graph in description["graphs"]:
        lines += ["", "%s graph %s, rank %s, device %s (%s)" % (
            graph["role"], graph["name"], graph["rank"], graph["device"],
            graph["graph"] or "no graph file")]
        rows = []
        for one in graph["executions"][:MAX_ROWS]:
            where = one["iteration"]
            which = "-" if not where else "fit %s, epoch %s, batch %s" % (
                where["fit"], where["epoch"], where["batch"])
            kinds = ", ".join("%s %s" % (count, kind) for kind, count in one["kinds"].items())
            rows.append([one["data_index"], which, one["files"], human_bytes(one["bytes"]), kinds])
        lines.append(_indent(render_table(
            ("data_index", "which batch", "files", "size", "kinds"), rows, right=(0, 2, 3))))
        if len(graph["executions"]) > MAX_ROWS:
            lines.append("  ... and %d more" % (len(graph["executions"]) - MAX_ROWS))
    return "\n".join(lines)


def _operators_text(description: Dict[str, Any]) -> str:
    lines: List[str] = []
    shown = [one for one in description["operators"] if one["tensors"]]
    silent = len(description["operators"]) - len(shown)
    for one in shown[:MAX_ROWS]:
        lines.append("%d  %s  %s" % (one["position"], one["op"], one["op_type"]))
        origins = [name for name in one["original_ops"] if name != one["op"]]
        if origins:
            lines.append("  TensorFlow   %s" % ", ".join(origins))
        if one["fusion_pass"]:
            lines.append("  fusion pass  %s" % one["fusion_pass"])
        if any(one["inputs"]):
            lines.append("  inputs       %s" % ", ".join(edge or "-" for edge in one["inputs"]))
        if one["consumers"]:
            lines.append("  feeds        %s" % ", ".join(one["consumers"][:8]))
        rows = [[row["rank"], row["data_index"], "%s %s%s" % (
            row["io"], row["index"], "" if not row["turn"] else ", run %d" % row["turn"]),
            row["data_type"], row["format"], _shape(row["shape"]), _number(row["max"]),
            _number(row["min"]), _number(row["avg"]), _bad(row)] for row in one["tensors"]]
        lines += [_indent(render_table(
            ("rank", "data_index", "tensor", "type", "layout", "shape", "max", "min", "avg",
             "not finite"), rows[:MAX_ROWS], right=(0, 1, 6, 7, 8))), ""]
        if len(rows) > MAX_ROWS:
            lines.append("  ... and %d more tensors" % (len(rows) - MAX_ROWS))
    if len(shown) > MAX_ROWS:
        lines.append("... and %d more operators; --json has all" % (len(shown) - MAX_ROWS))
    if silent:
        lines.append("%d more operators that match have no files here" % silent)
    for problem in description["problems"][:MAX_ROWS]:
        lines.append("cannot be read: %s: %s" % (problem["path"], problem["reason"]))
    return "\n".join(lines).rstrip()


def _tensor_text(description: Dict[str, Any]) -> str:
    facts = description
    lines = ["%s %s of %s (%s), data_index %s, rank %s" % (
        facts["io"], facts["index"], facts["op"], facts["op_type"], facts["data_index"],
        facts["rank"]),
        "  type         %s" % facts["data_type"],
        "  dumped as    %s %s, %s" % (facts["format"], facts["shape"],
                                      human_bytes(facts["bytes"])),
        "  shown as     %s %s%s" % (
            facts["layout"], facts["original_shape"],
            " (%s)" % facts["layout_note"] if facts["layout_note"] else ""),
        "  file         %s" % facts["path"]]
    values = facts["statistics"]
    if values:
        lines.append("  values       max %s, min %s, avg %s" % tuple(
            _number(values[name]) for name in ("max", "min", "avg")))
        lines.append("  elements     %s, zeros: %s, not finite: %s" % (
            values["count"], facts["zeros"], _bad(values)))
    if facts["percentiles"]:
        lines.append("  percentiles  %s" % ", ".join(
            "%s%%: %s" % (q, _number(v)) for q, v in facts["percentiles"].items()))
    lines += _histogram_lines(facts["histogram"])
    for one in facts["worst"]:
        lines.append("  %s  %s" % (one["place"], _number(one["value"])))
    return "\n".join(lines)


def _histogram_lines(histogram: Dict[str, Any]) -> List[str]:
    counts, edges = histogram["counts"], histogram["edges"]
    if not counts:
        return []
    top = max(counts)
    lines = []
    for number, count in enumerate(counts):
        bar = "#" * int(round(_BAR * count / float(top))) or ("." if count else "")
        lines.append("  %12s .. %-12s %9d %s" % (
            _number(edges[number]), _number(edges[number + 1]), count, bar))
    return lines


def _shape(shape: Any) -> str:
    return "-" if shape is None else "x".join(map(str, shape)) or "scalar"


def _number(value: Any) -> str:
    return "%.6g" % value if isinstance(value, float) else str(value)


def _bad(row: Dict[str, Any]) -> str:
    if row["nan"] == -1:
        return "unknown"
    found = ["%d %s" % (row[name], word) for name, word in (
        ("nan", "NaN"), ("neg_inf", "-inf"), ("pos_inf", "+inf")) if row[name]]
    return ", ".join(found) or "-"


def _indent(text: str) -> str:
    return "\n".join(("  " + line).rstrip() for line in text.splitlines())
