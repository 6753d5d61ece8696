"""Are fits inside fits counted each by its own, as the device counts them?"""
import json
import sys

from tests.conftest import run_command, run_python

PRELUDE = """
import json, sys
import numpy as np
import keras_npu_dump
from keras_npu_dump import NpuDumpCallback
keras_npu_dump.emulator.install()
dump = NpuDumpCallback(dump_path="d", dump_step="all")
"""

SCRIPT = """
import numpy as np
import npu_device
import tensorflow as tf
npu_device.open().as_default()

X = np.arange(36, dtype=np.float32).reshape(12, 3) / 100
Y = X.sum(axis=1, keepdims=True)
OURS = [dump] if "dump" in globals() else []

def net(name):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))], name=name)
    model.compile("sgd", "mse")
    return model

def fit(model, batches, **options):
    options.setdefault("callbacks", OURS)
    model.fit(X[:4 * batches], Y[:4 * batches], batch_size=4, shuffle=False, verbose=0, **options)

class Fail(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        if batch == 1:
            raise KeyError("on purpose")

class Inside(tf.keras.callbacks.Callback):
    def __init__(self, model, fails=False):
        super().__init__()
        self.inner, self.fails = model, fails

    def on_epoch_end(self, epoch, logs=None):
        try:
            fit(self.inner, 2, callbacks=OURS + ([Fail()] if self.fails else []))
        except KeyError:
            pass
"""


def journal(folder, *events):
    path, = folder.glob("d/runs/*/iterations.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in lines if one["event"] in events]


def executions(folder, section):
    """The journal's answer: (fit, epoch, batch) by data_index."""
    found = {}
    for one in journal(folder, "execution", "withdraw"):
        if one["section"] != section:
            continue
        if one["event"] == "withdraw":
            del found[one["data_index"]]
        else:
            found[one["data_index"]] = (one["fit"], one["epoch"], one["batch"])
    return found


def dumped(folder):
    """The emulator's answer: indices of each training graph, in the order of their traces."""
    graphs = {int(path.parent.name.rpartition("_")[2]): sorted(
        int(one.name) for one in path.iterdir())
        for path in folder.glob("d/2*/0/*train_function*/*")}
    return [graphs[number] for number in sorted(graphs)]


def check_two_models(folder):
    assert [one["model"] for one in journal(folder, "section")] == ["outer", "inner"]
    assert dumped(folder) == [list(range(9)), list(range(6))]
    fits = [0, 0, 0] * 3
    assert executions(folder, 0) == {
        index: (fits[index], index // 3, index % 3) for index in range(9)}
    assert executions(folder, 1) == {
        index: (1 + index // 2, 0, index % 2) for index in range(6)}
    assert not any(one["uncertain"] for one in journal(folder, "execution"))


NESTED = "fit(net('outer'), 3, epochs=3, callbacks=OURS + [Inside(net('inner'))])\n"


def test_one_callback_in_both(tmp_path):
    run_python(PRELUDE + SCRIPT + NESTED, tmp_path)
    check_two_models(tmp_path)


def test_under_run(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT + NESTED)
    run_command([sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=d",
                 "--data_dump_step=all", "train.py"], tmp_path)
    check_two_models(tmp_path)


def test_the_inner_one_fails_and_the_outer_one_goes_on(tmp_path):
    run_python(PRELUDE + SCRIPT + """
fit(net("outer"), 3, epochs=2, callbacks=OURS + [Inside(net("inner"), fails=True)])
fit(net("after"), 1)
""", tmp_path)
    assert [one["model"] for one in journal(tmp_path, "section")] == ["outer", "inner", "after"]
    assert dumped(tmp_path) == [list(range(6)), [0, 1], [0]]
    assert executions(tmp_path, 0) == {
        index: (0, index // 3, index % 3) for index in range(6)}
    assert sorted(executions(tmp_path, 1)) == [0, 1]
    assert executions(tmp_path, 2) == {0: (3, 0, 0)}


def test_the_same_model_inside_itself(tmp_path):
    run_python(PRELUDE + SCRIPT + """
model = net("outer")
fit(model, 3, epochs=2, callbacks=OURS + [Inside(model)])
""", tmp_path)
    assert len(journal(tmp_path, "section")) == 1
    assert dumped(tmp_path) == [list(range(10))]
    found = executions(tmp_path, 0)
    assert [found[index] for index in range(10)] == [
        (0, 0, 0), (0, 0, 1), (0, 0, 2), (1, 0, 0), (1, 0, 1),
        (0, 1, 0), (0, 1, 1), (0, 1, 2), (2, 0, 0), (2, 0, 1)]
    assert journal(tmp_path, "count")[-1]["count"] == 10


def test_hooks_that_come_after_a_fit_are_no_loop_by_hand(tmp_path):
    run_python(PRELUDE + SCRIPT + """
fit(net("outer"), 1)
dump.on_train_batch_begin(0)
dump.on_train_batch_end(0)
""", tmp_path)
    assert len(journal(tmp_path, "section")) == 1 and sorted(executions(tmp_path, 0)) == [0]
