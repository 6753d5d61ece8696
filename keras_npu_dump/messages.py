"""Messages to the person who trains: on stderr, in absl's form, and nowhere else.

`absl.logging.warning` in a process without handlers configures Python's root logger,
after which a script's own `logging.basicConfig(...)` does nothing, and with a root
handler on stdout our words would land among those that users grep. So messages go
to a logger and a handler of our own. absl's handler has its stream from when absl was
imported, and what it says of one that is closed or full is a traceback, or an exception.
"""
import logging as python_logging
import sys
import time
from typing import Any

from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal

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


class _Formatter(python_logging.Formatter):
    """W1201 00:54:19.123456 139947956812672 attach.py:120] text"""

    def format(self, record: python_logging.LogRecord) -> str:
        moment = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        return "%s%s.%06d %5d %s:%d] %s" % (
            record.levelname[:1], moment, record.created % 1.0 * 1e6, record.thread or 0,
            record.filename, record.lineno, super().format(record))


def _say(level: int, text: str, values: Any) -> None:
    if not any(isinstance(one, _Handler) for one in _LOGGER.handlers):
        handler = _Handler()
        handler.setFormatter(_Formatter())
        _LOGGER.propagate = False
        _LOGGER.addHandler(handler)
        if _LOGGER.level == python_logging.NOTSET:
            _LOGGER.setLevel(python_logging.WARNING)
    if text != "%s":
        # Names and paths were written by others; line ends are ours alone.
        values = tuple(terminal(one) if isinstance(one, str) else one for one in values)
    # Shown is the line that said it.
    where = {"stacklevel": 3} if sys.version_info >= (3, 8) else {}
    try:
        _LOGGER.log(level, text, *values, **where)  # type: ignore[arg-type]
    except Exception:  # pylint: disable=broad-except
        pass  # from a handler that somebody has added: no training ends for our words
