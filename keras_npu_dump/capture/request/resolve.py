"""From what was asked for and what is there to what will be dumped: one pure function.

It reads nothing and changes nothing, so that every case can be tried with plain values;
`attach.start` looks at the process first, and `set_up` applies the answer once.
"""
import os
from types import MappingProxyType
from typing import Any, Dict, FrozenSet, Mapping, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump import ranks, ways_out
from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS, option_text
from keras_npu_dump.capture.request import command_line, contradictions
from keras_npu_dump.capture.request.command_line import Overruled
from keras_npu_dump.capture.request.contradictions import RUN, Options
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError

# What becomes of a request.
CONFIGURE = "configure"  # the device is not open yet and is given the options
ATTACH = "attach"  # it is open; what it was opened with is recorded and counted
JOIN = "join"  # this process has a capture, and it is the same dump
NOTHING = "nothing"  # it was opened without dump

# A rank that is not chosen asks for this.
_OFF_TEXTS = {"enable_dump": "0", "enable_dump_debug": "0"}
# Where a script sets options of the device itself.
SETTINGS = "the script's npu_device.global_options().dump_config"
_NOT_CHOSEN = "Rank %s is none of data_dump_ranks: it dumps nothing, its records go to %s"


class Held(NamedTuple):
    """The dump that this process has already.

    Attributes:
      asked: what all ranks were asked for, its folder absolute.
      said_path: the folder in the words of who asked first.
      opened_options: the options at `npu_device.open()`; None before it, and on a rank
        that `data_dump_ranks` leaves out.
      faces: who has asked so far.
    """

    asked: DumpConfig
    said_path: str
    opened_options: Optional[Options]
    faces: Sequence[str]


class Situation(NamedTuple):
    """The process as it is found.

    Attributes:
      opened: whether the device is open.
      options: what `global_options().dump_config` holds, as text.
      cluster: which of several processes it is.
      cwd: the current directory; "" where it is gone.
      held: the dump that it has already, or None.
      run: what the command line of `keras-npu-dump run` asks for, or None without it.
    """

    opened: bool
    options: Options
    cluster: ranks.Cluster
    cwd: str
    held: Optional[Held]
    run: Optional[DumpConfig] = None

    def given(self, config: DumpConfig, who: str) -> FrozenSet[str]:
        """The options that the command line of `run` gives, which hold.

        Args:
          config: a request. who: the caller's name.
        """
        if self.run is not None:
            return self.run.explicit
        return config.explicit if who == RUN else frozenset()


class Differing(NamedTuple):
    """What the script asks for and does not get, as the command line of `run` says otherwise.

    Attributes:
      side: who in the script has asked.
      options: that differ.
    """

    side: str
    options: Tuple[Overruled, ...]


class ResolvedDump(NamedTuple):
    """What will be dumped.

    Attributes:
      action: CONFIGURE, ATTACH, JOIN or NOTHING.
      config: what this process dumps, its folder absolute; off on a rank that was not chosen.
      asked: what all ranks were asked for, its folder absolute.
      said_path: the folder in the words of who asked.
      remarks: what the user must be told.
      notes: what is as it was asked for, and good to know.
      faces: who has asked, the launcher first where its command line was taken along.
      differing: what the script has asked for that does not hold.
      settings: options of the device to set, beside those of `config`: what the script has
        set there itself.
    """

    action: str
    config: DumpConfig
    asked: DumpConfig
    said_path: str
    remarks: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()
    faces: Tuple[str, ...] = ()
    differing: Tuple[Differing, ...] = ()
    settings: Mapping[str, Optional[str]] = MappingProxyType({})


def resolve(config: DumpConfig, who: str, situation: Situation) -> ResolvedDump:
    """Decides what becomes of a request for a dump.

    Args:
      config: the request; it is not off.
      who: the caller's name, for messages.
      situation: the process as it is.

    Returns:
      A ResolvedDump.

    Raises:
      ConfigError: the script itself, or an earlier request, asks for another dump; the
        ranks are none of this job's; or the folder is relative, and the working directory
        was deleted.
      DeviceOpenedError: the device was opened with other options, or, with `strict`,
        without dump.
    """
    if situation.held is not None:
        return _joined(config, who, situation, situation.held)
    run = situation.run
    if run is None or who == RUN or situation.opened:
        return _resolve_first(config, who, situation)
    # The script asks before it opens its device: the command line is applied with it.
    path = command_line.absolute_or_not(config.dump_path, situation.cwd)
    if command_line.is_other_dump(run, config) and command_line.is_other_dump(config, run):
        contradictions.refuse_second(
            config.explicit, _texts(dict(config.npu_options, dump_path=path), situation.cwd),
            _texts(run.npu_options, situation.cwd), who, (RUN,), False)
    found = command_line.overruled(config, run, config.explicit & run.explicit, run.explicit, path)
    resolved = _resolve_first(command_line.over(run, config), who, situation)
    return resolved._replace(
        faces=(RUN, who), differing=_differing(contradictions.side_of(who), found)
        + resolved.differing)


