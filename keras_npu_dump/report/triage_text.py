"""A triage as text: the suspects, what to dump next, and what was looked at."""
from __future__ import annotations

from typing import Any, Dict, List

from keras_npu_dump.analysis.triage.findings.coverage import ranges
from keras_npu_dump.analysis.triage.findings.suspects import REASONS
from keras_npu_dump.analysis.triage.triage import Triage
from keras_npu_dump.files.quoting import shell_command, terminal
from keras_npu_dump.report.printing import GREEN, RED, YELLOW, print_text
from keras_npu_dump.sizes import human_bytes, plural

_COLOURS = {"suspect": RED, "incomplete": YELLOW, "healthy": GREEN}
_SHOWN, _GAPS = 4, 8


def triage_text(result: Triage) -> str:
    """A triage for reading: verdict, suspects, the next dump, what was looked at.

    Args:
      result: of `analysis.triage.triage`.

    Returns:
      Lines, without the last line end.
    """
    parts = [_headline(result), _gaps(result.checked["incomplete"])]
    parts += [_suspect(number, one) for number, one in enumerate(result.suspects, 1)]
    if result.suspects or result.next.dump_step is not None or result.next.why:
        parts.append(_next(result.next))
    if result.observations:
        parts.append(_observations(result.observations))
    if result.checked["rules"] or result.checked["unreadable"]:
        parts.append(_checked(result.checked))
    return "\n\n".join(part for part in parts if part)


def print_triage(result: Triage) -> None:
    """Prints a triage to stdout.

    Args:
      result: of `analysis.triage.triage`.

    Raises:
      OutputError: it does not get out.
    """
    print_text(triage_text(result), _COLOURS)


def _headline(result: Triage) -> str:
    checked = result.checked
    looked = "%s of %s in %s" % (
        plural(checked["tensors"], "tensor"), plural(checked["operators"], "operator"),
        plural(checked["executions"], "dumped execution"))
    if checked["counted"] is not None and checked["counted"] > checked["executions"]:
        looked += " of %d" % checked["counted"]
    if result.verdict == "healthy":
        text = "healthy: nothing goes wrong in %s" % looked
        if checked["dump_data"] == [] and not checked["executions"]:
            text = "nothing found: overflow detection was on, and no operator overflowed"
        return terminal("; ".join([text] + checked["not_seen"]))
    if result.verdict == "incomplete":
        text = "incomplete: not all that was asked for was read; nothing goes wrong in %s" % looked
        if not checked["tensors"]:
            text = "incomplete: nothing of what was asked for was read"
        if not checked["rules"]:
            text = "incomplete: nothing was dumped, so nothing was checked"
        return terminal("; ".join([text] + checked["not_seen"]))
    first = result.suspects[0]
    return "suspect: it first goes wrong in %s, %s (looked at %s)" % (
        terminal(first.op), terminal(_where(first)), looked)


def _gaps(gaps: List[Any]) -> str:
    if not gaps:
        return ""
    lines = ["Asked for, and not read:"]
    for one in gaps[:_GAPS]:
        place = " (%s)" % one["path"] if one["path"] and one["path"] not in one["message"] else ""
        lines.append("   %s%s [%s]" % (one["message"], place, one["code"]))
    if len(gaps) > _GAPS:
        lines.append("   and %d more" % (len(gaps) - _GAPS))
    return "\n".join(map(terminal, lines))


def _where(one: Any) -> str:
    text = "data_index %s" % one.step
    if one.iteration:
        fit = "fit %s, " % one.iteration["fit"] if one.iteration.get("fit") else ""
        text += " (%sepoch %s, batch %s)" % (fit, one.iteration["epoch"], one.iteration["batch"])
    return text if one.rank is None else "%s on %s" % (
        text, one.rank if isinstance(one.rank, str) else "rank %s" % one.rank)


