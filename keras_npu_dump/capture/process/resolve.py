"""From what was asked for and what is there to what will be dumped: one pure function.

It reads nothing and changes nothing, so that every case can be tried with plain values;
`attach.start` looks at the process first, and applies the answer once.
"""
import os
import sys
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump import ranks
from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS, option_text
from keras_npu_dump.capture.device.dump_folder import absolute
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError
from keras_npu_dump.files.quoting import shell_word

# Who asks for a dump of a script that need not know of it.
RUN = "keras-npu-dump run"

# What becomes of a request.
CONFIGURE = "configure"  # the device is not open yet and is given the options
ATTACH = "attach"  # it is open; what it was opened with is recorded and counted
JOIN = "join"  # this process has a capture, and it is the same dump
NOTHING = "nothing"  # it was opened without dump

# The options that a script may set itself in global_options().dump_config.
_ADOPTED = ("dump_path", "dump_step", "dump_mode", "dump_data", "dump_layer", "dump_debug_mode")

# A rank that is not chosen asks for this.
_OFF_TEXTS = {"enable_dump": "0", "enable_dump_debug": "0"}
_OPENED_WITHOUT_DUMP = (
    "npu_device was opened without dump, so nothing will be dumped. Make %s before"
    " npu_device.open(), or run the script with `keras-npu-dump run`.")

