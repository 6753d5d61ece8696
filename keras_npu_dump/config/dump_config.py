"""DumpConfig: what to dump, checked by the vendor's own rules before anything starts.

The fields of `npu_device.global_options().dump_config` and their allowed values
are those of npu_device (configs/dump_config.py); what GE checks at session start
(ge, base/common/dump/dump_properties.cc) and would report as an InternalError at
the first graph is a `ConfigError` here.
"""
import dataclasses
import math
import os
from typing import Any, FrozenSet, Iterable, List, Optional

from keras_npu_dump.config.flag_values import (
    explicit_fields,
    level_has_build,
    parse_bool,
    read_flags,
)
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import ConfigError

DEFAULT_DUMP_PATH = "output/data_dump"
DEFAULT_OVERFLOW_PATH = "output/overflow_dump"
DEFAULT_MIN_FREE_GB = 5.0

DUMP_MODES = ("input", "output", "all")
DUMP_DATA = ("tensor", "stats")
DUMP_DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")


class _NotGiven:
    """The default of every argument: None is a value that a user may mean."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Any = _NotGiven()

_DEFAULTS = {
    "enable_dump": None, "dump_path": None, "dump_step": "0", "dump_mode": "all",
    "dump_data": "tensor", "dump_layer": None, "enable_dump_debug": False,
    "dump_debug_mode": "all", "ranks": None, "graph": True, "graph_path": None,
    "graph_level": "3", "collect": True, "min_free_gb": DEFAULT_MIN_FREE_GB, "strict": False,
}


@dataclasses.dataclass(frozen=True)
class DumpConfig:
    """What to dump. Every field is checked when the object is made.

    Args:
      enable_dump: dump operators' data; by default on, unless `enable_dump_debug` is.
      dump_path: folder for everything; made at `apply` if missing, relative to the
        current directory of that moment. Defaults to "output/data_dump"
        ("output/overflow_dump" with `enable_dump_debug`).
      dump_step: which executions, see `StepSet.of`; None or "all" is every one.
        Defaults to "0".
      dump_mode: "input", "output" or "all". Defaults to "all".
      dump_data: "tensor" (the operators' data) or "stats" (a csv of statistics per
        operator). Defaults to "tensor".
      dump_layer: operators to dump, as a list of names or a text of names separated
        by blanks; nothing means all of them. Defaults to None.
      enable_dump_debug: dump what overflows; excludes `enable_dump`. Defaults to False.
      dump_debug_mode: "aicore_overflow", "atomic_overflow" or "all" (Atlas A2 and
        later know only "all"). Defaults to "all".
      ranks: only these ranks dump; None is all. Defaults to None.
      graph: set DUMP_GE_GRAPH=2 where the user has not. Defaults to True.
      graph_path: where graph files go (DUMP_GRAPH_PATH, where the user has not set
        it). Defaults to `{dump_path}/graphs`.
      graph_level: DUMP_GRAPH_LEVEL, where the user has not set it. Defaults to "3",
        the executed Build graphs only.
      collect: write the manifest when training ends. Defaults to True.
      min_free_gb: refuse to start with less free space than this, in units of
        10**9 bytes. Defaults to 5.
      strict: what would be a warning while training stops it, and a dump that is missing
        or not whole at its end is an IncompleteDumpError. Defaults to False.
      explicit: names of the fields that the user has said; with the others a script's
        own `npu_device.global_options()` wins. Defaults to those that are given.

    Raises:
      ConfigError: with what was expected and what was received.
    """

    enable_dump: Any = NOT_GIVEN
    dump_path: Any = NOT_GIVEN
    dump_step: Any = NOT_GIVEN
    dump_mode: str = NOT_GIVEN
    dump_data: str = NOT_GIVEN
    dump_layer: Any = NOT_GIVEN
    enable_dump_debug: Any = NOT_GIVEN
    dump_debug_mode: str = NOT_GIVEN
    ranks: Any = NOT_GIVEN
    graph: Any = NOT_GIVEN
    graph_path: Optional[str] = NOT_GIVEN
    graph_level: Any = NOT_GIVEN
    collect: Any = NOT_GIVEN
    min_free_gb: Any = NOT_GIVEN
    strict: Any = NOT_GIVEN
    explicit: Any = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        given = [name for name in _DEFAULTS if getattr(self, name) is not NOT_GIVEN]
        put(self, "explicit", frozenset(given if self.explicit is None else self.explicit))
        for name in set(_DEFAULTS).difference(given):
            put(self, name, _DEFAULTS[name])
        debug = bool(parse_bool(self.enable_dump_debug, "enable_dump_debug"))
        dump = parse_bool(self.enable_dump, "enable_dump")
        put(self, "enable_dump_debug", debug)
        put(self, "enable_dump", not debug if dump is None else dump)
        if self.enable_dump and debug:
            raise ConfigError(
                "expected one of enable_dump (data_dump_flag) and enable_dump_debug (over_dump)."
                " Received: both. GE refuses that; choose one.")
        put(self, "dump_path", _check_path(self.dump_path, debug))
        put(self, "dump_step", StepSet.of(self.dump_step))
        _check_choice("dump_mode", self.dump_mode, DUMP_MODES)
        _check_choice("dump_data", self.dump_data, DUMP_DATA)
        _check_choice("dump_debug_mode", self.dump_debug_mode, DUMP_DEBUG_MODES)
        put(self, "dump_layer", _layers(self.dump_layer))
        put(self, "ranks", _ranks(self.ranks))
        for name in ("graph", "collect"):
            put(self, name, parse_bool(getattr(self, name), name) is not False)
        put(self, "strict", bool(parse_bool(self.strict, "strict")))
        put(self, "graph_path", self.graph_path or None)
        put(self, "graph_level", _check_level(str(self.graph_level or "3")))
        put(self, "min_free_gb", _free_gb(self.min_free_gb))

    @classmethod
    def off(cls) -> "DumpConfig":
        """A configuration whose callback does nothing."""
        return cls(enable_dump=False)

    @classmethod
    def from_flags(cls, flags: Any, **overrides: Any) -> "DumpConfig":
        """Reads the flags of an existing training main.

        Args:
          flags: absl FLAGS, an argparse Namespace, or any object with attributes of
            the names that `keras_npu_dump.flags` defines; what is missing, None or
            empty takes its default.
          **overrides: fields of DumpConfig that win over the flags.

        Raises:
          ConfigError: for a value that GE would reject, for flags that were not
            parsed yet, and for an object without any of the flags.
        """
        fields = read_flags(flags)
        fields.update(overrides)
        if not fields.get("enable_dump") and not fields.get("enable_dump_debug"):
            return cls.off()
        said = explicit_fields(flags)
        if said is None:
            # An argparse Namespace does not tell a default from the same word on the line.
            said = frozenset(name for name, value in fields.items() if value != _DEFAULTS[name])
        overridden = frozenset(overrides) - {"enable_dump"}
        return cls(explicit=said | overridden, **fields)

    @property
    def is_off(self) -> bool:
        return not self.enable_dump and not self.enable_dump_debug

    @property
    def layers(self) -> List[str]:
        """The names in dump_layer; empty for all operators."""
        return self.dump_layer.split()

    def replace(self, **changes: Any) -> "DumpConfig":
        """A copy with some fields changed, which are explicit then."""
        changes.setdefault("explicit", self.explicit | frozenset(changes))
        return dataclasses.replace(self, **changes)

    def at(self, dump_path: str) -> "DumpConfig":
        """The same with its folder made absolute; who has said it stays as it is."""
        return self.replace(dump_path=dump_path, explicit=self.explicit)

    def npu_options(self) -> dict:
        """The values for `npu_device.global_options().dump_config`, by field name.

        dump_step and dump_layer are left out where they select everything, as
        npu_device then leaves them None.
        """
        options = {
            "enable_dump": self.enable_dump,
            "dump_path": self.dump_path,
            "dump_mode": self.dump_mode,
            "dump_data": self.dump_data,
            "enable_dump_debug": self.enable_dump_debug,
            "dump_debug_mode": self.dump_debug_mode,
        }
        if self.dump_step.text and self.enable_dump:
            options["dump_step"] = self.dump_step.text
        if self.dump_layer:
            options["dump_layer"] = self.dump_layer
        return options


def _check_level(level: str) -> str:
    if not level_has_build(level):
        raise ConfigError(
            "graph_level (data_dump_graph_level): expected 1, 2, 3, or names of stages such as"
            " PreRunBegin|Build, so that the executed graphs (Build) are among them."
            " Received: %r." % level)
    return level


def _check_path(value: Any, debug: bool) -> str:
    if value is None or value == "":
        return DEFAULT_OVERFLOW_PATH if debug else DEFAULT_DUMP_PATH
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ConfigError("dump_path: expected the path of a folder. Received: %r." % (value,))
    if "\0" in text:
        raise ConfigError("dump_path: expected a path without a NUL character. Received: %r."
                          % (text,))
    return text


def _check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError("%s: expected one of %s. Received: %r."
                          % (name, ", ".join(repr(item) for item in allowed), value))


def _layers(value: Any) -> str:
    """One text, names separated by single blanks, as GE splits it on white space."""
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    names = list(value) if isinstance(value, (list, tuple, set, frozenset)) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise ConfigError("dump_layer: expected operator names, as a list or separated by blanks."
                          " Received: %r." % (value,))
    for name in names:
        if not name or len(name.split()) != 1:
            raise ConfigError("dump_layer: expected names without blanks in a list."
                              " Received: %r." % (name,))
    return " ".join(sorted(names) if isinstance(value, (set, frozenset)) else names)


def _ranks(value: Any) -> Optional[FrozenSet[int]]:
    if value is None or value == "":
        return None
    items: Any = value.replace(",", "|").split("|") if isinstance(value, str) else value
    if isinstance(items, int) and not isinstance(items, bool):
        items = [items]
    try:
        ranks = frozenset(int(item) for item in items)
    except (TypeError, ValueError):
        ranks = frozenset((-1,))
    if any(rank < 0 for rank in ranks):
        raise ConfigError("data_dump_ranks: expected rank numbers such as '0,7'. Received: %r."
                          % (value,))
    return ranks or None


def _free_gb(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number >= 0 or math.isinf(number):
        raise ConfigError("data_dump_min_free_gb: expected a number of gigabytes, 0 or more."
                          " Received: %r." % (value,))
    return number
