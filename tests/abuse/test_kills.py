"""Is a killed training told as it is: nothing complete lost, nothing partial called whole?

SIGKILL at a random moment of a real training with the emulator; the truth is the same
training undisturbed. Three kills; KERAS_NPU_DUMP_KILLS=100 is the long form. A failure
names its seed: KERAS_NPU_DUMP_KILL_SEED starts from it.
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.abuse.environment import environment
from tests.conftest import run_command

KILLS = int(os.environ.get("KERAS_NPU_DUMP_KILLS", "3"))
SEED = int(os.environ.get("KERAS_NPU_DUMP_KILL_SEED", "20261201"))
SCRIPT = pathlib.Path(__file__).resolve().parent / "killed_training.py"
ROUNDS = 30
# From where on the moment is drawn: half of the time goes into tracing the first batch.
MARKS = ("began", "stepping")
TOLD = {"step-missing", "step-partial", "truncated-file", "empty-file"}


class Truth:
    """The undisturbed training: its files, its iterations, and how long it took."""

    def __init__(self, folder):
        assert start(folder).wait(300) == 0
        times = {name: os.stat(str(folder / name)).st_mtime for name in MARKS + ("ended",)}
        self.seconds = {name: times["ended"] - times[name] for name in MARKS}
        self.steps = steps_of(folder)
        document, status = ask(folder, "collect")
        assert status == 0 and len(self.steps) == 2 * ROUNDS
        self.iterations = iterations(document)
        assert len(self.iterations) == 2 * ROUNDS


def start(folder):
    command = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_step=all",
               "--data_dump_path=d", str(SCRIPT), str(ROUNDS)]
    return subprocess.Popen(command, cwd=str(folder), env=environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def steps_of(folder):
    """{data_index: {file name without its time: size}} of the training graph's folders."""
    found = {}
    for step in pathlib.Path(folder, "d").glob("2*/0/*train_function*/*/*"):
        found[int(step.name)] = {re.sub(r"\.\d{16}$", "", file.name): file.stat().st_size
                                 for file in step.iterdir()}
    return found


def ask(folder, *arguments):
    done = run_command([sys.executable, "-m", "keras_npu_dump"] + list(arguments) + ["d", "--json"],
                       folder, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout or "null"), done.returncode


def training_steps(document):
    return [step for pair in document["pairs"] if pair["role"] == "train"
            for step in pair["steps"]]


def iterations(document):
    return {step["data_index"]: step["iteration"] for step in training_steps(document)}


def killed(folder, truth, rng):
    """Leaves a training that was killed before its end.

    Returns:
      The fraction of its time that it had.
    """
    while True:
        shutil.rmtree(str(folder), ignore_errors=True)
        folder.mkdir()
        mark = rng.choice(MARKS)
        process = start(folder)
        try:
            while not (folder / mark).exists():
                assert process.poll() is None
                time.sleep(0.001)
            fraction = rng.random()
            time.sleep(fraction * truth.seconds[mark])
        finally:
            process.send_signal(signal.SIGKILL)
        if process.wait(60) == -signal.SIGKILL and not (folder / "ended").exists():
            return fraction


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return Truth(tmp_path_factory.mktemp("whole"))


@pytest.mark.timeout(300 + 60 * KILLS)
def test_what_a_kill_leaves_is_told_as_it_is(truth, tmp_path):
    left = collections.Counter()
    for seed in range(SEED, SEED + KILLS):
        folder = tmp_path / "killed"
        fraction = killed(folder, truth, random.Random(seed))
        there = steps_of(folder)
        whole = {index for index, files in there.items() if files == truth.steps[index]}
        left["whole"] += len(whole)
        left["partial"] += len(there) - len(whole)
        wrong = judged(folder, truth, there, whole)
        assert not wrong, "seed %d, killed after %.0f%% with %d whole steps of %d: %s" % (
            seed, 100 * fraction, len(whole), len(there), wrong)
    print("steps whole and partial: %s" % dict(left))


def judged(folder, truth, there, whole):
    """What collect and triage say that is not so, or do not say."""
    document, status = ask(folder, "collect")
    wrong = []
    told = [one for one in document["problems"] if one["code"] in TOLD]
    listed = training_steps(document)
    names = {step["data_index"]: step["path"] for step in listed}
    for index in sorted(there):
        at_it = [one for one in told if re.search(
            r"train_function_\d+/\d+/%d(/|$)" % index, one["path"] or "")]
        if index in whole and (at_it or index not in names):
            wrong.append("whole step %d is told as %s" % (index, at_it or "not there"))
        if index not in whole and not at_it:
            wrong.append("partial step %d is told as whole" % index)
    for step in listed:
        index = step["data_index"]
        if step["iteration"] != truth.iterations[index]:
            wrong.append("step %d is said to be %s" % (index, step["iteration"]))
        if step["files"] != len(there[index]):
            wrong.append("step %d has %d files, told are %d" % (
                index, len(there[index]), step["files"]))
    if document["runs"][0]["ended"] is not None:
        wrong.append("the run is said to have ended")
    found, status = ask(folder, "triage")
    if found is None:
        wrong.append("triage has no answer, status %d" % status)
    elif found["verdict"] == "healthy" or not status:
        wrong.append("triage calls it healthy")
    return wrong
