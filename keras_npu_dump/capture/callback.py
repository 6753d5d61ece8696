"""NpuDumpCallback: the Keras face of a dump."""
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional

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
from keras_npu_dump.config.options import documented

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_npu_dump.config.options import DumpOptions
    from keras_npu_dump.records.manifest import Manifest


class _Training(NamedTuple):
    """A fit, or a loop by hand, that goes on while another one runs inside it."""

    caller: nested_fits.Caller
    fit: Optional[Fit]
    loop: Optional[HandLoop]
    mute: bool
    model: Any
    params: Any


@documented
class NpuDumpCallback(tf.keras.callbacks.Callback):
    """Dumps operators' data of chosen iterations, and the graphs that were executed.

    Made before `npu_device.open()` it configures the device, as the options are read
    there once. Made afterwards it attaches to a device that was opened with the same
    options, or with any if it asks for nothing. While training runs it only counts:
    each training batch is one execution of the training graph on the device, and its
    number is the data_index of the dump. Validation, evaluation and prediction do not
    disturb the count; `compile()` starts it again.

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

    def __init__(self, *, config: Optional[DumpConfig] = None,
                 **options: "Unpack[DumpOptions]") -> None:
        super().__init__()
        # Keras 2: without it every batch's logs are fetched from the device.
        self._supports_tf_logs = True
        self._capture = attach.start(DumpConfig.of(config, **options), "NpuDumpCallback")
        self._fit: Optional[Fit] = None
        self._loop: Optional[HandLoop] = None
        self._mute = self._capture is None
        self._caller: Optional[nested_fits.Caller] = None  # of the training that goes on
        self._outer: List[_Training] = []  # that goes on around this one
        self._known_model: Any = None  # of the training that goes on
        self._known_params: Any = None

    @property
    def active(self) -> bool:
        """Whether it dumps and counts; False where dump is switched off."""
        return self._capture is not None

    @property
    def manifest(self) -> "Optional[Manifest]":
        """Pairs and problems of this process so far; None where dump is switched off."""
        return manifest_of(self._capture)

    def on_train_begin(self, logs: Any = None) -> None:
        self._join_run()
        if self._capture is None:
            return
        self._capture = of_this_process(self._capture)
        caller = nested_fits.Caller(self)
        if self._caller is not None:
            self._outer.append(_Training(self._caller, self._fit, self._loop, self._mute,
                                         self._known_model, self._known_params))
        self._outer = [one for one in self._outer if one.caller.holds(caller)]
        self._caller, self._fit, self._loop, self._mute = caller, None, None, False
        # Keras 2 gives a callback no `params` before it is told of some.
        self._known_model, self._known_params = self.model, getattr(self, "params", None)
        function = train_function.of_model(self.model)
        if function is None:
            # No fit(): a script calls the hooks by hand, perhaps without a model.
            self._loop = HandLoop(self._capture, self, self.model)
        elif train_function.runs_eagerly(function):
            self._mute = True
            self._capture.note_eager()
            messages.warning(
                "run_eagerly=True: no training graph is executed on the device, so there is"
                " nothing to dump and nothing to count for %s.", self.model.name)
        else:
            self._fit = begin_fit(self._capture, self, self.model, self._known_params, caller)
            self._mute = self._fit is None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._join_run()
        if self._outer:
            self._come_back()
        if self._fit is not None:
            self._fit.begin_epoch(epoch)
        elif not self._mute:
            self._by_hand().epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        fit = self._fit
        if fit is None:
            if not self._mute:
                self._by_hand().begin(batch)
            return
        section = fit.section
        index = section.index
        section.index = index + 1
        fit.begun += 1
        if index >= section.next_wanted or fit.traces() != fit.traced:
            fit.notice(index, batch)
        fit.last = (fit.epoch, batch)
        fit.fresh = False

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        fit = self._fit
        if fit is None:
            if not self._mute and self._loop is not None:
                self._loop.end(batch)
            return
        with fit.lock:
            fit.ended += 1
        if fit.describe_pending:
            fit.describe()

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """For loops that call hooks by hand, under the name that Keras had first."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._outer:
            self._come_back()
        if self._fit is not None:
            self._fit.end_epoch()

    def on_train_end(self, logs: Any = None) -> None:
        if self._outer:
            self._come_back()
        fit = self._fit
        if fit is not None:
            fit.end()
        if self._outer:
            self._restore(self._outer.pop())
            return
        # Batch hooks that come after a fit are not those of a loop by hand.
        counted = fit is not None or self._loop is not None
        self._fit = self._loop = self._caller = None
        self._mute = self._mute or fit is not None
        if counted and self._capture is not None and self._capture.active_fit is None:
            check_training(self._capture)

    def _join_run(self) -> None:
        """Off, and the hooks are called by hand: nobody else counts them for `run`."""
        if self._capture is None and train_function.of_model(self.model) is None:
            self._capture = attach.of_run()
            self._mute = self._capture is None

    def _come_back(self) -> None:
        """A fit inside another was left by an exception, and the other one goes on."""
        assert self._capture is not None
        caller = nested_fits.Caller(self)
        if self._caller is None or self._caller.is_same(caller):
            return
        for position, one in enumerate(self._outer):
            if one.caller.is_same(caller):
                unwind(self._capture, caller, itself=True)
                del self._outer[position:]
                self._restore(one)
                return

    def _restore(self, training: "_Training") -> None:
        self._caller, self._fit, self._loop, self._mute, model, params = training
        self._known_model, self._known_params = model, params
        self.set_model(model)
        self.set_params(params)

    def _by_hand(self) -> HandLoop:
        if self._loop is None:
            assert self._capture is not None
            self._loop = HandLoop(self._capture, self, self.model)
        return self._loop
