"""What is asked for: a request, with the command line of `keras-npu-dump run` over it.

An option that the command line gives holds, whatever the script says. What it leaves open is the
script's to say until the device is open; later it is told that it comes too late. Data dump
against overflow detection is no matter of single options: `contradictions` refuses that.
"""
import os
from types import MappingProxyType
from typing import (
    AbstractSet,
    Any,
    Collection,
    Dict,
    FrozenSet,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS, option_text
from keras_npu_dump.capture.request.situation import RUN, Held, Options, Situation
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.options import BY_NAME
from keras_npu_dump.errors import ConfigError

# enable_dump and enable_dump_debug exclude each other: a choice of either is a choice of both.
SWITCHES = frozenset(("enable_dump", "enable_dump_debug"))
# Where a script sets options of the device itself.
SETTINGS = "the script's npu_device.global_options().dump_config"
# What a request may not contradict.
SECOND = "second"  # an earlier request in this process, or the command line
LATE = "late"  # the options of an open device
SCRIPT = "script"  # what the script has set in the device itself
AGAIN = "again"  # the same, as the device is about to be opened
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


class Differing(NamedTuple):
    """What the script asks for and does not get, as the command line of `run` says otherwise.

    Attributes:
      side: who in the script has asked.
      options: that differ.
    """

    side: str
    options: Tuple[Overruled, ...]


class Comparison(NamedTuple):
    """What a request may not contradict.

    Attributes:
      how: SECOND, LATE, SCRIPT or AGAIN.
      explicit: names of the options that were chosen.
      wanted: the options asked for, the folder absolute.
      there: the options that are there.
      path: the folder there, absolute, for SCRIPT and AGAIN.
      faces: who has asked for what is there, for SECOND.
      sides: who has asked for what is there, and who asks now, in messages; for SECOND.
      opened: whether that came before `npu_device.open()`, and this after it.
    """

    how: str
    explicit: FrozenSet[str]
    wanted: Options
    there: Options
    path: Optional[str] = None
    faces: Sequence[str] = ()
    sides: Tuple[str, str] = ("", "")
    opened: bool = False


class Request(NamedTuple):
    """What is asked for.

    Attributes:
      config: the request, the command line of `run` over what the script says.
      said_path: its folder in the words of who asked.
      path: its folder, absolute.
      opened_with: what an open device dumps, as fields of DumpConfig.
      comparisons: what it may not contradict.
      faces: who has asked, the launcher first where its command line was taken along.
      differing: what the script has asked for that does not hold.
      settings: options of the device to set, beside those of `config`: what the script has
        set there itself.
    """

    config: DumpConfig
    said_path: str
    path: Optional[str]
    opened_with: Mapping[str, Any]
    comparisons: Tuple[Comparison, ...]
    faces: Tuple[str, ...]
    differing: Tuple[Differing, ...] = ()
    settings: Mapping[str, Optional[str]] = MappingProxyType({})


def merge(config: DumpConfig, who: str, situation: Situation) -> Request:
    """What a request asks for, and what it has to be compared with.

    Args:
      config: the request; it is not off.
      who: the caller's name, for messages.
      situation: the process as it is.

    Raises:
      ConfigError: the folder is relative, and the working directory was deleted.
    """
    run, held = situation.run, situation.held
    if held is not None:
        if RUN in held.faces and who == RUN:
            return _again(config, situation, held)
        return _further(config, who, situation, held)
    if run is None or who == RUN or situation.opened:
        return _first(config, situation, who, _given(config, who, situation.run))
    # The script asks before it opens its device: the command line is applied with it.
    path = _absolute_or_not(config.dump_path, situation.cwd)
    found = overruled(config, run, config.explicit & run.explicit, run.explicit, path)
    if is_other_dump(run, config) and is_other_dump(config, run):
        theirs = _texts(dict(config.npu_options, dump_path=path), situation.cwd)
        refused = Comparison(SECOND, config.explicit, theirs,
                             _texts(run.npu_options, situation.cwd), faces=(RUN,),
                             sides=(side_of(RUN), side_of(who)))
        return Request(config, path, path, {}, (refused,), (RUN, who))
    request = _first(over(run, config), situation, who, run.explicit)
    return request._replace(faces=(RUN, who),
                            differing=_differing(side_of(who), found) + request.differing)


def _given(config: DumpConfig, who: str, run: Optional[DumpConfig]) -> FrozenSet[str]:
    """The options that the command line of `run` gives, which hold."""
    if run is not None:
        return run.explicit
    return config.explicit if who == RUN else frozenset()


def _differing(side: str, found: Tuple[Overruled, ...]) -> Tuple[Differing, ...]:
    return (Differing(side, found),) if found else ()


def _first(config: DumpConfig, situation: Situation, who: str, given: AbstractSet[str]) -> Request:
    """The first request of this process."""
    said_path = _said_path(config, situation)
    wanted = _texts(dict(config.npu_options, dump_path=said_path), situation.cwd)
    device = _with_absolute_path(situation.options, situation.cwd)
    if situation.opened:
        return Request(config, said_path, wanted["dump_path"], _fields_of(device),
                       (Comparison(LATE, config.explicit, wanted, device),), (who,))
    found = overruled_settings(given, wanted, situation.options, device)
    current = dict(situation.options, **{one.name: NPU_DEFAULTS[one.name] for one in found})
    return Request(
        config, said_path, wanted["dump_path"], {},
        (Comparison(SCRIPT, config.explicit, wanted, current, device["dump_path"]),), (who,),
        _differing(SETTINGS, found), {one.name: wanted[one.name] for one in found})


def _further(config: DumpConfig, who: str, situation: Situation, held: Held) -> Request:
    """A further request in a process that has its dump already."""
    wanted = _texts(dict(config.npu_options, dump_path=_said_path(config, situation)),
                    situation.cwd)
    given = _given(config, who, situation.run)
    explicit, faces = config.explicit, tuple(held.faces)
    found: Tuple[Overruled, ...] = ()
    if RUN in held.faces and not is_other_dump(config, held.asked):
        # Nothing that comes after open() ends a script that trains under `run`.
        names = explicit if situation.opened else explicit & given
        found = overruled(config, held.asked, names, given, str(wanted["dump_path"]))
        # What is left contradicts what the script itself has said before.
        explicit = explicit - names
        faces = tuple(one for one in faces if one != RUN) or faces
    refused = Comparison(SECOND, explicit, wanted, _of_held(held, situation.cwd), None, faces,
                         (side_of((*faces, who)[0]), side_of(who)), situation.opened)
    return Request(held.asked, held.said_path, wanted["dump_path"], {}, (refused,), (who,),
                   _differing(side_of(who), found))


def _again(config: DumpConfig, situation: Situation, held: Held) -> Request:
    """The launcher's request, of which it has its dump already. Where the device is about to
    be opened: with what the script has set since."""
    joined = Request(held.asked, held.said_path, held.asked.dump_path, {}, (), (RUN,))
    if situation.opened:
        return joined
    given = _given(config, RUN, situation.run)
    wanted = _texts(held.asked.npu_options, situation.cwd)
    device = _with_absolute_path(situation.options, situation.cwd)
    found = overruled_settings(given, wanted, situation.options, device, ours=True)
    there = dict(wanted, enable_dump_debug=device["enable_dump_debug"])
    return joined._replace(
        comparisons=(Comparison(AGAIN, frozenset(given), wanted, there, wanted["dump_path"]),),
        differing=_differing(SETTINGS, found),
        settings={one.name: wanted[one.name] for one in found})


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


def _absolute_or_not(path: str, cwd: str) -> str:
    """A folder's absolute form; relative where the working directory is gone.

    Args:
      path: with or without `~`. cwd: what it is relative to.
    """
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))


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


