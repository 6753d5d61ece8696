"""Progress on stderr for what takes longer than two seconds."""
import sys
import time
from typing import Any, Optional

from keras_npu_dump import messages
from keras_npu_dump.files import streams
from keras_npu_dump.sizes import human_bytes

_PATIENCE = 2.0
_EVERY = 0.2
_EVERY_IN_A_LOG = 10.0


class ProgressLine:
    """A `Progress`: silent for two seconds, then a line of progress on stderr.

    On a terminal one line is rewritten, elsewhere a message comes every ten seconds.
    Use it as a context manager, so that the line is gone when the result comes.

    Args:
      unit: what is counted, "files" or "bytes".
      file: defaults to stderr.
    """

    def __init__(self, unit: str = "files", file: Any = None):
        self._file = sys.stderr if file is None else file
        self._bytes = unit == "bytes"
        self._terminal = streams.is_terminal(self._file)
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, stage: str, done: int, total: Optional[int] = None) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_EVERY if self._terminal else _EVERY_IN_A_LOG)
        text = "%s: %s" % (stage, self._count(done))
        if total:
            text += " of %s (%d %%)" % (self._count(total), 100 * done // total)
        self._shown = True
        if not streams.tell(self._file, "\r\x1b[K" + text if self._terminal
                            else messages.PREFIX + text + "\n"):
            self._next = float("inf")

    def _count(self, number: int) -> str:
        return human_bytes(number) if self._bytes else "{:,}".format(number)

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._shown and self._terminal:
            streams.tell(self._file, "\r\x1b[K")
