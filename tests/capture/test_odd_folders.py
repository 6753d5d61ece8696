"""A FIFO where a run wants a folder or writes a record: does the run end well or in one message?"""
import os

import pytest

from tests.conftest import run_python

pytestmark = pytest.mark.usefixtures("no_tensorflow")

SCRIPT = """
import keras_npu_dump
from keras_npu_dump.errors import DumpError
keras_npu_dump.emulator.install()
try:
    keras_npu_dump.apply(keras_npu_dump.DumpConfig(dump_path="d"))
except DumpError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("name", ["graphs", "runs", "d"])
def test_where_a_folder_is_wanted(tmp_path, name):
    if name == "d":
        os.mkfifo(str(tmp_path / "d"))
    else:
        (tmp_path / "d").mkdir()
        os.mkfifo(str(tmp_path / "d" / name))
    done = run_python(SCRIPT, tmp_path, timeout=60)
    assert done.stdout.startswith("ConfigError") and done.stdout.count("\n") == 1
    assert "/d" in done.stdout


def test_a_record_that_became_a_fifo_stops_nothing(tmp_path):
    done = run_python("""
import os
import keras_npu_dump
from keras_npu_dump import DumpSession
keras_npu_dump.emulator.install()
import npu_device
dump = DumpSession(dump_path="d")
folder = dump._capture.record.folder
for name in ("run.json", "iterations.jsonl", "manifest.json"):
    if os.path.lexists(os.path.join(folder, name)):
        os.unlink(os.path.join(folder, name))
    os.mkfifo(os.path.join(folder, name))
npu_device.open()
dump._capture.record.write(opened=True)
dump._capture.journal.write("fit", fit=0)
print("goes on")
""", tmp_path, timeout=60)
    assert done.stdout.startswith("goes on")
    assert done.stderr.count("cannot be written; training goes on: it is a FIFO") == 1
    assert "states of the run's record, 1 lines of the journal (it is a FIFO" in done.stderr
