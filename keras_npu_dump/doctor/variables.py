"""The environment variables that decide about graphs and dumps: what each does here, and
who wins where several decide the same."""
import os
from typing import List, Mapping, NamedTuple, Optional, Tuple

from keras_npu_dump import ranks
from keras_npu_dump.capture.device import loop_size
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.doctor.finding import Finding
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.records.layout import GRAPHS, graph_places


class Variable(NamedTuple):
    """An environment variable.

    Attributes:
      name: as the shell knows it.
      value: its value; None where it is not set.
      effect: what it does to a dump, in words.
    """

    name: str
    value: Optional[str]
    effect: str


def examine(config: DumpConfig, dump_path: str,
            environment: Optional[Mapping[str, str]] = None) -> Tuple[List[Variable],
                                                                      List[Finding]]:
    """Looks at the variables that decide about a dump and its graph files.

    Args:
      config: what would be dumped.
      dump_path: the absolute dump folder.
      environment: variables by name. Defaults to `os.environ`.

    Returns:
      The variables, each with its effect, and what is wrong with them.
    """
    values = os.environ if environment is None else environment
    findings: List[Finding] = []
    found = _graph_variables(config, values)
    folder, winner = _graph_folder(config, dump_path, values)
    for name in ("NPU_COLLECT_PATH", "DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"):
        if name == winner:
            effect = "graph files go to %s" % folder
        elif name in values:
            effect = "has no say about graph files: %s wins" % winner
        elif name == "DUMP_GRAPH_PATH":
            effect = "has no say: %s wins" % winner
        else:
            effect = "not set"
        found.append(Variable(name, values.get(name), effect))
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        findings.append(Finding(
            "graph-path", "error", "graph files go to %s (%s), which this user may not write"
            % (folder, winner), "unset %s" % winner))
    size = loop_size.LoopSize(values).value
    found.append(Variable(
        "NPU_LOOP_SIZE", values.get("NPU_LOOP_SIZE"), "one round per call" if size == 1 else
        "loops that are sunk to the device make %d rounds per call, each with a data_index of its"
        " own; Keras with steps_per_execution has to be %d too" % (size, size)))
    for name, effect in (
            ("ASCEND_DEVICE_ID", "the device that open() opens; 0 where it is not set"),
            ("RANK_ID", "this process's rank; where it is not set mpirun or srun say it, else 0"),
            ("RANK_SIZE", "number of processes; one where it is not set"),
            ("RANK_TABLE_FILE", "describes the cluster, together with RANK_ID"),
            ("CM_CHIEF_IP", "describes the cluster, instead of RANK_TABLE_FILE"),
            ("CM_CHIEF_PORT", "port of the chief, with CM_CHIEF_IP"),
            ("CM_CHIEF_DEVICE", "device of the chief, with CM_CHIEF_IP"),
            ("CM_WORKER_SIZE", "number of processes, instead of RANK_SIZE"),
            ("CM_WORKER_IP", "address of this host, with CM_CHIEF_IP"),
            *((name, "rank by the launcher, taken where RANK_ID is not set")
              for name in ranks.LAUNCHED),
            ("AOE_MODE", "tuning; not together with a dump")):
        if name in values or name in ("ASCEND_DEVICE_ID", "RANK_ID", "RANK_SIZE"):
            found.append(Variable(name, values.get(name), effect))
    return found, findings


def _graph_variables(config: DumpConfig, values: Mapping[str, str]) -> List[Variable]:
    found = []
    for name, ours, what in (
            ("DUMP_GE_GRAPH", "2", "which graph files are written"),
            ("DUMP_GRAPH_LEVEL", config.graph_level, "at which stages of compiling")):
        if name in values:
            effect = "%s: yours stays" % what
        elif config.graph:
            effect = "%s: set to %s when a dump starts" % (what, ours)
        else:
            effect = "%s: left alone (data_dump_graph=False)" % what
        found.append(Variable(name, values.get(name), effect))
    if "DUMP_GRAPH_FORMAT" in values:
        found.append(Variable("DUMP_GRAPH_FORMAT", values["DUMP_GRAPH_FORMAT"],
                              "in which forms graph files are written: yours stays"))
    return found


def _graph_folder(config: DumpConfig, dump_path: str,
                  values: Mapping[str, str]) -> Tuple[str, str]:
    """Where graph files will go, and who decides it (ge, graph_utils.cc)."""
    values = dict(values)
    if config.graph:
        values.setdefault("DUMP_GRAPH_PATH", config.graph_path or os.path.join(dump_path, GRAPHS))
    place = graph_places(values)[0]
    folder = os.path.normpath(os.path.join(current_folder(), place.folder))
    return folder, place.variable or "the current folder"
