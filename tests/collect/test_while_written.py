"""Collecting while the training writes, after it was killed, and where nothing may be written."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from keras_npu_dump import collect
from keras_npu_dump.collector.checks import missing_files
from keras_npu_dump.liveness import is_running
from tests.collect import making
from tests.collect.making import TIME, TRAIN

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def process():
    """A process that lives as long as the test."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield child
    child.kill()
    child.wait()


def record_alive(dump, pid, executed=(0, 5), count=None, **options):
    return making.record(dump, executed, count, final=False, host=socket.gethostname(), pid=pid,
                         started=making.iso(int(time.time())), ended=None, status="running",
                         options=options)


def cut(path, keep=0.6):
    os.truncate(path, int(os.path.getsize(path) * keep))


def some_file(dump, index=5):
    folder = os.path.join(str(dump), TIME, "0", TRAIN, "5", str(index))
    return os.path.join(folder, next(name for name in sorted(os.listdir(folder))
                                     if name.startswith("MatMulV2.net_dense_MatMul")))


def test_a_file_that_grows_is_not_cut_off(tmp_path, monkeypatch):
    making.plain_job(tmp_path, evaluate=False)
    path = some_file(tmp_path)
    with open(path, "rb") as stream:
        content = stream.read()
    monkeypatch.setattr(missing_files, "LOOK_AGAIN", 0.3)
    started, stop = threading.Event(), threading.Event()

    def write():
        with open(path, "wb", buffering=0) as stream:
            stream.write(content[:40])
            started.set()
            for byte in content[40:-1]:
                if stop.wait(0.02):
                    return
                stream.write(bytes([byte]))

    writer = threading.Thread(target=write)
    writer.start()
    started.wait()
    manifest = collect(str(tmp_path))
    stop.set()
    writer.join()
    assert making.codes(manifest) == ["still-growing"]
    assert manifest.errors == []


def test_a_file_that_does_not_grow_and_has_no_process_is_cut_off(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    cut(some_file(tmp_path))
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["truncated-file"]


@pytest.mark.parametrize("keep", [0.6, 0.02, 0.0])
def test_whatever_a_living_process_has_not_finished_is_still_growing(tmp_path, process, keep):
    making.plain_job(tmp_path, evaluate=False)
    shutil.rmtree(str(tmp_path / "runs"))
    record_alive(tmp_path, process.pid, dump_step="0|5")
    os.rename(str(tmp_path / "graphs/pid_7_deviceid_0"),
              str(tmp_path / ("graphs/pid_%d_deviceid_0" % process.pid)))
    rename_time(tmp_path)
    cut(next(str(one) for one in tmp_path.glob("2*/0/*/5/5/MatMulV2*dense_MatMul.*")), keep)
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["still-growing"]
    process.kill()
    process.wait()
    manifest = collect(str(tmp_path))
    assert making.codes(manifest, "error") == (["truncated-file"] if keep else ["empty-file"])


def rename_time(dump):
    """The session of a process that was started just now."""
    now = time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() + 1))
    os.rename(str(dump / TIME), str(dump / now))


def test_steps_that_a_living_training_has_not_reached_are_no_error(tmp_path, process):
    making.plain_job(tmp_path, evaluate=False)
    shutil.rmtree(str(tmp_path / "runs"))
    rename_time(tmp_path)
    record_alive(tmp_path, process.pid, count=6, dump_step="0|5|50")
    manifest = collect(str(tmp_path))
    problem, = [one for one in manifest.problems if one.code == "step-not-reached"]
    assert problem.severity == "info" and "still running" in problem.message
    assert manifest.runs[0].executions[TRAIN] == {"count": None, "last": 5, "dumped": [0, 5]}


def test_collecting_in_the_training_process_itself(tmp_path):
    """The record has its end already, the process of course lives: what is not
    whole yet may still be on its way from the device."""
    making.plain_job(tmp_path, evaluate=False)
    shutil.rmtree(str(tmp_path / "runs"))
    os.rename(str(tmp_path / "graphs/pid_7_deviceid_0"),
              str(tmp_path / ("graphs/pid_%d_deviceid_0" % os.getpid())))
    making.record(tmp_path, (0, 5), 8, host=socket.gethostname(), pid=os.getpid())
    cut(some_file(tmp_path))
    manifest = collect(str(tmp_path), run_id="run")
    assert making.codes(manifest) == ["still-growing"]


