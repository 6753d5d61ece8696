"""What was asked for and did not come: is the cause told, and a next dump that can be made?"""
import json

import numpy as np
import pytest

from keras_npu_dump.analysis.triage.findings.gaps import Selection, gaps_of
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.problems import Problem
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op, spread
from tests.analysis.test_incomplete import change_record

WORDS = "indices[1] = 99 is not in [0, 10) " * 4
RAISED = {"type": "InvalidArgumentError", "message": WORDS, "operator": "b", "section": 0,
          "data_index": 3, "tracing": False}


def a_training(folder, dumped, counted, final=True, data="tensor", **options):
    job = Job(folder, [op("x", "Data"), op("a", "Neg", ["x:0"]), op("b", "Relu", ["a:0"]),
                       op("NetOutput", "NetOutput", ["b:0"])], data=data, options=options)
    for index in dumped:
        x = spread(seed=index)
        job.execution(index, {"a": ([x], [-x]), "b": ([-x], [np.maximum(-x, 0)])})
    job.counted(counted, final)


def flags_of(found):
    with open(found.next.flagfile) as stream:
        return dict(line.strip()[2:].partition("=")[::2] for line in stream if line[0] == "-")


def test_nothing_dumped_is_nothing_checked_and_what_ran_is_dumped_next(tmp_path):
    a_training(tmp_path, (), 35, dump_step="50")
    found = triage(tmp_path)
    text = triage_text(found)
    assert text.startswith("incomplete: nothing was dumped, so nothing was checked\n")
    assert "step 50 not reached, 35 executions ran" in text
    assert "overflow" not in text and "Checked" not in text
    assert found.checked["rules"] == [] and set(found.checked["not_checked"].values()) == {
        "nothing was dumped"}
    assert "Next: statistics of all operators in 16 of 35 executions that ran, evenly" in text
    flags = flags_of(found)
    assert flags["data_dump_data"] == "stats" and flags["data_dump_step"].startswith("0|2|4|")
    assert flags["data_dump_step"].endswith("|34")
    assert "takes        what nothing shows yet" in text  # the graph here has no shapes


def test_a_step_that_was_executed_and_is_nowhere_is_no_matter_of_another_step(tmp_path):
    a_training(tmp_path, (), 8, dump_step="5")
    with open(str(next(tmp_path.glob("runs/*/iterations.jsonl"))), "a") as stream:
        stream.write(json.dumps({"event": "execution", "section": 0, "data_index": 5, "fit": 0,
                                 "epoch": 0, "batch": 5, "uncertain": None}) + "\n")
    found = triage(tmp_path)
    assert (found.next.dump_step, found.next.flagfile) == (None, None)
    assert found.next.commands == ["keras-npu-dump explain not-dumped", "keras-npu-dump doctor"]
    assert "\n   keras-npu-dump explain not-dumped\n" in triage_text(found)


@pytest.mark.parametrize("changes, how", [
    ({"status": "failed", "cause": "interrupted by SIGINT"}, "interrupted by SIGINT"),
    ({"status": "running", "ended": None}, "it was killed")])
@pytest.mark.parametrize("dumped, counted, asked, step", [
    ((), 0, "0-3", "0-3"),                    # before the first execution
    (range(4), 4, "0-3|50-60|500", "50-60|500"),
    ((0, 2), 3, "0|2|4-5", "4-5"),
    (range(3), 3, "", "all")])
def test_who_was_stopped_is_told_how_to_get_the_rest(tmp_path, changes, how, dumped, counted,
                                                     asked, step):
    a_training(tmp_path, dumped, counted, final="ended" not in changes, dump_step=asked,
               dump_mode="output", dump_layer="a b")
    change_record(tmp_path, **changes)
    found = triage(tmp_path)
    if not asked and "ended" not in changes:
        assert found.verdict == "healthy"  # all that there was: nothing is missing
        return
    text = triage_text(found)
    assert found.verdict == "incomplete" and "Next: " in text and how in text
    flags = flags_of(found)
    assert (flags["data_dump_step"], flags["data_dump_mode"], flags["data_dump_data"],
            flags["data_dump_layer"]) == (step, "output", "tensor", "a b")
    assert bool(found.next.estimated_bytes) == bool(dumped and asked)
    assert ("nothing shows yet" in text) != bool(dumped and asked)


