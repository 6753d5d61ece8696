"""Folders that only their owner may enter: dump data are private, from the first folder on."""
from __future__ import annotations

import os
from typing import List


def make_private(folder: str) -> List[str]:
    """Makes a folder and those above it that are missing, all of mode 0700.

    `os.makedirs` gives its mode to the innermost folder only; the others follow the umask
    (Python 3.7 and later). Folders that exist keep the rights they have.

    Args:
      folder: path; "" is the current folder, which exists.

    Returns:
      The folders that were made, the innermost first.

    Raises:
      OSError: a folder cannot be made, or something else stands in its place.
    """
    # "a/b/" names what "a/b" names, and os.path.dirname would find "a/b" above it.
    folder = folder.rstrip(os.sep)
    if not folder or os.path.isdir(folder):
        return []
    made = make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        # Another thread or process may have made it in the meantime.
        if not os.path.isdir(folder):
            raise
        return made
    return [folder, *made]


def make_new(parent: str, name: str) -> str:
    """Makes a folder that nobody else has, of mode 0700.

    mkdir decides who made it: processes in containers may share their pids.

    Args:
      parent: folder that it lies in; made where it is missing.
      name: for it; `_1`, `_2`, ... are put behind it where the name is taken.

    Returns:
      Its path.

    Raises:
      OSError: it cannot be made; FileExistsError after a thousand names.
    """
    make_private(parent)
    for attempt in range(1000):
        folder = os.path.join(parent, name if not attempt else "%s_%d" % (name, attempt))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError("a thousand folders named %s exist in %s" % (name, parent))
