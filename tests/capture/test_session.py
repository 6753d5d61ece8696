"""Does a DumpSession count what a loop of one's own does, and keep quiet where dump is off?"""
import json

import pytest

from tests.conftest import run_python, with_tensorflow

pytestmark = pytest.mark.usefixtures("no_tensorflow")

PRELUDE = """
import json, os, sys
import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession
keras_npu_dump.emulator.install()
import npu_device

def lines(dump):
    with open(dump._capture.journal.path) as file:
        return [json.loads(line) for line in file]

def executions(dump):
    return [(one["data_index"], one["epoch"], one["batch"], one["uncertain"])
            for one in lines(dump) if one["event"] == "execution"]
"""


def answer(code, folder, **kwargs):
    done = run_python(PRELUDE + code, folder, **kwargs)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_calls_are_counted_over_epochs_and_loops(tmp_path):
    result, _ = answer("""
dump = DumpSession(dump_path="d", dump_step="0|4|6")
npu_device.open()
with dump:
    for _ in range(2):
        dump.next_epoch()
        for _ in range(3):
            with dump.step():
                pass
with dump:
    with dump.step():
        pass
print(json.dumps([executions(dump), [one["fit"] for one in lines(dump) if one["event"] == "fit"]]))
""", tmp_path)
    assert result == [[[0, 0, 0, None], [4, 1, 1, None], [6, 0, 0, None]], [0, 1]]


def test_calls_that_loop_themselves_with_and_without_loops_on_the_device(tmp_path):
    code = """
dump = DumpSession(dump_path="d", dump_step="0|1|4|11")
npu_device.open()
%s
with dump:
    for _ in range(4):
        with dump.step(batches=3):
            pass
print(json.dumps(executions(dump)))
"""
    result, _ = answer(code % "", tmp_path)
    assert [one[:3] for one in result] == [[0, 0, 0], [1, 0, 3]]
    assert all("3 batches in one execution" in one[3] for one in result)
    for setting, env in (("npu_device.set_npu_loop_size(3)", None), ("", {"NPU_LOOP_SIZE": "3"})):
        result, _ = answer(code % setting, tmp_path, env=env)
        assert [one[:3] for one in result] == [[0, 0, 0], [1, 0, 1], [4, 0, 4], [11, 0, 11]]
        assert all("NPU_LOOP_SIZE=3" in one[3] for one in result)


def test_a_loop_size_that_changes_makes_indices_come_again(tmp_path):
    result, _ = answer("""
dump = DumpSession(dump_path="d", dump_step="3|4")
npu_device.open()
npu_device.set_npu_loop_size(4)
with dump:
    with dump.step(batches=4):   # 0 to 3
        pass
    npu_device.set_npu_loop_size(3)
    with dump.step(batches=3):   # 3 to 5
        pass
print(json.dumps(executions(dump)))
""", tmp_path)
    assert [one[:3] for one in result] == [[3, 0, 3], [3, 0, 4], [4, 0, 5]]
    assert "may come again" in result[-1][3]


def test_the_end_of_the_data_is_no_call_and_another_error_is_a_doubt(tmp_path):
    result, _ = answer("""
dump = DumpSession(dump_path="d", dump_step="0-9")
npu_device.open()
with dump:
    batches = iter([1, 2])
    while True:
        try:
            with dump.step():
                next(batches)
        except StopIteration:
            break
    try:
        with dump.step():
            raise KeyError("perhaps inside, perhaps before")
    except KeyError:
        pass
    with dump.step():
        pass
print(json.dumps(executions(dump)))
""", tmp_path)
    # The third was withdrawn; of one index the later line counts.
    assert [one[:3] for one in result] == [
        [0, 0, 0], [1, 0, 1], [2, 0, 2], [2, 0, 2], [2, 0, 2], [3, 0, 3]]
    assert [one[3] is not None for one in result] == [False] * 4 + [True] * 2
    assert "interrupted" in result[-1][3]


def test_misuse_is_told(tmp_path):
    result, _ = answer("""
dump = DumpSession(dump_path="d")
npu_device.open()
said = []
for call in (lambda: dump.step(), lambda: dump.__enter__().step(batches=0)):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        said.append(str(error))
print(json.dumps(said))
""", tmp_path)
    assert "with dump:" in result[0] and "1 or more" in result[1]


@pytest.mark.parametrize("code, part", [
    ("DumpSession(dump_path='d'); npu_device.open()", "never entered"),
    ("keras_npu_dump.apply(DumpConfig(dump_path='d')); npu_device.open()", "No fit()"),
    ("DumpSession(dump_path='d')", "npu_device.open() was never called"),
])
def test_what_was_made_and_never_used_is_told_at_the_end(tmp_path, code, part):
    _, stderr = answer(code + "\nprint(0)", tmp_path)
    assert part in stderr


