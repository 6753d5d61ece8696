"""Whether the process that wrote a record is still there."""
from __future__ import annotations

import os
from typing import List, Optional

# A process is older than its record, but clocks are set while it runs.
_BORN_SLACK = 60.0
_STATE, _START = 0, 19  # positions in /proc/[pid]/stat behind the name (man 5 proc)


def is_running(pid: int, since: Optional[float] = None) -> bool:
    """A process of that id exists on this host, and did at the time `since`.

    A zombie counts as ended. Without a /proc to ask, the id alone decides.

    Args:
      pid: of a process; what no process can have, as 0 and below, runs nowhere.
      since: seconds since 1970.
    """
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    try:
        fields = _stat(pid)
        born = _born(fields)
    except (OSError, ValueError, IndexError, StopIteration):
        return True
    return fields[_STATE] not in (b"Z", b"X") and (since is None or born <= since + _BORN_SLACK)


def began(pid: int) -> Optional[float]:
    """Seconds since 1970 when a process began, up to a second early; None where Linux does
    not say."""
    try:
        return _born(_stat(pid))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _stat(pid: int) -> List[bytes]:
    with open("/proc/%d/stat" % pid, "rb") as stream:
        return stream.read().rpartition(b")")[2].split()


def _born(fields: List[bytes]) -> float:
    with open("/proc/stat", "rb") as stream:
        booted = next(int(line.split()[1]) for line in stream if line.startswith(b"btime"))
    return float(booted + int(fields[_START]) / os.sysconf("SC_CLK_TCK"))
