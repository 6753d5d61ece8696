"""What does a command say and return where its stdout or stderr cannot be written?"""
import json
import os
import shutil
import sys

import numpy as np
import pytest

from tests.analysis.synthetic import Job, op
from tests.broken_streams import SMALL_PIPE, run_with
from tests.conftest import run_command

COMMAND = [sys.executable, "-m", "keras_npu_dump"]
COMMANDS = {
    "collect": ["collect", "d"], "collect --json": ["collect", "d", "--json"],
    "inspect": ["inspect", "d"], "inspect --json": ["inspect", "d", "--json"],
    "inspect --op": ["inspect", "d", "--op", "relu"],
    "triage": ["triage", "d"], "triage --json": ["triage", "d", "--json"],
    "export": ["export", "d", "--to", "bin"],
    "export --json": ["export", "d", "--to", "npy", "--json"],
    "doctor": ["doctor"], "doctor --json": ["doctor", "--json"],
    "--help": ["--help"], "--version": ["--version"],
    "run --help": ["run", "--help"], "triage --help": ["triage", "--help"],
}
WRONG = {"usage": ["collect"], "option": ["run", "--no_such_flag", "x.py"],
         "path": ["inspect", "not_there"], "choice": ["export", "d", "--to", "gold"]}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A small job, written by hand: its path."""
    folder = tmp_path_factory.mktemp("job") / "d"
    names = ["layer_%d/relu" % number for number in range(40)]
    job = Job(folder, [op("x", "Data")] + [op(name, "Relu", ["x:0"]) for name in names])
    job.execution(0, {name: ([np.arange(3.)], [np.arange(3.)]) for name in names})
    job.counted(1)
    return folder


@pytest.fixture
def place(job, tmp_path):
    shutil.copytree(str(job), str(tmp_path / "d"))
    return tmp_path


@pytest.mark.parametrize("name, state", [(name, "full") for name in sorted(COMMANDS)] + [
    (name, "closed") for name in ("collect", "triage --json", "--version", "run --help")] + [
    ("inspect", "readonly"), ("doctor --json", "limited")])
def test_a_stdout_that_takes_nothing_is_one_message_and_status_2(place, name, state):
    done = run_with(COMMAND + COMMANDS[name], place, stdout=state)
    assert done.returncode == 2
    assert done.stderr.startswith("keras-npu-dump: error: stdout: ")
    assert done.stderr.count("\n") == 1
    if name.startswith("collect") and "help" not in name:
        assert (place / "d" / "manifest.json").exists()  # what was found is not lost


@pytest.mark.parametrize("name", [
    "collect --json", "inspect", "triage", "export", "doctor", "run --help", "triage --help"])
def test_a_reader_that_has_left_is_nothing_to_talk_about(place, name):
    done = run_with(COMMAND + COMMANDS[name], place, stdout="gone")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("state, status", [("full", 2), ("gone", 1), ("closed", 2)])
def test_streams_without_a_buffer(place, state, status):
    done = run_with(COMMAND + COMMANDS["inspect"], place, stdout=state,
                    env={"PYTHONUNBUFFERED": "1"})
    assert done.returncode == status and done.stderr.count("\n") == (status == 2)


@pytest.mark.parametrize("name, state", [
    ("collect", "closed"), ("triage --json", "full"), ("export", "gone")])
def test_a_broken_stderr_changes_nothing_of_an_answer(place, name, state):
    healthy = run_command(COMMAND + COMMANDS[name], place, check=False)
    shutil.rmtree(str(place / "d_bin"), ignore_errors=True)
    done = run_with(COMMAND + COMMANDS[name], place, stderr=state)
    assert (done.returncode, done.stdout) == (healthy.returncode, healthy.stdout)
    assert done.stdout


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_wrong_usage_keeps_its_status_and_its_words_come_on_stderr_alone(place, wrong):
    healthy = run_command(COMMAND + WRONG[wrong], place, check=False)
    assert (healthy.returncode, healthy.stdout) == (2, "")
    state = "full" if wrong in ("usage", "path") else "closed"
    done = run_with(COMMAND + WRONG[wrong], place, stderr=state)
    assert (done.returncode, done.stdout) == (2, "")
    done = run_with(COMMAND + WRONG[wrong], place, stdout=state)
    assert (done.returncode, done.stderr) == (2, healthy.stderr)


@pytest.mark.parametrize("name", ["collect", "export --json", "--help"])
def test_without_any_stream(place, name):
    before = {path: path.read_bytes() for path in (place / "d").rglob("*") if path.is_file()}
    done = run_with(COMMAND + COMMANDS[name], place, "closed", "closed", "closed")
    assert done.returncode == 2
    # No file of ours was opened in the place of a stream, to be printed into.
    for path in place.rglob("*"):
        assert path.is_dir() or b"stdout" not in path.read_bytes()
    for path, content in before.items():
        assert path.read_bytes() == content
    if name == "collect":
        json.loads((place / "d" / "manifest.json").read_text())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_does_not_block_gets_all_of_a_long_answer(place, unbuffered):
    command = COMMAND + ["inspect", "d", "--op", "relu", "--json"]
    healthy = run_command(command, place)
    assert len(healthy.stdout) > 2 * SMALL_PIPE
    done = run_with(command, place, stdout="slow", env={"PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stdout, done.stderr) == (0, healthy.stdout, "")


def test_letters_and_bytes_that_the_streams_do_not_have(place):
    odd = os.fsencode("für_") + b"\xff"
    os.rename(str(place / "d"), os.fsencode(str(place)) + b"/" + odd)
    for encoding in ("ascii:strict", "utf-16:strict"):
        for arguments in (["collect"], ["collect", "--role", "none"]):
            done = run_with(COMMAND + arguments[:1] + [odd] + arguments[1:], place,
                            env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
            assert done.returncode == (2 if "--role" in arguments else 0), done.stderr
            assert "Traceback" not in done.stderr
        done = run_with(COMMAND + ["collect", odd], place, stdout="full",
                        env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
        assert done.returncode == 2


def test_a_terminal_that_has_gone(place):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    os.close(master)
    done = run_with(COMMAND + ["collect", "d"], place, stdout=slave)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
