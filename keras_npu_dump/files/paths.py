"""Paths as records keep them: relative to the dump folder, also where no folder is current."""
from __future__ import annotations

import os


def current_folder() -> str:
    """The working directory, "" where it was deleted or cannot be named."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def relative_to(path: str, folder: str) -> str:
    """A path as a record of a dump folder keeps it.

    Args:
      path: absolute, or relative to the working directory; "" stays "".
      folder: absolute.

    Returns:
      `path` relative to `folder` where it lies inside it, else absolute. Where the working
      directory was deleted, a relative `path` stays as it is.
    """
    if not path:
        return path
    if not os.path.isabs(path):
        here = current_folder()
        if not here:
            return path
        path = os.path.join(here, path)
    path = os.path.normpath(path)
    inside = os.path.relpath(path, folder)
    return path if inside.split(os.sep)[0] == os.pardir else inside