def test_a_killed_process_leaves_a_torn_journal_line(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (0, 5), None, ended=None, status="running",
                  options={"dump_step": "0|5|7"})
    with open(str(tmp_path / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write('{"event": "execution", "section": 0, "data_ind')
    manifest = collect(str(tmp_path))
    assert [step.iteration["batch"] for step in manifest.pairs[0].steps] == [0, 1]
    problem, = manifest.errors
    assert problem.code == "step-not-reached" and "the process ended before" in problem.message


def test_the_id_of_a_dead_process_may_be_given_to_another_one(process):
    assert is_running(process.pid, time.time())
    assert not is_running(process.pid, time.time() - 3600)
    process.kill()
    process.wait()
    assert not is_running(process.pid, time.time())


def test_collecting_again_when_the_training_has_gone_on(tmp_path):
    making.plain_job(tmp_path, indices=(0,))
    making.record(tmp_path, (0, 5), 8)
    first = collect(str(tmp_path))
    making.steps(tmp_path, making.train_ops(), (5,))
    second = collect(str(tmp_path))
    assert len(first.pairs[0].steps) == 1 and len(second.pairs[0].steps) == 2
    assert making.codes(first) == ["step-missing"] and making.codes(second) == []


@pytest.fixture
def read_only():
    """A job that a stranger can read, and nobody but root can write to."""
    base = tempfile.mkdtemp()
    os.chmod(base, 0o755)
    dump = os.path.join(base, "dump")
    making.plain_job(dump)
    for folder, _, names in os.walk(dump):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
    yield dump
    for folder, _, _ in os.walk(dump):
        os.chmod(folder, 0o755)
    shutil.rmtree(base)


def as_stranger(code, *arguments):
    """Runs code without root's rights to write everywhere."""
    drop = "import os, sys; os.getuid() or (os.setgid(65534), os.setuid(65534)); "
    # The interpreter must have read what it needs before it becomes a stranger.
    warm = "import json, keras_npu_dump; keras_npu_dump.collect; "
    return subprocess.check_output([sys.executable, "-c", warm + drop + code] + list(arguments),
                                   env=dict(os.environ, PYTHONPATH=ROOT)).decode()


def test_a_read_only_tree_is_collected_and_the_answer_is_the_callers(read_only):
    before = making.snapshot(read_only)
    out = as_stranger("m = keras_npu_dump.collect(sys.argv[1]); "
                      "print(json.dumps([m.path, len(m.pairs), len(m.problems)]))", read_only)
    assert out.strip() == "[null, 2, 0]"
    assert making.snapshot(read_only) == before


def test_the_manifest_of_a_read_only_tree_goes_where_output_says(read_only):
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    as_stranger("keras_npu_dump.collect(sys.argv[1], output=sys.argv[2])", read_only,
                os.path.join(folder, "m.json"))
    assert making.load(os.path.join(folder, "m.json"))["dump_path"] == read_only
    shutil.rmtree(folder)


def test_a_folder_that_may_not_be_read_is_told(read_only):
    os.chmod(os.path.join(read_only, TIME, "0", TRAIN, "5", "0"), 0o000)
    out = as_stranger("m = keras_npu_dump.collect(sys.argv[1]); "
                      "print([(p.code, p.path) for p in m.problems])", read_only)
    assert "('unreadable', '%s/0/%s/5/0')" % (TIME, TRAIN) in out


def test_a_graph_file_that_may_not_be_read_is_told(read_only):
    os.chmod(os.path.join(read_only, "graphs/pid_7_deviceid_0",
                          "ge_proto_00000003_graph_3_Build.txt"), 0o000)
    out = as_stranger("m = keras_npu_dump.collect(sys.argv[1]); "
                      "print([(p.code, p.path) for p in m.problems])", read_only)
    assert "('unreadable', 'graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt')" in out
    assert "'no-pair'" in out


def test_of_many_files_a_sample_is_opened_and_it_is_said(tmp_path):
    making.plain_job(tmp_path)
    sampled = collect(str(tmp_path), budget=5)
    problem, = sampled.problems
    assert (problem.code, problem.severity) == ("sampled", "info")
    assert problem.message.startswith("of 36 files 5 were opened")
    assert collect(str(tmp_path), budget=36).problems == []
    assert collect(str(tmp_path), budget=5, verify=True).problems == []


def test_what_the_sample_passed_over_verify_finds(tmp_path):
    making.plain_job(tmp_path)
    cut(some_file(tmp_path))
    codes = [making.codes(collect(str(tmp_path), **options), "error")
             for options in ({"budget": 1}, {"verify": True})]
    assert codes == [[], ["truncated-file"]]


@pytest.mark.parametrize("missing", [1, 7, 100])
def test_a_cut_file_is_found_among_others_with_the_same_header(tmp_path, missing):
    """Equal headers are read once; the sizes behind them still have to be right."""
    making.plain_job(tmp_path, indices=range(6))
    path = some_file(tmp_path, 3)
    os.truncate(path, os.path.getsize(path) - missing)
    manifest = collect(str(tmp_path), verify=True)
    problem, = manifest.errors
    assert problem.code == "truncated-file" and problem.path.endswith(os.path.basename(path))
    assert "5/3/" in problem.path


def test_a_header_that_was_damaged_is_found(tmp_path):
    making.plain_job(tmp_path, indices=range(6))
    path = some_file(tmp_path, 4)
    with open(path, "r+b") as stream:
        stream.seek(0)
        stream.write(b"\xff" * 8)
    problem, = [one for one in collect(str(tmp_path), verify=True).problems
                if one.code != "step-unasked"]
    assert problem.code == "foreign-file" and "5/4/" in problem.path
