"""The dump folder: made, checked as GE will check it, and what GE has put there since."""
import os
import time
from typing import List, Optional

from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files.private_folders import make_private

# Linux takes paths of so many bytes, the end included (limits.h, PATH_MAX).
_PATH_MAX = 4096
# What comes behind a dump path: time, device, the longest name of a model, its id and the
# data_index, and a file of digits (adump names what is too long so; mapping.csv).
_APPENDED = len("/20260101000000/1000/") + 255 + len("/1000000000/1000000000/12345678901234567890")

_EARLIER = 2.0  # seconds by which clocks may differ


def first_time_folder(since: float) -> str:
    """The least name that a time folder has which was made since then.

    GE names the time folder when its session starts, in local time.

    Args:
      since: seconds since the epoch.
    """
    return time.strftime("%Y%m%d%H%M%S", time.localtime(since - _EARLIER))


def time_folders(dump_path: str, since: float) -> List[str]:
    """The time folders that were made since then, by name, in order; none where it cannot be read.

    Args:
      dump_path: absolute.
      since: seconds since the epoch.
    """
    oldest = first_time_folder(since)
    try:
        found = os.listdir(dump_path)
    except OSError:
        return []
    return sorted(name for name in found
                  if len(name) == len(oldest) and name.isdigit() and name >= oldest)


def prepare_dump_path(dump_path: str) -> None:
    """Creates the folder.

    GE wants an existing directory that it may read and write, else it fails at the
    first graph (E10001; ge, dump_properties.cc).

    Args:
      dump_path: absolute.

    Raises:
      ConfigError: if it cannot be made, is no folder, or may not be read and written.
    """
    expected = too_long(dump_path)
    said = shortened(dump_path)
    if expected is not None:
        raise ConfigError("dump_path: expected %s. Received: %r." % (expected, said))
    try:
        make_private(dump_path)
    except OSError as error:
        what = ("%s is not a folder" % error.filename
                if isinstance(error, FileExistsError) else error.strerror)
        raise ConfigError("dump_path: expected a folder, or a place where one can be made."
                          " Received: %r (%s)." % (said, what)) from error
    if not os.access(dump_path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError("dump_path: expected a folder that this user may read and write."
                          " Received: %r." % (said,))


def too_long(path: str) -> Optional[str]:
    """What is expected of a dump path instead, as it leaves no room for what is put below it.

    Args:
      path: absolute; what a link in it stands for counts, too.

    Returns:
      Words for a message; None where there is room.
    """
    length = max(len(os.fsencode(one)) for one in (path, os.path.realpath(path)))
    most = _PATH_MAX - 1 - _APPENDED
    if length <= most:
        return None
    return ("a path of at most %d bytes, as up to %d are put behind it ({time}/{device}/"
            "{model_name}/{model_id}/{data_index}/file)" % (most, _APPENDED))


def shortened(path: str) -> str:
    """A path for a message: its begin and its end where it is long."""
    return path if len(path) <= 300 else "%s...%s (%d characters)" % (
        path[:100], path[-50:], len(path))
