"""Run records and journals: are they read as capture writes them, whole or torn?"""
import json

import pytest

from keras_npu_dump import collect
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.files.timestamps import parse_time
from keras_npu_dump.records.journal_lines import read_journal
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import read_run
from tests.collect import making
from tests.collect.making import TRAIN


def journal(tmp_path, *events):
    path = tmp_path / "iterations.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(path)


def execution(section, index, **more):
    return dict({"event": "execution", "section": section, "data_index": index, "fit": 0,
                 "epoch": 1, "batch": 2, "uncertain": None}, **more)


def test_sections_with_their_executions_and_counts(tmp_path):
    first, second = read_journal(journal(
        tmp_path, {"event": "fit", "fit": 0, "model": "m", "epochs": 1, "steps": 9},
        {"event": "section", "section": 0, "model": "m", "reason": "start"}, execution(0, 5),
        {"event": "graph", "section": 0, "name": "f_1", "operators": ["a/MatMul"]},
        {"event": "section", "section": 1, "model": "m", "reason": "compile"},
        {"event": "count", "section": 0, "count": 7, "final": False},
        {"event": "count", "section": 0, "count": 9, "final": True},
        {"event": "count", "section": 1, "count": 0, "final": True}))
    assert (first.graph_name, first.operators, first.count, first.final, first.last) == (
        "f_1", ("a/MatMul",), 9, True, 8)
    assert first.executions[5].iteration == {"fit": 0, "epoch": 1, "batch": 2}
    assert (second.reason, second.count, second.last) == ("compile", 0, None)


def test_an_execution_that_was_the_first_of_a_retraced_function(tmp_path):
    first, second = read_journal(journal(
        tmp_path, execution(0, 0), execution(0, 7),
        {"event": "section", "section": 1, "model": "m", "reason": "retrace"},
        {"event": "correct", "section": 1, "from_section": 0, "data_index": 7, "to_index": 0},
        execution(1, 0, uncertain="traced again")), StepSet.parse("0|7"))
    assert sorted(first.executions) == [0]
    assert sorted(second.executions) == [0]
    assert second.executions[0].uncertain == "traced again"


def test_a_corrected_execution_keeps_its_batch_and_only_asked_steps_stay(tmp_path):
    path = journal(tmp_path, execution(0, 7), {"event": "correct", "section": 1, "from_section": 0,
                                               "data_index": 7, "to_index": 0})
    _, second = read_journal(path, StepSet.parse("0|7"))
    assert second.executions[0].iteration == {"fit": 0, "epoch": 1, "batch": 2}
    first, second = read_journal(path, StepSet.parse("7"))
    assert not first.executions and not second.executions


@pytest.mark.parametrize("line", [
    "", "{", "[]", "null", '"text"', "{}", '{"event": "execution"}', '{"event": "later"}',
    '{"event": "execution", "section": "x", "data_index": 1}', "\xff\x00",
    '{"event": "execution", "section": 0, "data_index": null}'])
def test_a_line_that_cannot_be_read_does_not_hide_the_others(tmp_path, line):
    path = journal(tmp_path, execution(0, 1))
    with open(path, "a", encoding="latin-1") as stream:
        stream.write(line + "\n" + json.dumps(execution(0, 2)) + "\n" + '{"event": "exe')
    section, = read_journal(path)
    assert sorted(section.executions) == [1, 2]


@pytest.mark.parametrize("text, seconds", [
    ("2030-03-17T17:46:40+00:00", 1900000000), ("2030-03-17T17:46:40Z", 1900000000),
    ("2030-03-17 17:46:40", 1900000000), ("2030-03-18T01:46:40+08:00", 1900000000),
    ("2030-03-17T12:46:40-0500", 1900000000), ("2030-03-17T17:46:40.250000+00:00", 1900000000.25),
    ("", None), (None, None), ("yesterday", None), (5, None)])
def test_times(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"options": null, "pid": "x"}'])
def test_a_broken_run_record_is_told_and_its_journal_still_read(tmp_path, text):
    making.plain_job(tmp_path)
    (tmp_path / "runs/run/run.json").write_text(text)
    problems = Problems()
    run = read_run(str(tmp_path / "runs/run"), problems)
    assert (run.pid, run.rank, run.started) == (None, None, None)
    assert sorted(run.sections[0].executions) == [0, 5]
    manifest = collect(str(tmp_path))
    assert manifest.pairs[0].steps[1].iteration == {"fit": 0, "epoch": 1, "batch": 1}


def test_folders_in_runs_that_are_no_runs_are_passed_over(tmp_path):
    making.plain_job(tmp_path)
    (tmp_path / "runs/empty").mkdir()
    (tmp_path / "runs/notes.txt").write_text("mine")
    manifest = collect(str(tmp_path))
    assert [run.run_id for run in manifest.runs] == ["run"] and manifest.problems == []


