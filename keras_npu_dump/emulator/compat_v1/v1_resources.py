"""What the TensorFlow 1 adapter opens and closes: nothing is there to be opened here."""
from __future__ import annotations

from typing import Any

from keras_npu_dump import messages
from keras_npu_dump.emulator.compat_v1 import v1_checks
from keras_npu_dump.emulator.compat_v1.v1_words import say_sessions_are_not_dumped
from keras_npu_dump.emulator.operators import gen_npu_ops

# The adapter's library, as `npu_bridge` and its helper show it.
npu_bridge_handle: Any = None


def get_gen_ops() -> Any:
    """The adapter's operators: those of `npu_device.gen_npu_ops`."""
    return gen_npu_ops


def npu_resource_init(graph_run_mode: int = 1, op_debug_level: int = 0,
                      enable_profiling: bool = False, profiling_options: Any = None,
                      enable_exception_dump: int = 2, **further: Any) -> None:
    """Checks what the adapter checks, and says that sessions are not dumped.

    Args:
      graph_run_mode: 0 or 1.
      op_debug_level, enable_exception_dump: from 0 on.
      enable_profiling: whether; then `profiling_options` are needed.
      further: without effect.

    Raises:
      TypeError, ValueError: another value.
    """
    del further
    for value, name in ((graph_run_mode, "graph_run_mode"),
                        (enable_exception_dump, "enable_exception_dump"),
                        (op_debug_level, "op_debug_level")):
        v1_checks.check_nonnegative_integer(value, name)
    if graph_run_mode > 1:
        raise ValueError('"graph_run_mode" value must be 0 or 1')
    v1_checks.check_bool_type(enable_profiling, "enable_profiling")
    if enable_profiling and profiling_options is None:
        raise ValueError("profiling_options must be set when use profiling")
    say_sessions_are_not_dumped()


def npu_resource_shutdown() -> None:
    """Nothing: sessions have opened nothing."""


def npu_close() -> None:
    """Nothing: sessions have opened nothing."""


class Profiler:
    """A stretch that a device would profile; here it says that nothing is.

    Args:
      level, aic_metrics, output_path: texts.

    Raises:
      ValueError: no text.
    """

    def __init__(self, *, level: str = "L0", aic_metrics: str = "", output_path: str = ""):
        for name, value in (("level", level), ("aic_metrics", aic_metrics),
                            ("output_path", output_path)):
            if not isinstance(value, str):
                raise ValueError("Option %s should be str, but get type: %s"
                                 % (name, type(value)))

    def __enter__(self) -> "Profiler":
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Says that there is no profile."""
        messages.info("emulator: npu_device.compat.v1...Profiler takes no profile; only a device"
                      " has one.")

    def stop(self) -> None:
        """Nothing more."""
