"""Room on the disk of the dump folder, before training starts and while it runs."""
import os
import shutil
from typing import Optional

from keras_npu_dump.errors import ConfigError

GB = 10 ** 9


def existing_part(path: str) -> str:
    """The deepest folder of `path` that exists."""
    path = os.path.abspath(path)
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def free_bytes(path: str) -> Optional[int]:
    """Room for this user on the file system that holds, or will hold, `path`."""
    try:
        return shutil.disk_usage(existing_part(path)).free
    except OSError:
        return None


def check_free_space(path: str, min_free_gb: float) -> None:
    """Refuses to start where the disk is nearly full.

    Args:
      path: of the dump folder, which need not exist.
      min_free_gb: in units of 10**9 bytes.

    Raises:
      ConfigError: with less than `min_free_gb` times 10**9 bytes for this user.
    """
    free = free_bytes(path)
    if free is not None and free < min_free_gb * GB:
        raise ConfigError(
            "%s: expected at least %g GB of free space (data_dump_min_free_gb, in Python"
            " min_free_gb). Received: %.1f GB."
            " Free some, choose another data_dump_path (dump_path), or lower the limit."
            % (existing_part(path), min_free_gb, free / GB))