def test_an_uncertain_execution_is_told_with_its_reason(tmp_path):
    making.plain_job(tmp_path)
    with open(str(tmp_path / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write(json.dumps(execution(0, 5, uncertain="steps_per_execution=4")) + "\n")
    problem, = collect(str(tmp_path)).problems
    assert problem.code == "index-uncertain" and problem.severity == "warning"
    assert "steps_per_execution=4" in problem.message and "5" in problem.message


def test_recompiled_training_is_several_pairs_in_the_order_of_execution(tmp_path):
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    other = "__inference_train_function_31"  # built later, named lower
    making.graph(graphs, TRAIN, making.train_ops(), 3)
    making.graph(graphs, other, making.train_ops(), 9)
    making.steps(tmp_path, making.train_ops(), (0, 5), TRAIN, 5)
    making.steps(tmp_path, making.train_ops(), (0,), other, 11)
    making.record(tmp_path, sections=[(TRAIN, (0, 5), 8), (other, (0,), 3)])
    manifest = collect(str(tmp_path))
    assert [manifest.pairs[one].model_names for one in manifest.training["0"]] == [[TRAIN], [other]]
    assert manifest.runs[0].executions == {
        TRAIN: {"count": 8, "last": 7, "dumped": [0, 5]},
        other: {"count": 3, "last": 2, "dumped": [0]}}
    assert manifest.problems == []


def test_a_graph_that_was_loaded_again_is_one_pair_and_its_later_steps_are_uncertain(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops(), 3)
    making.steps(tmp_path, making.train_ops(), (0, 5), TRAIN, 5)
    making.steps(tmp_path, making.train_ops(), (0,), TRAIN, 9)
    making.record(tmp_path, (0, 5), 9)
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert [(step.data_index, step.model_id, step.iteration is None) for step in pair.steps] == [
        (0, 5, False), (0, 9, True), (5, 5, False)]
    assert making.codes(manifest) == ["index-uncertain"]


def test_a_graph_that_was_built_again_is_two_pairs_in_order(tmp_path):
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    making.graph(graphs, TRAIN, making.train_ops(), 3, 2)
    making.graph(graphs, TRAIN, making.train_ops(), 8, 2)
    making.steps(tmp_path, making.train_ops(), (0, 5), TRAIN, 5)
    making.steps(tmp_path, making.train_ops(), (0,), TRAIN, 9)
    making.record(tmp_path, (0, 5), 9)
    manifest = collect(str(tmp_path))
    assert [(manifest.pairs[one].graph[-30:], manifest.pairs[one].confidence,
             manifest.pairs[one].steps[0].model_id) for one in manifest.training["0"]] == [
        ("ge_proto_00000003_graph_2_Build.txt"[-30:], "exact", 5),
        ("ge_proto_00000008_graph_2_Build.txt"[-30:], "exact", 9)]


def test_a_loop_that_the_journal_did_not_count(tmp_path):
    making.plain_job(tmp_path)
    (tmp_path / "runs/run/iterations.jsonl").write_text("")
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["index-uncertain"]
    assert manifest.pairs[0].steps[0].iteration is None


def test_steps_beyond_the_end_of_the_training(tmp_path):
    making.plain_job(tmp_path, count=6)
    making.record(tmp_path, (0, 5), 6, options={"dump_step": "0|5|10|20-22"})
    errors = collect(str(tmp_path)).errors
    assert [one.message for one in errors] == [
        "step 10 not reached, 6 executions ran", "steps 20-22 not reached, 6 executions ran"]


def test_a_range_of_a_million_steps_that_never_came_is_told_briefly(tmp_path):
    making.plain_job(tmp_path, count=6)
    making.record(tmp_path, (0, 5), 6, options={"dump_step": "0|5|10-1000000"})
    told = [one for one in collect(str(tmp_path)).problems if one.code == "step-not-reached"]
    assert len(told) <= 21


@pytest.mark.parametrize("mark, severity", [
    (None, "error"), ("steps_per_execution=2: that many batches from here", "error"),
    ("an earlier fit was interrupted in a batch that may have run or not", "warning")])
def test_a_missing_step_that_the_journal_doubts_is_no_error(tmp_path, mark, severity):
    making.plain_job(tmp_path)
    journal = tmp_path / "runs/run/iterations.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines.insert(-1, {"event": "execution", "section": 0, "data_index": 3, "fit": 0, "epoch": 0,
                      "batch": 3, "uncertain": mark})
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = tmp_path / "runs/run/run.json"
    record.write_text(record.read_text().replace('"0|5"', '"0|3|5"'))
    told = [one for one in collect(str(tmp_path)).problems if one.code == "step-missing"]
    # The path is where the step would lie: no step that is there is to be blamed.
    assert [(one.severity, one.path) for one in told] == [
        (severity, "%s/0/%s/5/3" % (making.TIME, TRAIN))]


def test_steps_that_were_not_asked_for(tmp_path):
    making.plain_job(tmp_path)
    making.steps(tmp_path, making.train_ops(), (3,))
    problem, = collect(str(tmp_path)).problems
    assert (problem.code, problem.severity) == ("step-unasked", "info")
    assert "3" in problem.message


def test_an_evaluation_that_never_reached_a_step_is_no_error(tmp_path):
    making.plain_job(tmp_path)  # its evaluation has a folder 0 and no folder 5
    assert collect(str(tmp_path)).errors == []


def test_the_options_in_the_graph_speak_where_no_record_does(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, making.train_ops(), 3,
                 options={"ge.exec.enableDump": "1", "ge.exec.dumpStep": "0|2|9"})
    making.steps(tmp_path, making.train_ops(), (0, 3))
    manifest = collect(str(tmp_path))
    assert {(one.code, one.message.split()[1]) for one in manifest.errors} == {
        ("step-missing", "2"), ("step-not-reached", "9")}