def side_of(who: str) -> str:
    """Who asks, in messages.

    Args:
      who: the caller's name.
    """
    return who if who == RUN else "the script's %s" % who


def absolute(path: str, cwd: str) -> str:
    """The absolute form of a dump folder that a user has named.

    Args:
      path: with or without `~`.
      cwd: what it is relative to; "" where the working directory is gone.

    Raises:
      ConfigError: it is relative to a working directory that is gone.
    """
    path = os.path.expanduser(path)
    if not os.path.isabs(path) and not cwd:
        raise ConfigError("dump_path: expected an absolute path, as the working directory was"
                          " deleted. Received: %r." % (path,))
    return os.path.normpath(os.path.join(cwd, path))


def _said_path(config: DumpConfig, situation: Situation) -> str:
    """The folder in the words of who names it: the request, or else who came before it."""
    held = situation.held
    explicit = "dump_path" in config.explicit
    if held is not None and (not explicit or config.dump_path == held.said_path):
        # Scripts change the folder between two requests; the same words mean the same.
        return held.asked.dump_path
    return config.dump_path if explicit else situation.options["dump_path"] or config.dump_path


def _of_held(held: Held, cwd: str) -> Options:
    """The options of the dump that this process has already."""
    if held.opened_options is None:
        return _texts(held.asked.npu_options, cwd)
    return _with_absolute_path(held.opened_options, cwd)


def _texts(values: Mapping[str, Any], cwd: str) -> Dict[str, Optional[str]]:
    """Options as npu_device holds them once they are set: text, None where not set; the
    folder absolute."""
    texts: Dict[str, Optional[str]] = dict.fromkeys(NPU_DEFAULTS)
    texts.update({name: option_text(value) for name, value in values.items()})
    texts["dump_path"] = absolute(values["dump_path"], cwd)
    return texts


def _with_absolute_path(options: Options, cwd: str) -> Options:
    """What the device holds, its folder absolute, to compare requests with."""
    if not options["dump_path"]:
        return options
    return dict(options, dump_path=absolute(options["dump_path"], cwd))


def _fields_of(device: Options) -> Dict[str, Any]:
    """What an open device dumps, as fields of DumpConfig; no dump_path where it has none."""
    fields = {
        "enable_dump": device["enable_dump"] == "1",
        "enable_dump_debug": device["enable_dump_debug"] == "1",
        "dump_step": device["dump_step"] or None,
        "dump_mode": device["dump_mode"] or "output",
        "dump_data": device["dump_data"] or "tensor",
        "dump_layer": device["dump_layer"] or None,
        "dump_debug_mode": device["dump_debug_mode"] or "all"}
    if device["dump_path"]:
        fields["dump_path"] = device["dump_path"]
    return fields
