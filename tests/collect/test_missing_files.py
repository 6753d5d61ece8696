"""A dumped step without files, or with fewer than it must have: told, and how gravely."""
import glob
import os
import shutil

import pytest

from keras_npu_dump import collect
from tests.collect import files, making, nets
from tests.collect.making import TIME, TRAIN, train_ops
from tests.collect.test_while_written import process, record_alive, rename_time  # noqa: F401

STEP = "%s/0/%s/5/" % (TIME, TRAIN)


def lose(dump, index, keep=0, model=TRAIN, model_id=5):
    """Removes all files of a step but the first `keep`."""
    folder = os.path.join(str(dump), TIME, "0", model, str(model_id), str(index))
    for name in sorted(os.listdir(folder))[keep:]:
        os.unlink(os.path.join(folder, name))


def told(manifest, code):
    return [(one.severity, one.path) for one in manifest.problems if one.code == code]


def test_a_step_folder_without_files_is_an_error(tmp_path):
    making.plain_job(tmp_path)
    lose(tmp_path, 5)
    manifest = collect(str(tmp_path))
    assert told(manifest, "step-missing") == [("error", STEP + "5")]
    assert making.codes(manifest) == ["step-missing"]
    assert [bool(step.files) for step in manifest.pairs[0].steps] == [True, False]


@pytest.mark.parametrize("left", ["mapping.csv", "MatMul.a.1.2.1900000000000000.output.0.npy"])
def test_what_is_no_dump_file_does_not_fill_a_step(tmp_path, left):
    making.plain_job(tmp_path)
    lose(tmp_path, 5)
    files.write(str(tmp_path / (STEP + "5") / left), b"1,2\n")
    assert told(collect(str(tmp_path)), "step-missing") == [("error", STEP + "5")]


@pytest.mark.parametrize("lost", ["runs", "graphs"])
def test_without_records_or_graphs_an_empty_step_is_an_error_too(tmp_path, lost):
    making.plain_job(tmp_path)
    lose(tmp_path, 0)
    shutil.rmtree(str(tmp_path / lost))
    assert told(collect(str(tmp_path)), "step-missing") == [("error", STEP + "0")]


def test_the_steps_of_a_model_that_were_copied_alone(tmp_path):
    """No time folder above: what lies beside the empty folder tells that it is a step."""
    making.plain_job(tmp_path / "job")
    lose(tmp_path / "job", 5)
    shutil.move(str(tmp_path / "job" / TIME / "0" / TRAIN), str(tmp_path / "model"))
    assert told(collect(str(tmp_path / "model")), "step-missing") == [("error", "5/5")]


def test_a_full_disk_leaves_most_steps_empty_and_one_cut(tmp_path):
    making.plain_job(tmp_path, indices=range(12), count=12)
    making.record(tmp_path, range(12), 12, options={"dump_step": ""})
    for index in range(3, 12):
        lose(tmp_path, index)
    cut = sorted((tmp_path / (STEP + "2")).iterdir())[-1]
    os.truncate(str(cut), cut.stat().st_size - 3)
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["step-missing", "truncated-file"]
    assert told(manifest, "step-missing") == [("error", STEP + str(n)) for n in range(3, 12)]


@pytest.mark.parametrize("count, final, changes, severity", [
    (8, True, {}, "error"),                              # the final count includes it
    (6, True, {}, "error"),                              # also as the last one
    (6, True, {"status": "failed"}, "warning"),          # which may have been interrupted
    (8, False, {"ended": None}, "error"),                # killed, after later executions
    (6, False, {"ended": None}, "warning"),              # killed, perhaps in this one
    (None, False, {"ended": None}, "warning")])
def test_half_a_step_is_an_error_where_the_journal_says_that_it_ended(
        tmp_path, count, final, changes, severity):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), count, final=final, **changes)
    lose(tmp_path, 5, keep=9)
    manifest = collect(str(tmp_path))
    assert told(manifest, "step-partial") == [(severity, STEP + "5")]
    assert "operator-missing" not in making.codes(manifest)


