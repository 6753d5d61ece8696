"""Are paths and names that are too long told before training, and deep trees read to the end?"""
import json
import os
import subprocess
import sys

import pytest

import keras_npu_dump
from keras_npu_dump.capture.device import dump_folder
from keras_npu_dump.errors import ConfigError
from tests.conftest import run_command

LONGEST = 4095 - dump_folder._APPENDED


def command(*arguments):
    return [sys.executable, "-m", "keras_npu_dump"] + list(arguments)


def path_of(length, folder):
    """A path of so many bytes below a folder."""
    path = str(folder)
    while length - len(path) > 210:
        path += "/" + "n" * 200
    return path + "/" + "n" * (length - len(path) - 1)


def make_deep(folder, depth, name="n"):
    """Nested folders, deeper than a path may be; the deepest has files of every kind."""
    os.makedirs(str(folder), exist_ok=True)
    here = os.open(str(folder), os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    for file in ("Add.x.1.2.1700000000000000", "ge_proto_00000001_graph_1_Build.txt",
                 "manifest.json", "run.json"):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize("length", [LONGEST + 1, 4000, 4095, 5000, "name"])
def test_a_dump_path_without_room_is_told_before_the_script_runs(tmp_path, length):
    path = str(tmp_path / ("n" * 256)) if length == "name" else path_of(length, tmp_path)
    (tmp_path / "script.py").write_text("print('it ran')")
    done = run_command(command("run", "--emulate", "--data_dump_path=" + path, "script.py"),
                       tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("keras-npu-dump: error: dump_path: expected")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 1000
    assert os.listdir(str(tmp_path)) == ["script.py"]


def test_the_longest_dump_path_holds_all_that_is_put_below_it(tmp_path):
    path = path_of(LONGEST, tmp_path)
    dump_folder.prepare_dump_path(path)
    deepest = os.path.join(path, "20260101000000", "1000", "m" * 255, "1000000000", "1000000000")
    os.makedirs(deepest)
    with open(os.path.join(deepest, "12345678901234567890"), "w") as file:
        file.write("x")
    with pytest.raises(ConfigError):
        dump_folder.prepare_dump_path(path + "n")
    # What a link stands for counts: GE follows it.
    os.symlink(path, str(tmp_path / "link"))
    dump_folder.prepare_dump_path(str(tmp_path / "link"))
    with pytest.raises(ConfigError):
        dump_folder.prepare_dump_path(str(tmp_path / "link" / "n"))


@pytest.fixture
def dumped(tmp_path):
    """A run that has dumped one operator, and its answer."""
    from tests.conftest import run_python
    run_python("""
import keras_npu_dump
keras_npu_dump.emulator.install()
dump = keras_npu_dump.DumpSession(dump_path="d")
import npu_device
import tensorflow as tf
npu_device.open().as_default()
train = tf.function(lambda x: x * 2 + 1)
with dump, dump.step():
    train(tf.ones(3))
""", tmp_path)
    return tmp_path


DEEP = [("d/deep", 3000, "n", "d/deep"),
        ("d/20260101010101/0/m/1/0", 40, "n" * 200, "d/20260101010101"),
        ("d/graphs", 3000, "n", "d/graphs/n"), ("d/runs", 3000, "n", "d/runs/n"),
        ("d/graphs/pid_1_deviceid_0", 40, "n" * 200, "d/graphs/pid_1_deviceid_0")]


def test_a_tree_deeper_than_paths_may_be_is_one_problem(dumped):
    before = keras_npu_dump.collect(str(dumped / "d"), write=False).to_json()
    assert before["pairs"]
    for folder, depth, name, removed in DEEP:
        make_deep(dumped / folder, depth, name)
        try:
            after = keras_npu_dump.collect(str(dumped / "d"), write=False).to_json()
            assert after["pairs"] == before["pairs"], folder
            more = [one for one in after["problems"] if one not in before["problems"]]
            expected = 0 if folder == "d/runs" else 1  # records lie at one depth
            assert [one["code"] for one in more] == ["unreadable"] * expected, folder
            done = run_command(command("export", "--to", "json", "--output", "out", "d"),
                               dumped, check=False)
            assert done.returncode == 1 and "Traceback" not in done.stderr
        finally:
            # Python's own rmtree gives up at that depth.
            subprocess.run(["rm", "-rf", str(dumped / removed)], check=True)


def test_in_a_working_directory_that_is_gone(tmp_path):
    (tmp_path / "script.py").write_text("import os\ntry:\n    os.getcwd()\nexcept OSError:\n"
                                        "    print('it ran')\n")
    here = tmp_path / "gone"

    def run(*arguments):
        here.mkdir()
        return run_command(["sh", "-c", "rmdir '%s'; exec \"$@\"" % here, "sh"]
                           + command(*arguments), here, check=False)

    script, path = str(tmp_path / "script.py"), str(tmp_path / "d")
    done = run("run", "--emulate", "--data_dump_path=" + path, script)
    assert done.returncode == 0 and "it ran" in done.stdout
    for arguments in (("run", "--emulate", script), ("collect", "d"), ("inspect", "d"),
                      ("export", "d", "--to", "npy"), ("triage", "d"), ("doctor", "--emulate")):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.startswith("keras-npu-dump: error: ") and done.stderr.count("\n") == 1
    assert json.loads(run("doctor", "--json", "--emulate", "--data_dump_path=" + path).stdout)


@pytest.mark.usefixtures("no_tensorflow")
def test_a_session_in_a_working_directory_that_is_gone(tmp_path):
    here = tmp_path / "gone"
    here.mkdir()
    code = """
import os, sys
os.rmdir(os.getcwd())
import keras_npu_dump
keras_npu_dump.emulator.install()
dump = keras_npu_dump.DumpSession(dump_path=sys.argv[1])
import npu_device
npu_device.open()
with dump, dump.step():
    pass
"""
    done = run_command([sys.executable, "-c", code, str(tmp_path / "d")], here)
    assert "Traceback" not in done.stderr
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["cwd"], record["status"]) == ("", "ended")