def test_a_folder_deleted_after_open_is_made_again_and_told(tmp_path):
    result, stderr = answer("""
import shutil
dump = DumpSession(dump_path="out/d", dump_step="0|1")
npu_device.open()
with dump:
    with dump.step():
        pass
shutil.rmtree("out")
with dump:
    with dump.step():
        pass
record = json.load(open(dump._capture.record.folder + "/run.json"))
print(json.dumps([executions(dump), record["opened"], [one["event"] for one in lines(dump)]]))
""", tmp_path)
    assert result[:2] == [[[0, 0, 0, None], [1, 0, 0, None]], True]
    assert result[2][:3] == ["section", "fit", "execution"] and "lost" in result[2]
    assert stderr.count("was deleted after npu_device.open()") == 1


def test_settings_that_silence_a_dump_are_named_when_the_device_is_opened(tmp_path):
    _, stderr = answer("""
dump = DumpSession(dump_path="d")
npu_device.global_options().enable_exception_dump = 1
npu_device.open()
print(0)
""", tmp_path, env={"NPU_COLLECT_PATH": str(tmp_path / "collected"), "DUMP_GE_GRAPH": "0"})
    for part in ("enable_exception_dump = 1", "NPU_COLLECT_PATH=", "DUMP_GE_GRAPH=0"):
        assert stderr.count(part) == 1


def test_paths_with_blanks_and_other_scripts_work_and_are_told(tmp_path):
    result, stderr = answer("""
dump = DumpSession(dump_path="数据 dump")
npu_device.open()
with dump:
    with dump.step():
        pass
print(json.dumps(len(executions(dump))))
""", tmp_path)
    assert result == 1 and "comparator refuses paths with a blank" in stderr


def test_too_little_room_is_refused_before_anything_is_made(tmp_path):
    done = run_python(PRELUDE + """
DumpSession(DumpConfig(dump_path="d", min_free_gb=1e9))
""", tmp_path, check=False)
    assert done.returncode == 1 and "data_dump_min_free_gb" in done.stderr
    assert not (tmp_path / "d").exists()


def test_a_full_disk_does_not_end_training_and_lines_wait_for_room(tmp_path):
    result, stderr = answer("""
import resource
dump = DumpSession(dump_path="d", dump_step="0-3")
npu_device.open()
with dump:
    with dump.step():
        pass
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, limit[1]))
    for _ in range(2):
        with dump.step():
            pass
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    with dump.step():
        pass
print(json.dumps([one[0] for one in executions(dump)]))
""", tmp_path)
    assert result == [0, 1, 2, 3]
    assert stderr.count("training goes on") == 1


CALLS = """
from keras_npu_dump.capture.model.function_calls import Known

def call(dump, name):
    listener = dump._capture.calls
    execution = listener.begins(Known(name, True, [name + "/MatMul"]))
    if execution is not None:
        listener.ended(execution)

def by_function(dump):
    names = {one["section"]: one["name"] for one in lines(dump) if one["event"] == "graph"}
    found = {}
    for one in lines(dump):
        if one["event"] == "execution" and one["section"] in names:
            found.setdefault(names[one["section"]], {})[one["data_index"]] = [
                one["epoch"], one["batch"]]
        elif one["event"] == "withdraw":
            del found[names[one["section"]]][one["data_index"]]
    counts = {names.get(one["section"]): [one["count"], one.get("steps")]
              for one in lines(dump) if one["event"] == "count"}
    return found, counts

dump = DumpSession(dump_path="d", dump_step=None)
npu_device.open()
"""


def test_functions_that_run_in_turn_are_counted_each_by_itself(tmp_path):
    (found, counts), _ = answer(CALLS + """
with dump:
    for epoch in range(2):
        for step in range(4):
            with dump.step():
                call(dump, "a" if step % 2 == 0 else "b")
        dump.next_epoch()
print(json.dumps(by_function(dump)))
""", tmp_path)
    assert counts == {"a": [4, 8], "b": [4, 8]}
    assert found == {name: {"0": [0, 0], "1": [0, 1], "2": [1, 0], "3": [1, 1]} for name in "ab"}


def test_a_step_that_fails_counts_what_was_called_in_it(tmp_path):
    (found, counts), _ = answer(CALLS + """
with dump:
    for step in range(3):
        try:
            with dump.step():
                call(dump, "a")
                if step == 1:
                    raise KeyError("between the two")
                call(dump, "b")
        except KeyError:
            pass
    with dump.step():
        pass                      # no function runs here
    for _ in range(2):
        with dump.step():
            call(dump, "a")
print(json.dumps(by_function(dump)))
""", tmp_path)
    assert counts["a"][0] == 5 and counts["b"][0] == 2
    assert found["a"]["1"] == [0, 1] and list(found["b"]) == ["0", "1"]


