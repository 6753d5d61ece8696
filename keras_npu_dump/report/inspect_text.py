"""The descriptions of analysis/inspect/file.py and graph.py as text to be read."""
from __future__ import annotations

from typing import Any, Dict, List

from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.sizes import plural

MAX_TYPES = 8


def as_text(description: Dict[str, Any]) -> str:
    """The description of a file or of a folder with dump files, for reading.

    Args:
      description: of `inspect_file`, `inspect_folder` or `graph_operators`.

    Returns:
      Lines, without the last line end.
    """
    kind = description["kind"]
    lines = ["%s: %s" % (description["path"], _TITLES[kind])]
    if "full_name" in description:
        lines.append("  name       %s" % description["full_name"])
    lines.extend(_TEXTS[kind](description))
    return "\n".join(map(terminal, lines))


def _dump_lines(description: Dict[str, Any]) -> List[str]:
    lines = ["  operator   %s" % description["op_name"]]
    name = description.get("name", {})
    if name:
        lines.append("  type       %s" % name["op_type"])
    lines.append("  dump time  %d us" % description["dump_time"])
    if description["legacy"]:
        lines.append("  form       whole-file message (old)")
    if description["trailing_bytes"]:
        lines.append("  behind it  %s that no tensor accounts for"
                     % plural(description["trailing_bytes"], "byte"))
    for item in description["tensors"]:
        lines.append("  %s %d    %s %s %s%s, %s" % (
            item["kind"], item["index"], item["dtype"], item["format"],
            item["shape"], "" if item["original_shape"] is None
            else " of %s" % item["original_shape"],
            plural(item["bytes"], "byte")))
        if "original_op" in item:
            lines.append("    from     %s, output %s" % (
                item["original_op"]["name"],
                item["original_op"]["output_index"]))
        if not item["stored"]:
            lines.append("    no data: the device found no address")
        if "tail_bytes" in item:
            lines.append("    tail     %s behind the shape, which are no values"
                         % plural(item["tail_bytes"], "byte"))
        if "note" in item:
            lines.append("    note     %s" % item["note"])
        if "statistics" in item:
            lines.append("    values   " + _summary(item["statistics"]))
        if "first_values" in item:
            lines.append("    first    " + ", ".join(
                _number(value) for value in item["first_values"]))
    return lines


def _summary(values: Dict[str, Any]) -> str:
    if not values["count"]:
        return "no elements"
    text = "min %s, max %s, avg %s, %s" % (
        _number(values["min"]), _number(values["max"]),
        _number(values["avg"]), plural(values["count"], "element"))
    for key, word in (("nan", "NaN"), ("neg_inf", "-inf"),
                      ("pos_inf", "+inf")):
        if values[key]:
            text += ", %d %s" % (values[key], word)
    return text


def _number(value: Any) -> str:
    if value is None:
        return "not given"
    return "%g" % value if isinstance(value, float) else str(value)


def _stats_lines(description: Dict[str, Any]) -> List[str]:
    lines = []
    for row in description["rows"]:
        lines.append("  %s %d  %s %s %s, %s" % (
            row["io"].lower(), row["index"], row["data_type"], row["format"],
            row["shape"], plural(row["data_size"], "byte")))
        lines.append("    values   " + (
            "not given by the device" if row["nan"] is None
            else _summary(row)))
    return lines


def _overflow_lines(description: Dict[str, Any]) -> List[str]:
    lines = []
    for record in description["records"]:
        lines.append("  %s  %s, status %s, model %s, stream %s, task %s" % (
            record["source"], "valid" if record["valid"] else "not set",
            "/".join("0x%x" % word for word in record["status"]),
            record["model_id"], record["stream_id"], record["task_id"]))
        lines.append("    " + ", ".join(
            "%s 0x%x" % item for item in record["fields"].items()))
    return lines


def _graph_lines(description: Dict[str, Any]) -> List[str]:
    lines = []
    for graph in description["graphs"]:
        lines.append("  graph %s: %s, %d inserted by GE%s" % (
            graph["name"] or "(no name)", plural(graph["operators"], "operator"),
            graph["inserted_by_ge"],
            ", has an iterator" if graph["has_iterator"] else ""))
        common = list(graph["types"].items())[:MAX_TYPES]
        left = len(graph["types"]) - len(common)
        lines.append("    " + ", ".join("%d %s" % (count, name)
                                        for name, count in common)
                     + (" and %s" % plural(left, "more type") if left else ""))
        lines.extend("    lacks: %s" % text for text in graph.get("lacks", ()))
    return lines


def _operators_lines(description: Dict[str, Any]) -> List[str]:
    lines = []
    for one in description["operators"]:
        lines.append("  %s  %s%s" % (
            one["op"], one["op_type"], "".join("  %s" % shape for shape in one["shapes"])))
        origins = [name for name in one["original_ops"] if name != one["op"]]
        if origins:
            lines.append("    TensorFlow   %s" % ", ".join(origins))
        if any(one["inputs"]):
            lines.append("    inputs       %s" % ", ".join(
                edge or "-" for edge in one["inputs"]))
    return lines


def _mapping_lines(description: Dict[str, Any]) -> List[str]:
    missing = set(description["missing_files"])
    lines = ["  %s%s  %s" % (digits, " (no such file)" if digits in missing
                             else "", name)
             for digits, name in description["rows"].items()]
    if description["skipped_lines"]:
        lines.append("  skipped: %s that %s not DIGITS,NAME" % (
            plural(description["skipped_lines"], "line"),
            "is" if description["skipped_lines"] == 1 else "are"))
    return lines


def _folder_lines(description: Dict[str, Any]) -> List[str]:
    lines = ["  %s, %s" % (plural(description["files"], "file"),
                           plural(len(description["tensors"]), "tensor"))]
    for row in description["tensors"]:
        lines.append("  %s %s %d  %s %s %s  %s" % (
            row["file"], row["kind"], row["index"], row["dtype"],
            row["format"], row["shape"],
            _summary(row) if row.get("nan") is not None else "no statistics"))
    lines.extend("  cannot be read: %s: %s" % (item["path"], item["reason"])
                 for item in description["problems"])
    return lines


_TITLES = {"dump": "tensor dump", "stats": "statistics dump",
           "overflow": "overflow record", "graph": "GE graph",
           "graph operators": "GE graph",
           "mapping": "names too long for the file system",
           "folder": "dump folder"}
_TEXTS = {"dump": _dump_lines, "stats": _stats_lines,
          "overflow": _overflow_lines, "graph": _graph_lines,
          "graph operators": _operators_lines,
          "mapping": _mapping_lines, "folder": _folder_lines}
