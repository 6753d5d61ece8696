"""Flags of training mains as they are found: absl FLAGS, an argparse Namespace, any object.

Nothing is defined here, see `flags`; what a main has defined itself is read as it is,
with the spellings of switches that shell scripts use.
"""
from typing import Any, Dict, FrozenSet, Optional

from keras_npu_dump import messages
from keras_npu_dump.config import options
from keras_npu_dump.config.checks import parse_bool
from keras_npu_dump.errors import ConfigError

# What the flags of public mains hold where a shell script passes no folder.
_OLD_DEFAULT = "/home/data"
_KINDS = {flag.name: flag.kind for flag in options.FLAGS}


def read_flags(flags: Any) -> Dict[str, Any]:
    """The options that `flags` gives, by name; see `DumpConfig.from_flags`."""
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
    if given.get("data_dump_flag") and given.get("over_dump"):
        raise ConfigError("expected one of data_dump_flag and over_dump. Received: both."
                          " GE refuses that; choose one.")
    overflow = given.get("over_dump", False)
    unused = ("data_dump_path",) if overflow else ("over_dump_path",)
    fields = {options.FIELD_OF_FLAG[flag]: value for flag, value in given.items()
              if flag not in unused}
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
    for name, field in options.FIELD_OF_FLAG.items():
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
