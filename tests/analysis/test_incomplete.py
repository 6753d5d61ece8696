"""A verdict is of what was read: what was asked for and not read is told, with status 1."""
import glob
import json
import os
import shutil
import sys

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.collector.checks import missing_files
from keras_npu_dump.errors import InputError
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op, spread
from tests.conftest import run_command


@pytest.fixture(autouse=True)
def quick_second_look(monkeypatch):
    monkeypatch.setattr(missing_files, "LOOK_AGAIN", 0.0)


def a_job(folder, rank=0, steps=4, count=4, bad=(), **options):
    job = Job(folder, [op("x", "Data"), op("a", "Neg", ["x:0"]), op("b", "Relu", ["a:0"]),
                       op("NetOutput", "NetOutput", ["b:0"])], rank=rank, **options)
    for index in range(steps):
        x = spread(seed=index)
        out = np.full(64, np.inf, np.float32) if index in bad else np.maximum(-x, 0)
        job.execution(index, {"a": ([x], [-x]), "b": ([-x], [out])})
    if job.journal:
        job.counted(count)
    return job


def step_of(folder, index, rank=0):
    return glob.glob("%s/2*/%d/*/5/%d" % (folder, rank, index))[0]


def empty(folder):
    for path in glob.glob(glob.escape(folder) + "/*"):
        os.unlink(path)


def change_record(folder, **changes):
    path, = glob.glob("%s/runs/*/run.json" % folder)
    with open(path) as stream:
        record = json.load(stream)
    record["options"].update(changes.pop("options", {}))
    record.update(changes)
    with open(path, "w") as stream:
        json.dump(record, stream)


def incomplete(path, *codes, **options):
    found = triage(path, write=False, **options)
    assert found.verdict == "incomplete" and not found.suspects
    assert [one["code"] for one in found.checked["incomplete"]] == list(codes)
    text = triage_text(found)
    assert text.startswith("incomplete: ") and "healthy" not in text
    assert all("[%s]" % code in text for code in codes)
    return found


def one_of_four_emptied(folder):
    empty(step_of(folder, 2))


def half_a_step(folder):
    os.unlink(sorted(glob.glob(step_of(folder, 2) + "/*"))[0])


def one_step_is_gone(folder):
    shutil.rmtree(step_of(folder, 2))


def a_file_is_cut(folder):
    os.truncate(sorted(glob.glob(step_of(folder, 2) + "/*"))[0], 40)


def a_file_is_empty(folder):
    os.truncate(sorted(glob.glob(step_of(folder, 2) + "/*"))[0], 0)


