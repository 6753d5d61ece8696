"""Applies what was resolved, once: the folder, the device, the environment, the record."""
from typing import Any, List, Optional

from keras_npu_dump import messages, ranks
from keras_npu_dump.capture.device import (
    device_module,
    disk_space,
    dump_blockers,
    dump_place,
    environment,
)
from keras_npu_dump.capture.device.dump_folder import prepare_dump_path
from keras_npu_dump.capture.model import function_calls
from keras_npu_dump.capture.process import start_messages
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.capture.request.resolve import CONFIGURE, JOIN, NOTHING, ResolvedDump
from keras_npu_dump.capture.this_process import begin, of_this_process


def set_up(module: Any, resolved: ResolvedDump, cluster: ranks.Cluster,
           held: Optional[Capture]) -> Optional[Capture]:
    """Makes the folder, gives device and environment their options, and begins to record.

    Args:
      module: npu_device.
      resolved: what `resolve` has answered.
      cluster: which of several processes this is.
      held: the capture that this process has already; None before.

    Returns:
      The capture of this process; None where nothing is dumped and nothing recorded.

    Raises:
      ConfigError: for a bad folder, too little free space, or an option that this
        npu_device refuses.
    """
    for text in resolved.remarks:
        messages.warning("%s", text)
    for text in resolved.notes:
        messages.info("%s", text)
    if resolved.action == NOTHING:
        return None
    config = resolved.config
    remarks: List[str] = []
    configure, joins = resolved.action == CONFIGURE, resolved.action == JOIN
    if not joins:
        if not config.is_off:
            disk_space.check_free_space(config.dump_path, config.min_free_gb)
            remarks = [text for _, text in dump_place.warnings_of(config.dump_path)]
        prepare_dump_path(config.dump_path)
    device_module.write_options(module, dict(
        resolved.settings, **(config.npu_options if configure else {})))
    if joins:
        return held
    if not configure and not config.is_off:
        remarks += dump_blockers.messages_of(module, config)
    if configure or not config.is_off:
        environment.set_graph_environment(config, config.dump_path)
    if not config.is_off:
        start_messages.tell(config, remarks)
    capture = begin(module, resolved, cluster)
    if configure:
        device_module.watch_open(module, lambda: of_this_process(capture).before_open(),
                                 lambda device_id: _opened(of_this_process(capture), device_id))
    else:
        _opened(capture, None)
    return capture


def _opened(capture: Capture, device_id: Optional[int]) -> None:
    capture.after_open(device_id)
    function_calls.install()  # npu_device has imported TensorFlow
