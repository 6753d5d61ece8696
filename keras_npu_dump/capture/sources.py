"""Does a script speak of npu_device, itself or in a module that it may import?

Then it opens its device itself, and only there; otherwise the launcher does it. The
script cannot be asked and must not be run twice, so its text is read.
"""
import os
import re
from typing import Dict, List, Set

WORD = b"npu_device"
_MAX_FILES = 5000
_MAX_BYTES = 1 << 20
_SKIPPED = frozenset(("site-packages", "dist-packages", "__pycache__", "node_modules"))


def mentions_npu_device(script: str) -> bool:
    """Whether the word stands in the script, or in a file near it whose name stands there.

    A file may be imported if its name is a word of a file that may be: that finds more
    than the import statements, as names in strings count, and never less.
    """
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
    """Python files in and below the script's folder, by module name; a package by its own."""
    found: Dict[bytes, List[str]] = {}
    count = 0
    for folder, names, files in os.walk(os.path.dirname(os.path.abspath(script))):
        names[:] = sorted(name for name in names
                          if not name.startswith(".") and name not in _SKIPPED
                          and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg")))
        for file in files:
            if not file.endswith(".py"):
                continue
            count += 1
            stem = os.path.basename(folder) if file == "__init__.py" else file[:-3]
            found.setdefault(os.fsencode(stem), []).append(os.path.join(folder, file))
        if count > _MAX_FILES:
            break
    return found


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
