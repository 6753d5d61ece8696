"""The command line of `keras-npu-dump run` over what the script itself asks for.

An option that the command line gives holds, whatever the script says. What it leaves open is the
script's to say until the device is open; later it is told that it comes too late. Data dump
against overflow detection is no matter of single options: `contradictions` refuses that.
"""
import os
from typing import AbstractSet, Any, Collection, List, NamedTuple, Sequence, Tuple

from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS
from keras_npu_dump.capture.request.contradictions import RUN, SWITCHES, Options
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.options import BY_NAME

# strict is so where anybody says so, of records the most private request counts.
_COMPARED = [name for name in BY_NAME if name not in SWITCHES and name not in ("strict", "record")]
_DEVICE_OPTIONS = frozenset(NPU_DEFAULTS)


class Overruled(NamedTuple):
    """An option that the script asks for, and that does not hold.

    Attributes:
      name: of the option.
      asked: its value in the script, as text.
      holds: the value that holds, as text.
      given: whether the command line gives that one; else the device is open with it already.
      flag: of `run`, that gives it.
    """

    name: str
    asked: str
    holds: str
    given: bool
    flag: str


def is_other_dump(config: DumpConfig, other: DumpConfig) -> bool:
    """Whether one asks for data and the other for what overflows.

    Args:
      config: a request. other: another one.
    """
    return bool(config.explicit & _DEVICE_OPTIONS) and (
        config.enable_dump_debug != other.enable_dump_debug)


def over(run: DumpConfig, config: DumpConfig) -> DumpConfig:
    """The script's request with the options that the command line gives in place of its own.

    Args:
      run: the command line. config: the script's request.
    """
    left = {name: getattr(config, name) for name in config.explicit - run.explicit - SWITCHES}
    if not run.explicit & _DEVICE_OPTIONS:
        left.update({name: getattr(config, name) for name in SWITCHES})
    if "dump_path" not in run.explicit and (
            left.get("enable_dump_debug", run.enable_dump_debug) == config.enable_dump_debug):
        left["dump_path"] = config.dump_path
    return run.replace(explicit=run.explicit | config.explicit, **left)


def overruled(config: DumpConfig, holds: DumpConfig, names: Collection[str],
              given: AbstractSet[str], path: str) -> Tuple[Overruled, ...]:
    """In which options a request of the script differs from what holds.

    Args:
      config: the request.
      holds: what holds, its folder absolute.
      names: of the options to compare.
      given: those that the command line gives.
      path: the request's folder, absolute.
    """
    return tuple(
        Overruled(name, _shown(name, config), _shown(name, holds), name in given,
                  _flag(name, holds.enable_dump_debug))
        for name in _COMPARED if name in names and (
            path != holds.dump_path if name == "dump_path"
            else _shown(name, config) != _shown(name, holds)))


def overruled_settings(given: AbstractSet[str], wanted: Options, said: Options, current: Options,
                       ours: bool = False) -> Tuple[Overruled, ...]:
    """The script's own `global_options().dump_config`, where the command line says otherwise.

    Args:
      given: the options that the command line gives.
      wanted: the options asked for.
      said: what npu_device holds.
      current: the same, its folder absolute.
      ours: whether we have set the options before. Defaults to False: then what is
        npu_device's default is not set.
    """
    return tuple(
        Overruled(name, repr(said[name]), repr(wanted[name] or "all"), True,
                  _flag(name, wanted["enable_dump_debug"] == "1"))
        for name in NPU_DEFAULTS if name in given and name not in SWITCHES
        and current[name] != wanted[name]
        and (ours or current[name] not in (NPU_DEFAULTS[name], None, "")))


def note(side: str, found: Sequence[Overruled]) -> str:
    """What the script asked for and what holds, in one message.

    Args:
      side: who in the script has asked.
      found: at least one.
    """
    parts = ["%s%s asks for %s." % (side[0].upper(), side[1:], _listed(found, "asked"))]
    given = [one for one in found if one.given]
    late = [one for one in found if not one.given]
    if given:
        parts.append("The command line of `%s` holds: %s." % (RUN, _listed(given, "holds")))
    if late:
        parts.append(
            "npu_device.open() came first, with %s: make it before that, or give `run` %s."
            % (_listed(late, "holds"),
               ", ".join(one.flag for one in late)))
    return " ".join(parts)


def off_note(side: str) -> str:
    """The script asks for a dump, and the command line has switched dump off.

    Args:
      side: who in the script has asked.
    """
    return ("%s%s asks for a dump. The command line of `%s` holds: data_dump_flag=False, nothing is"
            " dumped." % (side[0].upper(), side[1:], RUN))


def absolute_or_not(path: str, cwd: str) -> str:
    """A folder's absolute form; relative where the working directory is gone.

    Args:
      path: with or without `~`. cwd: what it is relative to.
    """
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))


def _listed(found: Sequence[Overruled], attribute: str) -> str:
    texts: List[str] = ["%s=%s" % (one.name, getattr(one, attribute)) for one in found]
    return ", ".join(texts)


def _flag(name: str, overflow: bool) -> str:
    flags = BY_NAME[name].flags  # of the folder two, that of overflow dumps last
    return "--" + flags[-1 if overflow else 0].name


def _shown(name: str, config: DumpConfig) -> str:
    value: Any = getattr(config, name)
    if name == "dump_step":
        value = value.text or "all"
    elif name == "dump_layer":
        value = value or "all"
    elif name == "ranks":
        value = "all" if value is None else ",".join(map(str, sorted(value)))
    return repr(value)