Options = Mapping[str, Optional[str]]


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
    """

    opened: bool
    options: Options
    cluster: ranks.Cluster
    cwd: str
    held: Optional[Held]


class ResolvedDump(NamedTuple):
    """What will be dumped.

    Attributes:
      action: CONFIGURE, ATTACH, JOIN or NOTHING.
      config: what this process dumps, its folder absolute; off on a rank that was not chosen.
      asked: what all ranks were asked for, its folder absolute.
      said_path: the folder in the words of who asked.
      remarks: what the user must be told.
    """

    action: str
    config: DumpConfig
    asked: DumpConfig
    said_path: str
    remarks: Tuple[str, ...] = ()


def resolve(config: DumpConfig, who: str, situation: Situation) -> ResolvedDump:
    """Decides what becomes of a request for a dump.

    Args:
      config: the request; it is not off.
      who: the caller's name, for messages.
      situation: the process as it is.

    Returns:
      A ResolvedDump.

    Raises:
      ConfigError: the script itself, or an earlier request, asks for another dump; or the
        ranks are none of this job's.
      DeviceOpenedError: the device was opened with other options.
    """
    wanted = _texts(config.npu_options, situation.cwd)
    if situation.held is not None:
        return _join(config, wanted, who, situation, situation.held)
    if not situation.opened:
        ranks.refuse_nonsense(situation.cluster)
    chosen, remarks = ranks.is_chosen(config.ranks, situation.cluster)
    if not chosen:
        wanted.update(_OFF_TEXTS)
    asked: Dict[str, Any] = {"dump_path": wanted["dump_path"]}
    if situation.opened:
        held = _absolute_options(situation.options, situation.cwd)
        fields = _contradicted(config.explicit, wanted, held)
        if fields:
            raise DeviceOpenedError(_swap_text(fields, wanted, held, who))
        here, said_path = _opened_with(held, config.dump_path)
        action = ATTACH
        if chosen and not here["enable_dump"] and not here["enable_dump_debug"]:
            action, remarks = NOTHING, (*remarks, _OPENED_WITHOUT_DUMP % who)
            if config.strict:
                raise DeviceOpenedError(remarks[-1])
    else:
        adopted = _set_by_script(config.explicit, wanted, who, situation)
        said_path = adopted.get("dump_path", config.dump_path)
        asked.update(adopted, dump_path=absolute(said_path, situation.cwd))
        action, here = CONFIGURE, dict(asked)
        if not chosen:
            here.update(enable_dump=False, enable_dump_debug=False)
            remarks = (*remarks, "Rank %s is none of data_dump_ranks: it dumps nothing, its"
                       " records go to %s" % (situation.cluster.rank, asked["dump_path"]))
    explicit = config.explicit
    return ResolvedDump(action, config.replace(explicit=explicit, **here),
                        config.replace(explicit=explicit, **asked), said_path, remarks)


def _set_by_script(explicit: FrozenSet[str], wanted: Options, who: str,
                   situation: Situation) -> Dict[str, Any]:
    """The options that the script itself has set and the request leaves open.

    Setting an option to npu_device's own default cannot be told from not setting it.

    Raises:
      ConfigError: where both have chosen, and differ; where the script sets both switches.
    """
    current = situation.options
    theirs = {name: str(current[name]) for name in _differing(wanted, current)
              if current[name] not in (NPU_DEFAULTS[name], None, "")}
    clashes = {name: value for name, value in theirs.items()
               if name in _with_both_switches(explicit)}
    if "dump_path" in clashes and absolute(clashes["dump_path"],
                                           situation.cwd) == wanted["dump_path"]:
        del clashes["dump_path"]
    if clashes:
        raise ConfigError(
            "the script and %s ask for different dumps: %s. Say it in one place only."
            % (who, "; ".join(
                "%s is %r in npu_device.global_options().dump_config, %s asks for %r"
                % (name, value, who, wanted[name]) for name, value in clashes.items())))
    adopted: Dict[str, Any] = {name: theirs[name] for name in _ADOPTED if name in theirs}
    if theirs.get("enable_dump_debug") == "1":
        if current["enable_dump"] == "1":
            raise ConfigError(
                "the script sets enable_dump and enable_dump_debug in npu_device.global_options()"
                ".dump_config. Expected one of the two, GE refuses both.")
        adopted.update(enable_dump=False, enable_dump_debug=True)
    return adopted


def _opened_with(held: Options, dump_path: str) -> Tuple[Dict[str, Any], str]:
    """What an open device dumps, as options of ours; and its folder."""
    said_path = held["dump_path"] or dump_path
    return {
        "enable_dump": held["enable_dump"] == "1",
        "enable_dump_debug": held["enable_dump_debug"] == "1",
        "dump_path": said_path,
        "dump_step": held["dump_step"] or None,
        "dump_mode": held["dump_mode"] or "output",
        "dump_data": held["dump_data"] or "tensor",
        "dump_layer": held["dump_layer"] or None,
        "dump_debug_mode": held["dump_debug_mode"] or "all"}, said_path


def _join(config: DumpConfig, wanted: Dict[str, Optional[str]], who: str, situation: Situation,
          held: Held) -> ResolvedDump:
    if config.dump_path == held.said_path or "dump_path" not in config.explicit:
        # Scripts change the folder between apply and the callback; the same words mean the same.
        wanted["dump_path"] = held.asked.dump_path
    options = (_texts(held.asked.npu_options, situation.cwd) if held.opened_options is None
               else _absolute_options(held.opened_options, situation.cwd))
    fields = _contradicted(config.explicit, wanted, options)
    if not fields:
        return ResolvedDump(JOIN, held.asked, held.asked, held.said_path)
    if situation.opened and RUN not in held.faces:
        raise DeviceOpenedError(_swap_text(fields, wanted, options, who))
    # The launcher comes second where the script asks before it opens its device.
    sides: List[Tuple[str, Options]] = [
        (_side((list(held.faces) or [who])[0]), options), (_side(who), wanted)]
    if who == RUN:
        sides.reverse()
    raise (DeviceOpenedError if situation.opened else ConfigError)(
        "one process has one dump, and two that differ are asked for: %s. Say it in one place"
        " only." % "; ".join(
            "%s is %s" % (name, ", ".join("%r in %s" % (values[name], side)
                                          for side, values in sides))
            for name in fields))


def _side(who: str) -> str:
    return who if who == RUN else "the script's %s" % who


def _texts(values: Mapping[str, Any], cwd: str) -> Dict[str, Optional[str]]:
    """Options as npu_device holds them once they are set: text, None where not set; the
    folder absolute."""
    texts: Dict[str, Optional[str]] = dict.fromkeys(NPU_DEFAULTS)
    texts.update({name: option_text(value) for name, value in values.items()})
    texts["dump_path"] = absolute(values["dump_path"], cwd)
    return texts


def _differing(wanted: Options, held: Options) -> List[str]:
    return [name for name in NPU_DEFAULTS if wanted[name] != held[name]]


def _contradicted(explicit: FrozenSet[str], wanted: Options, held: Options) -> List[str]:
    """The options in which an explicit request differs from what is there."""
    if not explicit:
        return []
    return [name for name in _differing(wanted, held)
            if name in explicit | {"enable_dump", "enable_dump_debug"}]


def _with_both_switches(explicit: FrozenSet[str]) -> FrozenSet[str]:
    """enable_dump and enable_dump_debug exclude each other: a choice of one is one of both."""
    switches = frozenset(("enable_dump", "enable_dump_debug"))
    return explicit | switches if explicit & switches else explicit


def _absolute_options(options: Options, cwd: str) -> Options:
    """What the device holds, its folder absolute, to compare requests with."""
    if not options["dump_path"]:
        return options
    return dict(options, dump_path=absolute(options["dump_path"], cwd))


def _swap_text(fields: List[str], wanted: Options, held: Options, who: str) -> str:
    line = "%s(...)" % who if who.endswith("apply") else "dump = %s(...)" % (
        who if who.isidentifier() else "NpuDumpCallback")
    return (
        "npu_device.open() came first and has read its options: %s. Swap the two lines:\n"
        "    %s\n"
        "    npu_device.open().as_default()\n"
        "or leave the script as it is and start it with `keras-npu-dump run %s`."
        % ("; ".join("%s is %r, %r was asked for" % (name, held[name], wanted[name])
                     for name in fields),
           line, shell_word(os.path.basename(sys.argv[0]) or "train.py")))
