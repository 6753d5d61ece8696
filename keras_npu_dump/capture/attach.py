"""Configuring the device before it is opened, or attaching to it afterwards."""
import os
import sys
from typing import Any, Dict, FrozenSet, List, Optional

from keras_npu_dump import messages
from keras_npu_dump.capture.device import device_module, environment, guards, ranks
from keras_npu_dump.capture.device.dump_folder import absolute, prepare_dump_path
from keras_npu_dump.capture.process.capture import (
    RUN,
    Capture,
    existing_of_this_process,
    of_this_process,
)
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError
from keras_npu_dump.files.quoting import shell_word

# All callbacks and sessions of one process share one capture.
_current: Optional[Capture] = None

# What a script may set itself in global_options(), and which field of ours it becomes.
_ADOPTED = ("dump_path", "dump_step", "dump_mode", "dump_data", "dump_layer", "dump_debug_mode")


def current() -> Optional[Capture]:
    """The capture; in a forked child that of its parent, until it asks for one of its own."""
    return _current


def current_here() -> Optional[Capture]:
    """The capture of this very process; None in a forked child that has not asked for one."""
    return None if _current is None else existing_of_this_process(_current)


def of_run() -> Optional[Capture]:
    """The capture that the launcher has asked for, whatever the script's own flags say."""
    return _current if _current is not None and RUN in _current.faces else None


def start(config: DumpConfig, who: str) -> Optional[Capture]:
    """Configures the device, or attaches to it where it is open already.

    Args:
      config: what to dump; where `config.explicit` is silent any dump will do.
      who: the caller's name, for messages.

    Returns:
      The capture of this process, or None if `config` switches dumping off.

    Raises:
      DeviceNotFoundError: without npu_device and without the emulator.
      DeviceOpenedError: if the device was opened with other options.
      ConfigError: if the script itself has set other options, for a bad path, or with
        too little free space.
    """
    global _current
    if config.is_off:
        return None
    module = device_module.find_device()
    if _current is not None:
        _current = of_this_process(_current)
        _check_same(config, _current, module, who)
    elif device_module.opened_ids(module):
        _current = _attach(module, config, who)
    else:
        _current = _configure(module, config, who)
    if _current is not None and who not in _current.faces:
        _current.faces.append(who)
    if _current is not None:
        _current.strict = _current.strict or config.strict
    return _current


def _configure(module: Any, config: DumpConfig, who: str) -> Capture:
    cluster = ranks.read()
    ranks.refuse_nonsense(cluster)
    config = _with_script(module, config, who)
    said = config.dump_path
    asked = config.at(absolute(said))
    config = ranks.for_this_rank(asked, cluster)
    if not config.is_off:
        guards.check_free_space(config.dump_path, config.min_free_gb)
    dump_path = prepare_dump_path(config.dump_path)
    options = config.npu_options()
    device_module.write_options(module, options)
    environment.set_graph_environment(config, dump_path)
    if config.is_off:
        messages.warning("Rank %s is none of data_dump_ranks: it dumps nothing, its records go to"
                        " %s", cluster.rank, dump_path)
    else:
        _tell(config)
    capture = Capture(module, config, cluster, asked, said)
    device_module.watch_open(module, capture.before_open, capture.after_open)
    return capture


def _with_script(module: Any, config: DumpConfig, who: str) -> DumpConfig:
    """The configuration, where it is not explicit as the script itself has set it.

    Raises:
      ConfigError: where both are explicit and differ.
    """
    wanted = config.npu_options()
    theirs = device_module.given_by_script(module, wanted)
    explicit = _with_both_switches(config.explicit)
    clashes = {name: value for name, value in theirs.items() if name in explicit}
    if "dump_path" in clashes and absolute(clashes["dump_path"]) == absolute(config.dump_path):
        del clashes["dump_path"]
    if clashes:
        raise ConfigError(device_module.conflict_text(clashes, wanted, who))
    adopted: Dict[str, Any] = {name: theirs[name] for name in _ADOPTED if name in theirs}
    if theirs.get("enable_dump_debug") == "1":
        current = device_module.read_options(module)
        if current["enable_dump"] == "1":
            raise ConfigError(
                "the script sets enable_dump and enable_dump_debug in npu_device.global_options()"
                ".dump_config. Expected one of the two, GE refuses both.")
        adopted.update(enable_dump=False, enable_dump_debug=True)
    return config.replace(explicit=config.explicit, **adopted) if adopted else config


def _with_both_switches(explicit: FrozenSet[str]) -> FrozenSet[str]:
    """enable_dump and enable_dump_debug exclude each other: who says one has said both."""
    switches = frozenset(("enable_dump", "enable_dump_debug"))
    return explicit | switches if explicit & switches else explicit


def _tell(config: DumpConfig) -> None:
    """What is worth knowing before training starts, once."""
    messages.warning("Dump data, graphs and records go to %s", config.dump_path)
    for _, text in guards.warnings_of(config.dump_path):
        messages.warning("%s", text)
    if config.dump_step.is_all and config.enable_dump and config.dump_data == "tensor":
        messages.warning(
            "Every iteration is dumped, all operators' data each time: tens of gigabytes per"
            " iteration on large networks. dump_step='0' is one iteration, dump_data='stats' is"
            " small.")


