"""Where GE writes graph files, and which: environment read when GE reads it.

DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL and DUMP_GRAPH_FORMAT are read at each graph; the
folder is decided once per process at the first file (GE graph_utils.cc).
"""
from __future__ import annotations

import os
import re
import threading
from typing import Dict, Optional

from keras_npu_dump.files.private_folders import make_private

_STAGE = "Build"


def dump_level(switch: str = "value") -> int:
    """DUMP_GE_GRAPH as GE reads it: 0 nothing, 1 everything, 2 no weights, 3 structure.

    Args:
      switch: "any" for old GE, where any text switches the text form on, even "0"; see
        `generation.Generation`.

    Returns:
      The level; a number of 4 or more is nothing, a negative one counts as 2 (GE
      graph_utils.cc).
    """
    text = os.environ.get("DUMP_GE_GRAPH")
    if text is None:
        return 0
    if switch == "any":
        return 1 if text.strip() == "1" else 2
    match = re.match(r"\s*([+-]?[0-9]+)", text)
    number = int(match.group(1)) if match else 0
    if number == 0 or number >= 4:
        return 0
    return 2 if number < 0 else number


def stage_wanted(stage: str = _STAGE) -> bool:
    """Whether DUMP_GRAPH_LEVEL lets a graph of this stage through (GE graph_utils.cc).

    A number from 1 to 3 lets Build through; anything else is names of stages, or parts of
    them, separated by "|".

    Args:
      stage: name of a stage of GE. Defaults to "Build".
    """
    text = os.environ.get("DUMP_GRAPH_LEVEL")
    if text is None:
        return True
    if re.search(r"[^0-9]", text):
        return any(item and item in stage for item in text.split("|"))
    return int(text or 0) in (1, 2, 3)


def format_wanted(kind: str) -> bool:
    """Whether DUMP_GRAPH_FORMAT asks for `kind`, "ge_proto" or "onnx"; unset asks for both.

    Args:
      kind: "ge_proto" or "onnx".
    """
    text = os.environ.get("DUMP_GRAPH_FORMAT") or "ge_proto|onnx"
    return any(kind in item.lower() for item in text.split("|"))


class GraphFolder:
    """The folder of this process's graph files, and their running number.

    Args:
      form: which generation's rules decide about the folder, see `generation.Generation`.
    """

    def __init__(self, form: str = "pid"):
        self._form = form
        self._prefix: Optional[str] = None
        self._counters: Dict[str, int] = {}
        self._lock = threading.Lock()

    def prefix(self, device_id: int) -> str:
        """The folder, decided at the first call and made if it can be, with mode 0700.

        Args:
          device_id: logical device number.

        Returns:
          Its path; the current folder where it cannot be made.
        """
        with self._lock:
            if self._prefix is None:
                self._prefix = _decide(device_id, self._form)
            folder = self._prefix
        try:
            make_private(folder)
        except OSError:
            return "."
        return folder or "."

    def next_index(self, kind: str) -> int:
        """The next number of `kind`, from 0; "ge_proto" and "onnx" count apart.

        Args:
          kind: "ge_proto" or "onnx".
        """
        with self._lock:
            index = self._counters.get(kind, 0)
            self._counters[kind] = index + 1
        return index


def _decide(device_id: int, form: str) -> str:
    """The folder by GE's precedence (GE graph_utils.cc); "" is the current one.

    Args:
      device_id: logical device number.
      form: generation.Generation.folder.
    """
    pid = os.getpid()
    if form == "cwd":
        return ""
    collect = os.environ.get("NPU_COLLECT_PATH")
    if collect is not None:
        return os.path.join(collect, "extra-info", "graph", "%d_%d" % (pid, device_id))
    path = os.environ.get("DUMP_GRAPH_PATH")
    if path is not None and form == "plain":
        return path
    if path is not None:
        return os.path.join(path, "pid_%d_deviceid_%d" % (pid, device_id))
    work = os.environ.get("ASCEND_WORK_PATH")
    if work is not None and form == "pid":
        try:
            make_private(work)
        except OSError:
            pass  # `prefix` finds out, and takes the current folder
        return os.path.realpath(work)
    return ""
