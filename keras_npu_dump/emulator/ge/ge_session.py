"""What GE keeps for the life of a session: options, dump folder, a fault to report.

Options are those of the moment of `open()`; the time folder is named then and made
only when something is dumped. A bad option does not disturb `open()`: GE checks it
when the session starts, logs, and fails the first graph (GE dump_properties.cc,
ge_api.cc; adapter npu_device.cpp).
"""
from __future__ import annotations

import dataclasses
import os
import time
from typing import Dict, Optional

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.emulator.ge import generation as generation_lib
from keras_npu_dump.emulator.ge.generation import Generation
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.formats import names

_NEW = Generation()
_DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")


def check_options(options: Dict[str, str], generation: Generation = _NEW) -> Optional[str]:
    """What GE would say about dump options (GE dump_properties.cc).

    Args:
      options: texts by name, as `global_options().as_dict()` gives them.
      generation: of CANN; codes differ.

    Returns:
      An error with its code, as "E10001: ..."; None if there is nothing to say.
    """
    dump, debug = options.get("enable_dump", "0"), options.get("enable_dump_debug", "0")
    for name, value in (("enable_dump", dump), ("enable_dump_debug", debug)):
        if value not in ("0", "1", ""):
            return "E10001: option ge.exec.%s must be 0 or 1, got %r." % (name, value)
    if dump == "1" and debug == "1":
        return ("E10001: ge.exec.enableDump and ge.exec.enableDumpDebug cannot be set to 1 at"
                " the same time.")
    if dump != "1" and debug != "1":
        return None
    path = options.get("dump_path")
    if not path:
        return "%s: dump is enabled and option ge.exec.dumpPath is missing." % (
            generation.missing_path)
    if not os.path.isdir(path):
        return "E10001: dump path %r is not an existing directory." % path
    if not os.access(path, os.R_OK | os.W_OK):
        return "E10001: dump path %r cannot be read and written." % path
    if debug == "1" and options.get("dump_debug_mode", "all") not in _DEBUG_MODES:
        return "E10001: dump_debug_mode %r is not one of %s." % (
            options["dump_debug_mode"], ", ".join(_DEBUG_MODES))
    if dump != "1":
        return None
    step = options.get("dump_step", "")
    try:
        if step == "all":
            raise ConfigError("dump_step: expected digits. Received: 'all'.")
        StepSet.of(step or None)
    except ConfigError as error:
        return "E10001: invalid ge.exec.dumpStep. Valid format: '0|5|10|50-100'. %s" % error
    if options.get("dump_mode", "output") not in ("input", "output", "all"):
        return "E10001: ge.exec.dumpMode %r is not input, output or all." % options["dump_mode"]
    return None


@dataclasses.dataclass
class GeSession:
    """What GE keeps from `open()` to the end of the process.

    Attributes:
      options: all options as texts by name, as `global_options().as_dict()` gave them.
      device_id: logical device number.
      started: seconds since 1970 of the session's start; names the time folder.
      fault: what GE found wrong with the options, or None.
      generation: of CANN.
      dump, debug: whether data is dumped, whether overflow is looked for; never both.
      steps: the data_index values that are dumped.
      mode: "input", "output" or "all".
      stats: whether statistics are written in place of data.
      layers: names of the operators that are dumped, none for all.
      path: of the dump folder, absolute.
    """

    options: Dict[str, str]
    device_id: int
    started: float = 0.0
    fault: Optional[str] = None
    generation: Generation = dataclasses.field(default_factory=generation_lib.current)

    def __post_init__(self) -> None:
        self.started = self.started or time.time()
        self.fault = check_options(self.options, self.generation)
        self.dump = self.fault is None and self.options.get("enable_dump") == "1"
        self.debug = self.fault is None and self.options.get("enable_dump_debug") == "1"
        self.steps = StepSet.of(self.options.get("dump_step") or None if self.dump else None)
        self.mode = self.options.get("dump_mode", "output")
        self.stats = self.options.get("dump_data") == "stats"
        self.layers = frozenset(self.options.get("dump_layer", "").split())
        # GE resolves the path when the session starts.
        self.path = os.path.realpath(self.options.get("dump_path") or ".")

    @property
    def has_dump_path(self) -> bool:
        """Whether Build graphs are written even without DUMP_GE_GRAPH."""
        return self.dump or self.debug

    @property
    def exception_dump(self) -> bool:
        """Whether exceptions are dumped in full; NPU_COLLECT_PATH has the same effect, and
        NPU_COLLECT_PATH_EXE where that is not set (GE dump_manager.cc)."""
        collect = os.environ.get("NPU_COLLECT_PATH", os.environ.get("NPU_COLLECT_PATH_EXE"))
        return self.options.get("enable_exception_dump") == "1" or bool(collect)

    @property
    def time_folder(self) -> str:
        """Local time of the session's start, `%Y%m%d%H%M%S`."""
        return time.strftime("%Y%m%d%H%M%S", time.localtime(self.started))

    def folder(self, graph_name: str, model_id: int, data_index: int) -> str:
        """Where an execution's files go (runtime dump_task.cpp); not made yet.

        Args:
          graph_name: as GE calls the graph; sanitised in the path.
          model_id: of the loaded model.
          data_index: of the execution.
        """
        parts = [self.path, self.time_folder]
        if self.generation.time == "two":
            # On the newest chips adump appends a time of its own to GE's (adump
            # dump_setting.cpp).
            parts.append(self.time_folder)
        parts += [str(self.device_id), names.sanitise(graph_name), str(model_id),
                  str(data_index)]
        return os.path.join(*parts)

    def wants(self, data_index: int) -> bool:
        """Whether execution `data_index` of any graph is dumped, or watched for overflow.

        Each graph counts its executions for itself, so this asks for no graph.

        Args:
          data_index: of the execution.
        """
        return self.debug or (self.dump and data_index in self.steps)