def _attach(module: Any, config: DumpConfig, who: str) -> Optional[Capture]:
    held = _held(device_module.read_options(module))
    said = held["dump_path"] or config.dump_path
    cluster = ranks.read()
    asked = config.at(absolute(config.dump_path))
    wanted = ranks.for_this_rank(asked, cluster)
    fields = _differing(wanted, held)
    if fields:
        raise DeviceOpenedError(_swap_text(fields, wanted.npu_options(), held, who))
    adopted = _config_of(held, config)
    if adopted.is_off and not wanted.is_off:
        text = ("npu_device was opened without dump, so nothing will be dumped. Make %s before"
                " npu_device.open(), or run the script with `keras-npu-dump run`." % who)
        if config.strict:
            raise DeviceOpenedError(text)
        messages.warning("%s", text)
        return None
    if not adopted.is_off:
        guards.check_free_space(adopted.dump_path, config.min_free_gb)
    dump_path = prepare_dump_path(adopted.dump_path)
    capture = Capture(module, adopted.at(dump_path), cluster, asked, said)
    if not adopted.is_off:
        environment.set_graph_environment(adopted, dump_path)
        _tell(capture.config)
    capture.tell_silencers()
    capture.after_open(None)
    return capture


def _differing(config: DumpConfig, held: Dict[str, Optional[str]]) -> List[str]:
    """The options in which an explicit request differs from what is there."""
    if not config.explicit:
        return []
    explicit = config.explicit | {"enable_dump", "enable_dump_debug"}
    return [name for name in device_module.differing(config.npu_options(), held)
            if name in explicit]


def _held(options: Dict[str, Optional[str]]) -> Dict[str, Optional[str]]:
    """What the device holds, its folder absolute, to compare requests with."""
    if not options["dump_path"]:
        return dict(options)
    return dict(options, dump_path=absolute(options["dump_path"]))


def _config_of(options: Dict[str, Optional[str]], config: DumpConfig) -> DumpConfig:
    """The configuration that an open device has."""
    return config.replace(
        explicit=config.explicit,
        enable_dump=options["enable_dump"] == "1",
        enable_dump_debug=options["enable_dump_debug"] == "1",
        dump_path=options["dump_path"] or config.dump_path,
        dump_step=options["dump_step"] or None,
        dump_mode=options["dump_mode"] or "output",
        dump_data=options["dump_data"] or "tensor",
        dump_layer=options["dump_layer"] or None,
        dump_debug_mode=options["dump_debug_mode"] or "all")


def _swap_text(fields: List[str], wanted: Dict[str, Any], held: Dict[str, Any], who: str) -> str:
    line = "%s(...)" % who if who.endswith("apply") else "dump = %s(...)" % (
        who if who.isidentifier() else "NpuDumpCallback")
    return (
        "npu_device.open() came first and has read its options: %s. Swap the two lines:\n"
        "    %s\n"
        "    npu_device.open().as_default()\n"
        "or leave the script as it is and start it with `keras-npu-dump run %s`."
        % ("; ".join("%s is %r, %r was asked for" % (
            name, held[name], device_module.option_text(wanted.get(name))) for name in fields),
           line, shell_word(os.path.basename(sys.argv[0]) or "train.py")))


def _check_same(config: DumpConfig, capture: Capture, module: Any, who: str) -> None:
    # Scripts change the folder between apply and the callback; the same words mean the same.
    same = config.dump_path == capture.said_path or "dump_path" not in config.explicit
    wanted = config.at(capture.asked.dump_path if same else absolute(config.dump_path))
    left_out = capture.config.is_off and not capture.asked.is_off  # by data_dump_ranks
    if capture.opened_options is not None and not left_out:
        held = _held(capture.opened_options)
    else:
        held = dict.fromkeys(device_module.NPU_DEFAULTS)
        held.update({name: device_module.option_text(value)
                     for name, value in capture.asked.npu_options().items()})
    fields = _differing(wanted, held)
    if not fields:
        return
    options = wanted.npu_options()
    opened, first = bool(device_module.opened_ids(module)), (capture.faces or [who])[0]
    if opened and RUN not in capture.faces:
        raise DeviceOpenedError(_swap_text(fields, options, held, who))
    # The launcher comes second where the script asks before it opens its device.
    sides = [(_side(first), held), (_side(who), {name: device_module.option_text(options.get(name))
                                                 for name in fields})]
    if who == RUN:
        sides.reverse()
    raise (DeviceOpenedError if opened else ConfigError)(
        "one process has one dump, and two that differ are asked for: %s. Say it in one place"
        " only." % "; ".join(
            "%s is %s" % (name, ", ".join("%r in %s" % (values[name], side)
                                          for side, values in sides))
            for name in fields))


def _side(who: str) -> str:
    return who if who == RUN else "the script's %s" % who
