"""Does a script import npu_device, itself or in a module that it may import?

Then it opens its device itself, and only there; otherwise the launcher does it. The
script cannot be asked and must not be run twice, so its import statements are read,
wherever they stand: in functions, under conditions. Words prove nothing.
"""
import ast
import collections
import importlib.machinery
import itertools
import os
import re
import sys
import sysconfig
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import open_regular

MODULE = "npu_device"
# How much is read of the script's own modules: a whole model zoo may lie on the path.
_MAX_FILES = 500
_MAX_BYTES = 4 << 20
# Entries of folders that are looked at, in all and in one folder that is not the script's:
# data sets lie beside scripts, millions of files of them.
_MAX_ENTRIES = 20000
_MAX_IN_FOLDER = 2000
_SKIPPED = frozenset(("site-packages", "dist-packages", "__pycache__", "node_modules"))
_INSTALLED = re.compile(r"[/\\](site|dist)-packages([/\\]|$)|\.zip$|\.egg$")
_OURS = __name__.split(".")[0]


class ImportPlace(NamedTuple):
    """A line of a file."""

    path: str
    line: int


class _Import(NamedTuple):
    """A name that is imported; `level` counts the dots of a relative import."""

    name: str
    level: int
    line: int


def find_import(script: str) -> Optional[ImportPlace]:
    """Where the script, or a module of its own that it may import, imports npu_device.

    Args:
      script: path of a Python file.

    Returns:
      The first line of the first file in which it does; None where it does nowhere, or in
      what is too large to be read here.
    """
    for path, _, imports in _own_modules(script):
        lines = [one.line for one in imports
                 if not one.level and one.name.split(".")[0] == MODULE]
        if lines:
            return ImportPlace(path, min(lines))
    return None


def knows_word(script: str, word: str) -> bool:
    """Whether a word stands in the script, or in a module of its own that it may import.

    Args:
      script: path of a Python file.
      word: letters, digits and underscores.
    """
    pattern = re.compile(rb"\b%s\b" % word.encode())
    return any(pattern.search(text) for _, text, _ in _own_modules(script))


def _own_modules(script: str) -> Iterator[Tuple[str, bytes, List[_Import]]]:
    """The script and what it may import and is not installed: path, text, its imports."""
    script = os.path.abspath(script)
    finder = _ModuleFinder(script)
    waiting = collections.deque([script])
    seen: Set[str] = {script}
    left = _MAX_BYTES
    while waiting and left > 0 and len(seen) - len(waiting) <= _MAX_FILES:
        path = waiting.popleft()
        text = _read(path, left)
        left -= len(text)
        imports = _imports(text)
        yield path, text, imports
        for one in imports:
            for file in finder.files(one, os.path.dirname(path)):
                if file not in seen:
                    seen.add(file)
                    waiting.append(file)


def _imports(text: bytes) -> List[_Import]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [_Import(alias.name, 0, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module, level = node.module or "", node.level or 0
            found.append(_Import(module, level, node.lineno))
            for alias in node.names:
                name = "%s.%s" % (module, alias.name) if module else alias.name
                found.append(_Import(name, level, node.lineno))
        elif isinstance(node, ast.Call) and node.args and _calls_import(node.func):
            try:
                name = ast.literal_eval(node.args[0])
            except (ValueError, TypeError):
                continue
            if isinstance(name, str) and name and not name.startswith("."):
                found.append(_Import(name, 0, node.lineno))
    return found


def _calls_import(function: Any) -> bool:
    """Whether it is `__import__`, `import_module` or `importlib.import_module`."""
    return getattr(function, "id", getattr(function, "attr", None)) in (
        "__import__", "import_module")


class _ModuleFinder:
    """Finds files of modules as the script's import statements will."""

    def __init__(self, script: str):
        self._script = script
        # The first entry is this process's own; the script's folder takes its place.
        self._roots = [os.path.dirname(script)] + [
            path for path in sys.path[1:] if path and not _is_installed(path)]
        self._installed: Dict[str, bool] = {}
        self._near: Optional[Dict[str, List[str]]] = None

    def files(self, one: _Import, folder: str) -> List[str]:
        """What importing runs of the script's own: packages on the way, and the module."""
        if one.level:
            for _ in range(one.level - 1):
                folder = os.path.dirname(folder)
            own = [os.path.join(folder, "__init__.py")]
            return [path for path in own if os.path.isfile(path)] + _files_in([folder], one.name)
        top = one.name.split(".")[0]
        if top in (MODULE, _OURS, "") or top in sys.builtin_module_names:
            return []
        found = _files_in(self._roots, one.name)
        if not found and not self._is_found_elsewhere(top):
            # The script will have added a folder of its own to sys.path.
            if self._near is None:
                self._near = _modules_near(self._script)
            for root in self._near.get(top, ()):
                found += _files_in([root], one.name)
        return found

    def _is_found_elsewhere(self, top: str) -> bool:
        if top not in self._installed:
            try:
                spec = importlib.machinery.PathFinder.find_spec(top, sys.path[1:])
            except (ImportError, ValueError):
                spec = None
            self._installed[top] = spec is not None
        return self._installed[top]


def _is_installed(path: str) -> bool:
    library = sysconfig.get_paths().get("stdlib") or os.path.dirname(os.__file__)
    return bool(_INSTALLED.search(path)) or (path + os.sep).startswith(library + os.sep)


def _files_in(roots: Sequence[str], name: str) -> List[str]:
    """The files of a dotted name below the first of the folders that has some."""
    for root in roots:
        found, folder = [], root
        for part in name.split("."):
            package = os.path.join(folder, part, "__init__.py")
            module = os.path.join(folder, part + ".py")
            if os.path.isfile(package):
                found.append(package)
            elif os.path.isfile(module):
                found.append(module)
                break
            elif not os.path.isdir(os.path.join(folder, part)):
                break
            folder = os.path.join(folder, part)
        if found:
            return found
    return []


def _modules_near(script: str) -> Dict[str, List[str]]:
    """Folders at and below the script's, by the modules and packages that lie in them.

    The nearest first, so that the limits cut off what lies deep.
    """
    found: Dict[str, List[str]] = {}
    top = os.path.dirname(script)
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
                found.setdefault(entry.name[:-3], []).append(folder)
            elif (not entry.name.startswith(".") and entry.name not in _SKIPPED
                  and _is_folder(entry)):
                found.setdefault(entry.name, []).append(folder)
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
        return bool(entry.is_dir(follow_symlinks=False))
    except OSError:
        return False


def _read(path: str, most: int) -> bytes:
    try:
        fd, _ = open_regular(path)
        with os.fdopen(fd, "rb") as file:
            return file.read(most)
    except (FormatError, OSError):
        return b""
