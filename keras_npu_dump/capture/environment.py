"""The environment variables that decide about graphs and dumps, and who wins.

GE reads DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL and DUMP_GRAPH_FORMAT at each graph it
dumps, the folder only once, at the first (ge, graph_utils.cc).
"""
import os
from typing import Dict

from absl import logging

from keras_npu_dump.config import DumpConfig

# What a later reader of a run must know to explain what it finds.
RECORDED = (
    "DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_FORMAT", "DUMP_GRAPH_PATH",
    "NPU_COLLECT_PATH", "ASCEND_WORK_PATH", "NPU_LOOP_SIZE", "AOE_MODE",
    "ASCEND_DEVICE_ID", "RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE",
    "CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP",
    "TF_ENABLE_ONEDNN_OPTS", "KERAS_NPU_DUMP_EMULATE_CANN",
)


def recorded_environment() -> Dict[str, str]:
    return {name: os.environ[name] for name in RECORDED if name in os.environ}


def rank() -> int:
    """RANK_ID, 0 where it is not set or is not a number."""
    return _number("RANK_ID", 0)


def rank_size() -> int:
    return _number("RANK_SIZE", _number("CM_WORKER_SIZE", 1))


def device_id() -> int:
    """The device that `npu_device.open()` without an argument opens."""
    return _number("ASCEND_DEVICE_ID", 0)


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name) or default)
    except ValueError:
        return default


def set_graph_environment(config: DumpConfig, dump_path: str) -> None:
    """Asks GE for the executed graphs, where the user has not said otherwise."""
    if not config.graph:
        return
    graphs = os.path.abspath(config.graph_path or os.path.join(dump_path, "graphs"))
    for name, value in (("DUMP_GE_GRAPH", "2"), ("DUMP_GRAPH_PATH", graphs),
                        ("DUMP_GRAPH_LEVEL", config.graph_level)):
        os.environ.setdefault(name, value)
    if os.environ["DUMP_GRAPH_PATH"] == graphs:
        os.makedirs(graphs, mode=0o700, exist_ok=True)
    if os.environ["DUMP_GE_GRAPH"] not in ("1", "2", "3"):
        logging.warning(
            "DUMP_GE_GRAPH=%s writes no graphs. Unset it, or set it to 2, to get the graph that"
            " belongs to the dump.", os.environ["DUMP_GE_GRAPH"])


def graph_folder() -> str:
    """Where GE writes graph files of this process, or the folder above its pid folder."""
    if "NPU_COLLECT_PATH" in os.environ:
        return os.path.join(os.environ["NPU_COLLECT_PATH"], "extra-info", "graph")
    for name in ("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"):
        if name in os.environ:
            return os.environ[name] or os.getcwd()
    return os.getcwd()
