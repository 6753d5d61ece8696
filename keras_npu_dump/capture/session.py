"""DumpSession: a dump around a custom training loop, and `apply` for mains."""
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Optional, Type

from keras_npu_dump.capture import attach
from keras_npu_dump.capture.counting.custom_loop import HandLoop
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.capture.process.raised import is_end_of_data, is_of_tracing
from keras_npu_dump.capture.process.strict import check_training
from keras_npu_dump.capture.this_process import of_this_process
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.config.options import documented

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_npu_dump.config.options import DumpOptions
    from keras_npu_dump.records.manifest import Manifest


@documented
def apply(config_or_flags: Any = None, **options: "Unpack[DumpOptions]") -> None:
    """Configures device and environment; call it before `npu_device.open()`.

    A callback or session made later in the process attaches to it.

    Args:
      config_or_flags: a DumpConfig, or absl FLAGS, an argparse Namespace or any object
        with attributes of the same names; nothing happens where it switches dump off.
        Single options win over flags. Defaults to the options alone.
      {options}

    Raises:
      ConfigError: for what GE would reject, and where the script set something else.
      DeviceOpenedError: after `npu_device.open()`, unless it was opened with the same.
      DeviceNotFoundError: without npu_device and without the emulator.
    """
    if config_or_flags is None or isinstance(config_or_flags, DumpConfig):
        config = DumpConfig.of(config_or_flags, **options)
    else:
        config = DumpConfig.from_flags(config_or_flags, **options)
    attach.start(config, "keras_npu_dump.apply")


@documented
class DumpSession:
    """A dump around a custom training loop.

    Made before `npu_device.open()` it configures the device; made afterwards it
    attaches to what the device was opened with. Sessions and callbacks of one process
    share one dump, and so do copies of them. A session that is off counts all the same where
    `keras-npu-dump run` dumps.

    Example:

    ```python
    dump = DumpSession(dump_step="0|5")
    npu_device.open().as_default()
    with dump:
        for batch in dataset:
            with dump.step():
                train_step(batch)
    dump.manifest
    ```

    Args:
      config: a DumpConfig, instead of single options. Defaults to None.
      {options}

    Attributes:
      manifest: pairs and problems of this process, collected when it is asked for.

    Raises:
      IncompleteDumpError: with `strict`, at the end of `with dump:`, where a step was
        executed and its dump is not there, or not whole.
    """

    def __init__(self, config: Optional[DumpConfig] = None,
                 **options: "Unpack[DumpOptions]") -> None:
        self._capture = attach.start(DumpConfig.of(config, **options), "DumpSession")
        self._loop: Optional[HandLoop] = None
        self._batch = 0
        self._is_copy = False

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in vars(self).items()
                 if name not in ("_capture", "_loop", "_batch")}
        return dict(state, _is_copy=self._capture is not None or self._is_copy)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._capture = attach.current() if self._is_copy else None
        self._loop = None
        self._batch = 0

    @property
    def manifest(self) -> "Optional[Manifest]":
        """Pairs and problems of this process so far; None where dump is switched off."""
        return manifest_of(self._capture)

    def __enter__(self) -> "DumpSession":
        if self._capture is None:
            self._capture = (attach.of_copy("DumpSession") if self._is_copy
                             else attach.of_run())
        if self._capture is not None:
            self._capture = of_this_process(self._capture)
            self._loop = HandLoop(self._capture, self)
            self._batch = 0
        return self

    def __exit__(self, kind: Optional[Type[BaseException]] = None,
                 error: Optional[BaseException] = None,
                 trace: Optional[TracebackType] = None) -> None:
        if self._capture is None:
            return
        self._capture.lookout.look()
        self._capture.journal.counts(final=False)
        if kind is None:
            check_training(self._capture)

    def next_epoch(self) -> None:
        """From here on steps are counted as batches of a new epoch."""
        if self._batch and self._loop is not None:
            self._loop.epoch += 1
            self._batch = 0
        if self._capture is not None:
            self._capture.lookout.look()

    def step(self, batches: int = 1) -> "_Step":
        """Counts one call of the training function; enter it around each.

        Args:
          batches: how many batches the call trains, where it loops itself. Defaults to 1.

        Returns:
          A context manager; an exception that leaves it is passed on.

        Raises:
          RuntimeError: outside of `with dump:`.
          ValueError: for less than a batch.
        """
        if self._capture is None:
            return _Step(self, None, 0, 1)
        if self._loop is None:
            raise RuntimeError("expected `with dump:` around the loop before `with dump.step():`")
        if batches < 1:
            raise ValueError("batches: expected 1 or more. Received: %r" % (batches,))
        batch, self._batch = self._batch, self._batch + batches
        return _Step(self, self._loop, batch, batches)


class _Step:
    """One call, see `DumpSession.step`."""

    __slots__ = ("_batch", "_batches", "_loop", "_session")

    def __init__(self, session: DumpSession, loop: Optional[HandLoop], batch: int, batches: int):
        self._session = session
        self._loop = loop
        self._batch = batch
        self._batches = batches

    def __enter__(self) -> None:
        if self._loop is not None:
            self._loop.begin(self._batch, self._batches)

    def __exit__(self, kind: Any, error: Any = None, trace: Any = None) -> None:
        if self._loop is None:
            return
        if kind is None:
            self._loop.end()
            return
        # next(iterator) at the end of the data: the function was not called any more, or it
        # has met the end itself; either way the step was no batch.
        ended = is_end_of_data(error)
        self._loop.interrupted(False if ended or is_of_tracing(error) else None)
        if ended:
            self._session._batch = self._batch


def manifest_of(capture: Optional[Capture]) -> "Optional[Manifest]":
    """The manifest of this process so far.

    Args:
      capture: of this process, or of the process that it was forked from.

    Returns:
      A Manifest; None where dump is switched off.
    """
    return None if capture is None else of_this_process(capture).manifest()
