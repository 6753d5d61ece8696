"""Is all that is said of a main true, and can the reader follow it? The whole of stderr is kept."""
import pytest

from tests.conftest import run_python
from tests.mains.running import MAINS, codes, manifest, run_main, run_plain, trained
from tests.mains.said import said

GOES = "Dump data, graphs and records go to HERE/d"
STANDS_IN = "emulator: npu_device is emulated; device 0 is this machine's CPU or GPU."
GIVEN = ("warning: "
         "NpuDumpCallback was given to %s, and to no fit(): it counts batches of trainings, and"
         " what was dumped is tied to no batch. data_index counts the executions of each graph"
         " from 0.")
OLDER = ("The script runs graphs of TensorFlow 1 in sessions (eager execution is off), and"
         " npu_device dumps functions of TensorFlow 2 only: those graphs are dumped by npu_bridge,"
         " with enable_dump, dump_path, dump_step and dump_mode of its DumpConfig.")
NOT_OPENED = "warning: The script ended without opening a device: nothing was dumped. "


def judged(document):
    """What was dumped of evaluation and prediction, and what is said of it."""
    dumped = {pair["role"]: [step["data_index"] for step in pair["steps"]]
              for pair in document["pairs"] if pair["role"] != "init"}
    return dumped, [(one["severity"], one["code"], one["message"].split(":")[0])
                    for one in document["problems"]]


UNREACHED = ("info", "step-not-reached",
             "step 9 has no folder, and no journal tells how many executions ran")


def test_a_callback_given_to_predict(tmp_path):
    done = run_plain(tmp_path, "not_training.py", "--install")
    assert said(done, tmp_path) == [GOES, STANDS_IN, GIVEN % "predict()"]
    dumped, problems = judged(manifest(tmp_path))
    assert dumped == {"predict": [0, 1]}
    assert problems == [("info", "not-dumped", "no training graph ran"), UNREACHED]


def test_a_callback_given_to_evaluate_and_predict_under_run(tmp_path):
    done = run_main(tmp_path, "not_training.py", "--evaluate")
    assert said(done, tmp_path) == [
        GOES, STANDS_IN, GIVEN % "evaluate() and predict()",
        "no training graph ran: what was dumped is of evaluation or prediction"
        " (__inference_test_function_N, __inference_predict_function_N) [not-dumped]",
        "  its data_index counts executions of each graph from 0",
        "step 9 has no folder, and no journal tells how many executions ran"
        " [step-not-reached]"]
    document = manifest(tmp_path)
    assert trained(document) == [] and codes(document) == []


def test_a_script_that_only_predicts(tmp_path):
    done = run_main(tmp_path, "only_predicts.py")
    assert said(done, tmp_path) == [
        GOES, STANDS_IN,
        "warning: "
        "No fit() was called, and what was dumped is of evaluation or prediction: its data_index"
        " counts the executions of each graph from 0.",
        "no training graph ran: what was dumped is of evaluation or prediction"
        " (__inference_predict_function_N) [not-dumped]",
        "  its data_index counts executions of each graph from 0"]


def test_graphs_of_tensorflow_1(tmp_path):
    done = run_main(tmp_path, "sessions_of_tf1.py", "--import")
    assert said(done, tmp_path) == [NOT_OPENED + OLDER]


def test_graphs_of_tensorflow_1_beside_an_open_device(tmp_path):
    done = run_main(tmp_path, "sessions_of_tf1.py", options=["--open_device"])
    assert said(done, tmp_path) == [
        GOES, STANDS_IN, "warning: " + OLDER,
        "error: step 0 not reached, 0 executions ran [step-not-reached]",
        "  no training graph ran on the device: nothing was trained, or all of it eagerly"
        " (run_eagerly=True, a loop without tf.function) or in sessions of TensorFlow 1"]


@pytest.mark.parametrize("how, status, cause", [
    ("--fail", 1, "ended by an exception (ValueError)"), ("--exit", 3, "ended with exit status 3")])
def test_a_script_that_ends_before_it_opens_its_device(tmp_path, how, status, cause):
    done = run_main(tmp_path, "sessions_of_tf1.py", "--import", how, status=status)
    trace = ["Traceback (most recent call last):",
             '  File "%s", line 11, in <module>' % (MAINS / "sessions_of_tf1.py"),
             '    raise ValueError("on purpose")', "ValueError: on purpose"]
    assert said(done, tmp_path) == (trace if how == "--fail" else []) + [
        "warning: The script %s before it opened a device: nothing was dumped." % cause]


def test_options_set_after_open_are_told_where_a_loop_trains(tmp_path):
    done = run_plain(tmp_path, "late_options.py", "--install")
    assert said(done, tmp_path) == [
        GOES, STANDS_IN,
        "warning: "
        "npu_device.open() came first and has read its options: dump_step = '3' has no effect;"
        " dump_mode = 'input' has no effect. Set them before open(), or start the script with"
        " `keras-npu-dump run late_options.py`.",
        "warning: "
        "No fit() with an NpuDumpCallback and no DumpSession was seen: what was dumped is tied to"
        " the executions of each training function, and epochs are not known. NpuDumpCallback()"
        " among the callbacks of fit(), or in a loop of the script's own `with DumpSession() as"
        " dump:` around it, `with dump.step():` around each step and `dump.next_epoch()` between"
        " epochs, tie it to batches."]
    assert [step for step, _ in trained(manifest(tmp_path))[0]] == [1]


def test_who_uses_run_is_not_told_to_use_it(tmp_path):
    done = run_main(tmp_path, "late_options.py", options=["--data_dump_step=100"])
    assert [line for line in said(done, tmp_path) if "open() came first" in line] == [
        "warning: "
        "npu_device.open() came first and has read its options: dump_step = '3' has no effect;"
        " dump_mode = 'input' has no effect. Set them before open(), or as options of `run`, before"
        " the script."]
    assert "keras-npu-dump run" not in done.stderr + done.stdout
    # It did train: nobody says that it has not.
    assert "nothing was trained" not in done.stdout and "0 executions ran" not in done.stdout
    assert "step-not-reached" in codes(manifest(tmp_path))


def test_hooks_that_are_called_by_hand_and_never_those_of_batches(tmp_path):
    done = run_python("""
        from keras_npu_dump import NpuDumpCallback, emulator
        emulator.install()
        import npu_device
        dump = NpuDumpCallback(dump_path="d", min_free_gb=0)
        npu_device.open().as_default()
        dump.on_train_begin()
        dump.on_train_end()
    """, tmp_path)
    assert said(done, tmp_path) == [
        GOES, STANDS_IN,
        "warning: Hooks of NpuDumpCallback were called by hand, and those of batches never: what"
        " was dumped is tied to no batch. on_train_batch_begin(batch) and"
        " on_train_batch_end(batch) go around each call of the training function."]