def test_a_later_execution_in_the_journal_says_that_one_ended(tmp_path):
    making.plain_job(tmp_path, indices=(0, 3, 5))
    making.record(tmp_path, (0, 3, 5), None, final=False, ended=None,
                  options={"dump_step": "0|3|5"})
    lose(tmp_path, 3, keep=-1)
    assert told(collect(str(tmp_path)), "step-partial") == [("error", STEP + "3")]


def test_a_batch_that_may_not_have_run_is_a_warning(tmp_path):
    making.plain_job(tmp_path)
    with open(str(tmp_path / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write('{"event": "execution", "section": 0, "data_index": 5, "fit": 0, "epoch": 1,'
                     ' "batch": 1, "uncertain": "this batch was interrupted"}\n')
    lose(tmp_path, 5, keep=9)
    assert told(collect(str(tmp_path)), "step-partial") == [("warning", STEP + "5")]


def test_without_a_journal_half_a_step_is_a_warning(tmp_path):
    making.plain_job(tmp_path)
    shutil.rmtree(str(tmp_path / "runs"))
    lose(tmp_path, 0, keep=9)
    assert told(collect(str(tmp_path)), "step-partial") == [("warning", STEP + "0")]


def test_without_a_graph_the_other_steps_still_tell(tmp_path):
    making.plain_job(tmp_path)
    shutil.rmtree(str(tmp_path / "graphs"))
    lose(tmp_path, 5, keep=9)
    assert told(collect(str(tmp_path)), "step-partial") == [("warning", STEP + "5")]


def test_of_statistics_as_of_tensors(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0, 5), data="stats")
    making.record(tmp_path, (0, 5), 8, options={"dump_data": "stats"})
    assert collect(str(tmp_path)).problems == []
    lose(tmp_path, 0, keep=-1)
    assert told(collect(str(tmp_path)), "step-partial") == [("error", STEP + "0")]


def test_a_file_whose_name_nobody_can_read_may_be_the_missing_one(tmp_path):
    making.plain_job(tmp_path)
    step = tmp_path / (STEP + "5")
    one = sorted(step.iterdir())[4]
    one.rename(step / "1234567890123456789")
    assert making.codes(collect(str(tmp_path))) == ["unmapped-name"]


def test_while_the_process_lives_files_are_on_their_way(tmp_path, process):  # noqa: F811
    making.plain_job(tmp_path, evaluate=False)
    shutil.rmtree(str(tmp_path / "runs"))
    record_alive(tmp_path, process.pid, dump_step="0|5")
    os.rename(str(tmp_path / "graphs/pid_7_deviceid_0"),
              str(tmp_path / ("graphs/pid_%d_deviceid_0" % process.pid)))
    lose(tmp_path, 0, keep=9)
    lose(tmp_path, 5)
    rename_time(tmp_path)
    assert making.codes(collect(str(tmp_path))) == ["still-growing"]
    process.kill()
    process.wait()
    assert making.codes(collect(str(tmp_path)), "error") == ["step-missing"]


def test_the_process_itself_at_its_end_knows_that_nothing_more_will_come(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 8, host=os.uname().nodename, pid=os.getpid())
    os.rename(str(tmp_path / "graphs/pid_7_deviceid_0"),
              str(tmp_path / ("graphs/pid_%d_deviceid_0" % os.getpid())))
    lose(tmp_path, 5)
    known = {"record": making.load(tmp_path / "runs/run/run.json"), "journal": b""}
    codes = [making.codes(collect(str(tmp_path), run_id="run", write=False,
                                  known=dict(known, closed=closed))) for closed in (False, True)]
    assert codes == [["still-growing"], ["step-missing"]]


# --- steps that may differ

def with_branches(folder, indices_of):
    """Steps that went through one branch of an If, or made other rounds of a loop."""
    branches = {name: [nets.Op("cond/%s/%s" % (name, number), "Mul", [("DT_FLOAT", (2,))] * 2,
                               [("DT_FLOAT", (2,))]) for number in range(3)]
                for name in ("then", "else")}
    call = nets.Op("cond", "If", [], [], subgraphs=["cond_then", "cond_else"], dumped=False)
    making.graph(folder / "graphs/pid_7_deviceid_0", TRAIN, train_ops() + [call], 3,
                 subgraphs=[("cond_" + name, ops) for name, ops in branches.items()])
    for name, turns in indices_of.items():
        for index, times in turns.items():
            making.step(folder, STEP + str(index), train_ops(), making.START + 2 + index)
            for turn in range(times):
                making.step(folder, STEP + str(index), branches[name],
                            making.START + 3 + index + turn)
    making.record(folder, (0, 3, 5), 8, options={"dump_step": "0|3|5"})


def test_branches_and_loops_owe_nothing(tmp_path):
    with_branches(tmp_path, {"then": {0: 1, 3: 4}, "else": {5: 1}})
    assert collect(str(tmp_path)).problems == []


def test_beside_branches_the_rest_is_still_owed(tmp_path):
    with_branches(tmp_path, {"then": {0: 1, 3: 4}, "else": {5: 1}})
    next((tmp_path / (STEP + "3")).glob("Relu.net_dense_1_Relu*")).unlink()
    assert told(collect(str(tmp_path)), "step-partial") == [("error", STEP + "3")]


def test_overflow_runs_owe_nothing(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 8, options={"enable_dump": False, "enable_dump_debug": True})
    lose(tmp_path, 5, keep=2)
    assert "step-partial" not in making.codes(collect(str(tmp_path)))


def test_the_parts_of_a_dynamic_graph_are_one_step(tmp_path):
    """Two known-shape sub-graphs under the root's name: other operators, no reload."""
    ops = train_ops()
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, ops, 3)
    making.steps(tmp_path, ops[:12], (0, 5))
    making.steps(tmp_path, ops[12:], (0, 5), model_id=6)
    making.record(tmp_path, (0, 5), 8)
    assert "step-partial" not in making.codes(collect(str(tmp_path)))
    lose(tmp_path, 5, keep=2, model_id=6)
    path = "%s/0/%s/6/5" % (TIME, TRAIN)
    assert [where for _, where in told(collect(str(tmp_path)), "step-partial")] == [path]


