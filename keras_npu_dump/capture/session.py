"""DumpSession: a dump around a custom training loop, and `apply` for mains."""
import contextlib
from typing import Any, Iterator, Optional, Tuple

from keras_npu_dump.capture import attach
from keras_npu_dump.capture.journal import Section
from keras_npu_dump.capture.process import Capture
from keras_npu_dump.config import DumpConfig
from keras_npu_dump.errors import ConfigError


class _NotGiven:
    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Any = _NotGiven()


def config_of(config: Optional[DumpConfig], **options: Any) -> Tuple[DumpConfig, bool]:
    """The configuration that arguments ask for, and whether they ask for anything."""
    given = {name: value for name, value in options.items() if value is not NOT_GIVEN}
    if config is None:
        return DumpConfig(**given), bool(given)
    if not isinstance(config, DumpConfig):
        raise ConfigError("config: expected a DumpConfig. Received: %r. DumpConfig.from_flags"
                          " makes one of flags." % (config,))
    if given:
        raise ConfigError("expected either config or single options. Received: config and %s."
                          " Use config.replace(...)." % ", ".join(sorted(given)))
    return config, True


def apply(config_or_flags: Any) -> None:
    """Configures device and environment; call it before `npu_device.open()`.

    A callback or session made later in the process attaches to it.

    Args:
      config_or_flags: a DumpConfig, absl FLAGS, an argparse Namespace or any object
        with attributes of the same names. Does nothing where it says dump is off.

    Raises:
      ConfigError: for what GE would reject, and where the script set something else.
      DeviceOpenedError: after `npu_device.open()`, unless it was opened with the same.
      DeviceNotFoundError: without npu_device and without the emulator.
    """
    config = config_or_flags
    if not isinstance(config, DumpConfig):
        config = DumpConfig.from_flags(config)
    attach.start(config, True, "keras_npu_dump.apply")


class DumpSession:
    """A dump around a custom training loop.

    Made before `npu_device.open()` it configures the device; made afterwards it
    attaches to what the device was opened with. Sessions and callbacks of one process
    share one dump.

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
      config: a DumpConfig; instead of it single fields of DumpConfig may be given.
      **options: fields of DumpConfig.

    Attributes:
      manifest: pairs and problems of this process, collected when it is asked for.
    """

    def __init__(self, config: Optional[DumpConfig] = None, **options: Any):
        config, asked = config_of(config, **options)
        self._capture = attach.start(config, asked, "DumpSession")
        self._section: Optional[Section] = None
        self._fit = 0
        self._epoch = 0
        self._batch = 0

    @property
    def manifest(self) -> Any:
        return manifest_of(self._capture)

    def __enter__(self) -> "DumpSession":
        if self._capture is not None:
            self._fit = self._capture.journal.start_fit("loop", None, None)
            self._section = self._capture.section(self, None)
            self._epoch = self._batch = 0
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._capture is not None:
            self._capture.journal.counts(final=False)

    def next_epoch(self) -> None:
        """Says that the next step is batch 0 of a new epoch."""
        if self._batch:
            self._epoch += 1
            self._batch = 0

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Counts one execution of the training graph; enter it around each step."""
        if self._capture is None:
            yield
            return
        if self._section is None:
            raise RuntimeError("expected `with dump:` around the loop before `with dump.step():`")
        section = self._section
        index = section.index
        section.index = index + 1
        if index >= section.next_wanted:
            self._capture.journal.execution(
                section, index, {"fit": self._fit, "epoch": self._epoch, "batch": self._batch})
        self._batch += 1
        yield


def manifest_of(capture: Optional[Capture]) -> Any:
    """The manifest of this process so far; None where dump is switched off."""
    return None if capture is None else capture.collect()
