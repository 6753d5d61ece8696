"""Is output that somebody deletes while a training runs told, and then told truly?"""
import json

import pytest

import keras_npu_dump
from keras_npu_dump.config.steps import StepSet
from tests.capture.disturbed_fit import train
from tests.capture.test_full_disk import PRELUDE
from tests.conftest import run_python

LOST = "import glob, os, shutil\n"
ALL = list(range(12))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Of the training that nobody disturbs."""
    done = train(tmp_path_factory.mktemp("whole"), steps="0")
    assert (done.status, done.said) == (3, [])
    return done.weights


def manifests(folder):
    """The run's own answer, and that of a later `collect`."""
    found, = folder.glob("d/runs/*/manifest.json")
    return json.loads(found.read_text()), keras_npu_dump.collect(
        str(folder / "d"), write=False).to_json()


def codes(manifest):
    return {one["code"] for one in manifest["problems"]}


def missing(manifest):
    told = [one["message"].split()[1] for one in manifest["problems"]
            if one["code"] == "step-missing"]
    return [index for text in told for index in StepSet.parse(text)]


def batches(manifest):
    """The batch of each dumped step of the training graph."""
    return {step["data_index"]: step["iteration"] and step["iteration"]["batch"]
            for pair in manifest["pairs"] if pair["role"] == "train" for step in pair["steps"]}


@pytest.mark.parametrize("code, batch, steps, gone, also", [
    # The whole folder, in the middle and after the last dump.
    ("shutil.rmtree('d')", 5, "0-11", ALL[:6], "no-graph"),
    ("shutil.rmtree('d')", 8, "0-3", ALL[:4], "not-dumped"),
    # One step and the graphs, as a script does that keeps the last files only.
    ("[shutil.rmtree(one) for one in glob.glob('d/2*/0/*/*/2') + ['d/graphs']]",
     5, "0-11", [2], "no-graph"),
    # Everything that the device has written, and the records.
    ("[shutil.rmtree(one) for one in glob.glob('d/2*') + ['d/runs']]", 5, "0-11", ALL[:6],
     "output-deleted"),
])
def test_what_is_gone_is_missed_and_the_rest_is_known(tmp_path, weights, code, batch, steps,
                                                      gone, also):
    done = train(tmp_path, LOST + code, batch, steps)
    assert (done.status, done.weights) == (3, weights)
    told = [one for one in done.said if "deleted" in one and "Of this run" not in one]
    last = [one for one in done.said if one.startswith("Of this run something is missing")]
    # Each kind of loss is told once: in a folder that something else has made again by then,
    # records, graphs and dump data are missed one by one.
    assert 1 <= len(told) <= 3 and len(last) == 1 and len(done.said) == len(told) + 1
    assert done.stderr.index(told[0]) < done.stderr.index(last[0])
    for manifest in manifests(tmp_path):
        counted, = [one["executions"] for one in manifest["runs"]]
        assert [one["count"] for one in counted.values()] == [12]
        assert {"output-deleted", also} <= codes(manifest)
        assert "step-not-reached" not in codes(manifest)
        if also != "not-dumped":
            assert missing(manifest) == gone
        if also == "output-deleted":
            assert batches(manifest) == {index: index for index in ALL[6:]}


SESSION = PRELUDE + """
import glob, shutil, time
dump = DumpSession(dump_path="d", dump_step=STEPS)
npu_device.open()
with dump:
    for index in range(12):
        with dump.step():
            pass
        if index == 5:
            if WHAT == "path":
                shutil.rmtree("d")
                open("d", "w").close()
            elif WHAT == "link":
                shutil.rmtree("d")
                os.symlink("/nowhere/at/all", "d")
            elif WHAT == "moved":
                os.rename("d", "elsewhere")
            elif WHAT == "copied":
                path = glob.glob("d/runs/*/iterations.jsonl")[0]
                shutil.copy(path, path + "2")
                os.replace(path + "2", path)
            else:
                found = glob.glob(WHAT)[0]
                shutil.rmtree(found) if os.path.isdir(found) else os.unlink(found)
"""


def session(folder, what, steps="0-11"):
    return run_python("WHAT = %r\nSTEPS = %r\n" % (what, steps) + SESSION, folder)


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("steps", ["0-11", "9", "0-2"])
@pytest.mark.parametrize("what", ["d", "d/runs", "d/runs/*", "d/runs/*/iterations.jsonl",
                                  "d/runs/*/run.json", "moved", "copied"])
def test_records_are_written_again_whole(tmp_path, what, steps):
    done = session(tmp_path, what, steps)
    assert done.stderr.count("the records of this run are written again") == (
        0 if what in ("d", "moved") else 1)
    assert done.stderr.count("was deleted after npu_device.open()") == (
        1 if what in ("d", "moved") else 0)
    assert done.stderr.count("Of this run something is missing") == 1
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["opened"], record["counts"]) == ("ended", True, [12])
    lines = [json.loads(line) for line in next(
        tmp_path.glob("d/runs/*/iterations.jsonl")).read_text().splitlines()]
    noted = [one["data_index"] for one in lines if one["event"] == "execution"]
    assert noted == {"0-11": ALL, "9": [9], "0-2": ALL[:3]}[steps]
    assert lines[-1] == {"event": "count", "section": 0, "count": 12, "final": True}


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("what", ["path", "link"])
def test_what_cannot_be_written_again_is_told_once_and_stops_nothing(tmp_path, what):
    done = session(tmp_path, what)
    assert done.stderr.count("cannot be made again") == 1
    assert done.stderr.count("Of this run something is missing") == 1
    assert "Traceback" not in done.stderr and "not reached" not in done.stderr


@pytest.mark.usefixtures("no_tensorflow")
def test_a_deletion_in_a_long_pause_is_told_by_the_watcher_which_writes_nothing(tmp_path):
    done = run_python(PRELUDE + """
import shutil, sys, time
from keras_npu_dump.capture.process import first_dump as watcher
watcher.PATIENCE = watcher.FIRST_LOOK = watcher.LONGEST_PAUSE = 0.01
watcher.MORE_EXECUTIONS = 0
dump = DumpSession(dump_path="d", dump_step="0")
npu_device.open()
with dump:
    with dump.step():
        pass
    time.sleep(0.5)
    shutil.rmtree("d")
    end = time.monotonic() + 60
    while "all" not in dump._capture.lookout.lost and time.monotonic() < end:
        time.sleep(0.01)  # in the middle of it the watcher may have missed the records first
    print(json.dumps(["all" in dump._capture.lookout.lost, os.path.exists("d")]))
""", tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == [True, False]
    assert done.stderr.count("was deleted after npu_device.open()") == 1
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["counts"]) == ("ended", [1])
