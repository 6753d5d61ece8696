"""What a value of a dump option may be, by the rules of npu_device and GE.

Each function takes what a user gave, returns what `DumpConfig` keeps, and raises a
`ConfigError` that tells what was expected and what was received. npu_device's own checks
are in its configs/dump_config.py; what GE checks at session start (ge,
base/common/dump/dump_properties.cc) it would report as an InternalError at the first graph.
"""
import math
import os
import re
from typing import Any, Callable, FrozenSet, Optional, Tuple

from keras_npu_dump.errors import ConfigError

_TRUE = frozenset(("true", "t", "yes", "y", "on", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "off", "0"))

ALL_LAYERS = "all"

# DUMP_GRAPH_LEVEL values at which GE writes the executed graphs (ge, graph_utils.cc).
_LEVELS_WITH_BUILD = (1, 2, 3)


def parse_bool(value: Any, name: str = "flag") -> Optional[bool]:
    """Reads a switch as training scripts write it.

    Args:
      value: a bool, 0 or 1, or true/false/yes/no/on/off/1/0 in any case. None and
        the empty string mean "not given".
      name: how the switch is called in the error message.

    Returns:
      True, False, or None where it was not given.

    Raises:
      ConfigError: for any other text.
    """
    if value is None or isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if not text or text == "none":
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    hint = " A folder goes into %s_path." % name if "/" in text and name == "over_dump" else ""
    raise ConfigError("%s: expected true or false. Received: %r.%s" % (name, value, hint))


def switch(name: str, default: bool) -> Callable[[Any], bool]:
    """The check of an option that is on or off.

    Args:
      name: of the option, for messages.
      default: what is kept where it is not given.

    Returns:
      A function that raises ConfigError for what is neither true nor false.
    """
    def check(value: Any) -> bool:
        read = parse_bool(value, name)
        return default if read is None else read
    return check


def choice(name: str, allowed: Tuple[str, ...]) -> Callable[[Any], str]:
    """The check of an option that takes a few words.

    Args:
      name: of the option, for messages.
      allowed: the words.

    Returns:
      A function that raises ConfigError for any other value.
    """
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ConfigError("%s: expected one of %s. Received: %r."
                              % (name, ", ".join(repr(item) for item in allowed), value))
        return value
    return check


def folder(name: str) -> Callable[[Any], Optional[str]]:
    """The check of an option that names a folder; None and "" are the default folder.

    Args:
      name: of the option, for messages.

    Returns:
      A function that raises ConfigError for what is no path.
    """
    def check(value: Any) -> Optional[str]:
        if value is None or value == "":
            return None
        try:
            text = os.fspath(value)
        except TypeError:
            text = None
        if not isinstance(text, str):
            raise ConfigError("%s: expected the path of a folder. Received: %r." % (name, value))
        if "\0" in text:
            raise ConfigError("%s: expected a path without a NUL character. Received: %r."
                              % (name, text))
        return text
    return check


def layers(value: Any) -> str:
    """dump_layer as GE takes it: names separated by single blanks; "" is all operators.

    Args:
      value: names in a list, a tuple or a set, or in a text, separated by blanks; "all" is
        all of them, so that a command line can say so where a script asks for a few.

    Raises:
      ConfigError: for anything else, and for a name in a list that holds a blank.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split()) if value.strip() != ALL_LAYERS else ""
    names = list(value) if isinstance(value, (list, tuple, set, frozenset)) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise ConfigError("dump_layer: expected operator names, as a list or separated by blanks."
                          " Received: %r." % (value,))
    for name in names:
        if not name or len(name.split()) != 1:
            raise ConfigError("dump_layer: expected names without blanks in a list."
                              " Received: %r." % (name,))
    return " ".join(sorted(names) if isinstance(value, (set, frozenset)) else names)


def ranks(value: Any) -> Optional[FrozenSet[int]]:
    """The ranks that dump; None is all.

    Args:
      value: a text such as "0,7", an int, an iterable of ints, or None.

    Raises:
      ConfigError: for anything else, and for a negative rank.
    """
    if value is None or value == "":
        return None
    items: Any = value.replace(",", "|").split("|") if isinstance(value, str) else value
    if isinstance(items, int) and not isinstance(items, bool):
        items = [items]
    try:
        chosen = frozenset(int(item) for item in items)
    except (TypeError, ValueError):
        chosen = frozenset((-1,))
    if any(rank < 0 for rank in chosen):
        raise ConfigError("data_dump_ranks: expected rank numbers such as '0,7'. Received: %r."
                          % (value,))
    return chosen or None


def level_has_build(level: str) -> bool:
    """Whether GE writes the executed graphs at this DUMP_GRAPH_LEVEL (ge, graph_utils.cc)."""
    if re.search(r"[^0-9]", level):
        return any(item and item in "Build" for item in level.split("|"))
    return level != "" and int(level) in _LEVELS_WITH_BUILD


def graph_level(value: Any) -> str:
    """A DUMP_GRAPH_LEVEL at which the executed graphs are written.

    Args:
      value: a level, as a text or a number; what is empty is "3".

    Raises:
      ConfigError: GE writes no executed graph at this level.
    """
    level = str(value or "3")
    if not level_has_build(level):
        raise ConfigError(
            "graph_level (data_dump_graph_level): expected 1, 2, 3, or names of stages such as"
            " PreRunBegin|Build, so that the executed graphs (Build) are among them."
            " Received: %r." % level)
    return level


def gigabytes(value: Any) -> float:
    """A size in units of 10**9 bytes.

    Args:
      value: a number, or the text of a number.

    Raises:
      ConfigError: it is no number, negative or infinite.
    """
    try:
        size = float(value)
    except (TypeError, ValueError):
        size = math.nan
    if not size >= 0 or math.isinf(size):
        raise ConfigError("data_dump_min_free_gb: expected a number of gigabytes, 0 or more."
                          " Received: %r." % (value,))
    return size
