"""Flags of training mains as they are found: absl FLAGS, an argparse Namespace, any object.

Nothing is defined here, see `flags`; what a main has defined itself is read as it is,
with the spellings of switches that shell scripts use.
"""
import re
from typing import Any, FrozenSet, Optional

from keras_npu_dump import messages
from keras_npu_dump.errors import ConfigError

_TRUE = frozenset(("true", "t", "yes", "y", "on", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "off", "0"))

# What the flags of public mains hold where a shell script passes no folder.
_OLD_DEFAULT = "/home/data"


def parse_bool(value: Any, name: str = "flag") -> Optional[bool]:
    """Reads a switch as training scripts write it.

    Args:
      value: a bool, 0 or 1, or true/false/yes/no/on/off/1/0 in any case. None and
        the empty string mean "not given".
      name: how the switch is called in the error message.

    Returns:
      True, False, or None where it was not given.
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


def level_has_build(level: str) -> bool:
    """Whether GE writes the executed graphs at this DUMP_GRAPH_LEVEL (ge, graph_utils.cc)."""
    if re.search(r"[^0-9]", level):
        return any(item and item in "Build" for item in level.split("|"))
    return level != "" and int(level) in (1, 2, 3)


# flag of a training main -> field of DumpConfig
FLAG_FIELDS = {
    "data_dump_flag": "enable_dump",
    "data_dump_step": "dump_step",
    "data_dump_path": "dump_path",
    "data_dump_mode": "dump_mode",
    "data_dump_data": "dump_data",
    "data_dump_layer": "dump_layer",
    "over_dump": "enable_dump_debug",
    "over_dump_path": "dump_path",
    "over_dump_mode": "dump_debug_mode",
    "data_dump_ranks": "ranks",
    "data_dump_graph": "graph",
    "data_dump_graph_path": "graph_path",
    "data_dump_graph_level": "graph_level",
    "data_dump_collect": "collect",
    "data_dump_min_free_gb": "min_free_gb",
    "data_dump_strict": "strict",
}
_SWITCHES = ("data_dump_flag", "over_dump", "data_dump_graph", "data_dump_collect",
             "data_dump_strict")


def read_flags(flags: Any) -> dict:
    """The fields of DumpConfig that `flags` gives; see `DumpConfig.from_flags`."""
    given = {}
    known = False
    for flag in FLAG_FIELDS:
        try:
            value = getattr(flags, flag)
        except AttributeError:
            continue
        except Exception as error:  # absl's UnparsedFlagAccessError, without importing absl
            if type(error).__name__ != "UnparsedFlagAccessError":
                raise
            raise ConfigError(
                "the flags were read before they were parsed (--%s). Expected: read them inside"
                " main, under app.run(main), or after FLAGS(sys.argv)." % flag) from error
        known = True
        if flag in _SWITCHES:
            value = parse_bool(value, flag)
        if value is None or (isinstance(value, (str, list, tuple)) and not value):
            continue
        given[flag] = value
    if not known:
        raise ConfigError(
            "expected absl FLAGS, an argparse Namespace or another object with attributes such as"
            " data_dump_flag and data_dump_step. Received: %s. keras_npu_dump.flags.define_flags()"
            " and add_arguments(parser) define them." % type(flags).__name__)
    if given.get("data_dump_flag") and given.get("over_dump"):
        raise ConfigError("expected one of data_dump_flag and over_dump. Received: both."
                          " GE refuses that; choose one.")
    overflow = given.get("over_dump", False)
    unused = ("data_dump_path",) if overflow else ("over_dump_path",)
    fields = {FLAG_FIELDS[flag]: value for flag, value in given.items() if flag not in unused}
    fields["enable_dump"] = given.get("data_dump_flag", False)
    fields["enable_dump_debug"] = overflow
    if isinstance(fields.get("dump_step"), (list, tuple)) and all(
            isinstance(item, str) for item in fields["dump_step"]):
        fields["dump_step"] = "|".join(fields["dump_step"])
    if isinstance(fields.get("dump_step"), int):
        fields["dump_step"] = str(fields["dump_step"])
        messages.warning("data_dump_step is a numeric flag in this main. Define it as a string:"
                         " it then takes 0|5 and 3-10 as well.")
    if fields.get("dump_path") == _OLD_DEFAULT and overflow | fields["enable_dump"]:
        messages.warning("The dump goes to %s, an old default of training mains that hardly any"
                         " machine has. Give a folder, or an empty path for output/data_dump.",
                         _OLD_DEFAULT)
    return fields


def explicit_fields(flags: Any) -> Optional[FrozenSet[str]]:
    """The fields of DumpConfig that the user has given a value; None where nobody knows.

    absl remembers which flags were on the command line; an argparse Namespace does not.
    """
    said = set()
    for name, field in FLAG_FIELDS.items():
        try:
            flag = flags[name]
            given = (flag.present or flag.value != flag.default) and flag.value not in (None, "")
        except KeyError:
            continue
        except Exception:  # pylint: disable=broad-except
            return None  # these are no absl flags
        if given:
            said.add((name, field))
    debug = any(name == "over_dump" and parse_bool(flags[name].value) for name, _ in said)
    unused = "data_dump_path" if debug else "over_dump_path"
    return frozenset(field for name, field in said if name != unused)
