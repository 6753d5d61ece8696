"""Messages to the person who trains: on stderr, in absl's form, and nowhere else.

`absl.logging.warning` in a process without handlers configures Python's root logger,
after which a script's own `logging.basicConfig(...)` does nothing, and with a root
handler on stdout our words would land among those that users grep. So messages go
to a handler of our own. absl's has its stream from when absl was imported, and tells of
one that is closed or full in a traceback, or raises.
"""
import logging as python_logging
import sys
from typing import Any

from absl import logging as absl_logging

from keras_npu_dump import streams

_LOGGER = python_logging.getLogger("keras_npu_dump")


def error(text: str, *values: Any) -> None:
    """Says what failed."""
    _say(python_logging.ERROR, text, values)


def warning(text: str, *values: Any) -> None:
    """Says what a user must see; `values` are filled in as in logging."""
    _say(python_logging.WARNING, text, values)


def info(text: str, *values: Any) -> None:
    """Says what helps in a search; hidden unless the user lowers the logger's level."""
    _say(python_logging.INFO, text, values)


class _Handler(python_logging.Handler):
    """To stderr, whatever that is by now; what cannot be written is lost."""

    def emit(self, record: python_logging.LogRecord) -> None:
        streams.say(self.format(record))


def _say(level: int, text: str, values: Any) -> None:
    if not _LOGGER.handlers:
        handler = _Handler()
        handler.setFormatter(absl_logging.PythonFormatter())
        _LOGGER.propagate = False
        _LOGGER.addHandler(handler)
        if _LOGGER.level == python_logging.NOTSET:
            _LOGGER.setLevel(python_logging.WARNING)
    # Shown is the line that said it.
    where = {"stacklevel": 3} if sys.version_info >= (3, 8) else {}
    try:
        _LOGGER.log(level, text, *values, **where)  # type: ignore[arg-type]
    except Exception:  # pylint: disable=broad-except
        pass  # from a handler that somebody has added: a training does not end for our words
