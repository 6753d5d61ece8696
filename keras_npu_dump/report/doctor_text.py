"""A diagnosis as text."""
from typing import Any, List

from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.files.text_table import render_table
from keras_npu_dump.sizes import plural


def doctor_text(diagnosis: Any) -> str:
    """What `keras-npu-dump doctor` prints.

    Args:
      diagnosis: of `doctor.diagnosis.examine`.

    Returns:
      Lines, without the last line end.
    """
    lines: List[str] = [_row("versions", ", ".join(
        "%s %s" % (name, version or "not installed")
        for name, version in diagnosis.versions.items()))]
    lines.append(_row("device", _device(diagnosis.device)))
    cluster = diagnosis.cluster
    lines.append(_row("process", "rank %s of %d" % (
        "known after open() only" if cluster["rank"] is None else cluster["rank"],
        cluster["size"])))
    lines += _path(diagnosis.path)
    lines.append(_row("asked for", ", ".join(
        "%s=%s" % (name, value) for name, value in diagnosis.options.items()
        if name != "dump_path")))
    lines.append(_row("will take", (
        "not known: nothing was dumped into this folder before. A rehearsal of one iteration shows"
        " it: keras-npu-dump run --emulate SCRIPT" if diagnosis.volume is None
        else diagnosis.volume.words())))
    table = render_table(
        ("variable, option", "value", "what it does here"),
        [(one.name, _value(one), one.effect) for one in diagnosis.environment])
    lines += ["", *table.split("\n"), ""]
    for problem in diagnosis.problems:
        lines.append("%s: %s [%s]" % (problem.severity, problem.message, problem.code))
        if problem.hint:
            lines.append("  " + problem.hint)
    errors = len(diagnosis.errors)
    lines.append("%s would make a dump fail." % plural(errors, "thing") if errors
                 else "Nothing here would make a dump fail.")
    return "\n".join(map(terminal, lines))


def _value(one: Any) -> str:
    if one.value is None:
        return "(the script's)" if "()." in one.name else "(not set)"
    return str(one.value) or "(empty)"


def _row(name: str, text: str) -> str:
    return "%-10s  %s" % (name, text)


def _device(device: Any) -> str:
    kinds = {"npu": "npu_device is installed", "emulated": "emulated, on the CPU or GPU",
             "none": "none: npu_device is not installed"}
    text = "%s; open() without an argument opens %d" % (kinds[device["kind"]], device["id"])
    if device["nodes"]:
        text += "; %s: %s" % (plural(len(device["nodes"]), "NPU"), " ".join(device["nodes"]))
    if device["cann"]:
        text += "; CANN %s" % device["cann"]
    return text


def _path(path: Any) -> List[str]:
    state = "is there" if path["exists"] else "will be made"
    if not path["writable"]:
        state = "cannot be written"
    lines = [_row("dump path", "%s (%s)" % (path["dump_path"], state))]
    if path["free_bytes"] is not None:
        where = "%.1f GB free" % (path["free_bytes"] / 1e9)
        if path["mount"] is not None:
            where += " on %s (%s)" % (path["mount"], path["file_system"])
        if path["container"]:
            where += ", in a container"
        lines.append(_row("", "%s, host %s" % (where, path["host"])))
    return lines