def test_two_sessions_share_the_counters_of_their_functions(tmp_path):
    (found, counts), _ = answer(CALLS + """
for session in (dump, DumpSession()):
    with session:
        for _ in range(2):
            with session.step():
                call(session, "a")
print(json.dumps(by_function(dump)))
""", tmp_path)
    assert counts == {"a": [4, None]}
    assert found["a"] == {"0": [0, 0], "1": [0, 1], "2": [0, 0], "3": [0, 1]}


def test_hooks_by_hand_that_an_exception_left_have_no_open_step(tmp_path):
    """Neither after an exception in an execution, nor where another loop begins."""
    (found, open_steps, outside), _ = answer(CALLS + """
from keras_npu_dump.capture.counting.custom_loop import HandLoop
calls, loop, open_steps = dump._capture.calls, HandLoop(dump._capture, object()), []
loop.begin(0)
call(dump, "a")
loop.end(0)
loop.begin(1)
calls.raised(calls.begins(Known("a", True, [])), KeyError("in the execution"))
open_steps.append(calls.step is not None)
call(dump, "b")               # in no step
loop.begin(1)                 # left by an exception before anything was executed
open_steps.append(calls.step is not None)
other = HandLoop(dump._capture, object())
open_steps.append(calls.step is not None)
loop.begin(1)
call(dump, "a")
loop.end(1)
outside = [one.reason for one in dump._capture.journal.sections if one.graph_name == "b"]
print(json.dumps([by_function(dump)[0]["a"], open_steps, outside]))
""", tmp_path)
    assert open_steps == [False, True, False] and outside == ["call"]
    assert found == {"0": [0, 0], "1": [0, 1], "2": [0, 2]}


def test_steps_add_up_where_a_session_is_entered_again(tmp_path):
    (_, counts), _ = answer(CALLS + """
for epoch in range(3):
    with dump:
        for step in range(5):
            with dump.step():
                call(dump, "a")
                call(dump, "a")
                if step:
                    call(dump, "b")
print(json.dumps(by_function(dump)))
""", tmp_path)
    assert counts == {"a": [30, 15], "b": [12, 15]}


def test_the_end_of_data_inside_the_function_is_no_step(tmp_path):
    """Three passes of two batches, read by the function itself; the last in no epoch's end."""
    with with_tensorflow():
        result, _ = answer("""
import tensorflow as tf
dump = DumpSession(dump_path="d", dump_step="0-9")
npu_device.open().as_default()
weight = tf.Variable([[0.1]])

@tf.function
def train_step(batches):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(tf.matmul(next(batches), weight)))
    weight.assign_sub(0.1 * tape.gradient(error, weight))

def train():
    batches = iter(tf.data.Dataset.from_tensor_slices([[[1.0]], [[2.0]]]))
    while True:
        try:
            with dump.step():
                train_step(batches)
        except tf.errors.OutOfRangeError:
            break

with dump:
    train()
    dump.next_epoch()
    train()
    train()
pair, = [one for one in dump.manifest.pairs if one.role == "train"]
print(json.dumps([[[step.data_index, step.iteration["epoch"], step.iteration["batch"]]
                   for step in pair.steps], [one.code for one in dump.manifest.problems],
                  [one["data_index"] for one in lines(dump) if one["event"] == "end-of-data"]]))
""", tmp_path)
    # The device counts the executions in which the data ended: 2, 5 and 8.
    assert result[0] == [[0, 0, 0], [1, 0, 1], [3, 1, 0], [4, 1, 1], [6, 1, 2], [7, 1, 3]]
    assert result[2] == [2, 4, 6]
    assert "step-missing" not in result[1]


def test_an_execution_that_a_signal_fell_into_is_told(tmp_path):
    result, _ = answer(CALLS + """
with dump:
    with dump.step():
        call(dump, "a")
    with dump.step():
        listener = dump._capture.calls
        execution = listener.begins(Known("a", True, []))
        said = listener.what_ended(None).how()       # SIGTERM
        listener.raised(execution, KeyboardInterrupt())
raised, = dump._capture.record.fields["raised"]
print(json.dumps([said, raised["type"], raised["data_index"], listener.what_ended(None)]))
""", tmp_path)
    assert result == ["execution 1 was interrupted by SIGTERM", "SIGINT", 1, None]


@pytest.mark.parametrize("before, cause", [
    ("npu_device.global_options().dump_config.dump_step = '7'",
     "the device was opened with dump_step = '7' instead of '0'"),
    ("", "`.as_default()` of what it returns never"),
])
def test_who_trains_without_run_is_told_in_a_line_that_nothing_was_dumped(
        tmp_path, before, cause):
    _, stderr = answer(CALLS.replace("dump_step=None", "dump_step='0'").replace(
        "npu_device.open()\n", "%s\nnpu_device.open()\n" % before) + """
with dump:
    with dump.step():
        call(dump, "a")
print(0)
""", tmp_path)
    line, = [one for one in stderr.splitlines() if "Nothing of the training was dumped" in one]
    assert cause in line and "keras-npu-dump collect" in line
