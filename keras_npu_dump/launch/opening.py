"""The moment at which the device is opened for a script that does not do so itself.

As early as the script could have done it: what it did before open() would belong to another
TensorFlow context (npu_device.py of the adapter makes a new one, with its own seed), and its
variables would stay on the CPU. Not inside an import, though: opening it imports, too.
"""
import functools
import sys
import threading
from typing import Any, Callable, List

from keras_npu_dump.launch import import_end
from keras_npu_dump.launch.import_hook import when_imported


class Opening:
    """Calls a function once: when TensorFlow is there, and no import is under way.

    Some imports need the device before they end, such as that of a package that trains
    while it is imported; others take their time in another thread. So it is called, too, when
    TensorFlow's context is first asked for, without which nothing is computed or created.

    Args:
      action: opens the device.
    """

    def __init__(self, action: Callable[[], None]):
        self._action = action
        self._begun = False
        self._done = False
        self._lock = threading.RLock()
        self._watched: List[Any] = []
        self._give_back: Callable[[], None] = lambda: None

    def wait(self) -> None:
        """Begins to wait."""
        when_imported("tensorflow", lambda tensorflow: self._tensorflow_is_there())

    def needed(self) -> None:
        """The device is needed: it is opened now, unless that meets a module half done."""
        if self._done or import_end.needed_is_under_way_here():
            return
        # A thread that is opening it may wait for an import of this one.
        self._open(blocking=not import_end.is_importing_here())

    def _tensorflow_is_there(self) -> None:
        self._watch_context()
        self._look()

    def _look(self) -> None:
        """Opens the device, or waits for the imports that are under way."""
        if self._begun:
            return
        specs = import_end.under_way()
        for spec in specs:
            if not any(spec is one for one in self._watched):
                self._watched.append(spec)
                import_end.at_end(spec, functools.partial(self._ended, spec))
        if not any(spec._initializing for spec in specs):
            self._open(blocking=False)

    def _ended(self, spec: Any) -> None:
        # One that an exception ends is taken out: that is on its way to the script, which
        # may catch it and go on.
        if spec.name in sys.modules:
            self._look()

    def _open(self, blocking: bool) -> None:
        if not self._lock.acquire(blocking=blocking):
            return
        try:
            if self._begun:
                return
            self._begun = True
            try:
                self._action()
            finally:
                self._done = True
                self._give_back()
        finally:
            self._lock.release()

    def _watch_context(self) -> None:
        module: Any = sys.modules.get("tensorflow.python.eager.context")
        original = getattr(module, "context", None)
        if original is None:
            return

        @functools.wraps(original)
        def context() -> Any:
            self.needed()
            return original()

        def give_back() -> None:
            if module.context is context:
                module.context = original

        module.context = context
        self._give_back = give_back
