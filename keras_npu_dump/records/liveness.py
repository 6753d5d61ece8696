"""Whether the process that wrote a record is still there."""
from __future__ import annotations

import os
from typing import Optional

# A process is older than its record, but clocks are set while it runs.
_BORN_SLACK = 60.0


def is_running(pid: int, since: Optional[float] = None) -> bool:
    """A process of that id exists on this host, and did at the time `since`.

    A zombie counts as ended. Without a /proc to ask, the id alone decides.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    try:
        with open("/proc/%d/stat" % pid, "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
        with open("/proc/stat", "rb") as stream:
            booted = next(int(line.split()[1]) for line in stream if line.startswith(b"btime"))
        born = booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return True
    return fields[0] not in (b"Z", b"X") and (since is None or born <= since + _BORN_SLACK)
