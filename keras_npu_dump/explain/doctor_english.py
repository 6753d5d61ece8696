"""The explanations of doctor's codes in English; `doctor_chinese.py` says the same."""
from typing import Dict

from keras_npu_dump.explain.explanation import Explanation

EXPLANATIONS: Dict[str, Explanation] = {
    "no-tensorflow": Explanation(
        "TensorFlow is not installed in this Python.",
        "Another environment is active than the one of the training, or none.",
        "Activate the environment of the training, or install TensorFlow 2.6.5, which npu_device"
        " is made for."),
    "tensorflow-version": Explanation(
        "The TensorFlow of this Python is not the one that npu_device is made for.",
        "npu_device is built against TensorFlow 2.6.5; with another one its import fails, or a"
        " training does.",
        "Use the environment of the training, with TensorFlow 2.6.5."),
    "no-device": Explanation(
        "npu_device is not installed here, so there is nothing that could dump.",
        "This machine has no NPU, or another Python environment is active.",
        "On an Ascend host install the one that belongs to its CANN. Elsewhere rehearse with"
        " `keras-npu-dump run --emulate SCRIPT`."),
    "device-import": Explanation(
        "npu_device is installed, and importing it fails.",
        "The libraries of CANN are not found: this shell has not sourced set_env.sh, or CANN and"
        " npu_device are of different versions.",
        "Source set_env.sh of CANN in this shell and ask `keras-npu-dump doctor` again."),
    "no-npu": Explanation(
        "npu_device is installed, and no NPU is seen (/dev/davinci*).",
        "The machine has none, its driver is not loaded, or the container was started without"
        " the devices.",
        "In a container, give it the devices when it is started."),
    "device-id": Explanation(
        "The device that would be opened is not among those that are seen here.",
        "ASCEND_DEVICE_ID names a number that this machine or container does not have.",
        "Set ASCEND_DEVICE_ID to one of the numbers that the message lists."),
    "real-device": Explanation(
        "The emulator was asked for where the real npu_device is installed.",
        "The emulator takes the place of npu_device where there is none, and never of a real"
        " one.",
        "Leave out --emulate, or use a Python environment without npu_device."),
    "cluster": Explanation(
        "The variables that describe the job of several processes contradict each other, or are"
        " incomplete.",
        "npu_device takes either RANK_TABLE_FILE with RANK_ID and RANK_SIZE, or CM_CHIEF_IP,"
        " CM_CHIEF_PORT, CM_CHIEF_DEVICE, CM_WORKER_IP and CM_WORKER_SIZE; a number may be none,"
        " too.",
        "Set those of one of the two ways, and unset the others; the message names what is"
        " missing."),
    "ranks": Explanation(
        "data_dump_ranks does not fit this job, or leaves this process out.",
        "It names ranks that a job of this size does not have, or this process is none of them,"
        " which may be what you want.",
        "Give ranks below RANK_SIZE, or leave data_dump_ranks out to dump on all."),
    "dump-path": Explanation(
        "The dump folder cannot be used.",
        "A file stands where a folder is needed, this user may not read and write there, or the"
        " path is too long for the names of dump files.",
        "Choose another data_dump_path, or change who may write there."),
    "path-name": Explanation(
        "The vendor's comparator will refuse the path of the dump folder.",
        "Its pattern of paths has letters, digits and ./_:=- only; a blank or another sign is in"
        " the path.",
        "Choose another data_dump_path, or export to a plain one: `keras-npu-dump export`. All"
        " commands here take the path as it is."),
    "in-container": Explanation(
        "The dump folder lies in the container's own file system, and is gone with it.",
        "The container was started without a folder of its host at that place.",
        "Mount a folder of the host there and let data_dump_path lie in it, or copy the dump out"
        " before the container is removed (`docker cp`)."),
    "earlier-runs": Explanation(
        "The dump folder holds dumps of earlier runs.",
        "The same data_dump_path was used before.",
        "Nothing: each run has its own time folder and records. For a folder of its own choose"
        " another data_dump_path."),
    "graph-path": Explanation(
        "Graph files would go to a folder that this user may not write.",
        "A variable takes them there: NPU_COLLECT_PATH, DUMP_GRAPH_PATH or ASCEND_WORK_PATH, in"
        " this order.",
        "Unset the variable that the message names, or change who may write there."),
    "aoe": Explanation(
        "AOE_MODE asks for tuning, in which graphs are compiled another way.",
        "It was set for a tuning run and is still set in this shell.",
        "Unset AOE_MODE to dump."),
    "collect-path": Explanation(
        "NPU_COLLECT_PATH or NPU_COLLECT_PATH_EXE switches exception dump on.",
        "Exception dump silences the data dump of graphs with dynamic shapes; NPU_COLLECT_PATH"
        " also takes the graph files to extra-info/graph below it.",
        "Unset it to dump data."),
    "dump-scene": Explanation(
        "ASCEND_DUMP_SCENE asks for a dump of what an AI Core was given that fails.",
        "aic_err_norm_dump may silence the data dump of graphs with dynamic shapes,"
        " aic_err_detail_dump ends the process at the failure, and any other text has no effect"
        " but that of aic_err_brief_dump.",
        "Unset it to dump data."),
    "dump-path-variable": Explanation(
        "ASCEND_DUMP_PATH may take the graph files elsewhere.",
        "GE's documentation says that graph files go there whatever DUMP_GRAPH_PATH says; its"
        " public source does not read it.",
        "Unset it to be sure. `keras-npu-dump collect` looks in both places."),
    "graph-off": Explanation(
        "DUMP_GE_GRAPH asks for no graph files.",
        "It is 0, or no number that GE knows. While a dump is on, GE writes the executed graphs"
        " all the same, by its public source.",
        "Unset it, or set it to 2, if graph files are missing."),
    "graph-level": Explanation(
        "DUMP_GRAPH_LEVEL leaves out the executed graphs (Build), which are the ones to pair.",
        "It was set to look at other stages of compiling. While a dump is on, GE writes the"
        " executed graphs all the same, by its public source.",
        "Unset it, or set it to 3, if graph files are missing."),
    "graph-format": Explanation(
        "DUMP_GRAPH_FORMAT asks for graph files of other forms than ge_proto, which is the one that"
        " is read here.",
        "It was set for people or for other tools. While a dump is on, GE writes ge_proto files of"
        " the executed graphs all the same, by its public source.",
        "Unset it, or add ge_proto, if graph files are missing."),
    "loop-misspelt": Explanation(
        "NPU_LOOPSIZE is set, which nothing reads.",
        "The variable that npu_device reads is NPU_LOOP_SIZE.",
        "Set NPU_LOOP_SIZE if you mean it, else unset both."),
}
