"""Of an emulated dump it is known exactly what is left: any file that is gone is told.

One training with a branch and a loop in the model, its dump taken apart in many ways; and
one that is killed in the middle of a step.
"""
import collections
import glob
import os
import shutil

import pytest

from keras_npu_dump import collect
from keras_npu_dump.analysis.triage.triage import triage
from tests.collect import making
from tests.conftest import run_python

TRAINING = """
import os, signal, sys, threading
import numpy as np
import keras_npu_dump
keras_npu_dump.emulator.install()
import tensorflow as tf
dump = keras_npu_dump.NpuDumpCallback(dump_path="dump", dump_step="0|3-5")
import npu_device
npu_device.open().as_default()

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)

    def call(self, x):
        y = self.first(x)
        y = tf.cond(tf.reduce_mean(x) > 0.5, lambda: tf.sin(y) + 1., lambda: tf.cos(y))
        y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v) * 1.5), [0, y])[1]
        return self.last(y)

def kill_inside(step):
    # As the kernel does when memory is short: at no point in particular.
    while True:
        for folder in [one for one in os.scandir("dump") if one.name.isdigit()]:
            for root, _, names in os.walk(folder.path):
                if root.endswith("/" + step) and len(names) > 20:
                    os.kill(os.getpid(), signal.SIGKILL)

if len(sys.argv) > 1:
    threading.Thread(target=kill_inside, args=(sys.argv[1],), daemon=True).start()
model = Net()
model.compile("sgd", "mse")
x = np.arange(96, dtype="float32").reshape(32, 3) / 96
y = x.sum(axis=1, keepdims=True)
model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False, callbacks=[dump])
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emulated")
    run_python(TRAINING, folder)
    return str(folder / "dump")


def steps_of(dump):
    """Folders of the training graph's steps: that which left most files."""
    found = collections.defaultdict(list)
    for step in glob.glob(os.path.join(dump, "2*/0/*/*/*")):
        found[os.path.dirname(step)].append(step)
    return sorted(max(found.values(), key=lambda steps: len(os.listdir(steps[0])) * len(steps)))


def codes(dump):
    return [(one.code, one.severity) for one in collect(dump, write=False, budget=0).problems
            if one.code != "sampled"]


class Aside:
    """Moves files away, and back at the end of a `with`."""

    def __init__(self, folder, paths):
        self._moves = [(path, os.path.join(str(folder), str(number)))
                       for number, path in enumerate(paths)]

    def __enter__(self):
        for path, aside in self._moves:
            shutil.move(path, aside)

    def __exit__(self, *_):
        for path, aside in self._moves:
            shutil.move(aside, path)


def test_whole_it_has_no_problem(trained):
    assert codes(trained) == []
    assert triage(trained, write=False).verdict == "healthy"


def test_any_one_file_that_is_gone_is_an_error(trained, tmp_path):
    step = steps_of(trained)[1]
    names = sorted(os.listdir(step))
    assert any("while" in name for name in names) and any("cond" in name for name in names)
    for name in names[::7]:
        with Aside(tmp_path, [os.path.join(step, name)]):
            assert codes(trained) == [("step-partial", "error")], name


def test_also_where_all_steps_lack_it(trained, tmp_path):
    """No other step tells then; in a real dump it would stay a note."""
    steps = steps_of(trained)
    for name in sorted(os.listdir(steps[0]))[::9]:
        stem = name.rpartition(".")[0]
        gone = [path for step in steps for path in sorted(glob.glob(
            os.path.join(glob.escape(step), glob.escape(stem) + ".*")))[:1]]
        with Aside(tmp_path, gone):
            assert set(codes(trained)) == {("step-partial", "error")}, name


def test_it_is_triaged_as_incomplete(trained, tmp_path):
    step = steps_of(trained)[-1]
    names = sorted(os.listdir(step))
    for gone, code in ((names[:1], "step-partial"), (names[9:], "step-partial"),
                       (names, "step-missing")):
        with Aside(tmp_path, [os.path.join(step, name) for name in gone]):
            found = triage(trained, write=False)
            assert found.verdict == "incomplete"
            assert [one["code"] for one in found.checked["incomplete"]] == [code]


def test_a_graph_file_that_is_cut_anywhere_is_an_error(trained):
    """Also between two of its graphs, where what is left is well formed."""
    path = next(path for path in glob.glob(os.path.join(trained, "graphs/*/*_Build.txt"))
                if b"_emulated_always" in open(path, "rb").read())
    with open(path, "rb") as stream:
        content = stream.read()
    borders = [number + 3 for number in range(len(content)) if content.startswith(
        b"\n}\n", number)]
    assert len(borders) > 4
    try:
        for size in [0, 5, 200, len(content) // 2, len(content) - 2] + borders[:-1]:
            os.truncate(path, size)
            assert ("unreadable", "error") in codes(trained), size
            with open(path, "wb") as stream:
                stream.write(content)
    finally:
        with open(path, "wb") as stream:
            stream.write(content)


def test_a_process_that_dies_inside_a_step_leaves_no_step_that_is_called_whole(tmp_path):
    done = run_python(TRAINING, tmp_path, args=["4"], check=False)
    assert done.returncode == -9, done.stderr
    dump = str(tmp_path / "dump")
    sizes = [len(os.listdir(step)) for step in steps_of(dump)]
    told = {one.path.rpartition("/")[2] for one in collect(dump, write=False).errors
            if one.code == "step-partial"}
    assert told == {str(index) for index, size in zip((0, 3, 4), sizes) if size < sizes[0]}
    assert "run-crashed" in making.codes(collect(dump, write=False))
    assert triage(dump, write=False).verdict == "incomplete"