def the_graph_is_cut(folder):
    path, = glob.glob("%s/graphs/*/*Build.txt" % folder)
    os.truncate(path, os.path.getsize(path) // 2)


def the_graph_is_gone(folder):
    shutil.rmtree("%s/graphs" % folder)


def it_crashed(folder):
    change_record(folder, status="failed", cause="ended by an exception (ValueError)")


def it_was_killed(folder):
    change_record(folder, status="running", ended=None)


def a_step_was_not_reached(folder):
    change_record(folder, options={"dump_step": "0-3|50"})


def an_operator_is_unknown(folder):
    change_record(folder, options={"dump_layer": "a b c"})


def all_is_gone(folder):
    for path in glob.glob("%s/2*" % folder):
        shutil.rmtree(path)


@pytest.mark.parametrize("lose, code", [
    (one_of_four_emptied, "step-missing"), (half_a_step, "step-partial"),
    (one_step_is_gone, "step-missing"), (a_file_is_cut, "unreadable"),
    (a_file_is_empty, "empty-file"), (the_graph_is_cut, "unreadable"),
    (the_graph_is_gone, "no-graph"), (it_crashed, "run-crashed"), (it_was_killed, "run-crashed"),
    (a_step_was_not_reached, "step-not-reached"), (an_operator_is_unknown, "layer-unknown"),
    (all_is_gone, "not-dumped")])
@pytest.mark.parametrize("collected", [False, True])
def test_what_was_not_read_is_told(tmp_path, lose, code, collected):
    """`collected`: there is a manifest of better times."""
    a_job(tmp_path)
    if collected:
        assert keras_npu_dump.collect(str(tmp_path)).errors == []
    lose(tmp_path)
    if collected and lose is a_file_is_empty:
        code = "unreadable"  # found while reading: the manifest holds, no folder has changed
    if collected and lose in (it_crashed, it_was_killed, a_step_was_not_reached,
                              an_operator_is_unknown):
        os.unlink(str(tmp_path / "manifest.json"))  # a record of then does not change any more
    found = incomplete(tmp_path, code)
    assert found.checked["tensors"] == (0 if lose is all_is_gone else found.checked["tensors"])


def test_a_manifest_without_a_word_of_empty_steps_is_not_believed(tmp_path):
    """As version 0.1.0 wrote them."""
    a_job(tmp_path)
    empty(step_of(tmp_path, 2))
    keras_npu_dump.collect(str(tmp_path))
    path = tmp_path / "manifest.json"
    document = json.loads(path.read_text())
    document["problems"] = []
    path.write_text(json.dumps(document))
    assert "3 dumped executions of 4" in triage_text(incomplete(tmp_path, "step-missing"))


def test_a_folder_that_changed_in_the_tick_of_the_manifest_is_looked_at_again(tmp_path):
    a_job(tmp_path)
    keras_npu_dump.collect(str(tmp_path))
    one_of_four_emptied(tmp_path)
    written = os.stat(str(tmp_path / "manifest.json")).st_mtime_ns
    os.utime(step_of(tmp_path, 2), ns=(written, written))
    incomplete(tmp_path, "step-missing")


@pytest.mark.parametrize("changes", [
    {}, {"status": "failed", "cause": "interrupted by SIGINT"},
    {"status": "failed", "cause": "interrupted by SIGTERM"}])
def test_who_got_all_that_was_asked_for_is_healthy(tmp_path, changes):
    a_job(tmp_path)
    change_record(tmp_path, **changes)
    found = triage(tmp_path, write=False)
    assert found.verdict == "healthy" and found.checked["incomplete"] == []


def test_without_records_what_is_whole_is_healthy(tmp_path):
    a_job(tmp_path, record=False)
    assert triage(tmp_path, write=False).verdict == "healthy"


def test_dump_data_alone_was_asked_for_without_graphs(tmp_path):
    a_job(tmp_path, record=False, with_graph=False)
    assert triage(tmp_path, write=False).verdict == "healthy"


def test_a_suspect_stays_one_and_the_gap_is_told_beside_it(tmp_path):
    a_job(tmp_path, bad=(3,))
    empty(step_of(tmp_path, 1))
    found = triage(tmp_path, write=False)
    assert found.verdict == "suspect" and found.suspects[0].op == "b"
    assert [one["code"] for one in found.checked["incomplete"]] == ["step-missing"]
    assert "Asked for, and not read:" in triage_text(found)


def test_each_rank_for_itself(tmp_path):
    for rank in range(3):
        a_job(tmp_path, rank=rank)
    empty(step_of(tmp_path, 2, rank=1))
    shutil.rmtree(os.path.dirname(os.path.dirname(os.path.dirname(step_of(tmp_path, 0, 2)))))
    assert triage(tmp_path, rank=0, write=False).verdict == "healthy"
    incomplete(tmp_path, "step-missing", rank=1)
    incomplete(tmp_path, "not-dumped", rank=2)
    incomplete(tmp_path, "step-missing", "not-dumped")
    with pytest.raises(InputError, match="rank"):
        triage(tmp_path, rank=7, write=False)


def test_one_step_folder_by_itself(tmp_path):
    a_job(tmp_path)
    empty(step_of(tmp_path, 2))
    incomplete(step_of(tmp_path, 2), "step-missing")
    assert triage(step_of(tmp_path, 1), write=False).verdict == "healthy"


def test_nothing_at_all_is_no_dump(tmp_path):
    with pytest.raises(InputError, match="no dump data"):
        triage(tmp_path, write=False)


@pytest.mark.parametrize("lose, status, verdict", [
    (None, 0, "healthy"), (one_of_four_emptied, 1, "incomplete")])
def test_the_command(tmp_path, lose, status, verdict):
    a_job(tmp_path)
    if lose:
        lose(tmp_path)
    done = run_command([sys.executable, "-m", "keras_npu_dump", "triage", ".", "--json"], tmp_path,
                       check=False)
    assert done.returncode == status
    document = json.loads(done.stdout)
    assert list(document) == ["schema", "verdict", "suspects", "next", "checked"]
    assert (document["schema"], document["verdict"]) == ("keras_npu_dump.triage/1", verdict)
