"""What the emulator does in TensorFlow on its own account must pass unseen by itself."""
from __future__ import annotations

import contextlib
import threading
from typing import Iterator

_OWN = threading.local()


@contextlib.contextmanager
def own_work() -> Iterator[None]:
    """What this thread executes inside is the emulator's own and passes unseen.

    It may be entered again inside.
    """
    before = is_own_work()
    _OWN.busy = True
    try:
        yield
    finally:
        _OWN.busy = before


def is_own_work() -> bool:
    """Whether this thread is inside `own_work`."""
    return getattr(_OWN, "busy", False)
