"""Acting at the moment when a module has been imported, and not earlier.

npu_device reads environment variables when it is imported and TensorFlow takes
seconds: a launcher must import neither on its own account.
"""
import importlib.abc
import sys
from typing import Any, Callable, Dict, List, Optional


class _WatchedImports(importlib.abc.MetaPathFinder):
    """Lets the other finders find the module, and wraps the loader that they name.

    It keeps no note of what it is looking for: several threads may look at the same time.
    """

    def __init__(self) -> None:
        self.actions: Dict[str, List[Callable[[Any], None]]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[Any]:
        if name not in self.actions:
            return None
        spec = self._found_by_others(name, path, target)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        original = spec.loader.exec_module
        if hasattr(original, "_keras_npu_dump_original"):
            return spec  # a loader that lives longer than a look; a second wrapping is needless
        actions = self.actions

        def exec_module(module: Any) -> None:
            original(module)
            for action in actions.pop(name, ()):
                action(module)

        exec_module._keras_npu_dump_original = original  # type: ignore[attr-defined]
        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            return None
        return spec

    def _found_by_others(self, name: str, path: Any, target: Any) -> Optional[Any]:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None


_finder = _WatchedImports()


def when_imported(name: str, action: Callable[[Any], None]) -> None:
    """Has a function called when a module is there.

    Args:
      name: of the module, with dots.
      action: called once with the module, after it was imported; now, if it is already.
    """
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _finder.actions.setdefault(name, []).append(action)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
