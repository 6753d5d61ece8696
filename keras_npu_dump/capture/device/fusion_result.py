"""fusion_result.json: which fusions took effect when GE compiled the graphs.

With `global_options().export_compile_stat` 1, GE's default, it is written when the device is
closed, with 2 after each compilation, with 0 never. It goes to ASCEND_WORK_PATH/FE/{pid}, or
else to the working directory (documentation of GE's ge.exportCompileStat), where the next run
replaces it: so it is copied to the graphs that it speaks of.
"""
import glob
import os
from typing import List, Mapping, Optional

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.atomic import write_atomically
from keras_npu_dump.files.read_limited import read_record

NAME = "fusion_result.json"
_MAX_FILE = 64 << 20  # bytes
_EARLIER = 2.0  # seconds by which clocks may differ


def places(environment: Mapping[str, str], pid: int, folders: List[str]) -> List[str]:
    """Where GE writes it.

    Args:
      environment: variables by name.
      pid: of the process.
      folders: its working directories.
    """
    work = environment.get("ASCEND_WORK_PATH")
    if work:
        folders = [os.path.join(work, "FE", str(pid))]
    return [os.path.join(folder, NAME) for folder in folders if folder]


def keep(found: List[str], graph_folder: str, pid: int, since: float) -> Optional[str]:
    """Copies it beside the graph files of the process.

    Args:
      found: paths where it may lie, see `places`; the newest counts.
      graph_folder: where GE writes graph files, or the folder above its pid folder.
      pid: of the process.
      since: seconds since 1970 when the process began; older files are of another one.

    Returns:
      Where it is now; None where there is none, or none to be read.

    Raises:
      OSError: it cannot be written there.
    """
    newer = [path for path in found if _modified(path) >= since - _EARLIER]
    if not newer or not os.path.isdir(graph_folder):
        return None
    source = max(newer, key=_modified)
    own = sorted(glob.glob(os.path.join(glob.escape(graph_folder), "*%d_*" % pid, "")))
    target = os.path.join(own[0] if own else graph_folder, NAME)
    if os.path.realpath(target) == os.path.realpath(source):
        return source
    try:
        content = read_record(source, _MAX_FILE)
    except (OSError, FormatError):
        return None
    write_atomically(target, content)
    return target


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
