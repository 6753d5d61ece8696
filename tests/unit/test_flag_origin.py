"""What `run` learns from the run that a flag file continues, and what it believes."""
import json
import os
import sys

import pytest

from keras_npu_dump.cli.earlier_run import emulated_before
from keras_npu_dump.config.flag_origin import Origin, origin_text, read_origin
from tests.conftest import run_command

RECORD = {"schema": "keras_npu_dump.run/1", "run_id": "r", "emulated": True}


def dump(folder, **fields):
    """A dump folder with one record."""
    run = folder / "runs" / "r"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps(dict(RECORD, **fields)))
    return folder


def flag_file(path, dump_path, run_id="r"):
    """A flag file that continues a run."""
    text = origin_text(Origin(str(dump_path), run_id))
    path.write_text("# why%s\n--data_dump_step=1\n" % text)
    return str(path)


@pytest.mark.parametrize("path", [
    "/a b", "/\udcff\x1b[31m\n--x", "/中文", '/; continues {"dump_path": "/x", "run_id": "y"}'])
def test_any_path_is_read_back_from_one_line_of_ascii(path):
    text = "# of {x}; continues {}" + origin_text(Origin(path, "r"))
    assert text.isprintable() and text.encode("ascii")
    assert read_origin(text + "\n--data_dump_step=0\n") == Origin(path, "r")
    assert read_origin("# mine\n\n--data_dump_data=stats\n" + text) == Origin(path, "r")


@pytest.mark.parametrize("document", [
    '{"dump_path": "relative", "run_id": "r"}', '{"dump_path": "/d", "run_id": "../r"}',
    '{"dump_path": "/d", "run_id": ".."}', '{"dump_path": "/d", "run_id": ""}',
    '{"dump_path": "/d", "run_id": "r\\u0000"}', '{"dump_path": 5, "run_id": "r"}',
    '{"dump_path": "/d"}', '{"dump_path": "/d", "run_id": "r"', "{", "[]", "", "{" * 100000])
def test_what_names_no_run_is_nothing(document):
    assert read_origin("# x; continues " + document) is None
    assert read_origin("--data_dump_path=; continues " + document) is None


def test_the_record_beside_the_flag_file_comes_first(tmp_path):
    here, there = dump(tmp_path / "here"), dump(tmp_path / "there", emulated=False)
    path = flag_file(here / "next.flags", there)
    found = emulated_before([str(tmp_path / "missing"), path])
    assert found == (path, str(here / "runs" / "r" / "run.json"))
    elsewhere = flag_file(tmp_path / "mine.flags", here)
    assert emulated_before([elsewhere]).record == str(here / "runs" / "r" / "run.json")
    # It was on an NPU.
    assert emulated_before([flag_file(tmp_path / "other.flags", there)]) is None
    assert emulated_before([flag_file(tmp_path / "other.flags", tmp_path / "gone"), path]) == found


def test_a_record_that_is_none_is_not_believed(tmp_path):
    folder = dump(tmp_path / "d", emulated="yes")
    path = flag_file(tmp_path / "next.flags", folder)
    assert emulated_before([path]) is None
    os.remove(str(folder / "runs" / "r" / "run.json"))
    os.mkfifo(str(folder / "runs" / "r" / "run.json"))
    assert emulated_before([path]) is None


@pytest.mark.parametrize("options, installed, status, text", [
    ([], False, 0, "this run is emulated, too. --noemulate runs on the NPU"),
    (["--noemulate"], False, 2, "npu_device is not installed here"),
    ([], True, 0, "npu_device is installed, so this run is on the NPU"),
    (["--emulate"], False, 0, ""),
])
def test_run_does_as_the_run_before_and_says_so(tmp_path, options, installed, status, text):
    path = flag_file(tmp_path / "next.flags", dump(tmp_path / "a dump"))
    if installed:
        (tmp_path / "npu_device.py").write_text("")
    (tmp_path / "train.py").write_text(
        "import keras_npu_dump.emulator\nprint(keras_npu_dump.emulator.installed())\n")
    done = run_command(
        [sys.executable, "-m", "keras_npu_dump", "run", "--flagfile=" + path, *options, "train.py"],
        tmp_path, check=False)
    assert done.returncode == status and text in done.stderr
    assert done.stdout == {0: "%s\n" % (not installed), 2: ""}[status]
    assert ("continues a dump" in done.stderr) == (not options)
