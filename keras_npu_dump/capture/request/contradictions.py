"""What a request contradicts: an open device, the script's own settings, an earlier request.

Options are compared as npu_device holds them: text by name, None where nothing is set. Folders
are absolute by then.
"""
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from keras_npu_dump import ways_out
from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS
from keras_npu_dump.capture.request.command_line import (
    AGAIN,
    LATE,
    SECOND,
    SWITCHES,
    Comparison,
)
from keras_npu_dump.capture.request.situation import RUN, Options
from keras_npu_dump.errors import ConfigError, DeviceOpenedError

# A rank that is not chosen asks for this.
_OFF = {"enable_dump": "0", "enable_dump_debug": "0"}
# Options that say something of data dump alone: overflow detection knows neither steps nor
# modes nor layers (ge, dump_properties.cc).
_DATA_DUMP = frozenset(("dump_step", "dump_mode", "dump_data", "dump_layer"))
# The options that a script may set itself in global_options().dump_config; and dump_path.
_ADOPTED = ("dump_step", "dump_mode", "dump_data", "dump_layer", "dump_debug_mode")


def settle(comparisons: Sequence[Comparison], who: str, chosen: bool) -> Dict[str, Any]:
    """Refuses what contradicts what is there.

    Args:
      comparisons: of the request, see `command_line.merge`.
      who: the caller's name, for messages.
      chosen: whether this rank dumps.

    Returns:
      Options that the script has set in the device itself and the request leaves open, as
      DumpConfig takes them.

    Raises:
      ConfigError: the script itself, or an earlier request, asks for another dump.
      DeviceOpenedError: the device was opened with other options.
    """
    adopted: Dict[str, Any] = {}
    for one in comparisons:
        if one.how == SECOND:
            _refuse_second(one, who)
        elif one.how == LATE:
            _refuse_late(one.explicit, one.wanted if chosen else dict(one.wanted, **_OFF),
                         one.there, who)
        elif one.how != AGAIN:
            adopted = _set_by_script(one.explicit, one.wanted, who, one.there, one.path)
        elif chosen:
            _set_by_script(one.explicit, one.wanted, who, one.there, one.path)
    return adopted


def _refuse_late(explicit: FrozenSet[str], wanted: Options, held: Options, who: str) -> None:
    """Refuses a request that differs from what the device was opened with.

    Args:
      explicit: names of the options that the user has chosen.
      wanted: the options asked for.
      held: the options of the device.
      who: the caller's name, for messages.

    Raises:
      DeviceOpenedError: with the two lines to swap.
    """
    fields = _contradicted(explicit, wanted, held)
    if fields:
        raise DeviceOpenedError(_swap_text(fields, wanted, held, who))


def _refuse_second(one: Comparison, who: str) -> None:
    """Refuses a request that differs from the dump that this process has already."""
    fields = _contradicted(one.explicit, one.wanted, one.there)
    if not fields:
        return
    if one.opened and RUN not in one.faces:
        raise DeviceOpenedError(_swap_text(fields, one.wanted, one.there, who))
    # The launcher comes second where the script asks before it opens its device.
    sides: List[Tuple[str, Options]] = [
        (one.sides[0], one.there), (one.sides[1], one.wanted)]
    if who == RUN:
        sides.reverse()
    raise (DeviceOpenedError if one.opened else ConfigError)(
        "one process has one dump, and two that differ are asked for: %s. Say it in one place"
        " only." % "; ".join(
            "%s is %s" % (name, ", ".join("%r in %s" % (values[name], side)
                                          for side, values in sides))
            for name in fields))


def _set_by_script(explicit: FrozenSet[str], wanted: Options, who: str, current: Options,
                  current_path: Optional[str]) -> Dict[str, Any]:
    """The options that the script itself has set and the request leaves open.

    Setting an option to npu_device's own default cannot be told from not setting it.

    Args:
      explicit: names of the options that the user has chosen.
      wanted: the options asked for.
      who: the caller's name, for messages.
      current: what `global_options().dump_config` holds.
      current_path: its dump_path, absolute.

    Returns:
      Options by name, as DumpConfig takes them; without dump_path.

    Raises:
      ConfigError: where both have chosen, and differ; where the script sets both switches.
    """
    theirs = {name: str(current[name]) for name in _differing(wanted, current)
              if current[name] not in (NPU_DEFAULTS[name], None, "")}
    chosen = explicit
    # Of `run`, dump_path is --data_dump_path where --over_dump is not given.
    if explicit & (SWITCHES | _DATA_DUMP) or (who == RUN and "dump_path" in explicit):
        chosen = explicit | SWITCHES
    clashes = [name for name in theirs if name in chosen
               and not (name == "dump_path" and current_path == wanted["dump_path"])]
    if clashes:
        raise ConfigError(
            "the script and %s ask for different dumps: %s. Say it in one place only."
            % (who, "; ".join(
                "%s is %r in npu_device.global_options().dump_config, %s asks for %r"
                % (name, theirs[name], who, wanted[name]) for name in clashes)))
    adopted: Dict[str, Any] = {name: theirs[name] for name in _ADOPTED if name in theirs}
    if theirs.get("enable_dump_debug") == "1":
        if current["enable_dump"] == "1":
            raise ConfigError(
                "the script sets enable_dump and enable_dump_debug in npu_device.global_options()"
                ".dump_config. Expected one of the two, GE refuses both.")
        adopted.update(enable_dump=False, enable_dump_debug=True)
    return adopted


def _differing(wanted: Options, held: Options) -> List[str]:
    return [name for name in NPU_DEFAULTS if wanted[name] != held[name]]


def _contradicted(explicit: FrozenSet[str], wanted: Options, held: Options) -> List[str]:
    """The options in which an explicit request differs from what is there."""
    if not explicit:
        return []
    return [name for name in _differing(wanted, held) if name in explicit | SWITCHES]


def _swap_text(fields: List[str], wanted: Options, held: Options, who: str) -> str:
    line = "%s(...)" % who if who.endswith("apply") else "dump = %s(...)" % (
        who if who.isidentifier() else "NpuDumpCallback")
    again, command = ways_out.starting_again(), ways_out.run_command()
    text = (
        "npu_device.open() came first and has read its options: %s. %s:\n"
        "    %s\n"
        "    npu_device.open().as_default()"
        % ("; ".join("%s is %r, %r was asked for" % (name, held[name], wanted[name])
                     for name in fields),
           "Swap the two lines" if again is None else
           "It is not opened twice in a process: %s and run first" % again, line))
    if command is not None:
        text += "\nor leave the script as it is and start it with `%s`." % command
    return text
