"""Messages to the person who trains: on stderr, in absl's form, and nowhere else.

`absl.logging.warning` in a process without handlers configures Python's root logger,
after which a script's own `logging.basicConfig(...)` does nothing, and with a root
handler on stdout our words would land among those that users grep. So messages go
to absl's handler by a logger of our own.
"""
import logging as python_logging
import sys
from typing import Any

from absl import logging as absl_logging

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


def _say(level: int, text: str, values: Any) -> None:
    if not _LOGGER.handlers:
        _LOGGER.propagate = False
        _LOGGER.addHandler(absl_logging.get_absl_handler())
        if _LOGGER.level == python_logging.NOTSET:
            _LOGGER.setLevel(python_logging.WARNING)
    # Shown is the line that said it.
    where = {"stacklevel": 3} if sys.version_info >= (3, 8) else {}
    _LOGGER.log(level, text, *values, **where)  # type: ignore[arg-type]
