"""What is said beside answers: on stderr, each message begun alike, and nowhere else.

    keras-npu-dump: Dump data, graphs and records go to /output/data_dump
    keras-npu-dump: warning: steps 8 to 10 were not reached, 6 executions ran
    keras-npu-dump: error: dump_step: expected ...

The same from callback, session, `apply`, `run`, all commands and the emulator. Nothing here
passes through the handlers of others: `absl.logging` puts time stamps in front, and in a
process without handlers configures Python's root logger, after which a script's own
`logging.basicConfig(...)` does nothing; with a root handler on stdout our words would land
among those that users grep; and `logging.config.dictConfig` switches off loggers that it does
not know.

Python's logger "keras_npu_dump" is there for two things: its level hides what is below it
(`logging.getLogger("keras_npu_dump").setLevel(logging.WARNING)` hides information), and who
adds a handler to it gets every message beside stderr.
"""
import logging as python_logging
from typing import Any

from keras_npu_dump.files import streams
from keras_npu_dump.files.quoting import terminal

PREFIX = "keras-npu-dump: "
_WORDS = {python_logging.ERROR: "error: ", python_logging.WARNING: "warning: "}
_LOGGER = python_logging.getLogger("keras_npu_dump")
_LOGGER.propagate = False


def error(text: str, *values: Any) -> None:
    """Says what failed.

    Args:
      text: without its last line end.
      values: filled in as in logging; names and paths were written by others, and stay
        within their line. Text that is "%s" and nothing else is ours, with its line ends.
    """
    _say(python_logging.ERROR, text, values)


def warning(text: str, *values: Any) -> None:
    """Says what may not be as the user wants it; arguments as of `error`."""
    _say(python_logging.WARNING, text, values)


def info(text: str, *values: Any) -> None:
    """Says what is as it should be and good to know; arguments as of `error`."""
    _say(python_logging.INFO, text, values)


def debug(text: str, *values: Any) -> None:
    """Says what helps in a search; hidden unless the user lowers the logger's level."""
    _say(python_logging.DEBUG, text, values)


def _say(level: int, text: str, values: Any) -> None:
    if level < (_LOGGER.level or python_logging.INFO):
        return
    if text != "%s":
        values = tuple(terminal(one) if isinstance(one, str) else one for one in values)
    try:
        message = text % values if values else text
    except Exception as fault:  # pylint: disable=broad-except
        message = "%s %r (%s)" % (text, values, type(fault).__name__)
    streams.say(PREFIX + _WORDS.get(level, "") + message)
    try:
        record = _LOGGER.makeRecord(_LOGGER.name, level, "", 0, message, (), None)
        for handler in _LOGGER.handlers:
            if level >= handler.level:
                handler.handle(record)
    except Exception:  # pylint: disable=broad-except
        pass  # from a handler that somebody has added: no training ends for our words
