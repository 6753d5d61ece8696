"""A diagnosis as text."""
import textwrap
from typing import Any, List

from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.sizes import plural

_WIDTH = 100


def doctor_text(diagnosis: Any, verbose: bool = False) -> str:
    """What `keras-npu-dump doctor` prints: the answer, what speaks for it, what was looked at.

    Args:
      diagnosis: of `doctor.diagnosis.examine`.
      verbose: show the variables, too, that are not set.

    Returns:
      Lines, without the last line end.
    """
    errors = len(diagnosis.errors)
    lines: List[str] = ["%s would make a dump fail." % plural(errors, "thing") if errors
                        else "Nothing here would make a dump fail."]
    for problem in diagnosis.problems:
        lines += _wrapped("%s: %s [%s]" % (problem.severity, problem.message, problem.code), "  ")
        if problem.hint:
            lines += _wrapped("  " + problem.hint, "  ")
    if diagnosis.problems:
        lines.append("What a word in brackets means: keras-npu-dump explain WORD")
    lines.append("")
    lines += _path(diagnosis.path)
    lines += _row("asked for", ", ".join(
        "%s=%s" % (name, value) for name, value in diagnosis.options.items()
        if name != "dump_path"))
    lines += _row("will take", (
        "not known: nothing was dumped into this folder before. A rehearsal of one iteration shows"
        " it: keras-npu-dump run --emulate SCRIPT" if diagnosis.volume is None
        else diagnosis.volume.words()))
    lines += _row("device", _device(diagnosis.device))
    cluster = diagnosis.cluster
    lines += _row("process", "rank %s of %d" % (
        "known after open() only" if cluster["rank"] is None else cluster["rank"],
        cluster["size"]))
    lines += _row("versions", ", ".join(
        "%s %s" % (name, version or "not installed")
        for name, version in diagnosis.versions.items()))
    return "\n".join(lines + _variables(diagnosis.environment, verbose))


def _variables(variables: Any, verbose: bool) -> List[str]:
    """The variables that are set, or decide; the others where they are asked for."""
    shown = [one for one in variables if verbose or one.value is not None or one.decides]
    lines = [""] + ["Variables, and options of the script:"] * bool(shown)
    for one in shown:
        lines.append(terminal("  %s  %s" % (one.name, _value(one))))
        lines += _wrapped("      " + one.effect, "      ")
    if len(shown) < len(variables):
        lines.append("%d more, which are not set: keras-npu-dump doctor -v" % (
            len(variables) - len(shown)))
    return lines


def _wrapped(text: str, indent: str) -> List[str]:
    """Lines that fit; what cannot be broken, as a path, is longer."""
    return textwrap.wrap(terminal(text), _WIDTH, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def _value(one: Any) -> str:
    if one.value is None:
        return "(the script's)" if "()." in one.name else "(not set)"
    return str(one.value) or "(empty)"


def _row(name: str, text: str) -> List[str]:
    return _wrapped("%-10s  %s" % (name, text), " " * 12)


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
    lines = _row("dump path", "%s (%s)" % (path["dump_path"], state))
    if path["free_bytes"] is not None:
        where = "%.1f GB free" % (path["free_bytes"] / 1e9)
        if path["mount"] is not None:
            where += " on %s (%s)" % (path["mount"], path["file_system"])
        if path["container"]:
            where += ", in a container"
        lines += _row("", "%s, host %s" % (where, path["host"]))
    return lines
