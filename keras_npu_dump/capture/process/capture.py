"""The one capture of this process, from the options of the device to the manifest.

Callbacks, sessions and `apply` are faces of it.
"""
import os
import threading
import time
import weakref
from typing import Any, Dict, List, MutableMapping, Optional, Set, Tuple

from keras_npu_dump import messages, outages, ranks, sigterm
from keras_npu_dump.capture.device import device_module, dump_blockers, environment, loop_size
from keras_npu_dump.capture.device.dump_folder import prepare_dump_path
from keras_npu_dump.capture.model import train_function
from keras_npu_dump.capture.model.optimizer_updates import Updates
from keras_npu_dump.capture.process import end_messages, ending, first_dump, forecast
from keras_npu_dump.capture.process.lookout import Lookout
from keras_npu_dump.capture.request.resolve import ResolvedDump
from keras_npu_dump.capture.request.situation import RUN
from keras_npu_dump.collector.collect import collect
from keras_npu_dump.errors import DumpError
from keras_npu_dump.failure import Failure
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.records.journal import Journal, Section
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.run_record import RunRecord

# Seconds for which `Capture.manifest` gives the same answer to the same count.
_FRESH = 30.0


class Capture:
    """What is dumped in this process, and what is known of it.

    Args:
      module: npu_device.
      resolved: what is dumped, and what was asked for.
      cluster: which of several processes it is.
      record: of this process, in its run folder.
      journal: beside it.

    Attributes:
      faces: names of the classes that were made for it, such as NpuDumpCallback.
      overruled: (name, value) of what the script has asked for and was told that it does not
        hold.
      given_to: what callbacks were given to that is no training: predict(), evaluate().
      opened_options: the dump options at `npu_device.open()`; None before.
      ending: status and cause of the end, where a launcher knows them.
      failure: what stops training at the next batch; None while all is well.
      final: the manifest of the end, None before or without.
      kept: what the record keeps of the script's arguments, see the option `record`;
        `kept_by_run` where the command line of `run` has decided that.
      lookout: sees what is deleted.
      strict: whoever asked for this dump wants it whole; `strict_told` once an exception
        has said that it is not.
      active_fit: the innermost, where fits run inside fits.
      calls: counts executions of training functions, see `counting.calls`.
      died: what the record keeps of the exception that has ended the process.
      forked: the capture that a forked child has made for itself; only the child sees it.
    """

    def __init__(self, module: Any, resolved: ResolvedDump, cluster: ranks.Cluster,
                 record: RunRecord, journal: Journal):
        self.module = module
        self.resolved = resolved
        self.config = resolved.config
        self.cluster = cluster
        self.record = record
        self.journal = journal
        self.dump_path = self.config.dump_path
        self.steps = self.config.dumped_steps
        self.kept = resolved.asked.record
        self.kept_by_run = False
        self.pid = os.getpid()
        self.since = (environment.process_start() if device_module.opened_ids(module)
                      else time.time())
        self.closed = False
        self.ending: Optional[Tuple[str, Optional[str]]] = None
        self.final: Optional[Manifest] = None
        self.strict = self.config.strict
        self.strict_told = False
        self.faces: List[str] = []
        self.overruled: Set[Tuple[str, str]] = set()
        self.given_to: List[str] = []
        self._late_told = False
        self.failure: Optional[DumpError] = None
        self._failure_raised = False
        self.opened_options: Optional[Dict[str, Optional[str]]] = None
        self.forked: Optional[Capture] = None
        self.loop_size = loop_size.watch_loop_size(module)
        self.lookout = Lookout(self)
        self.active_fit: Any = None
        self.calls: Any = None
        self.died: Optional[Failure] = None
        self._functions: List[Tuple[Any, Any, Section]] = []
        self._updates: MutableMapping[Any, Updates] = weakref.WeakKeyDictionary()
        self._watcher: Optional[first_dump.Watcher] = None
        self._lock = threading.Lock()
        # The last manifest, what it is the answer to, and until when.
        self._answer: Optional[Tuple[Any, float, Manifest]] = None
        self._printed: Optional[Manifest] = None  # an earlier answer that the script has printed
        ending.close_after_device(module, self.close)

    def before_open(self) -> None:
        """Makes again what a script has cleared meanwhile, and tells the user what will fail."""
        self._make_folders()
        environment.set_graph_environment(self.config, self.dump_path)
        self._tell_what_will_fail()

    def _tell_what_will_fail(self) -> None:
        ranks.tell_problems(device_module.is_emulated(self.module))
        for text in dump_blockers.messages_of(self.module, self.config):
            messages.warning("%s", text)

    def look_at_device(self) -> None:
        """Notes that the device is open, by whatever name the script has called `open()`.

        A name that was imported before ours took its place tells nobody; npu_device itself
        knows.
        """
        if self.opened_options is None and device_module.opened_ids(self.module):
            self._tell_what_will_fail()
            self.after_open()

    def after_open(self, device_id: Optional[int] = None) -> None:
        """The device is open: what it was opened with is known now.

        Args:
          device_id: what `npu_device.open()` was given; None where it was given nothing.
        """
        ids = device_module.opened_ids(self.module)
        if ids:
            device_id = ids[0]
        elif device_id is None:
            device_id = self.cluster.device
        self.opened_options = device_module.read_options(self.module)
        self.record.write(
            opened=True, device=device_id,
            rank=ranks.rank_after_open(device_module.handle(self.module), self.cluster))

    def _make_folders(self) -> None:
        prepare_dump_path(self.dump_path)
        make_private(self.record.folder)

    def make_folders_again(self) -> Optional[str]:
        """After they were deleted; what hinders that, or None."""
        try:
            self._make_folders()
        except (OSError, DumpError) as error:
            return str(error)
        return None

    def section(self, model: Any, function: Any) -> Section:
        """The counter of a model's training function; a new one after compile().

        Args:
          model: a Keras model, or the session or callback that drives a loop.
          function: its training function; None where it has none.
        """
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
        """What was counted in `old` is counted in `new` from now on: it was traced again."""
        self._functions = [(reference, model, new if section is old else section)
                           for reference, model, section in self._functions]

    def start_fit(self, model_name: str, epochs: Optional[int], steps: Optional[int]) -> int:
        """Notes that a fit or loop begins, after a look at what the script did meanwhile.

        Args:
          model_name: of the Keras model; "loop" without.
          epochs: how many there will be; None where that is not known.
          steps: batches in an epoch; None where that is not known.

        Returns:
          The number of the fit, from 0.
        """
        self.lookout.look()
        self.look_at_device()
        self.tell_late_options()
        return self.journal.start_fit(model_name, epochs, steps)

    def tell_late_options(self) -> None:
        """Names options that the script has set after `npu_device.open()`, at the first fit or
        loop, or at the end where nobody has counted one."""
        if not self._late_told and self.opened_options is not None:
            self._late_told = True
            end_messages.tell_late_options(
                self.opened_options, device_module.read_options(self.module), self.is_of_run)

    def note_given_to(self, what: str) -> None:
        """A callback was given to something that is no training.

        Args:
          what: such as "predict()".
        """
        if what not in self.given_to:
            self.given_to.append(what)

    def updates_of(self, model: Any) -> Updates:
        """What the model's optimizer had counted at the end of its last fit."""
        updates = Updates()
        try:
            updates = self._updates.setdefault(model, updates)
        except TypeError:
            pass  # a model that takes no weak references
        return updates

    def note_eager(self) -> None:
        """A fit runs eagerly: no training graph of it will be executed."""
        if not self.record.fields["eager"]:
            self.record.write(eager=True)

    def add_model(self, model: Any) -> None:
        """Records a Keras model by its name and the names of its layers."""
        self.record.add_model(model.name, [layer.name for layer in getattr(model, "layers", ())])

    def note_graph(self, section: Section, function: Any) -> None:
        """Notes the graph of a training function in the journal, once it is traced."""
        name, operators = train_function.describe(function)
        self.journal.graph(section, name, operators)

    @property
    def watching(self) -> bool:
        """Whether the first dump was looked for, or needs no look."""
        return self._watcher is not None or self.steps is None or self.config.enable_dump_debug

    def watch(self, section: Section, data_index: int, end: Optional[int]) -> None:
        """Starts the look for the first dumped iteration, if that was it.

        Args:
          section: of the training function.
          data_index: of the iteration, which has just ended.
          end: the counter at the end of this fit, where it is known.
        """
        with self._lock:
            if self.watching:
                return
            self._watcher = self._new_watcher(section, data_index, end)
        try:
            self._watcher.start()
        except (RuntimeError, MemoryError) as error:  # no more threads for this user
            outages.tell("looks for the first dump", error,
                         "The first dump cannot be looked for in the background")

    def _new_watcher(self, section: Section, data_index: int,
                     end: Optional[int]) -> first_dump.Watcher:
        assert self.steps is not None
        alone = self.cluster.size <= 1 and "ASCEND_DEVICE_ID" not in os.environ
        device_id = None if alone else self.record.fields["device"]
        wanted = first_dump.Wanted(
            self.dump_path, data_index, self.since, device_id, section.graph_name,
            section.operators + self.config.layers if section.graph_known else [], self.steps)
        return first_dump.Watcher(
            wanted, forecast.remaining(self.steps, data_index, end),
            lambda: sum(one.index for one in self.journal.sections),
            self._fail if self.strict else None,
            lambda folder: self.lookout.found(section, folder),
            lambda: self.lookout.look(restore=False))

    def _fail(self, error: DumpError) -> bool:
        """Called by the watcher; True while training has not heard of it."""
        if self.failure is None:
            self.failure = error
        fit = self.active_fit
        if fit is not None:
            fit.section.next_wanted = -1
        return not self._failure_raised

    def raise_failure(self) -> None:
        """Raises what the watcher found, once.

        Raises:
          DumpError: the first dump has not come, or fills the disk.
        """
        error = self.failure
        if error is not None and not self._failure_raised:
            self._failure_raised = True
            raise error

    @property
    def is_of_run(self) -> bool:
        """Whether `keras-npu-dump run` has asked for it."""
        return RUN in self.faces

    def collect(self, settled: Optional[bool] = None, write: bool = True) -> Manifest:
        """Pairs what this process left on disk; writes its manifest.

        Args:
          settled: nothing more is on its way from the device. Defaults to whether this is
            closed, which comes after the device.
          write: whether manifest.json is written. Defaults to True.

        Returns:
          Pairs and problems of this process.

        Raises:
          DumpError: the dump folder cannot be read.
        """
        self.look_at_device()
        known = {"record": self.record.fields, "journal": self.journal.unwritten,
                 "closed": self.closed if settled is None else settled}
        return collect(self.dump_path, run_id=self.record.run_id, known=known, write=write)

    def manifest(self) -> Manifest:
        """What `collect` finds now; while nothing was counted since, what it found before.

        Files come a while after their execution, so an old answer is asked for anew.
        """
        if self.final is not None:
            return self.final
        now = time.monotonic()
        state = (self.journal.lines, sum(one.index for one in self.journal.sections), self.closed)
        if self._answer is None or self._answer[0] != state or now > self._answer[1]:
            manifest = self.collect()
            self._printed = self._last_printed()
            self._answer = (state, time.monotonic() + _FRESH, manifest)
        return self._answer[2]

    def was_printed(self, manifest: Manifest) -> bool:
        """Whether the script has printed the pairs of a manifest itself.

        Args:
          manifest: what was collected at the end.
        """
        printed = self._last_printed()
        return printed is not None and [(one.graph, one.confidence, one.steps) for one in
                                        printed.pairs] == [
            (one.graph, one.confidence, one.steps) for one in manifest.pairs]

    def _last_printed(self) -> Optional[Manifest]:
        answer = None if self._answer is None else self._answer[2]
        return answer if answer is not None and answer.printed else self._printed

    def close(self) -> None:
        """Writes what is known at the end of the process. Safe to call twice."""
        if self.closed or os.getpid() != self.pid:
            return
        with sigterm.held_back():
            with ending.uninterrupted():
                self.closed = True
                if self._watcher is not None:
                    self._watcher.stop()
                ending.write_records(self)
            ending.tell_and_collect(self)


def _reference(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value
