"""Does training go on where nothing can be written any more?"""
import json
import os

import pytest

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.records import journal_file
from keras_npu_dump.records.journal import Journal
from tests.conftest import run_python

PRELUDE = """
import json, os, resource, signal
import keras_npu_dump
from keras_npu_dump import DumpSession
keras_npu_dump.emulator.install()
import npu_device

def full(yes):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0 if yes else hard, hard))

def record(dump):
    with open(dump._capture.record.folder + "/run.json") as file:
        return json.load(file)

class Model:
    name = "late"
    layers = ()
"""


@pytest.mark.usefixtures("no_tensorflow")
def test_at_the_open_between_fits_and_at_the_end(tmp_path):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d")
full(True)
npu_device.open()
dump._capture.add_model(Model)
dump._capture.start_fit("late", 1, 1)
full(False)
dump._capture.add_model(type("Other", (), dict(name="later", layers=())))
print(json.dumps([[one["model"] for one in record(dump)["models"]], record(dump)["opened"],
                  os.listdir(dump._capture.record.folder)]))
full(True)
""", tmp_path)
    models, opened, files = json.loads(done.stdout.splitlines()[0])
    assert (models, opened) == (["late", "later"], True)
    assert not [name for name in files if name.endswith(".tmp")]
    assert done.stderr.count("record of this run cannot be written") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("no_tensorflow")
def test_before_training_it_is_one_clear_error(tmp_path):
    done = run_python(PRELUDE + """
full(True)
try:
    DumpSession(dump_path="d")
except keras_npu_dump.errors.ConfigError as error:
    print(error)
""", tmp_path)
    assert "dump_path: expected a folder with room" in done.stdout and "d" in done.stdout


def test_what_a_full_disk_loses_are_whole_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_file, "_MAX_PENDING", 300)
    written = Journal(str(tmp_path / "iterations.jsonl"), StepSet.all())
    section = written.start_section("net", "start")
    write, room = os.write, [30]

    def limited(descriptor, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        count = write(descriptor, bytes(data[:room[0]]))
        room[0] -= count
        return count

    monkeypatch.setattr(os, "write", limited)
    for index in range(20):
        written.execution(section, index, {"fit": 0, "epoch": 0, "batch": index})
    room[0] = 1 << 20
    written.execution(section, 20, {"fit": 0, "epoch": 0, "batch": 20})
    written.close()
    lines = [json.loads(line) for line in (tmp_path / "iterations.jsonl").read_text().splitlines()]
    found = [one["data_index"] for one in lines if one["event"] == "execution"]
    assert found[0] == 0 and found[-1] == 20 and 2 < len(found) < 21
    assert found == sorted(found) and lines[-1]["event"] == "count"


def test_a_line_longer_than_what_may_wait_is_kept_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_file, "_MAX_PENDING", 100)
    written = Journal(str(tmp_path / "none" / "iterations.jsonl"), None)
    written.write("graph", operators=["x" * 500])
    written.write("graph", operators=[])
    (tmp_path / "none").mkdir()
    written.write("count", count=1)
    lines = (tmp_path / "none" / "iterations.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["graph", "count"]
