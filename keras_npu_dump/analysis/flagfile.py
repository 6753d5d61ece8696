"""The next dump as an absl flagfile, for `keras-npu-dump run --flagfile=next.flags`."""
from __future__ import annotations

import os
import re
from typing import Any, Optional

from keras_npu_dump.analysis.next_dump import NextDump
from keras_npu_dump.collect.manifest import write_atomically
from keras_npu_dump.errors import InputError

NAME = "next.flags"
_COUNTED = re.compile(r"_next(\d*)$")


def flagfile_text(planned: NextDump, dump_path: str, emulated: bool, comment: str) -> str:
    """Flags, one a line, as absl reads them; lines with # are comments.

    Args:
      planned: what to dump.
      dump_path: where to.
      emulated: the run before was on the emulator, and so is this one.
      comment: one line on why.
    """
    lines = ["# %s" % " ".join(comment.split())]
    if emulated:
        lines.append("--emulate")
    lines += ["--data_dump_path=%s" % dump_path,
              "--data_dump_step=%s" % planned.dump_step,
              "--data_dump_mode=all",
              "--data_dump_data=%s" % planned.dump_data]
    if planned.dump_layer:
        lines.append("--data_dump_layer=%s" % " ".join(planned.dump_layer))
    if planned.ranks is not None:
        lines.append("--data_dump_ranks=%s" % ",".join(map(str, planned.ranks)))
    return "\n".join(lines) + "\n"


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


def write_flagfile(text: str, path: str) -> Optional[str]:
    """Writes it, mode 0600, and returns the path; None where the folder is read-only."""
    try:
        write_atomically(path, text.encode("utf-8"))
    except InputError:
        return None
    return os.path.abspath(path)
