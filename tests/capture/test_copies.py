"""Do copies of a callback or session take part in the dump of the process that they are in?"""
import json

import pytest

from tests.conftest import run_python

PRELUDE = """
import copy, json, multiprocessing, os, pickle, sys
import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession
"""


def answer(code, folder):
    done = run_python(PRELUDE + code, folder)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


FOLDS = """
keras_npu_dump.emulator.install()
import npu_device
import tensorflow as tf
from keras_npu_dump import NpuDumpCallback

class Mine(NpuDumpCallback):
    def __init__(self, notes, **options):
        super().__init__(**options)
        self.notes = notes

def model():
    net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    return net

def fit(net, *callbacks):
    net.fit(tf.ones((4, 3)), tf.ones((4, 1)), batch_size=2, verbose=0, callbacks=list(callbacks))
    return net

dump = Mine([1], dump_path="d", dump_step="all", dump_data="stats")
npu_device.open().as_default()
first = copy.deepcopy(dump)
assert first.notes == [1] and first.notes is not dump.notes and first.active
net = fit(model(), first)
# After a fit it holds a model, which no copy takes along.
second, third = copy.copy(first), pickle.loads(pickle.dumps(first, 2))
assert second.notes is first.notes and second._capture is third._capture is dump._capture
fit(net, second)
fit(model(), third)
fit(model(), dump, copy.deepcopy(dump))
off = copy.deepcopy(NpuDumpCallback(enable_dump=False))
assert not off.active and off.manifest is None
found = dump.manifest
print(json.dumps([[[step.data_index, step.iteration["fit"], step.iteration["batch"]]
                   for step in found.pairs[position].steps] for position in found.training["0"]]))
"""


def test_each_fold_of_a_cross_validation_has_a_copy(tmp_path):
    folds, stderr = answer(FOLDS, tmp_path)
    assert folds == [[[0, 0, 0], [1, 0, 1], [2, 1, 0], [3, 1, 1]],
                     [[0, 2, 0], [1, 2, 1]], [[0, 3, 0], [1, 3, 1]]]
    assert stderr.count("Every iteration") <= 1 and "another process" not in stderr
    assert len(list(tmp_path.glob("d/runs/*"))) == 1


ELSEWHERE = """
def train(dump, how, pipe):
    with dump:
        with dump.step():
            pass
    with copy.copy(dump):
        pass
    pipe.send([dump.manifest is not None, how])

if __name__ == "__main__":
    keras_npu_dump.emulator.install()
    import npu_device
    dump = DumpSession(dump_path="d", dump_step=0)
    ours, theirs = multiprocessing.Pipe()
    found = []
    for how in ("spawn", "fork"):
        # What goes to a forked child is no pickle unless it is made one.
        sent = dump if how == "spawn" else pickle.loads(pickle.dumps(dump))
        child = multiprocessing.get_context(how).Process(target=train, args=(sent, how, theirs))
        child.start()
        assert ours.poll(60)
        found.append(ours.recv())
        child.join()
        found.append(child.exitcode)
    print(json.dumps([found, len(os.listdir("d/runs"))]))
"""


@pytest.mark.usefixtures("no_tensorflow")
def test_in_another_process_it_follows_that_process(tmp_path):
    (found, runs), stderr = answer(ELSEWHERE, tmp_path)
    # As docs/process.md: a spawned child has no run, a forked one that dumps has its own.
    assert found == [[False, "spawn"], 0, [True, "fork"], 0] and runs == 2
    assert stderr.count("This DumpSession came from another process") == 1
    assert "Traceback" not in stderr


@pytest.mark.usefixtures("no_tensorflow")
def test_requests_are_copied_too(tmp_path):
    same, _ = answer("""
config = DumpConfig(dump_path="d", dump_step="0|3-5", ranks=[0])
copies = [copy.copy(config), copy.deepcopy(config), pickle.loads(pickle.dumps(config))]
print(json.dumps([one == config and one.explicit == config.explicit for one in copies]))
""", tmp_path)
    assert same == [True, True, True]
