"""The descriptions of analysis/inspect/run_contents.py as text to be read."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.files.text_table import indent, render_table
from keras_npu_dump.records.manifest_text import MAX_INIT
from keras_npu_dump.sizes import human_bytes, plural

MAX_ROWS = 60
MAX_ALSO = 20
_BAR = 40


def inspect_run_text(description: Dict[str, Any]) -> str:
    """The description of a run, of operators or of a tensor, for reading.

    Args:
      description: of `inspect_run`.

    Returns:
      Lines, without the last line end.
    """
    return {"run": _run_text, "operators": _operators_text,
            "tensor": _tensor_text}[description["kind"]](description)


def _run_text(description: Dict[str, Any]) -> str:
    lines = ["Dump folder: %s" % description["dump_path"]]
    graphs = description["graphs"]
    setting = [one for one in graphs if one["role"] == "init"]
    folded = MAX_INIT < len(setting) < len(graphs)
    for graph in graphs:
        if folded and graph["role"] == "init":
            continue
        lines += ["", "%s graph %s, rank %s, device %s (%s)" % (
            graph["role"], graph["name"], graph["rank"], graph["device"],
            graph["graph"] or "no graph file")]
        rows = []
        for one in graph["executions"][:MAX_ROWS]:
            kinds = ", ".join("%s %s" % (count, kind) for kind, count in one["kinds"].items())
            rows.append([one["data_index"], _batch(one["iteration"]), one["files"],
                         human_bytes(one["bytes"]), kinds])
        lines += indent(render_table(
            ("data_index", "which batch", "files", "size", "kinds"), rows,
            right=(0, 2, 3))).split("\n")
        if len(graph["executions"]) > MAX_ROWS:
            lines.append("  ... and %d more" % (len(graph["executions"]) - MAX_ROWS))
    if folded:
        # One per variable, and again for each assignment after a new trace.
        lines += ["", "and %s of role init (%s), shown by --role init" % (
            plural(len(setting), "graph"),
            human_bytes(sum(one["bytes"] for graph in setting for one in graph["executions"])))]
    return "\n".join(map(terminal, lines))


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
        lines += indent(_tensors_table(one["tensors"][:MAX_ROWS])).split("\n")
        if len(one["tensors"]) > MAX_ROWS:
            lines.append("  ... and %d more tensors" % (len(one["tensors"]) - MAX_ROWS))
        lines.append("")
    if len(shown) > MAX_ROWS:
        lines.append("... and %d more operators; --json has all" % (len(shown) - MAX_ROWS))
    if silent:
        lines.append("no files are here of %s that %s" % (
            plural(silent, "more operator"), "matches" if silent == 1 else "match"))
    for problem in description["problems"][:MAX_ROWS]:
        lines.append("cannot be read: %s: %s" % (problem["path"], problem["reason"]))
    return "\n".join(map(terminal, lines)).rstrip()


def _tensors_table(tensors: List[Dict[str, Any]]) -> str:
    """A row per tensor; the batch, as --step takes it, where it is known."""
    known = any(row["iteration"] for row in tensors)
    headers = ["rank", "data_index"] + ["fit:epoch:batch"] * known + [
        "tensor", "type", "layout", "shape", "max", "min", "avg", "not finite"]
    rows = []
    for row in tensors:
        where = row["iteration"]
        batch = "%s:%s:%s" % (where["fit"], where["epoch"], where["batch"]) if where else "-"
        values = [_number(row[name]) for name in ("max", "min", "avg")] + [_bad(row)]
        if row["nan"] == -1 or not row["count"]:  # none known, or no values at all
            values = ["-"] * len(values)
        turn = "" if not row["turn"] else ", run %d" % row["turn"]
        rows.append([row["rank"], row["data_index"]] + [batch] * known + [
            "%s %s%s" % (row["io"], row["index"], turn), row["data_type"], row["format"],
            _shape(row["shape"])] + values)
    return render_table(headers, rows, right=tuple(
        number for number, name in enumerate(headers)
        if name in ("rank", "data_index", "fit:epoch:batch", "max", "min", "avg")))


def _tensor_text(description: Dict[str, Any]) -> str:
    facts = description
    lines = ["%s %s of %s (%s), data_index %s%s, rank %s" % (
        facts["io"], facts["index"], facts["op"], facts["op_type"], facts["data_index"],
        " (%s)" % _batch(facts["iteration"]) if facts["iteration"] else "", facts["rank"])]
    if facts["also"]:
        lines.append("  also at      %s (--step)" % _also(facts))
    lines += [
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
    return "\n".join(map(terminal, lines))


def _also(facts: Dict[str, Any]) -> str:
    """The other executions; with their batch where a data_index does not tell them apart."""
    executions = facts["also"]
    indices = [one["data_index"] for one in [facts] + executions]
    ranks = {one["rank"] for one in [facts] + executions}
    texts = []
    for one in executions[:MAX_ALSO]:
        more = []
        if indices.count(one["data_index"]) > 1:
            more += [_batch(one["iteration"])] if one["iteration"] else []
            more += ["rank %s" % one["rank"]] if len(ranks) > 1 else []
        texts.append("%s%s" % (one["data_index"], " (%s)" % ", ".join(more) if more else ""))
    left = len(executions) - MAX_ALSO
    return ", ".join(texts) + (" and %d more" % left if left > 0 else "")


def _batch(where: Optional[Dict[str, Any]]) -> str:
    return "-" if not where else "fit %s, epoch %s, batch %s" % (
        where["fit"], where["epoch"], where["batch"])


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
    found = ["%d %s" % (row[name], word) for name, word in (
        ("nan", "NaN"), ("neg_inf", "-inf"), ("pos_inf", "+inf")) if row[name]]
    return ", ".join(found) or "-"