def test_a_graph_that_was_loaded_again_is_measured_by_its_first_load(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    making.steps(tmp_path, train_ops(), (0,), model_id=9)
    lose(tmp_path, 0, keep=9, model_id=9)
    path = "%s/0/%s/9/0" % (TIME, TRAIN)
    assert told(collect(str(tmp_path)), "step-partial") == [("warning", path)]


@pytest.mark.parametrize("switch, codes", [(False, ["step-partial"]), (True, [])])
def test_another_load_is_no_measure_where_a_switch_may_choose_the_operators(
        tmp_path, switch, codes):
    """The second load has a single step, and only the first one's steps have all files."""
    ops = train_ops() + ([nets.Op("cond/Switch", "Switch", dumped=False)] if switch else [])
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, ops, 3, 3)
    making.steps(tmp_path, ops, (0, 5))
    making.steps(tmp_path, ops, (0,), model_id=9)
    making.record(tmp_path, (0, 5), 8)
    lose(tmp_path, 0, keep=9, model_id=9)
    found = making.codes(collect(str(tmp_path)))
    assert [code for code in found if code == "step-partial"] == codes


def test_other_devices_are_no_measure(tmp_path):
    """Operators that one device leaves out in all its steps stay a note."""
    for rank in range(2):
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_%d" % (70 + rank, rank)), TRAIN,
                     train_ops(), 3)
        making.steps(tmp_path, train_ops(), (0, 5), device=rank)
        making.record(tmp_path, (0, 5), 8, run_id="rank%d" % rank, rank=rank, device=rank,
                      pid=70 + rank)
    for index in (0, 5):
        next((tmp_path / TIME / "1" / TRAIN / "5" / str(index)).glob("Relu.*dense_1*")).unlink()
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["operator-missing"] and manifest.errors == []


