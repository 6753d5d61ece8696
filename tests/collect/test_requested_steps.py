"""Steps that were executed and left nothing: is the cause the one of that step?"""
import json

import pytest

from keras_npu_dump import collect
from tests.collect import making
from tests.collect.making import TRAIN


def note(dump, event):
    with open(str(dump / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write(json.dumps(event) + "\n")


def job_with_gaps(dump, asked, there, count, **changes):
    making.graph(dump / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops(), 3, 3)
    making.steps(dump, making.train_ops(), there)
    options = {"dump_step": "|".join(str(index) for index in asked)}
    making.record(dump, asked, count, options=options, **changes)


def missing(manifest):
    return {one.message.split()[1]: one for one in manifest.problems
            if one.code == "step-missing"}


def test_a_deleted_step_is_no_cause_for_those_after_it(tmp_path):
    """The folders of the first three executions were deleted; the seventh is another matter."""
    job_with_gaps(tmp_path, (1, 6, 7), (7,), 8)
    note(tmp_path, {"event": "lost", "what": "steps", "path": "somewhere", "of_section": 0,
                    "executions": 3})
    told = missing(collect(str(tmp_path)))
    assert sorted(told) == ["1", "6"]
    assert "deleted" in told["1"].message and told["1"].hint is None
    assert "deleted" not in told["6"].message and told["6"].hint is not None


def test_neighbours_that_were_deleted_are_one_problem(tmp_path):
    """Two causes are two problems, also where they are neighbours."""
    job_with_gaps(tmp_path, range(16), (15,), 16)
    note(tmp_path, {"event": "lost", "what": "steps", "path": "somewhere", "of_section": 0,
                    "executions": 14})
    told = missing(collect(str(tmp_path)))
    assert sorted(told) == ["0-13", "14"] and told["0-13"].message == (
        "steps 0-13 of %s were executed and have no dump folders: deleted while the"
        " training ran" % TRAIN)


def test_a_step_that_was_deleted_in_another_section_is_not_called_deleted(tmp_path):
    job_with_gaps(tmp_path, (1, 7), (7,), 8)
    note(tmp_path, {"event": "lost", "what": "steps", "path": "somewhere", "of_section": 1,
                    "executions": 3})
    told = missing(collect(str(tmp_path)))
    assert "deleted" not in told["1"].message


# --- causes of a training graph without any folder

def undumped(dump, step_id=True, options=None, count=1, **changes):
    """Executions 0 and 5 of a training graph left nothing, an evaluation left its dump."""
    folder = dump / "graphs/pid_7_deviceid_0"
    for number in range(count):
        making.graph(folder, TRAIN, making.train_ops(step_id=step_id), 3 + 5 * number,
                     options=options)
    making.graph(folder, making.EVAL, making.eval_ops(), 4)
    making.steps(dump, making.eval_ops(), (0,), making.EVAL, 6)
    making.record(dump, (0, 5), 8, **changes)
    told = missing(collect(str(dump)))
    assert sorted(told) == ["0", "5"]
    return told["0"].message.split("no dump folder: ")[1]


@pytest.mark.parametrize("situation, words", [
    ({}, "cause unknown"),
    ({"step_id": False}, "no step id"),
    ({"options": {"ge.exec.enableDump": "0"}}, "opened without dump"),
    ({"options": {"ge.exec.enableDump": "1"}}, "cause unknown"),
    ({"count": 2}, "built again"),
    ({"outages": ["no space"]}, "not everything could be written: no space"),
    ({"opened": False}, "was not opened"),
    ({"ended": None}, "ended before the files were written"),
    # Of two causes the one that is known for certain is told.
    ({"step_id": False, "options": {"ge.exec.enableDump": "0"}}, "opened without dump"),
    ({"step_id": False, "outages": ["no space"], "ended": None}, "no step id"),
    ({"outages": ["no space"], "ended": None}, "not everything could be written"),
])
def test_the_cause_that_is_known_for_certain_is_told(tmp_path, situation, words):
    assert words in undumped(tmp_path, **situation)


def test_broken_files_are_the_cause_of_those_that_are_not_there(tmp_path):
    undumped(tmp_path)
    path = next(one for one in tmp_path.glob("2*/0/*test*/6/0/*"))
    path.write_bytes(b"")
    told = missing(collect(str(tmp_path)))
    assert "the disk was full" in told["0"].message


def test_a_wrong_layer_is_the_cause_before_all_others(tmp_path):
    words = undumped(tmp_path, step_id=False, options={"ge.exec.enableDump": "0"})
    assert "dump_layer" not in words
    record = tmp_path / "runs/run/run.json"
    record.write_text(record.read_text().replace('"dump_layer": ""', '"dump_layer": "nothing"'))
    assert "no operator has a name of dump_layer" in missing(collect(str(tmp_path)))["0"].message


# --- nothing was dumped

@pytest.mark.parametrize("asked, codes", [("", ["not-dumped"]), ("0|5", ["step-not-reached"])])
def test_a_run_without_any_folder_is_told_by_what_it_was_asked_for(tmp_path, asked, codes):
    making.record(tmp_path, sections=[], options={"dump_step": asked})
    assert making.codes(collect(str(tmp_path)), "error") == codes


@pytest.mark.parametrize("asked, missing", [("", False), ("0|7", True)])
def test_of_a_loop_that_was_not_counted_folders_tell_what_is_missing(tmp_path, asked, missing):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops(), 3)
    making.steps(tmp_path, making.train_ops(), (0, 5))
    making.record(tmp_path, sections=[], options={"dump_step": asked})
    codes = making.codes(collect(str(tmp_path)))
    assert "index-uncertain" in codes and ("step-not-reached" in codes) == missing


@pytest.mark.parametrize("device, told", [(0, True), (1, False)])
def test_a_training_graph_without_folders_is_told_without_any_record(tmp_path, device, told):
    """Only the evaluation was dumped; the graph of another device is that process's matter."""
    making.graph(tmp_path / ("graphs/pid_7_deviceid_%d" % device), TRAIN, making.train_ops(), 3)
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", making.EVAL, making.eval_ops(), 4)
    making.steps(tmp_path, making.eval_ops(), (0,), making.EVAL, 6)
    assert ("not-dumped" in making.codes(collect(str(tmp_path)))) == told


def test_a_training_graph_that_is_some_folders_is_not_called_undumped(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops(), 3)
    making.steps(tmp_path, making.train_ops(), (0,))
    assert "not-dumped" not in making.codes(collect(str(tmp_path)))


def test_a_training_graph_that_another_device_has_dumped_is_not_missed(tmp_path):
    """A graph file without a device: whose it is, its folders say."""
    making.graph(tmp_path / "graphs", TRAIN, making.train_ops(), 3)
    making.graph(tmp_path / "graphs", making.EVAL, making.eval_ops(), 4)
    making.steps(tmp_path, making.train_ops(), (0,))
    making.steps(tmp_path, making.eval_ops(), (0,), making.EVAL, 6, device=1)
    assert "not-dumped" not in making.codes(collect(str(tmp_path)))


# --- runs whose executions nobody has counted

def uncounted(dump, train=True, evaluated=(), asked="0|5", **changes):
    folder = dump / "graphs/pid_7_deviceid_0"
    if train:
        making.graph(folder, TRAIN, making.train_ops(), 3)
    if evaluated:
        making.graph(folder, making.EVAL, making.eval_ops(), 4)
        making.steps(dump, making.eval_ops(), evaluated, making.EVAL, 6)
    options = dict({"dump_step": asked}, **changes.pop("options", {}))
    making.record(dump, sections=[], options=options, **changes)
    return [one for one in collect(str(dump)).problems if one.code in (
        "not-dumped", "step-not-reached")]


@pytest.mark.parametrize("changes, words", [
    ({}, "no folder of any graph is there"),
    ({"options": {"dump_layer": "nothing"}}, "no operator has a name of dump_layer"),
    ({"asked": ""}, "no folder of any graph is there")])
def test_a_graph_that_was_built_and_left_nothing_has_run_once(tmp_path, changes, words):
    [problem] = uncounted(tmp_path, **changes)
    assert (problem.code, problem.severity) == ("not-dumped", "error")
    assert TRAIN + " was built: " + words in problem.message


def test_how_often_a_graph_ran_that_nobody_counted_is_not_known(tmp_path):
    [problem] = uncounted(tmp_path, asked="7-9")
    assert problem.message.startswith("steps 7-9: no folder; %s was built, and nobody" % TRAIN)
    assert "with dump.step()" in problem.hint and "nothing was trained" not in problem.hint


@pytest.mark.parametrize("changes", [{"opened": False}, {"status": "failed", "cause": "it failed"}])
def test_what_the_process_knows_itself_comes_first(tmp_path, changes):
    problems = uncounted(tmp_path, **changes)
    assert [one.code for one in problems] == ["step-not-reached"] * 2
    assert all("was built" not in one.message for one in problems)


def test_a_script_that_only_evaluates_has_missed_nothing(tmp_path):
    problems = uncounted(tmp_path, train=False, evaluated=(0, 1))
    assert {one.severity for one in problems} == {"info"}
    assert [one.message.split(":")[0] for one in problems] == [
        "no training graph ran", "step 5 has no folder, and no journal tells how many executions"
        " ran"]


@pytest.mark.parametrize("asked_by, told", [
    (["DumpSession"], "use keras-npu-dump run"), (None, "use keras-npu-dump run"),
    (["keras-npu-dump run", "NpuDumpCallback"], "in another way")])
def test_who_uses_run_is_not_told_to(tmp_path, asked_by, told):
    [problem] = uncounted(tmp_path, asked_by=asked_by)
    assert told in problem.hint
