"""Asks for a dump: looks at the process, resolves the request, and applies the answer once."""
from typing import Any, Optional

from keras_npu_dump import messages, ranks
from keras_npu_dump.capture.device import device_module, environment, guards
from keras_npu_dump.capture.device.dump_folder import current_folder, prepare_dump_path
from keras_npu_dump.capture.process import start_messages
from keras_npu_dump.capture.process.capture import (
    Capture,
    existing_of_this_process,
    of_this_process,
)
from keras_npu_dump.capture.process.resolve import (
    CONFIGURE,
    JOIN,
    NOTHING,
    RUN,
    Held,
    ResolvedDump,
    Situation,
    resolve,
)
from keras_npu_dump.config.dump_config import DumpConfig

# All callbacks and sessions of one process share one capture.
_current: Optional[Capture] = None


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
      The capture of this process, or None if nothing is dumped.

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
    capture = None if _current is None else of_this_process(_current)
    situation = _look(module, capture)
    resolved = resolve(config, who, situation)
    if capture is None or resolved.action != JOIN:
        capture = _apply(module, resolved, situation.cluster)
    _current = capture
    if capture is not None:
        if who not in capture.faces:
            capture.faces.append(who)
        capture.strict = capture.strict or config.strict
    return capture


def _look(module: Any, capture: Optional[Capture]) -> Situation:
    held = None
    if capture is not None:
        left_out = capture.config.is_off and not capture.asked.is_off  # by data_dump_ranks
        held = Held(capture.asked, capture.said_path,
                    None if left_out else capture.opened_options, tuple(capture.faces))
    return Situation(bool(device_module.opened_ids(module)), device_module.read_options(module),
                     ranks.read(), current_folder(), held)


def _apply(module: Any, resolved: ResolvedDump, cluster: ranks.Cluster) -> Optional[Capture]:
    """Makes the folder, gives device and environment their options, and begins to record."""
    for text in resolved.remarks:
        messages.warning("%s", text)
    if resolved.action == NOTHING:
        return None
    config = resolved.config
    warnings = [] if config.is_off else guards.admit(config.dump_path, config.min_free_gb)
    dump_path = prepare_dump_path(config.dump_path)
    if resolved.action == CONFIGURE:
        device_module.write_options(module, config.npu_options)
    if resolved.action == CONFIGURE or not config.is_off:
        environment.set_graph_environment(config, dump_path)
    if not config.is_off:
        start_messages.tell(config, warnings)
    capture = Capture(module, config, cluster, resolved.asked, resolved.said_path)
    if resolved.action == CONFIGURE:
        device_module.watch_open(module, capture.before_open, capture.after_open)
    else:
        capture.tell_silencers()
        capture.after_open(None)
    return capture
