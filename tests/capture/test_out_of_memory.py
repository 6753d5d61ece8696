"""What is left, and what is said of it, where memory, threads or descriptors run out?"""
import json
import os
import resource
import signal
import sys

import pytest

import keras_npu_dump
from keras_npu_dump.formats.tensor.tensor_writer import TensorValue, write_file
from tests.capture.disturbed_fit import train
from tests.capture.test_full_disk import PRELUDE
from tests.capture.test_lost_output import weights  # noqa: F401 (a fixture)
from tests.conftest import run_command, run_python

LIMIT = """
import re, resource
size = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, resource.RLIM_INFINITY))
"""
NO_LIMIT = "\nresource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)\n"


def whole_steps(manifest):
    """The steps of the training graph that have all the files that the first has."""
    steps = [step for pair in manifest["pairs"] if pair["role"] == "train"
             for step in pair["steps"]]
    return [one["data_index"] for one in steps if one["files"] == steps[0]["files"]]


def test_a_training_that_dies_of_memory_leaves_whole_steps_and_the_truth(tmp_path):
    # TensorFlow has no room for one more tensor of 40 MB: it raises, or std::bad_alloc ends it.
    done = train(tmp_path, "ROOM = 0" + LIMIT + """
import tensorflow as tf
held = [tf.zeros(1 << 20) for _ in range(10000)]
""", steps="0-11")
    assert done.status in (1, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL, 134)
    manifest = keras_npu_dump.collect(str(tmp_path / "d"), write=False).to_json()
    run, = manifest["runs"]
    (counted,) = run["executions"].values()
    assert counted["last"] == 5 and whole_steps(manifest) == [0, 1, 2, 3, 4, 5]
    told, = [one for one in manifest["problems"] if one["code"] == "step-not-reached"]
    assert told["message"].startswith("steps 6-11 not reached") and told["severity"] == "error"
    cause = "ended by an exception (" if run["ended"] else "the process ended before"
    assert cause in told["message"]
    later = run_command([sys.executable, "-m", "keras_npu_dump", "triage", "--json", "d"],
                        tmp_path, check=False)
    assert later.returncode in (0, 1) and "Traceback" not in later.stderr


def test_killed_by_the_kernel_for_its_memory(tmp_path):
    group = "/sys/fs/cgroup/memory/keras_npu_dump_test_%d" % os.getpid()
    try:
        os.mkdir(group)
        with open(group + "/memory.limit_in_bytes", "w") as file:
            file.write(str(600 << 20))
    except OSError as error:
        pytest.skip("this machine gives no cgroup with a limit on memory: %s" % error)
    try:
        done = train(tmp_path, "held = [bytearray(b'x' * (1 << 20)) for _ in range(2000)]",
                     before=["sh", "-c", "echo $$ >%s/cgroup.procs; exec \"$@\"" % group, "sh"])
    finally:
        os.rmdir(group)
    assert done.status == -signal.SIGKILL
    manifest = keras_npu_dump.collect(str(tmp_path / "d"), write=False).to_json()
    assert whole_steps(manifest) == [0, 1, 2, 3, 4, 5] and manifest["runs"][0]["ended"] is None
    told, = [one for one in manifest["problems"] if one["code"] == "step-not-reached"]
    assert "6 executions or more ran; the process ended before" in told["message"]


@pytest.mark.usefixtures("no_tensorflow")
def test_no_thread_for_the_watcher(tmp_path):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="1|3")
npu_device.open()
with dump:
    for index in range(5):
        with dump.step():
            if index == 1:  # a thread wants megabytes for its stack
                ROOM = 2 << 20""" + LIMIT.replace("\n", "\n                ") + """
""" + NO_LIMIT + """
print(json.dumps([one.index for one in dump._capture.journal.sections]))
""", tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == [5]
    assert done.stderr.count("can't start new thread") == 2  # at once, and at the end
    assert done.stderr.count("training goes on") == 1 and "Traceback" not in done.stderr


@pytest.mark.usefixtures("no_tensorflow")
def test_the_journal_outlives_a_lack_of_memory(tmp_path):
    """A long line finds no room; what comes after it does."""
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="0-11")
npu_device.open()
capture = dump._capture
names = ["name of an operator"] * 100000
with dump:
    for index in range(12):
        if index == 3:
            ROOM = 1 << 20""" + LIMIT.replace("\n", "\n            ") + """
            for _ in range(2):
                capture.journal.write("lost", what="steps", path="d", operators=names)
                capture.add_model(type("Model", (), dict(name="m", layers=())))
            """ + NO_LIMIT.strip() + """
        with dump.step():
            pass
capture.close()
print(json.dumps(record(dump)))
""", tmp_path)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["counts"] == [12] and found["lost_lines"] == 2
    assert found["outages"] == ["Not enough memory"]
    assert "Traceback" not in done.stderr and done.stderr.count("training goes on") == 1
    lines = next(tmp_path.glob("d/runs/*/iterations.jsonl")).read_text().splitlines()
    assert sum(json.loads(line)["event"] == "execution" for line in lines) == 12


def test_no_file_descriptor_is_left(tmp_path, weights):  # noqa: F811
    # Below what is open: no thread that closes a file makes room for one more.
    done = train(tmp_path, """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
""", options=["--json"])
    assert done.status == 3 and "weights " + weights in done.stderr
    during, last = done.said
    assert "Too many open files" in during and "Too many open files" in last
    manifest = json.loads(done.stdout[done.stdout.index("{\n"):])
    assert manifest["runs"][0]["ended"] and whole_steps(manifest) == [0, 1, 2, 3, 4, 5]
    assert "no-run" not in {one["code"] for one in manifest["problems"]}


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A dump file of 200 MB, more than the limit; most of it is a hole."""
    folder = tmp_path_factory.mktemp("big") / "d"
    step = folder / "20260101010101" / "0" / "m" / "1" / "0"
    step.mkdir(parents=True)
    path = str(step / "Add.x.1.2.1700000000000000")
    size = 200 << 20
    write_file(path, "x", [], [TensorValue(None, 1, shape=(size // 4,), size=size)],
               1700000000000000)
    os.truncate(path, os.path.getsize(path) + size)
    return folder


@pytest.mark.parametrize("room", [40, 160])
def test_commands_with_little_memory_end_with_an_answer_or_one_message(big, tmp_path, room):
    file = next(big.glob("*/*/*/*/*/*"))
    for arguments in (["collect", str(big)], ["inspect", str(file)],
                      ["inspect", str(big), "--op", "x", "--tensor", "x:0", "--role", "all"],
                      ["triage", str(big), "--role", "all"],
                      ["export", str(file), "--to", "npy", "--output", str(tmp_path / "out")]):
        done = run_command(
            ["sh", "-c", "ulimit -v %d; exec \"$@\"" % (room << 10), "sh", sys.executable, "-m",
             "keras_npu_dump"] + arguments, tmp_path, check=False)
        assert done.returncode in (0, 1, 2), (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        if room < 100:
            assert done.returncode == 2 and done.stderr.count("\n") == 1
            assert "not enough memory" in done.stderr


def test_the_limit_is_that_of_the_test_alone():
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