def _differing(side: str, found: Tuple[Overruled, ...]) -> Tuple[Differing, ...]:
    return (Differing(side, found),) if found else ()


def _resolve_first(config: DumpConfig, who: str, situation: Situation) -> ResolvedDump:
    """The first request of this process."""
    said_path = _said_path(config, situation)
    wanted = _texts(dict(config.npu_options, dump_path=said_path), situation.cwd)
    cluster = situation.cluster
    if not situation.opened:
        ranks.refuse_nonsense(cluster)
    chosen, remarks = ranks.is_chosen(config.ranks, cluster)
    action = ATTACH if situation.opened else CONFIGURE
    notes: Tuple[str, ...] = ()
    asked: Dict[str, Any] = {"dump_path": wanted["dump_path"]}
    device = _with_absolute_path(situation.options, situation.cwd)
    differing: Tuple[Overruled, ...] = ()
    if action == ATTACH:
        contradictions.refuse_late(
            config.explicit, wanted if chosen else dict(wanted, **_OFF_TEXTS), device, who)
        here = dict(asked, **_fields_of(device))
        if chosen and not here["enable_dump"] and not here["enable_dump_debug"]:
            action, remarks = NOTHING, (*remarks, _opened_without_dump(who))
            if config.strict:
                raise DeviceOpenedError(remarks[-1])
    else:
        differing = command_line.overruled_settings(situation.given(config, who), wanted,
                                                    situation.options, device)
        current = dict(situation.options, **{one.name: NPU_DEFAULTS[one.name] for one in differing})
        adopted = contradictions.set_by_script(config.explicit, wanted, who, current,
                                               device["dump_path"])
        asked.update(adopted)
        here = dict(asked)
        if not chosen:
            here.update(enable_dump=False, enable_dump_debug=False)
            notes = (_NOT_CHOSEN % (cluster.rank, asked["dump_path"]),)
    explicit = config.explicit
    return ResolvedDump(action, config.replace(explicit=explicit, **here),
                        config.replace(explicit=explicit, **asked), said_path, remarks, notes,
                        (who,), _differing(SETTINGS, differing),
                        {one.name: wanted[one.name] for one in differing})


def _joined(config: DumpConfig, who: str, situation: Situation, held: Held) -> ResolvedDump:
    """A further request in a process that has its dump already."""
    said_path = _said_path(config, situation)
    wanted = _texts(dict(config.npu_options, dump_path=said_path), situation.cwd)
    joined = ResolvedDump(JOIN, held.asked, held.asked, held.said_path, faces=(who,))
    given = situation.given(config, who)
    explicit, faces = config.explicit, tuple(held.faces)
    if RUN in held.faces and who == RUN:
        return joined if situation.opened else _set_again(joined, situation, given)
    if RUN in held.faces and not command_line.is_other_dump(config, held.asked):
        # Nothing that comes after open() ends a script that trains under `run`.
        names = explicit if situation.opened else explicit & given
        found = command_line.overruled(config, held.asked, names, given, str(wanted["dump_path"]))
        joined = joined._replace(differing=_differing(contradictions.side_of(who), found))
        # What is left contradicts what the script itself has said before.
        explicit = explicit - names
        faces = tuple(one for one in faces if one != RUN) or faces
    contradictions.refuse_second(explicit, wanted, _of_held(held, situation.cwd), who,
                                 faces, situation.opened)
    return joined


def _set_again(joined: ResolvedDump, situation: Situation, given: FrozenSet[str]
               ) -> ResolvedDump:
    """The device is about to be opened: what the script has set since the first request."""
    if not ranks.is_chosen(joined.asked.ranks, situation.cluster)[0]:
        return joined
    wanted = _texts(joined.asked.npu_options, situation.cwd)
    device = _with_absolute_path(situation.options, situation.cwd)
    found = command_line.overruled_settings(given, wanted, situation.options, device,
                                            ours=True)
    contradictions.set_by_script(
        given, wanted, RUN, dict(wanted, enable_dump_debug=device["enable_dump_debug"]),
        wanted["dump_path"])
    return joined._replace(differing=_differing(SETTINGS, found),
                           settings={one.name: wanted[one.name] for one in found})


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


def _opened_without_dump(who: str) -> str:
    return "npu_device was opened without dump, so nothing will be dumped. %s%s." % (
        ways_out.in_time("make %s before npu_device.open()" % who), ways_out.or_run())


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