def _suspect(number: int, one: Any) -> str:
    lines = ["%d. %s  %s" % (number, one.op, one.op_type),
             "   %s" % one.message,
             "   reason       %s: %s" % (one.reason, REASONS[one.reason]),
             "   where        %s" % _where(one),
             "   confidence   %s" % one.confidence]
    if len(one.ranks) > 1:
        lines.append("   ranks        %s" % _some(one.ranks, 16))
    if len(one.steps) > 1:
        lines.append("   seen in      data_index %s" % _some(ranges(one.steps), 12))
    if one.consequences:
        lines.append("   later        consequences in %s (through variables)" % _some(
            ranges(one.consequences), 12))
    origins = [name for name in one.original_ops if name != one.op]
    if origins:
        lines.append("   TensorFlow   %s" % _some(origins))
    if one.fusion_pass:
        lines.append("   fusion pass  %s" % one.fusion_pass)
    if one.producers:
        lines.append("   fed by       %s" % _some(one.producers))
    if one.consumers:
        lines.append("   feeds        %s" % _some(one.consumers))
    if one.also:
        lines.append("   also         %s" % _some(one.also))
    if one.downstream:
        lines.append("   follows      %s" % (
            "1 operator passes it on" if one.downstream == 1
            else "%d operators pass it on" % one.downstream))
    return "\n".join(map(terminal, lines))


def _some(items: List[Any], count: int = _SHOWN) -> str:
    shown = ", ".join(map(str, items[:count]))
    return shown if len(items) <= count else "%s and %d more" % (shown, len(items) - count)


def _next(planned: Any) -> str:
    left_out = ["   left out     %s of %s: %s" % (terminal(one["value"]), one["flag"], one["why"])
                for one in planned.left_out]
    if planned.dump_step is None:
        return "\n".join(["\n   ".join(["Next: %s" % terminal(planned.why or "nothing to dump")]
                                      + planned.commands)] + left_out)
    lines = ["Next: %s" % terminal(planned.why), "   dump_step    %s" % planned.dump_step]
    if planned.dump_layer:
        lines.append("   dump_layer   %s" % "\n                ".join(
            map(terminal, planned.dump_layer)))
    else:
        lines.append("   dump_data    %s, all operators" % planned.dump_data)
    if planned.ranks is not None:
        lines.append("   ranks        %s" % ", ".join(map(str, planned.ranks)))
    lines.append("   takes        %s" % (
        ("at least " if planned.at_least else "about ") + human_bytes(planned.estimated_bytes)
        if planned.estimated_bytes else "what nothing shows yet"))
    lines += left_out
    if planned.flagfile:
        lines.append("   %s SCRIPT" % shell_command(
            "keras-npu-dump", "run", "--flagfile=" + planned.flagfile))
    elif planned.text:
        lines.append("   as flags:\n" + planned.text.rstrip())
    if planned.python:
        lines.append("   or in the script, in place of its own arguments:\n   %s"
                     % terminal(planned.python))
    return "\n".join(lines)


def _observations(found: List[Any]) -> str:
    lines = ["Looks odd, of low confidence:"]
    for one in found[:_SHOWN]:
        lines.append("   %s, %s: %s" % (one.op, _where(one), one.message))
    if len(found) > _SHOWN:
        lines.append("   and %d more" % (len(found) - _SHOWN))
    return "\n".join(map(terminal, lines))


def _checked(checked: Dict[str, Any]) -> str:
    lines = ["Checked: %s" % (", ".join(checked["rules"]) or "nothing")]
    for rule, why in checked["not_checked"].items() if checked["rules"] else ():
        lines.append("   not %s: %s" % (rule, why))
    for one in checked["unreadable"][:_SHOWN]:
        lines.append("   cannot be read: %s: %s" % (one["path"], one["reason"]))
    if len(checked["unreadable"]) > _SHOWN:
        lines.append("   and %d more files that cannot be read" % (
            len(checked["unreadable"]) - _SHOWN))
    return "\n".join(map(terminal, lines))
