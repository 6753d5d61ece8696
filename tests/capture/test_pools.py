"""Do pools and workers of a script under `run` end as under plain python, on a busy machine?

A worker that loses the signal of `terminate()` lets the script wait for ever. The long form is
asked for by KERAS_NPU_DUMP_ABUSE=long.
"""
import contextlib
import os
import subprocess
import sys

import pytest

from tests.capture.test_script_run import RUN
from tests.conftest import run_command

LONG = os.environ.get("KERAS_NPU_DUMP_ABUSE") == "long"
DUMPING = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=d"]
BUSY = "import os\nend = os.getppid()\nwhile os.getppid() == end:\n    pass\n"


@contextlib.contextmanager
def busy_machine():
    """Twice as many processes as there are cores do nothing beside."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY])
                 for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


POOLS = """
import multiprocessing, sys

def double(x):
    return 2 * x

if __name__ == "__main__":
    how, times, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context(how)
    for number in range(times):
        pool = context.Pool(size)
        assert pool.map(double, range(12)) == [2 * x for x in range(12)]
        pool.terminate()
        pool.join()
    print("all", times)
"""
CHILDREN = """
import multiprocessing, sys, time

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    for number in range(int(sys.argv[2])):
        child = context.Process(target=time.sleep, args=(600,))
        child.start()
        child.terminate()
        child.join()
        assert child.exitcode == -15, child.exitcode
    print("all", number + 1)
"""
TIMES = {"fork": (40, 200, 6), "forkserver": (5, 60, 4), "spawn": (3, 40, 4)}


@pytest.mark.parametrize("how, start", [("fork", DUMPING)] + [(how, RUN) for how in sorted(TIMES)])
def test_pools_that_are_opened_used_and_terminated(tmp_path, how, start):
    short, long, size = TIMES[how]
    (tmp_path / "train.py").write_text(POOLS)
    arguments = ["train.py", how, str(long if LONG else short), str(size)]
    with busy_machine():
        plain = run_command([sys.executable] + arguments, tmp_path, timeout=300)
        run = run_command(start + arguments, tmp_path, timeout=300)
    assert run.stdout == plain.stdout and plain.stdout.startswith("all")
    assert run.returncode == 0 and (start is DUMPING or run.stderr == plain.stderr)


@pytest.mark.parametrize("how", sorted(TIMES))
def test_children_that_are_terminated_as_soon_as_they_are_started(tmp_path, how):
    (tmp_path / "train.py").write_text(CHILDREN)
    with busy_machine():
        run = run_command(RUN + ["train.py", how, "500" if LONG else "50"], tmp_path, timeout=300)
    assert (run.returncode, run.stderr) == (0, "") and run.stdout.startswith("all")


KERAS = """
import numpy as np
import tensorflow as tf

new = hasattr(tf.keras.utils, "PyDataset")
base = tf.keras.utils.PyDataset if new else tf.keras.utils.Sequence

class Batches(base):
    def __len__(self):
        return 6
    def __getitem__(self, number):
        return np.full((4, 3), number, "float32"), np.full((4, 1), number, "float32")

def train():
    tf.keras.utils.set_random_seed(1) if hasattr(tf.keras.utils, "set_random_seed") else (
        tf.random.set_seed(1))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    workers = dict(workers=3, use_multiprocessing=True)
    if new:
        model.fit(Batches(**workers), epochs=2, verbose=0, shuffle=False)
    else:
        model.fit(Batches(), epochs=2, verbose=0, shuffle=False, **workers)
    return [one.tolist() for one in model.get_weights()]

if __name__ == "__main__":
    for number in range(%d):
        weights = train()
    print("trained", flush=True)
"""


def test_workers_of_keras(tmp_path):
    (tmp_path / "train.py").write_text(KERAS % (10 if LONG else 2))
    with busy_machine():
        plain = run_command([sys.executable, "train.py"], tmp_path, check=False, timeout=300)
        run = run_command(RUN + ["train.py"], tmp_path, check=False, timeout=300)
    assert (run.returncode, run.stdout) == (plain.returncode, plain.stdout) == (0, "trained\n")