def test_many_problems_of_one_code_keep_the_gravest_severity(tmp_path):
    making.plain_job(tmp_path, indices=range(40), count=40)
    shutil.rmtree(str(tmp_path / "runs"))
    for index in range(30):
        lose(tmp_path, index, keep=9)
    manifest = collect(str(tmp_path))
    assert {one.severity for one in manifest.problems if one.code == "step-partial"} == {"warning"}
    assert manifest.errors == []


# --- graph files, and the end of the training

@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.99])
def test_a_training_graph_that_is_cut_short_is_an_error(tmp_path, keep):
    making.plain_job(tmp_path)
    path = glob.glob(str(tmp_path / "graphs/*/*_graph_3_Build.txt"))[0]
    os.truncate(path, int(os.path.getsize(path) * keep))
    assert "unreadable" in making.codes(collect(str(tmp_path)), "error")


def test_a_broken_graph_that_no_dump_belongs_to_is_a_warning(tmp_path):
    making.plain_job(tmp_path)
    files.write(str(tmp_path / "graphs/pid_7_deviceid_0/ge_proto_00000009_graph_9_Build.txt"),
                b"no graph")
    manifest = collect(str(tmp_path))
    assert manifest.errors == [] and making.codes(manifest, "warning") == ["unreadable"]


def test_a_graph_file_without_the_graphs_that_it_calls(tmp_path):
    call = nets.Op("cond", "If", [], [], subgraphs=["cond_then"], dumped=False)
    making.plain_job(tmp_path)
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops() + [call], 3, 3)
    problem, = collect(str(tmp_path)).problems
    assert problem.code == "unreadable" and "cond_then" in problem.message


@pytest.mark.parametrize("changes, crashed", [
    ({}, False),
    ({"ended": None, "status": "running"}, True),
    ({"status": "failed", "cause": "ended by an exception (ValueError)"}, True),
    ({"status": "failed", "cause": "ended with exit status 3"}, True),
    ({"status": "failed", "cause": "interrupted by SIGINT"}, False),
    ({"status": "failed", "cause": "interrupted by SIGTERM"}, False)])
def test_a_training_that_died_is_told(tmp_path, changes, crashed):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), 8, **changes)
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == (["run-crashed"] if crashed else [])
    assert manifest.errors == []


@pytest.mark.parametrize("changes, count, severity", [
    ({}, 8, "info"), ({}, None, "info"), ({}, 0, "error"), ({"opened": False}, None, "error")])
def test_an_overflow_run_without_overflow(tmp_path, changes, count, severity):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.record(tmp_path, (), count, options={
        "enable_dump": False, "enable_dump_debug": True}, **changes)
    assert told(collect(str(tmp_path)), "not-dumped") == [(severity, ".")]


def test_overflow_detection_that_found_nothing_is_healthy_whoever_counted(tmp_path):
    """Beside an earlier launch, and where `with dump.step():` was never entered."""
    making.steps(tmp_path, train_ops(), (0,))
    making.record(tmp_path, (0,), 3, run_id="earlier", options={"dump_step": "0|9"})
    making.record(tmp_path, sections=[], run_id="overflow", pid=8,
                  options={"enable_dump": False, "enable_dump_debug": True},
                  started=making.iso(making.START + 4000), ended=making.iso(making.START + 4100))
    journal = tmp_path / "runs/overflow/iterations.jsonl"
    journal.write_text('{"event": "section", "section": 0, "model": "loop", "reason": "start"}\n'
                       '{"event": "count", "section": 0, "count": 0, "final": true}\n')
    manifest = collect(str(tmp_path))
    assert told(manifest, "not-dumped") == [("info", ".")]
    assert manifest.errors == []


def test_a_loop_of_ones_own_whose_graph_does_not_look_like_training_is_not_missed(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", "__inference_own_9", making.eval_ops(), 3)
    making.steps(tmp_path, making.eval_ops(), (0, 5), "__inference_own_9")
    making.record(tmp_path, (0, 5), 8, name=None, operators=())
    assert making.codes(collect(str(tmp_path)), "error") == []
    lose(tmp_path, 5, model="__inference_own_9")
    assert making.codes(collect(str(tmp_path)), "error") == ["step-missing"]
