"""The environment variables that decide about graphs and dumps, and who wins.

GE reads DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL and DUMP_GRAPH_FORMAT at each graph it
dumps, the folder only once, at the first (ge, graph_utils.cc).
"""
import os
import time
from typing import Dict

from keras_npu_dump import liveness, ranks
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.records.layout import GRAPHS, graph_places

# What a later reader of a run must know to explain what it finds.
RECORDED = (
    "DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_FORMAT", "DUMP_GRAPH_PATH",
    "NPU_COLLECT_PATH", "NPU_COLLECT_PATH_EXE", "ASCEND_WORK_PATH", "ASCEND_DUMP_PATH",
    "ASCEND_DUMP_SCENE", "NPU_LOOP_SIZE", "AOE_MODE",
    "ASCEND_DEVICE_ID", "ASCEND_RT_VISIBLE_DEVICES", "RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE",
    "CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP",
    *ranks.LAUNCHED,
    "TF_ENABLE_ONEDNN_OPTS", "KERAS_NPU_DUMP_EMULATE_CANN",
)


# Who has set DUMP_GRAPH_PATH, and to what: children inherit it, and GE reads it nowhere else.
_SET_BY = "KERAS_NPU_DUMP_GRAPH_PATH_SET_BY"


def recorded_environment() -> Dict[str, str]:
    """The variables of `RECORDED` that are set, by name."""
    return {name: os.environ[name] for name in RECORDED if name in os.environ}


def process_start() -> float:
    """Seconds since 1970 when this process began; an hour ago where Linux does not tell."""
    began = liveness.began(os.getpid())
    return time.time() - 3600.0 if began is None else began


def _forget_other_process() -> None:
    """Takes out what a parent process has set that was itself started by `run`.

    The folder of the outer `run` is not the user's word, and graphs of the inner one must
    not go there.
    """
    process, _, path = os.environ.get(_SET_BY, "").partition(":")
    if process and process != str(os.getpid()) and os.environ.get("DUMP_GRAPH_PATH") == path:
        del os.environ["DUMP_GRAPH_PATH"], os.environ[_SET_BY]


def set_graph_environment(config: DumpConfig, dump_path: str) -> None:
    """Asks GE for the executed graphs, where the user has set nothing else.

    Args:
      config: what is dumped; nothing is done where its `graph` is False.
      dump_path: the dump folder, absolute.

    Raises:
      ConfigError: their folder cannot be made.
    """
    if not config.graph:
        return
    _forget_other_process()
    graphs = os.path.abspath(config.graph_path or os.path.join(dump_path, GRAPHS))
    for name, value in (("DUMP_GE_GRAPH", "2"), ("DUMP_GRAPH_PATH", graphs),
                        ("DUMP_GRAPH_LEVEL", config.graph_level)):
        os.environ.setdefault(name, value)
    if os.environ["DUMP_GRAPH_PATH"] == graphs:
        os.environ[_SET_BY] = "%d:%s" % (os.getpid(), graphs)
        try:
            make_private(graphs)
        except OSError as error:
            raise ConfigError("graph_path: expected a folder, or a place where one can be made."
                              " Received: %r (%s)." % (graphs, error.strerror)) from None


def graph_folder() -> str:
    """Where GE writes graph files of this process, or the folder above its pid folder."""
    return graph_places(os.environ)[0].folder or current_folder()
