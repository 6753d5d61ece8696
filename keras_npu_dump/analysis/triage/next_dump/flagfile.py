"""The next dump as an absl flagfile, for `keras-npu-dump run --flagfile=next.flags`.

What stands in it comes from records and graphs, and is obeyed: every line goes through
`files.quoting`, and what that refuses is told in `NextDump.left_out`.
"""
from __future__ import annotations

import os
import re
from typing import Any, List, Optional

from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.files.atomic import write_atomically
from keras_npu_dump.files.quoting import UnwritableError, flag_comment, flag_line

NAME = "next.flags"
_STEPS = re.compile(r"[0-9]+(-[0-9]+)?(\|[0-9]+(-[0-9]+)?)*\Z")
_RANKS = re.compile(r"[0-9]+(,[0-9]+)*\Z")
_COUNTED = re.compile(r"_next(\d*)$")


def flagfile_text(planned: NextDump, dump_paths: List[str], emulated: bool, comment: str) -> str:
    """Flags, one a line, as absl reads them; lines with # are comments.

    Args:
      planned: what to dump; its `left_out` gets what cannot be written.
      dump_paths: where to; the first that can be written is taken.
      emulated: the run before was on the emulator, and so is this one.
      comment: one line on why.

    Returns:
      "" where nothing can be written that would be the planned dump.
    """
    lines = [flag_comment(comment)]
    if emulated:
        lines.append("--emulate")
    path = next((line for line in (_tried(planned, "data_dump_path", one)
                                   for one in dump_paths) if line), None)
    # Of a manifest that others wrote, what should be a number may be anything.
    step = str(planned.dump_step)
    ranks = None if planned.ranks is None else ",".join(map(str, planned.ranks))
    for name, value, form in (("data_dump_step", step, _STEPS), ("data_dump_ranks", ranks, _RANKS)):
        if value is not None and not form.match(value):
            planned.leave_out(name, value, "expected numbers")
            return ""
    if path is None:
        return ""
    lines += [path, flag_line("data_dump_step", step), "--data_dump_mode=all",
              flag_line("data_dump_data", planned.dump_data)]
    if planned.dump_layer:
        lines.append(flag_line("data_dump_layer", " ".join(planned.dump_layer)))
    if ranks is not None:
        lines.append(flag_line("data_dump_ranks", ranks))
    return "\n".join(lines) + "\n"


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
