"""NpuDumpCallback: the Keras face of a dump."""
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

import tensorflow as tf

from keras_npu_dump import messages
from keras_npu_dump.capture import attach
from keras_npu_dump.capture.counting import nested_fits
from keras_npu_dump.capture.counting.custom_loop import HandLoop
from keras_npu_dump.capture.counting.fit import Fit, begin_fit, unwind
from keras_npu_dump.capture.model import train_function
from keras_npu_dump.capture.process.strict import check_training
from keras_npu_dump.capture.session import manifest_of
from keras_npu_dump.capture.this_process import of_this_process
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.options import NO_NAME, documented
from keras_npu_dump.errors import UnknownOptionError

if TYPE_CHECKING:
    from typing import NoReturn

    from typing_extensions import Unpack

    from keras_npu_dump.config.options import DumpOptions
    from keras_npu_dump.records.manifest import Manifest

# What a copy does not take along: the training that goes on, and what Keras sets anew.
_NOT_COPIED = frozenset(("_capture", "_now", "_outer", "model", "_model", "params"))


class _Training(NamedTuple):
    """A fit, or a loop by hand, as this callback sees it.

    Attributes:
      mute: its batches are none of ours: dump is off, it runs eagerly, another callback
        counts it, or it has ended.
      fit: the count of a fit, None for anything else.
      loop: the count of a loop by hand, None before its first batch.
      caller: who calls the hooks; None between trainings.
      model: as Keras has set it.
      params: as Keras has set them.
    """

    mute: bool
    fit: Optional[Fit] = None
    loop: Optional[HandLoop] = None
    caller: Optional[nested_fits.Caller] = None
    model: Any = None
    params: Any = None


