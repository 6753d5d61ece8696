"""Scripts of TensorFlow 1: their graphs run in sessions, of which npu_device sees nothing."""
import sys
from typing import Any, Optional


def hint() -> Optional[str]:
    """What is to be told of such a script; None of any other.

    npu_device executes functions; the graphs of sessions are executed, and dumped, by
    npu_bridge (the adapter for TensorFlow 1), whose options are read when a session starts.
    """
    why = _why()
    return None if why is None else (
        "The script runs graphs of TensorFlow 1 in sessions (%s), and npu_device dumps functions"
        " of TensorFlow 2 only: those graphs are dumped by npu_bridge, with enable_dump, dump_path,"
        " dump_step and dump_mode of its DumpConfig." % why)


def _why() -> Optional[str]:
    if "npu_bridge" in sys.modules:
        return "npu_bridge is imported"
    tensorflow: Any = sys.modules.get("tensorflow")
    try:
        eager = tensorflow.compat.v1.executing_eagerly_outside_functions()
    except Exception:  # not imported, not to the end, or without that function
        return None
    return None if eager else "eager execution is off"
