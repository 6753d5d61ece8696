"""Flags of training mains as they are found: absl FLAGS, an argparse Namespace, any object.

Nothing is defined here, see `flags`; what a main has defined itself is read as it is,
with the spellings of switches that shell scripts use.
"""
import sys
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from keras_npu_dump.config import options
from keras_npu_dump.config.checks import parse_bool
from keras_npu_dump.errors import ConfigError

# What the flags of public mains hold where a shell script passes no folder.
_OLD_DEFAULT = "/home/data"
_KINDS = {flag.name: flag.kind for flag in options.FLAGS}


class ReadFlags(NamedTuple):
    """What the flags of a main ask for.

    Attributes:
      fields: dump options by name, as DumpConfig takes them.
      explicit: the options that the user has given a value; None where nobody knows.
      remarks: what the user should be told, where something is dumped.
      unheeded: the dump flags that were given although none of them asks for a dump.
    """

    fields: Dict[str, Any]
    explicit: Optional[FrozenSet[str]]
    remarks: Tuple[str, ...]
    unheeded: Tuple[str, ...]


def read_flags(flags: Any) -> ReadFlags:
    """Reads the flags of a main.

    Args:
      flags: absl FLAGS, an argparse Namespace, or any object with attributes.

    Raises:
      ConfigError: the flags are not parsed yet, none of them is a dump flag, a switch is
        neither true nor false, or both dumps are asked for.
    """
    given = _given(flags)
    if given.get("data_dump_flag") and given.get("over_dump"):
        raise ConfigError("expected one of data_dump_flag and over_dump. Received: both."
                          " GE refuses that; choose one.")
    overflow = bool(given.get("over_dump", False))
    unused = _unused_path(overflow)
    fields = {options.FIELD_OF_FLAG[flag]: value for flag, value in given.items()
              if flag != unused}
    fields["enable_dump"] = given.get("data_dump_flag", False)
    fields["enable_dump_debug"] = overflow
    remarks: List[str] = []
    steps = fields.get("dump_step")
    if isinstance(steps, (list, tuple)) and all(isinstance(item, str) for item in steps):
        fields["dump_step"] = "|".join(steps)
    elif isinstance(steps, int):
        fields["dump_step"] = str(steps)
        remarks.append("data_dump_step is a numeric flag in this main. Define it as a string:"
                       " it then takes 0|5 and 3-10 as well.")
    if fields.get("dump_path") == _OLD_DEFAULT and (overflow or fields["enable_dump"]):
        remarks.append("The dump goes to %s, an old default of training mains that hardly any"
                       " machine has. Give a folder, or an empty path for output/%s."
                       % (_OLD_DEFAULT, "overflow_dump" if overflow else "data_dump"))
    said = _said(flags)
    nothing = not overflow and not fields["enable_dump"]
    return ReadFlags(fields, None if said is None else _explicit_fields(flags, said),
                     tuple(remarks), _unheeded(said) if nothing else ())


def _given(flags: Any) -> Dict[str, Any]:
    """The values of the dump flags that are there and not empty, by flag name."""
    given: Dict[str, Any] = {}
    known = False
    for flag, kind in _KINDS.items():
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
        if kind == "switch":
            value = parse_bool(value, flag)
        if value is None or (isinstance(value, (str, list, tuple)) and not value):
            continue
        given[flag] = value
    if not known:
        raise ConfigError(
            "expected absl FLAGS, an argparse Namespace or another object with attributes such as"
            " data_dump_flag and data_dump_step. Received: %s. keras_npu_dump.flags.define_flags()"
            " and add_arguments(parser) define them." % type(flags).__name__)
    return given


def _unused_path(overflow: bool) -> str:
    """The flag of the folder of that dump which is not asked for."""
    return "data_dump_path" if overflow else "over_dump_path"


def _said(flags: Any) -> Optional[FrozenSet[str]]:
    """The dump flags that the user has given a value; None where nobody knows.

    absl remembers which flags were on the command line; an argparse Namespace does not.
    """
    said = set()
    for name in options.FIELD_OF_FLAG:
        try:
            flag = flags[name]
            given = (flag.present or flag.value != flag.default) and flag.value not in (None, "")
        except KeyError:
            continue
        except Exception:
            return None  # these are no absl flags
        if given:
            said.add(name)
    return frozenset(said)


def _explicit_fields(flags: Any, said: FrozenSet[str]) -> FrozenSet[str]:
    """The fields of DumpConfig that the user has given a value with absl flags."""
    debug = "over_dump" in said and parse_bool(flags["over_dump"].value, "over_dump")
    return frozenset(options.FIELD_OF_FLAG[name] for name in said
                     if name != _unused_path(bool(debug)))


def _unheeded(said: Optional[FrozenSet[str]]) -> Tuple[str, ...]:
    """Dump flags on the command line of a main that switches no dump on, nor off."""
    if said is None:
        # Of a Namespace the command line tells, where an option is spelt out.
        words = {word.split("=", 1)[0].lstrip("-") for word in sys.argv[1:] if word[:1] == "-"}
        said = frozenset(words.intersection(options.FIELD_OF_FLAG))
    if said.intersection(("data_dump_flag", "over_dump")):
        return ()
    return tuple(name for name in options.FIELD_OF_FLAG if name in said)