@pytest.mark.parametrize("dumped, data, asked", [
    ((), "tensor", "3"), ((0, 2), "stats", "0|2|3-6"), ((0, 1), "tensor", "0|1|3")])
def test_the_exception_is_the_answer_and_what_fed_it_is_dumped_next(tmp_path, dumped, data,
                                                                   asked):
    a_training(tmp_path, dumped, 4, dump_step=asked, data=data)
    change_record(tmp_path, status="failed", cause="ended by an exception", failure=RAISED)
    found = triage(tmp_path)
    text = triage_text(found)
    assert ("Next: the exception is the answer (execution 3 raised InvalidArgumentError at operator"
            " b); what feeds that operator, in the execution before\n") in text
    assert (found.next.dump_step, found.next.dump_layer) == ("2", ["a"])
    assert flags_of(found)["data_dump_layer"] == "a"
    assert bool(found.next.estimated_bytes) == bool(dumped)  # the graph here has no shapes
    assert text.count(WORDS.strip()) == 1  # once is enough


def test_what_fed_the_operator_may_lie_here(tmp_path):
    a_training(tmp_path, range(3), 4, dump_step="0-3")
    change_record(tmp_path, status="failed", failure=dict(RAISED, operator="if/else/_1/b"))
    assert "the exception is the answer" in triage(tmp_path).next.why
    change_record(tmp_path, failure=dict(RAISED, operator="b/else/_1/inner/Assert"))

    found = triage(tmp_path)
    assert (found.next.dump_step, found.next.flagfile) == (None, None)
    assert found.next.commands[0] == "keras-npu-dump inspect %s --step 2 --tensor a" % tmp_path


@pytest.mark.parametrize("operator, index, dumped, step, told", [
    ("b", 0, (), None, "no execution ran before it that could be dumped"),
    ("unknown", 3, (), "0-2", "all 3 executions before it that were not dumped"),
    (None, 3, (0, 2), "1", "the only execution before it that was not dumped"),
    (None, 3, range(3), None, "all 3 executions before it were dumped and read")])
def test_the_execution_that_raises_is_never_asked_for_again(tmp_path, operator, index, dumped,
                                                            step, told):
    a_training(tmp_path, dumped, index + 1, dump_step="0-9")
    change_record(tmp_path, status="failed",
                  failure=dict(RAISED, operator=operator, data_index=index))
    found = triage(tmp_path)
    assert found.next.dump_step == step and told in found.next.why
    assert found.next.why.startswith("the exception is the answer (execution %d" % index)


def test_an_exception_that_the_script_has_caught_is_not_asked_for_again(tmp_path):
    a_training(tmp_path, (0,), 5, dump_step="0")
    change_record(tmp_path, raised=[RAISED])
    assert triage(tmp_path).next.dump_step == "1-2|4"


def test_all_that_was_not_read_is_listed(tmp_path):
    a_training(tmp_path, (0,), 8, dump_step="0|50-60|500")
    text = triage_text(triage(tmp_path))
    assert "steps 50-60 not reached" in text and "step 500 not reached" in text
    # Several problems of a code and a path, as of steps of a run of which no folder is there.
    manifest = Manifest(str(tmp_path), problems=[
        Problem("step-missing", "error", "step %d" % index, path="runs/a") for index in range(3)])
    assert [one.message for one in gaps_of(manifest, Selection([], [], "train", None), [])] == [
        "step 0", "step 1", "step 2"]


def test_of_a_healthy_dump_it_is_told_whether_it_is_all(tmp_path):
    for name, counted, told in (
            ("all", 3, "nothing more to dump: all 3 executions were dumped and read"),
            ("more", 4, "statistics of all operators in the only execution that was not dumped")):
        a_training(tmp_path / name, range(3), counted)
        found = triage(tmp_path / name)
        assert (found.verdict, found.next.why) == ("healthy", told)
        assert "\nNext: " + told in triage_text(found)
    job = Job(tmp_path / "x", [op("x", "Data"), op("a", "Neg", ["x:0"])], record=False)
    job.execution(0, {"a": ([spread()], [spread()])})
    assert triage(tmp_path / "x").next.why.startswith("how many executions ran is not known; 1 was")
