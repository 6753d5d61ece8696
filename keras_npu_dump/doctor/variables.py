"""The environment variables that decide about graphs and dumps: what each does here, and
who wins where several decide the same."""
import os
from typing import List, Mapping, NamedTuple, Optional, Tuple

from keras_npu_dump import ranks
from keras_npu_dump.capture.device import fusion_result, loop_size
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.doctor.finding import Finding
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.records.layout import GRAPHS, graph_places

# What a script writes before the name of an option.
OPTION = "global_options()."
# What the numbers of DUMP_GRAPH_LEVEL ask for (GE, graph_utils.cc).
_LEVELS = {"1": "all but those of parts of graphs", "2": "the twelve that GE has chosen",
           "3": "Build alone, the executed graphs",
           "4": "PreRunBegin alone, graphs before they are compiled"}


_IF_SET = {
    "NPU_COLLECT_PATH": "would take the graph files to extra-info/graph below it, whatever the"
                        " others say",
    "ASCEND_WORK_PATH": "would take the graph files where none of the two above does"}


class Variable(NamedTuple):
    """An environment variable, or an option of the device.

    Attributes:
      name: as the shell, or a script, knows it.
      value: its value; None where it is not set, and of an option, which only a script sets.
      effect: what it does to a dump, in words.
      decides: whether it does so although nobody has set it.
    """

    name: str
    value: Optional[str]
    effect: str
    decides: bool = False


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
            effect = _IF_SET[name]
        found.append(Variable(name, values.get(name), effect, name == winner))
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
            ("AOE_MODE", "tuning; not together with a dump"),
            ("NPU_COLLECT_PATH_EXE", "dumps exceptions in full, as NPU_COLLECT_PATH does where it"
             " is set; has no say about graph files"),
            ("ASCEND_DUMP_SCENE", "dumps what an AI Core was given that fails; wins over"
             " enable_exception_dump and NPU_COLLECT_PATH"),
            ("ASCEND_DUMP_PATH", "where the files of ASCEND_DUMP_SCENE go, before ASCEND_WORK_PATH;"
             " by GE's documentation graph files, too")):
        if name in values or name in ("ASCEND_DEVICE_ID", "RANK_ID", "RANK_SIZE"):
            found.append(Variable(name, values.get(name), effect))
    return found + _options(values, folder), findings


def _options(values: Mapping[str, str], graph_folder: str) -> List[Variable]:
    """Options that are the script's, and that no environment shows."""
    work = values.get("ASCEND_WORK_PATH")
    where = os.path.join(work, "FE", "{pid}") if work else "the working directory"
    return [
        Variable(OPTION + "export_compile_stat", None, "when %s is written to %s: 1, the default,"
                 " at the end, 2 after each compilation, 0 never; it is kept in %s"
                 % (fusion_result.NAME, where, graph_folder)),
        Variable(OPTION + "op_debug_config", None, "a file with switches such as oom and ccec_g:"
                 " operators are compiled another way; with NPU_COLLECT_PATH oom makes them fail"),
        Variable("ge.maxDumpFileNum", None, "graph files with a higher number are not written;"
                 " npu_device has no option for it, so there is no limit"),
    ]


def _graph_variables(config: DumpConfig, values: Mapping[str, str]) -> List[Variable]:
    found = []
    for name, ours, what in (
            ("DUMP_GE_GRAPH", "2", "which graph files are written"),
            ("DUMP_GRAPH_LEVEL", config.graph_level, "at which stages of compiling")):
        if name in values:
            effect = "%s: yours stays" % what
            if name == "DUMP_GRAPH_LEVEL" and values[name] in _LEVELS:
                effect += " (%s)" % _LEVELS[values[name]]
        elif config.graph:
            effect = "%s: set to %s when a dump starts" % (what, ours)
        else:
            effect = "%s: left alone (data_dump_graph=False)" % what
        found.append(Variable(name, values.get(name), effect))
    if "DUMP_GRAPH_FORMAT" in values:
        found.append(Variable("DUMP_GRAPH_FORMAT", values["DUMP_GRAPH_FORMAT"],
                              "in which forms graph files are written: yours stays; ge_proto is"
                              " read here, onnx and readable are not"))
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
