"""The explanations in English; `chinese.py` says the same."""
from typing import Dict

from keras_npu_dump.explain.explanation import Explanation

EXPLANATIONS: Dict[str, Explanation] = {
    "no-run": Explanation(
        "No run record (runs/{run_id}) belongs to these dump folders.",
        "The folder runs/ was not copied along, or the dump was made without keras_npu_dump, by"
        " hand. Without the record nobody knows which batch a data_index was, nor what was asked"
        " for, so nothing is checked for completeness.",
        "Copy runs/ beside the time folders and collect again. For a dump made by hand there is"
        " nothing to do: the pairs of graph and folder hold without it."),
    "not-dumped": Explanation(
        "Nothing was dumped, or nothing of a training graph.",
        "The device was opened before the dump options were set, or never; the script trained"
        " nothing on the device (run_eagerly=True, an exception before the first batch); the steps"
        " that were asked for were not reached; or this is not the folder that the training wrote"
        " to: inside a container it is the container's. As information: overflow detection found"
        " no overflow, or dump was switched off.",
        "Read the cause in the message. `keras-npu-dump run SCRIPT` sets the options in time;"
        " `keras-npu-dump doctor` says what would make a dump fail; `run --emulate` rehearses it"
        " without an NPU."),
    "no-graph": Explanation(
        "There are dump folders, and no graph file (ge_proto_*_Build.txt) that could be theirs.",
        "The graphs were not copied along; they lie elsewhere, where DUMP_GRAPH_PATH pointed, or"
        " in the folder that the training was started in; DUMP_GE_GRAPH was not set when the"
        " device compiled the graph; or they were deleted.",
        "`keras-npu-dump collect PATH --graphs DIR` with the folder they are in. For the next run"
        " leave graphs on, as keras_npu_dump has it."),
    "no-pair": Explanation(
        "Graph files are there, and none of them belongs to this dump folder.",
        "The graphs are of another launch, process or device; this graph's file is missing (ranks"
        " that share one folder for graphs overwrite each other's); or its name and its operators"
        " are others than those in the dump.",
        "Look for the graphs of that very run and give their folder with --graphs;"
        " `keras-npu-dump collect -v PATH` shows what speaks for the other pairs."),
    "ambiguous-pair": Explanation(
        "Several graph files fit this dump folder, and nothing tells them apart.",
        "Copies of the same graph files, or one function that was built several times with the"
        " same operators. The pair that is shown is a guess.",
        "Remove copies; or say which one with --keyword WORD, a word that only the right graph"
        " has. Where the files are equal the choice does not matter."),
    "step-not-reached": Explanation(
        "A step that was asked for was never executed.",
        "data_index counts executions of one graph from 0, over all epochs and fits, and anew"
        " after compile(): the training made fewer, ended early, or failed before. In an"
        " evaluation graph, which has fewer batches, this is only information.",
        "Ask for a step below the number of executions in the message, or train longer."),
    "step-missing": Explanation(
        "A step was executed and asked for, and its folder is not there or has no files.",
        "The disk was full; the process ended before the device had sent the data; the options"
        " came after npu_device.open(); the graph was built again and counted from 0 anew; or"
        " somebody deleted the folder. The message names the cause where it can be known.",
        "Follow the hint. Free space or dump less (fewer steps, dump_data='stats', dump_layer),"
        " let the process close its device, and look for dump errors in the device's log of that"
        " time."),
    "step-partial": Explanation(
        "A step has fewer files than the other steps of its graph, or than its graph must leave.",
        "The disk was full, the process was ended while the data came, files were deleted or not"
        " copied. Operators in branches and loops owe no files and are not counted.",
        "Copy the folder again, or free space and dump that step again; do not judge operators"
        " whose files are missing."),
    "step-unasked": Explanation(
        "There are folders of steps that were not asked for.",
        "The device was opened with other steps than the record has; a loop on the device counts"
        " by its own arithmetic (NPU_LOOP_SIZE); or the folder has data of another run. The data"
        " itself is whole.",
        "Nothing, if the steps are welcome. Otherwise compare dump_step in runs/{run_id}/run.json"
        " with what the script sets itself."),
    "layer-unknown": Explanation(
        "A name in dump_layer is no operator of the training graph: nothing is dumped for it.",
        "A misspelt name, or a name from TensorFlow where the device has fused or renamed the"
        " operator: dump_layer takes the names of GE's Build graph, in full.",
        "Take one of the nearest names in the hint; `keras-npu-dump inspect PATH --op REGEX` and"
        " the next.flags of `keras-npu-dump triage PATH` have the right ones."),
    "truncated-file": Explanation(
        "A dump file ends before the length that its own header says.",
        "The disk was full, the process was killed while it wrote, or a copy broke off.",
        "Compare its size with the original and copy it again; otherwise free space and dump that"
        " step again. Values of this file are not used."),
    "empty-file": Explanation(
        "A dump file has no bytes.",
        "The disk was full, or the process was ended between making and filling the file.",
        "Free space and dump that step again; dump_data='stats' or a dump_layer takes far less."),
    "foreign-file": Explanation(
        "Something among the dump files is no dump file.",
        "Somebody has put it there: notes, archives, files of other tools; or it is no file at all"
        " (a pipe, a device, a link to nowhere).",
        "Nothing: it is not read. Remove it if it should not be there."),
    "unmapped-name": Explanation(
        "A dump file is named by a number, and mapping.csv does not say which operator that is.",
        "Names that are too long for the file system are numbered and listed in mapping.csv, which"
        " was not copied, was cut off, or could not be written.",
        "Copy mapping.csv along. Without it the header of tensor data still names the operator;"
        " statistics (csv) do not."),
    "operator-missing": Explanation(
        "Operators of the graph left no file in any step.",
        "The device has its reasons: operators that it does not execute by themselves, or that"
        " have no output in memory, leave none; so does dump_mode for the other side.",
        "As a rule nothing. For the values of such an operator look at what feeds it and at what"
        " it feeds: `keras-npu-dump inspect PATH --op REGEX`."),
    "still-growing": Explanation(
        "The process that writes here still runs, or files grew while they were looked at.",
        "The training has not ended, or the device is still sending.",
        "Collect again when it has ended."),
    "index-uncertain": Explanation(
        "Which batch a data_index was is not certain; the dump data itself is not in doubt.",
        "The number of batches of an epoch was unknown; a loop on the device takes several batches"
        " in one execution (NPU_LOOP_SIZE, steps_per_execution); the graph was built again, as a"
        " later graph (an evaluation, say) changed the format of a variable, and counted anew; or"
        " nobody counted (a custom loop without `with dump.step():`).",
        "The message says which. Give fit() steps_per_epoch, use one batch per execution while"
        " you dump, or put `with dump.step():` around each call of a loop of your own."),
    "end-of-data": Explanation(
        "A step that was asked for trained nothing: the data ended in it.",
        "The size of the dataset was unknown, so that the end was met inside an execution, which"
        " the device may count as one; its folder holds less than those of the batches, or"
        " nothing.",
        "Ask for another step. A dataset of known size, steps_per_epoch or .repeat() leave no"
        " such step."),
    "disk-low": Explanation(
        "The disk of the dump folder is nearly full.",
        "Dump data of a large network takes tens of gigabytes for each step.",
        "Free space before the next dump, choose another dump_path, or dump less: fewer steps,"
        " dump_data='stats', a dump_layer."),
    "unreadable": Explanation(
        "A file, a folder or a graph could not be read, or only in part.",
        "Missing permission, a damaged or cut off file, a folder that is too deep or has too many"
        " entries, or an error of the disk; the message has the system's words.",
        "Grant read permission or copy it again; `keras-npu-dump inspect FILE` says what the file"
        " is and where it breaks."),
    "record-invalid": Explanation(
        "A value in run.json, iterations.jsonl or manifest.json cannot be, and counts as missing.",
        "The file was edited or damaged, or written by another program or version.",
        "Restore the original file. All that does not need this value is answered as usual."),
    "run-older": Explanation(
        "There are dump folders of an earlier launch; they are listed and not checked.",
        "Several trainings were dumped into the same dump_path.",
        "Nothing. To have them checked, collect their own folder (PATH/{time}); for the next run"
        " choose another dump_path."),
    "run-crashed": Explanation(
        "The training did not end well: an exception, an exit status of its own, or it was killed.",
        "The script's own fault or its machine's; the message has the cause as far as the run"
        " record knows it. What was dumped before stays valid.",
        "Look at the end of the script's own output. For a crash on the device dump the step"
        " before it, or the operator that the exception names (dump_layer)."),
    "operator-foreign": Explanation(
        "Files are of operators that the paired graph does not have.",
        "The graph file is of another build than the one that was executed (written again, or"
        " copied from another run), or the device has added operators of its own.",
        "`keras-npu-dump collect -v PATH` shows what speaks for the pair. If its confidence is"
        " not exact, look for the right graph and give its folder with --graphs."),
    "single-operator": Explanation(
        "There are files of operators that ran by themselves, outside any graph.",
        "Eager code: each operator is executed for itself, and belongs to no graph file.",
        "Nothing, if it is no part of the training. Otherwise put it into a tf.function."),
    "exception-files": Explanation(
        "There is an exception dump beside the data dump: extra-info/data-dump.",
        "An operator failed on the device while enable_exception_dump, NPU_COLLECT_PATH or"
        " ASCEND_DUMP_SCENE was set: what it was given was written, under the name of its kernel.",
        "Nothing, for the data dump. The files name the kernel that failed; the vendor's tools read"
        " them."),
    "output-deleted": Explanation(
        "Somebody deleted dump data, graphs or records while the training still ran.",
        "The script clears its output folder, or a job of the machine does; another run used the"
        " same folder.",
        "Find out who clears it and choose a dump_path outside of that; dump again."),
    "sampled": Explanation(
        "Not every dump file was opened.",
        "There are more than --budget files (20000 by default); of each folder some were opened.",
        "`keras-npu-dump collect PATH --verify` opens all of them."),
}
