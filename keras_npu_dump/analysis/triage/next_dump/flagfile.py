"""The next dump as an absl flagfile, for `keras-npu-dump run --flagfile=next.flags` and for mains
that have our flags: `python main.py --flagfile=next.flags`. And as a line of Python.

What stands in it comes from records and graphs, and is obeyed: every line goes through
`files.quoting`, and what that refuses is told in `NextDump.left_out`. Whether the run before was
emulated is no flag, mains know none: `run` learns it from that run's record (`config.flag_origin`).
"""
from __future__ import annotations

import os
import re
from typing import Any, Collection, List, Optional

from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.config.flag_origin import Origin, origin_text
from keras_npu_dump.files.atomic import write_atomically
from keras_npu_dump.files.quoting import UnwritableError, flag_comment, flag_line

NAME = "next.flags"
_STEPS = re.compile(r"[0-9]+(-[0-9]+)?(\|[0-9]+(-[0-9]+)?)*\Z")
_RANKS = re.compile(r"[0-9]+(,[0-9]+)*\Z")
_COUNTED = re.compile(r"_next(\d*)$")
# Who asks in a script, as run.json has it; the first that did is shown.
_FACES = ("NpuDumpCallback", "DumpSession", "keras_npu_dump.apply")


def flagfile_text(planned: NextDump, dump_paths: List[str], origin: Optional[Origin],
                  comment: str) -> str:
    """Flags, one a line, as absl reads them; lines with # are comments.

    Args:
      planned: what to dump; its `left_out` gets what cannot be written, and `dump_path` is set.
      dump_paths: where to; the first that can be written is taken, in Python else the last.
      origin: the run before; None where it has no record.
      comment: one line on why.

    Returns:
      "" where nothing can be written that would be the planned dump.
    """
    lines = [flag_comment(comment) + (origin_text(origin) if origin else "")]
    path_line = None
    for path in dump_paths:
        path_line, planned.dump_path = _tried(planned, "data_dump_path", path), path
        if path_line is not None:
            break
    # Of a manifest that others wrote, what should be a number may be anything.
    step = str(planned.dump_step)
    ranks = None if planned.ranks is None else ",".join(map(str, planned.ranks))
    for name, value, form in (("data_dump_step", step, _STEPS), ("data_dump_ranks", ranks, _RANKS)):
        if value is not None and not form.match(value) and not (
                planned.every_step and value == "all"):
            planned.leave_out(name, value, "expected numbers")
            planned.dump_path = None
            return ""
    if path_line is None:
        return ""
    lines += ["--data_dump_flag=True", path_line, flag_line("data_dump_step", step),
              flag_line("data_dump_mode", planned.dump_mode),
              flag_line("data_dump_data", planned.dump_data),
              # All of them, also where the script asks for a few.
              flag_line("data_dump_layer", " ".join(planned.dump_layer) or "all")]
    if ranks is not None:
        lines.append(flag_line("data_dump_ranks", ranks))
    return "\n".join(lines) + "\n"


def python_text(planned: NextDump, asked_by: Collection[str]) -> str:
    """The next dump as it is written where the script asks for its dump itself.

    Args:
      planned: with the `dump_path` that `flagfile_text` has chosen.
      asked_by: who has asked for the dump before, as its record says.

    Returns:
      Such as "NpuDumpCallback(dump_path='d_next', dump_step='5', ...)", its values quoted by
      Python's rules; "" where no callback, session or `apply` has asked, or there is no plan.
    """
    face = next((one for one in _FACES if one in asked_by), None)
    if face is None or planned.dump_path is None:
        return ""
    arguments = ["dump_path=%r" % planned.dump_path, "dump_step=%r" % planned.dump_step,
                 "dump_mode=%r" % planned.dump_mode, "dump_data=%r" % planned.dump_data]
    if planned.dump_layer:
        arguments.append("dump_layer=%r" % planned.dump_layer)
    if planned.ranks is not None:
        arguments.append("ranks=%r" % planned.ranks)
    return "%s(%s)" % (face, ", ".join(arguments))


def _tried(planned: NextDump, name: str, value: str) -> Optional[str]:
    try:
        return flag_line(name, value)
    except UnwritableError as error:
        planned.leave_out(name, value, error.reason)
        return None


def next_path(dump_path: str) -> str:
    """Beside the dump path: `dump_next`, then `dump_next2`, `dump_next3`, ..."""
    dump_path = dump_path.rstrip(os.sep) or os.sep
    match = _COUNTED.search(dump_path)
    if match is None:
        return dump_path + "_next"
    return "%s_next%d" % (dump_path[:match.start()], int(match.group(1) or 1) + 1)


def dump_path_of(run_record: Any, dump_path: str) -> str:
    """The dump path as the training used it; the folder may have been copied since."""
    if run_record is not None:
        stated = run_record.options.get("dump_path")
        if isinstance(stated, str) and os.path.isabs(stated):
            return stated
    return dump_path


def write_flagfile(planned: NextDump, path: str) -> None:
    """Writes `planned.text`, mode 0600, and sets `planned.flagfile`.

    Where it cannot be written, as in a read-only folder, that is told.
    """
    try:
        write_atomically(path, planned.text.encode("utf-8"))
    except OSError as error:
        planned.leave_out("flagfile", path, "cannot write %s: %s" % (path, error.strerror))
        return
    planned.flagfile = os.path.abspath(path)
