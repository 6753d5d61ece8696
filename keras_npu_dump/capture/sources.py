"""Does a script speak of npu_device, itself or in a module that it may import?

Then it opens its device itself, and only there; otherwise the launcher does it. The
script cannot be asked and must not be run twice, so its text is read.
"""
import collections
import itertools
import os
import re
from typing import Any, Dict, List, Set

WORD = b"npu_device"
# Entries of folders that are looked at, in all and in one folder that is not the script's:
# data sets lie beside scripts, millions of files of them.
_MAX_ENTRIES = 20000
_MAX_IN_FOLDER = 2000
_MAX_BYTES = 1 << 20
_SKIPPED = frozenset(("site-packages", "dist-packages", "__pycache__", "node_modules"))


def mentions_npu_device(script: str) -> bool:
    """Whether the word stands in the script, or in a file near it whose name stands there.

    A file may be imported if its name is a word of a file that may be: that finds more
    than the import statements, as names in strings count, and never less.
    """
    if WORD in re.findall(rb"\w+", _read(script)):
        return True
    near = _files_near(script)
    known: Set[bytes] = set()
    waiting = [os.path.abspath(script)]
    seen = set(waiting)
    while waiting:
        text = _read(waiting.pop())
        words = set(re.findall(rb"\w+", text))
        if WORD in words:
            return True
        for word in words - known:
            for path in near.get(word, ()):
                if path not in seen:
                    seen.add(path)
                    waiting.append(path)
        known |= words
    return False


def _files_near(script: str) -> Dict[bytes, List[str]]:
    """Python files in and below the script's folder, by module name; a package by its own.

    The nearest first, so that the limits cut off what lies deep.
    """
    found: Dict[bytes, List[str]] = {}
    top = os.path.dirname(os.path.abspath(script))
    waiting = collections.deque([top])
    left = _MAX_ENTRIES
    while waiting and left > 0:
        folder = waiting.popleft()
        entries = _entries(folder, left if folder == top else min(left, _MAX_IN_FOLDER))
        left -= len(entries)
        if folder != top and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.endswith(".py"):
                stem = (os.path.basename(folder) if entry.name == "__init__.py"
                        else entry.name[:-3])
                found.setdefault(os.fsencode(stem), []).append(entry.path)
            elif (not entry.name.startswith(".") and entry.name not in _SKIPPED
                  and _is_folder(entry)):
                waiting.append(entry.path)
    return found


def _entries(folder: str, most: int) -> List[Any]:
    try:
        with os.scandir(folder) as entries:
            return list(itertools.islice(entries, most))
    except OSError:
        return []


def _is_folder(entry: Any) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
