"""Waiting for the end of imports that are under way.

Inside an import TensorFlow may be whole while Keras or npu_device, whose import it began in,
are half done: whoever acts there meets modules without their contents. The import system
marks a module's spec with `_initializing` while it runs (importlib/_bootstrap.py; the
interpreter itself goes by it), whatever has begun the import, and clears it at the end,
also where that is an exception. Nothing of ours stands in the stack of an import.
"""
import re
import sys
from typing import Any, Callable, Iterator, List

# What opening a device imports itself, wherever it lies.
_NEEDED = frozenset(("keras", "npu_device", "tensorflow", "tf_keras"))
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")


def under_way() -> List[Any]:
    """Specs of modules whose import has begun and not ended, in whichever thread.

    Modules of the script's own are left out: they are the script, and what they do while
    they are imported may need the device.
    """
    found = []
    for module in list(sys.modules.values()):
        spec = _spec_of(module)
        if getattr(spec, "_initializing", False) and (_is_needed(spec) or _INSTALLED.search(
                str(getattr(spec, "origin", None)))):
            found.append(spec)
    return found


def needed_is_under_way_here() -> bool:
    """Whether this very thread stands inside an import of what opening a device imports."""
    return any(_is_needed(spec) for spec in _specs_in_stack())


def is_importing_here() -> bool:
    """Whether this thread stands inside an import, for which others may wait."""
    return any(True for _ in _specs_in_stack())


def at_end(spec: Any, action: Callable[[], None]) -> None:
    """Has a function called when the import of a module has ended; never where this spec cannot
    be watched, or has ended meanwhile.

    Args:
      spec: of the module, whose import is under way.
      action: called once, in the thread of the import, which still holds the module's lock.
    """
    kind: Any = type(spec)

    def set_attribute(self: Any, name: str, value: Any) -> None:
        kind.__setattr__(self, name, value)
        if name == "_initializing" and not value and type(self) is watched:
            self.__class__ = kind
            action()

    watched = type(kind.__name__, (kind,), {"__setattr__": set_attribute})
    try:
        spec.__class__ = watched
    except TypeError:
        return
    if not spec._initializing and type(spec) is watched:
        spec.__class__ = kind  # in another thread, between two lines of ours


def _spec_of(module: Any) -> Any:
    try:
        # Lazy modules must not be asked for an attribute: that would load them.
        return object.__getattribute__(module, "__dict__").get("__spec__")
    except AttributeError:
        return None


def _is_needed(spec: Any) -> bool:
    return str(spec.name).partition(".")[0] in _NEEDED


def _specs_in_stack() -> Iterator[Any]:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            spec = frame.f_globals.get("__spec__")
            if getattr(spec, "_initializing", False):
                yield spec
        frame = frame.f_back  # type: ignore[assignment]
