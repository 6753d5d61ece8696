"""Acting at the moment when a module has been imported, and not earlier.

npu_device reads environment variables when it is imported and TensorFlow takes
seconds: a launcher must import neither on its own account.
"""
import importlib.abc
import importlib.util
import sys
from typing import Any, Callable, Dict, List, Optional


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find the module, and wraps the loader that they name."""

    def __init__(self) -> None:
        self.actions: Dict[str, List[Callable[[Any], None]]] = {}
        self._looking: set = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[Any]:
        if name not in self.actions or name in self._looking:
            return None
        self._looking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        original = spec.loader.exec_module
        actions = self.actions

        def exec_module(module: Any) -> None:
            original(module)
            for action in actions.pop(name, ()):
                action(module)

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:
            return None
        return spec


_finder = _Finder()


def when_imported(name: str, action: Callable[[Any], None]) -> None:
    """Calls `action(module)` once, after `name` was imported; now, if it is already."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _finder.actions.setdefault(name, []).append(action)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