@documented
class NpuDumpCallback(tf.keras.callbacks.Callback):
    """Dumps operators' data of chosen iterations, and the graphs that were executed.

    Made before `npu_device.open()` it configures the device, as the options are read
    there once. Made afterwards it attaches to a device that was opened with the same
    options, or with any if it asks for nothing. While training runs it only counts:
    each training batch is one execution of the training graph on the device, and its
    number is the data_index of the dump. Validation, evaluation and prediction do not
    disturb the count; `compile()` starts it again. Copies (`copy.deepcopy`, a clone of a
    search, pickle) share the dump of the process that they are in.

    Example:

    ```python
    dump = NpuDumpCallback(dump_path="output/data_dump", dump_step="0|5|10")
    npu_device.open().as_default()
    model = build_model()
    model.compile(...)
    model.fit(dataset, epochs=2, callbacks=[dump])
    dump.manifest
    ```

    Args:
      config: a DumpConfig, instead of single options. Defaults to None.
      {options}

    Attributes:
      manifest: pairs and problems of this process, collected when it is asked for;
        None where dump is switched off.

    Raises:
      ConfigError: for what GE would reject, or where the script set something else.
      DeviceOpenedError: if the device was opened with other options.
      DeviceNotFoundError: without npu_device and without the emulator.
      IncompleteDumpError: with `strict`, at the end of a fit, where a step was executed
        and its dump is not there, or not whole.
    """

    # Keras 3: the end hook may run in another thread; it only counts.
    async_safe = True

    def __init__(self, *positional: "NoReturn", config: Optional[DumpConfig] = None,
                 **options: "Unpack[DumpOptions]") -> None:
        if positional:
            raise UnknownOptionError(NO_NAME % positional[:1])
        super().__init__()
        # Keras 2: without it every batch's logs are fetched from the device.
        self._supports_tf_logs = True
        self._capture = attach.start(DumpConfig.of(config, **options), "NpuDumpCallback")
        self._now = _Training(mute=self._capture is None)
        self._outer: List[_Training] = []  # what goes on around it, the innermost last
        self._is_copy = False

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}
        return dict(state, _is_copy=self._capture is not None or self._is_copy)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(state)
        self._capture = attach.current() if self._is_copy else None
        self._now = _Training(mute=self._capture is None)
        self._outer = []

    @property
    def active(self) -> bool:
        """Whether it dumps and counts; False where dump is switched off."""
        return self._capture is not None

    @property
    def manifest(self) -> "Optional[Manifest]":
        """Pairs and problems of this process so far; None where dump is switched off."""
        return manifest_of(self._capture)

    def on_train_begin(self, logs: Any = None) -> None:
        """A fit begins, or a script calls the hooks of a loop by hand.

        Args:
          logs: not used, here and in every other hook.
        """
        self._join_run()
        if self._capture is None:
            return
        capture = self._capture = of_this_process(self._capture)
        caller = nested_fits.Caller(self)
        self._outer = [one for one in [*self._outer, self._now]
                       if one.caller is not None and one.caller.holds(caller)]
        # Keras 2 gives a callback no `params` before it is told of some.
        now = self._now = _Training(False, caller=caller, model=self.model,
                                    params=getattr(self, "params", None))
        function = train_function.of_model(self.model)
        if function is None:
            # No fit(): a script calls the hooks by hand, perhaps without a model.
            self._now = now._replace(loop=HandLoop(capture, self, self.model))
        elif train_function.runs_eagerly(function):
            self._now = now._replace(mute=True)
            capture.note_eager()
            messages.warning(
                "%s: no training graph is executed on the device, so there is nothing to dump and"
                " nothing to count for %s.", "tf.config.run_functions_eagerly(True) is as"
                " run_eagerly=True" if train_function.functions_run_eagerly() else
                "run_eagerly=True", self.model.name)
        else:
            fit = begin_fit(capture, self, self.model, now.params, caller)
            self._now = now._replace(fit=fit, mute=fit is None)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """An epoch begins.

        Args:
          epoch: its number, from 0 or from the fit's initial_epoch.
          logs: not used.
        """
        self._join_run()
        self._come_back()
        if self._now.fit is not None:
            self._now.fit.begin_epoch(epoch)
        elif not self._now.mute:
            self._by_hand().epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Counts an execution; all that a batch costs that is not dumped.

        Args:
          batch: number of its first batch in the epoch, from 0.
          logs: not used.

        Raises:
          DumpError: with `strict`, where an earlier dump has not come.
        """
        fit = self._now.fit
        if fit is None:
            if not self._now.mute:
                self._by_hand().begin(batch)
            return
        section = fit.section
        index = section.index
        if index >= section.next_wanted or fit.traces() != fit.traced:
            fit.notice(batch)
        else:
            section.index = index + 1
            fit.begun += 1
        fit.last = (fit.epoch, batch)
        fit.fresh = False

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """The execution has ended; on Keras 3 in any thread.

        Args:
          batch: number of its last batch in the epoch, from 0.
          logs: not used.
        """
        fit = self._now.fit
        if fit is None:
            if not self._now.mute and self._now.loop is not None:
                self._now.loop.end(batch)
            return
        with fit.lock:
            fit.ended += 1
        if fit.describe_pending:
            fit.describe()

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """For loops that call hooks by hand, under the name that Keras had first."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """As `on_batch_begin`."""
        self.on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """An epoch ends.

        Args:
          epoch: its number.
          logs: not used.
        """
        self._come_back()
        if self._now.fit is not None:
            self._now.fit.end_epoch()

    def on_train_end(self, logs: Any = None) -> None:
        """The fit has ended well.

        Args:
          logs: not used.

        Raises:
          IncompleteDumpError: with `strict`, where a dump is missing or not whole.
        """
        self._come_back()
        ended = self._now
        if ended.fit is not None:
            ended.fit.end()
        if self._outer:
            self._go_on_with(self._outer.pop())
            return
        # Batch hooks that come after a fit are not those of a loop by hand.
        self._now = _Training(mute=ended.mute or ended.fit is not None)
        counted = ended.fit is not None or ended.loop is not None
        if counted and self._capture is not None and self._capture.active_fit is None:
            check_training(self._capture)

    def on_test_begin(self, logs: Any = None) -> None:
        """An evaluation begins, or the validation of a fit: nothing of it is counted.

        Args:
          logs: not used.
        """
        if self._capture is not None:
            of_this_process(self._capture).note_given_to("evaluate()")

    def on_predict_begin(self, logs: Any = None) -> None:
        """A prediction begins: nothing of it is counted.

        Args:
          logs: not used.
        """
        if self._capture is not None:
            of_this_process(self._capture).note_given_to("predict()")

    def _join_run(self) -> None:
        """Off, and the hooks are called by hand: nobody else counts them for `run`."""
        if self._capture is None and self._is_copy:
            self._capture = attach.of_copy("NpuDumpCallback")
            self._now = self._now._replace(mute=self._capture is None)
        if self._capture is None and train_function.of_model(self.model) is None:
            self._capture = attach.of_run()
            self._now = self._now._replace(mute=self._capture is None)

    def _come_back(self) -> None:
        """Goes on with the outer fit, where an inner one was left by an exception."""
        if not self._outer:
            return
        assert self._capture is not None
        caller = nested_fits.Caller(self)
        if self._now.caller is None or self._now.caller.is_same(caller):
            return
        for position, one in enumerate(self._outer):
            if one.caller is not None and one.caller.is_same(caller):
                unwind(self._capture, caller, itself=True)
                del self._outer[position:]
                self._go_on_with(one)
                return

    def _go_on_with(self, training: _Training) -> None:
        """The fit inside has told this callback of its own model and parameters."""
        self._now = training
        self.set_model(training.model)
        self.set_params(training.params)

    def _by_hand(self) -> HandLoop:
        loop = self._now.loop
        if loop is None:
            assert self._capture is not None
            loop = HandLoop(self._capture, self, self.model)
            self._now = self._now._replace(loop=loop)
        return loop
