"""The one capture of this process, from the options of the device to the manifest.

Callbacks, sessions and `apply` are faces of it.
"""
import atexit
import os
import sys
import weakref
from typing import Any, Dict, List, Optional, Tuple

from absl import logging

from keras_npu_dump.capture import device, environment, train_function
from keras_npu_dump.capture.journal import Journal, Section
from keras_npu_dump.capture.paths import prepare_dump_path
from keras_npu_dump.capture.record import RunRecord
from keras_npu_dump.config import DumpConfig
from keras_npu_dump.errors import DumpError
from keras_npu_dump.steps import StepSet


class Capture:
    """What is dumped in this process, and what is known of it."""

    def __init__(self, module: Any, config: DumpConfig):
        self.module = module
        self.config = config
        self.dump_path = config.dump_path
        self.pid = os.getpid()
        self.closed = False
        self.final: Any = None
        # dump_step does not limit overflow detection (ge, dump_properties.cc).
        self.steps: Optional[StepSet] = None
        if not config.is_off:
            self.steps = StepSet.all() if config.enable_dump_debug else config.dump_step
        self.asked_options = config.npu_options()
        self.record = RunRecord(self.dump_path, _plain(config), device.is_emulated(module))
        self.journal = Journal(os.path.join(self.record.folder, "iterations.jsonl"), self.steps)
        self.active_fit: Any = None
        self._functions: List[Tuple[Any, Any, Section]] = []
        _close_after_device(module, self.close)

    def before_open(self) -> None:
        # Scripts clear their output folder between start and open.
        prepare_dump_path(self.dump_path)
        os.makedirs(self.record.folder, mode=0o700, exist_ok=True)
        environment.set_graph_environment(self.config, self.dump_path)

    def after_open(self, device_id: Optional[int]) -> None:
        ids = device.opened_ids(self.module)
        if ids:
            device_id = ids[0]
        elif device_id is None:
            device_id = environment.device_id()
        self.record.write(opened=True, device=device_id)

    def section(self, model: Any, function: Any) -> Section:
        """The counter of a model's training function; a new one after compile()."""
        key = model if function is None else function
        reason = "start" if not self._functions else "model"
        for reference, known_model, section in self._functions:
            if reference() is key:
                return section
            if known_model() is model:
                reason = "compile"
        section = self.journal.start_section(getattr(model, "name", None) or "loop", reason)
        self._functions.append((_reference(key), _reference(model), section))
        return section

    def replace_section(self, old: Section, new: Section) -> None:
        self._functions = [(reference, model, new if section is old else section)
                           for reference, model, section in self._functions]

    def add_model(self, model: Any) -> None:
        self.record.add_model(model.name, [layer.name for layer in getattr(model, "layers", ())])

    def note_graph(self, section: Section, function: Any) -> None:
        name, operators = train_function.describe(function)
        self.journal.graph(section, name, operators)

    def unreached(self) -> List[str]:
        """One line per asked step that never came."""
        if self.steps is None or self.config.enable_dump_debug:
            return []
        ran = max([section.index for section in self.journal.sections] or [0])
        lines = []
        for first, last in self.steps.intervals:
            first = max(first, ran)
            if first <= last:
                which = "step %d" % first if first == last else "steps %d-%d" % (first, last)
                lines.append("%s not reached, %d executions ran" % (which, ran))
        return lines

    def collect(self) -> Any:
        """Pairs what this process left on disk; writes its manifest."""
        import keras_npu_dump
        return keras_npu_dump.collect(self.dump_path, run_id=self.record.run_id)

    def close(self, status: str = "ended") -> None:
        """Writes what is known at the end of the process. Safe to call twice."""
        if self.closed or os.getpid() != self.pid:
            return
        self.closed = True
        try:
            self.journal.counts(final=True)
            self.journal.close()
            self.record.end(status)
            if self.config.is_off:
                return
            for line in self.unreached():
                logging.warning("%s", line)
            if self.config.collect:
                self.final = self.collect()
        except (OSError, DumpError) as error:
            # The training has ended well; its end must not become a traceback.
            logging.warning("The records of this run are not complete: %s", error)


def _plain(config: DumpConfig) -> Dict[str, Any]:
    """The options as JSON; dump_step "" is every one."""
    return {
        "enable_dump": config.enable_dump, "dump_path": config.dump_path,
        "dump_step": config.dump_step.text, "dump_mode": config.dump_mode,
        "dump_data": config.dump_data, "dump_layer": config.dump_layer,
        "enable_dump_debug": config.enable_dump_debug,
        "dump_debug_mode": config.dump_debug_mode,
    }


def _reference(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _close_after_device(module: Any, close: Any) -> None:
    """Registers `close` so that it runs after npu_device's own exit handler.

    Dumps travel from the device to this process until it is closed; handlers run
    in reverse order of registration, so the vendor's is registered again, last.
    """
    inner = sys.modules.get(module.__name__ + ".npu_device")
    device_close = getattr(inner, "close", None)
    if callable(device_close):
        atexit.unregister(device_close)
    atexit.register(close)
    if callable(device_close):
        atexit.register(device_close)
