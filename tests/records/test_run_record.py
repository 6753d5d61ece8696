"""Is what is written read again, without a fault, and where is what?"""
import json
import os

import pytest

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.files.private_folders import make_new
from keras_npu_dump.files.timestamps import parse_offset
from keras_npu_dump.records.field_kinds import Faults
from keras_npu_dump.records.journal import Journal
from keras_npu_dump.records.journal_lines import read_journal
from keras_npu_dump.records.layout import graph_places
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import read_run
from keras_npu_dump.records.run_record import (
    RunIdentity,
    RunRecord,
    Surroundings,
    check_run,
    run_name,
)

OPTIONS = {"enable_dump": True, "dump_path": "d", "dump_step": "0|2", "dump_mode": "all",
           "dump_data": "tensor", "dump_layer": "a b", "enable_dump_debug": False,
           "dump_debug_mode": "all"}


@pytest.fixture
def record(tmp_path):
    folder = make_new(str(tmp_path / "runs"), run_name(3))
    return RunRecord(folder, OPTIONS, RunIdentity(3, 8, 5, True),
                     lambda: Surroundings({"RANK_ID": "3"}, "graphs"))


def test_every_field_that_is_written_is_of_its_kind(record):
    record.add_model("net", ["dense"])
    record.write(opened=True, device=1, script=["train.py", "caf\udce9"])
    record.end("failed", "ValueError: x", [3, 0], 2)
    with open(record.path) as stream:
        document = json.load(stream)
    faults = Faults()
    assert check_run(document, faults) == document == record.fields
    assert not faults and os.listdir(record.folder) == ["run.json"]


def test_run_and_journal_are_read_as_they_were_written(record):
    journal = Journal(os.path.join(record.folder, "iterations.jsonl"), StepSet.parse("0|2"))
    section = journal.start_section("net", "start")
    journal.start_fit("net", 2, None)
    for index in range(3):
        if journal.wants(index):
            journal.execution(section, index, {"fit": 0, "epoch": 1, "batch": index}, doubt="odd")
        section.index += 1
    journal.graph(section, "f", ["a/MatMul"])
    last = journal.execution(section, 2, {"fit": 0, "epoch": 1, "batch": 2})
    journal.withdraw([last])
    new = journal.retraced(section, {"fit": 0, "epoch": 1, "batch": 2})
    journal.write("lost", what="steps", path="x", executions=3, data_index=[0], of_section=0)
    journal.close()
    record.end("ended", None, [2, 1], 0)
    problems = Problems()
    run = read_run(record.folder, problems)
    assert problems.result() == []
    assert (run.run_id, run.rank, run.device, run.pid, run.status, run.asked, run.layers) == (
        record.run_id, 3, 5, os.getpid(), "ended", StepSet.parse("0|2"), ["a", "b"])
    first, second = run.sections
    assert (first.model, first.reason, first.graph_name, first.operators, first.count,
            first.final) == ("net", "start", "f", ("a/MatMul",), 2, True)
    assert {index: one.iteration for index, one in first.executions.items()} == {
        0: {"fit": 0, "epoch": 1, "batch": 0}}
    assert (second.number, second.count, sorted(second.executions)) == (new.number, 1, [0])
    assert first.executions[0].in_doubt
    assert [event["of_section"] for event in run.lost] == [0]


def test_what_the_process_itself_knows_needs_no_file(record, tmp_path):
    os.unlink(record.path)
    known = {"record": record.fields, "closed": False, "journal": b'{"event": "count", '
             b'"section": 0, "count": 4}\n{"event": "cou'}
    problems = Problems()
    run = read_run(record.folder, problems, known)
    assert run.sections[0].count == 4 and run.rank == 3
    assert [one.code for one in problems.result()] == ["unreadable"]


def test_the_first_variable_that_is_set_says_where_graphs_go():
    everything = {"NPU_COLLECT_PATH": "c", "DUMP_GRAPH_PATH": "", "ASCEND_WORK_PATH": "w"}
    assert [tuple(one) for one in graph_places(everything)] == [
        (os.path.join("c", "extra-info", "graph"), "NPU_COLLECT_PATH", True),
        ("", "DUMP_GRAPH_PATH", True), ("w", "ASCEND_WORK_PATH", False), ("", None, False)]
    # What GE's documentation puts first, and its source does not read, is looked at last.
    assert [one.variable for one in graph_places({"ASCEND_DUMP_PATH": "a"})] == [
        None, "ASCEND_DUMP_PATH"]
    assert [tuple(one) for one in graph_places({})] == [("", None, False)]


@pytest.mark.parametrize("text, seconds", [
    ("+0800", 28800), ("-05:30", -19800), ("+002030", 1230), ("+0000", 0), ("+2400", None),
    ("0800", None), ("+08", None), ("+0860", None), ("", None), (None, None), (8, None)])
def test_offsets(text, seconds):
    assert parse_offset(text) == seconds


def test_another_ranks_broken_record_is_one_line_of_a_good_training(tmp_path):
    from keras_npu_dump import collect
    from tests.collect import making
    making.plain_job(tmp_path)
    making.record(tmp_path, run_id="other", pid="x", rank=1e999, device=[],
                  options={"dump_step": 5})
    problems = collect(str(tmp_path), run_id="run").problems
    assert [(one.code, one.path) for one in problems] == [
        ("record-invalid", "runs/other/run.json")]
    assert "3 more" in problems[0].message
    assert len([one for one in collect(str(tmp_path)).problems
                if one.code == "record-invalid"]) == 4


def test_a_function_that_is_taken_over_keeps_its_ends_of_data(tmp_path):
    """The data ended at 4: what came before is numbered alike by every device."""
    steps = StepSet.parse("0|2|6")
    journal = Journal(str(tmp_path / "iterations.jsonl"), steps)
    section = journal.start_section("loop", "call")
    section.index = 5
    journal.end_of_data(section, 4)
    section.index = 7
    journal.take_over(section, "outside")
    journal.close()
    problems = Problems()
    found, = read_journal(journal.path, steps, problems)
    assert {number: one.ends for number, one in found.noted.items()} == {0: 0, 2: 0, 5: 1, 6: 1}
    assert found.indices_if(True) == found.indices_if(False) == {0, 2, 6}
    assert problems.result() == []
