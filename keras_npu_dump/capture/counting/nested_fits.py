"""Which fits are running: a fit may run inside a hook of another, or be left by an exception.

Either way the next fit begins before the first has ended. What tells the two cases apart is
whether the code that calls the hooks of the first, Keras's CallbackList, is still at work.
"""
import sys
import threading
import weakref
from typing import Any, Optional


class Caller:
    """Who calls the hooks of a callback in one fit; made inside such a hook.

    Args:
      callback: whose hook is called; its own methods are passed over.
    """

    __slots__ = ("_reference", "_thread")

    def __init__(self, callback: Any):
        self._thread = threading.get_ident()
        self._reference: Any = None
        found = _object_behind(callback)
        try:
            self._reference = None if found is None else weakref.ref(found)
        except TypeError:
            pass

    def _object(self) -> Any:
        return None if self._reference is None else self._reference()

    def is_same(self, other: "Caller") -> bool:
        """Whether both are hooks of one fit; False where nothing is known."""
        mine = self._object()
        return mine is not None and mine is other._object()

    def holds(self, other: "Caller") -> bool:
        """Whether this fit is running, and `other`, whose hook we are in, runs inside it."""
        mine = self._object()
        if mine is None or mine is other._object():
            return False
        frame: Any = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_varnames[:1] == ("self",) or "callbacks" in frame.f_code.co_varnames:
                names = frame.f_locals
                if names.get("self") is mine:
                    return True
                if frame.f_code.co_name == "fit" and names.get("callbacks") is mine:
                    return True
            frame = frame.f_back
        return False

    def is_gone(self) -> bool:
        """Whether this fit is over, as an exception has left it; False where nothing is known."""
        if self._reference is None or self._thread != threading.get_ident():
            return False
        mine, frame = self._object(), sys._getframe(1)  # type: Any, Any
        while mine is not None and frame is not None:
            if any(one is mine for one in list(frame.f_locals.values())):
                return False
            frame = frame.f_back
        return True


def _object_behind(callback: Any) -> Optional[Any]:
    """The object that called a hook of `callback`; None where a plain function did."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_varnames[:1] == ("self",):
        found = frame.f_locals.get("self")
        if found is not callback:
            return found
        frame = frame.f_back
    return None
