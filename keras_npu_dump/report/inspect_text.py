"""The descriptions of `inspect_file.py` as text to be read."""
from __future__ import annotations

from typing import Any, Dict, List


def as_text(description: Dict[str, Any]) -> str:
    """The description of `inspect_file` or `inspect_folder`, for reading."""
    kind = description["kind"]
    lines = ["%s: %s" % (description["path"], _TITLES[kind])]
    if "full_name" in description:
        lines.append("  name       %s" % description["full_name"])
    lines.extend(_TEXTS[kind](description))
    return "\n".join(lines) + "\n"


def _dump_lines(description: Dict[str, Any]) -> List[str]:
    lines = ["  operator   %s" % description["op_name"]]
    name = description.get("name", {})
    if name:
        lines.append("  type       %s" % name["op_type"])
    lines.append("  dump time  %d us" % description["dump_time"])
    if description["legacy"]:
        lines.append("  form       whole-file message (old)")
    if description["trailing_bytes"]:
        lines.append("  behind it  %d bytes that no tensor accounts for"
                     % description["trailing_bytes"])
    for item in description["tensors"]:
        lines.append("  %s %d    %s %s %s%s, %d bytes" % (
            item["kind"], item["index"], item["dtype"], item["format"],
            item["shape"], "" if item["original_shape"] is None
            else " of %s" % item["original_shape"], item["bytes"]))
        if "original_op" in item:
            lines.append("    from     %s, output %s" % (
                item["original_op"]["name"],
                item["original_op"]["output_index"]))
        if not item["stored"]:
            lines.append("    no data: the device found no address")
        if "note" in item:
            lines.append("    note     %s" % item["note"])
        if "statistics" in item:
            lines.append("    values   " + _summary(item["statistics"]))
        if "first_values" in item:
            lines.append("    first    " + ", ".join(
                _number(value) for value in item["first_values"]))
    return lines


def _summary(values: Dict[str, Any]) -> str:
    text = "min %s, max %s, avg %s, %s elements" % (
        _number(values["min"]), _number(values["max"]),
        _number(values["avg"]), values["count"])
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
        lines.append("  %s %d  %s %s %s, %d bytes" % (
            row["io"].lower(), row["index"], row["data_type"], row["format"],
            row["shape"], row["data_size"]))
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
        lines.append("  graph %s: %d operators, %d inserted by GE%s" % (
            graph["name"] or "(no name)", graph["operators"],
            graph["inserted_by_ge"],
            ", has an iterator" if graph["has_iterator"] else ""))
        common = list(graph["types"].items())[:8]
        lines.append("    " + ", ".join("%d %s" % (count, name)
                                        for name, count in common))
        lines.extend("    lacks: %s" % text for text in graph.get("lacks", ()))
    return lines


def _mapping_lines(description: Dict[str, Any]) -> List[str]:
    missing = set(description["missing_files"])
    return ["  %s%s  %s" % (digits, " (no such file)" if digits in missing
                            else "", name)
            for digits, name in description["rows"].items()]


def _folder_lines(description: Dict[str, Any]) -> List[str]:
    lines = ["  %d files, %d tensors" % (description["files"],
                                         len(description["tensors"]))]
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
           "mapping": "names too long for the file system",
           "folder": "dump folder"}
_TEXTS = {"dump": _dump_lines, "stats": _stats_lines,
          "overflow": _overflow_lines, "graph": _graph_lines,
          "mapping": _mapping_lines, "folder": _folder_lines}
