"""Configuring the device before it is opened, or attaching to it afterwards."""
import os
import sys
from typing import Any, Dict, List, Optional

from absl import logging

from keras_npu_dump.capture import device, environment
from keras_npu_dump.capture.paths import prepare_dump_path
from keras_npu_dump.capture.process import Capture
from keras_npu_dump.config import DumpConfig
from keras_npu_dump.errors import ConfigError, DeviceOpenedError

# All callbacks and sessions of one process share one capture.
_current: Optional[Capture] = None


def current() -> Optional[Capture]:
    return _current


def start(config: DumpConfig, asked: bool, who: str) -> Optional[Capture]:
    """Configures the device, or attaches to it where it is open already.

    Args:
      config: what to dump.
      asked: False if the user asked for nothing in particular and any dump will do.
      who: the caller's name, for messages.

    Returns:
      The capture of this process, or None if `config` switches dumping off.

    Raises:
      DeviceNotFoundError: without npu_device and without the emulator.
      DeviceOpenedError: if the device was opened with other options.
      ConfigError: if the script itself has set other options, or for a bad path.
    """
    global _current
    if config.is_off:
        return None
    module = device.find_device()
    if _current is not None:
        if asked:
            _check_same(config, _current, module)
        return _current
    if device.opened_ids(module):
        _current = _attach(module, config, asked, who)
    else:
        _current = _configure(module, config, who)
    return _current


def _configure(module: Any, config: DumpConfig, who: str) -> Capture:
    dump_path = prepare_dump_path(config.dump_path)
    config = config.replace(dump_path=dump_path)
    if config.ranks is not None and environment.rank() not in config.ranks:
        # By options alone: a graph that differs between ranks makes the job hang.
        config = config.replace(enable_dump=False, enable_dump_debug=False)
    options = config.npu_options()
    device.check_conflicts(module, options, who)
    device.write_options(module, options)
    environment.set_graph_environment(config, dump_path)
    logging.warning("Dump data, graphs and records go to %s", dump_path)
    if config.dump_step.is_all and config.enable_dump and config.dump_data == "tensor":
        logging.warning(
            "Every iteration is dumped, all operators' data each time: tens of gigabytes per"
            " iteration on large networks. dump_step='0' is one iteration, dump_data='stats' is"
            " small.")
    capture = Capture(module, config)
    device.watch_open(module, capture.before_open, capture.after_open)
    return capture


def _attach(module: Any, config: DumpConfig, asked: bool, who: str) -> Capture:
    current = device.read_options(module)
    if asked:
        wanted = config.replace(dump_path=os.path.abspath(os.path.expanduser(config.dump_path)))
        held = dict(current)
        if held["dump_path"]:
            held["dump_path"] = os.path.abspath(held["dump_path"])
        fields = device.differing(wanted.npu_options(), held)
        if fields:
            raise DeviceOpenedError(_swap_text(fields, wanted.npu_options(), held, who))
    adopted = _config_of(current, config)
    if adopted.is_off:
        logging.warning(
            "npu_device was opened without dump, so nothing will be dumped. Make %s before"
            " npu_device.open(), or run the script with `keras-npu-dump run`.", who)
    capture = Capture(module, adopted.replace(dump_path=prepare_dump_path(adopted.dump_path)))
    capture.after_open(None)
    return capture


def _config_of(options: Dict[str, Optional[str]], config: DumpConfig) -> DumpConfig:
    """The configuration that an open device has."""
    return config.replace(
        enable_dump=options["enable_dump"] == "1",
        enable_dump_debug=options["enable_dump_debug"] == "1",
        dump_path=options["dump_path"] or config.dump_path,
        dump_step=options["dump_step"] or None,
        dump_mode=options["dump_mode"] or "output",
        dump_data=options["dump_data"] or "tensor",
        dump_layer=options["dump_layer"] or None,
        dump_debug_mode=options["dump_debug_mode"] or "all")


def _swap_text(fields: List[str], wanted: Dict[str, Any], held: Dict[str, Any], who: str) -> str:
    return (
        "npu_device.open() came first and has read its options: %s. Swap the two lines:\n"
        "    dump = %s(...)\n"
        "    npu_device.open().as_default()\n"
        "or leave the script as it is and start it with `keras-npu-dump run %s`."
        % ("; ".join("%s is %r, %r was asked for" % (
            name, held[name], device.option_text(wanted.get(name))) for name in fields),
           who, os.path.basename(sys.argv[0]) or "train.py"))


def _check_same(config: DumpConfig, capture: Capture, module: Any) -> None:
    wanted = config.replace(dump_path=os.path.abspath(os.path.expanduser(config.dump_path)))
    held = {name: device.option_text(value)
            for name, value in capture.asked_options.items()}
    for name in device.NPU_DEFAULTS:
        held.setdefault(name, None)
    fields = device.differing(wanted.npu_options(), held)
    if not fields:
        return
    if device.opened_ids(module):
        raise DeviceOpenedError(_swap_text(fields, wanted.npu_options(), held, "NpuDumpCallback"))
    raise ConfigError(
        "one process has one dump. Expected the options that it was given first, or none."
        " Received: %s." % "; ".join(
            "%s=%r after %r" % (name, device.option_text(wanted.npu_options().get(name)),
                                held[name]) for name in fields))
