"""From what was asked for and what is there to what will be dumped: one pure function.

It reads nothing and changes nothing, so that every case can be tried with plain values;
`attach.start` looks at the process first, and `set_up` applies the answer once.
"""
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump import ranks
from keras_npu_dump.capture.device.device_module import NPU_DEFAULTS, option_text
from keras_npu_dump.capture.request import contradictions
from keras_npu_dump.capture.request.contradictions import Options
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError

# What becomes of a request.
CONFIGURE = "configure"  # the device is not open yet and is given the options
ATTACH = "attach"  # it is open; what it was opened with is recorded and counted
JOIN = "join"  # this process has a capture, and it is the same dump
NOTHING = "nothing"  # it was opened without dump

# A rank that is not chosen asks for this.
_OFF_TEXTS = {"enable_dump": "0", "enable_dump_debug": "0"}
_OPENED_WITHOUT_DUMP = (
    "npu_device was opened without dump, so nothing will be dumped. Make %s before"
    " npu_device.open(), or run the script with `keras-npu-dump run`.")
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
      notes: what is as it was asked for, and good to know.
    """

    action: str
    config: DumpConfig
    asked: DumpConfig
    said_path: str
    remarks: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()


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
    said_path = _said_path(config, situation)
    wanted = _texts(dict(config.npu_options, dump_path=said_path), situation.cwd)
    held, cluster = situation.held, situation.cluster
    if held is None and not situation.opened:
        ranks.refuse_nonsense(cluster)
    chosen, remarks = ranks.is_chosen(config.ranks if held is None else None, cluster)
    if held is not None:
        contradictions.refuse_second(config.explicit, wanted, _of_held(held, situation.cwd), who,
                                     held.faces, situation.opened)
        return ResolvedDump(JOIN, held.asked, held.asked, held.said_path)
    action = ATTACH if situation.opened else CONFIGURE
    notes: Tuple[str, ...] = ()
    asked: Dict[str, Any] = {"dump_path": wanted["dump_path"]}
    device = _with_absolute_path(situation.options, situation.cwd)
    if action == ATTACH:
        contradictions.refuse_late(
            config.explicit, wanted if chosen else dict(wanted, **_OFF_TEXTS), device, who)
        here = dict(asked, **_fields_of(device))
        if chosen and not here["enable_dump"] and not here["enable_dump_debug"]:
            action, remarks = NOTHING, (*remarks, _OPENED_WITHOUT_DUMP % who)
            if config.strict:
                raise DeviceOpenedError(remarks[-1])
    else:
        adopted = contradictions.set_by_script(config.explicit, wanted, who, situation.options,
                                               device["dump_path"])
        asked.update(adopted)
        here = dict(asked)
        if not chosen:
            here.update(enable_dump=False, enable_dump_debug=False)
            notes = (_NOT_CHOSEN % (cluster.rank, asked["dump_path"]),)
    explicit = config.explicit
    return ResolvedDump(action, config.replace(explicit=explicit, **here),
                        config.replace(explicit=explicit, **asked), said_path, remarks, notes)


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
