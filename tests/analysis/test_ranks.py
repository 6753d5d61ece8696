"""Four ranks that should be alike: the one that is not, and where it begins."""
import json
import subprocess
import sys

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats.tensor import dump_file
from tests.analysis.conftest import triage_command
from tests.analysis.synthetic import Job, op, spread
from tests.emulator.processes import environment

NET = """
import os
import npu_device
import numpy as np
import tensorflow as tf

npu_device.open().as_default()
getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)(7)
rng = np.random.RandomState(3)
x, y = rng.randn(5 * 8, 6).astype("float32"), rng.randn(5 * 8, 2).astype("float32")
if os.environ["RANK_ID"] == "2":
    x[2 * 8:3 * 8] += 1.0  # another batch, at execution 2 only
model = tf.keras.Sequential([
    tf.keras.layers.Dense(8, activation="relu", input_shape=(6,)), tf.keras.layers.Dense(2)])
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8, drop_remainder=True), verbose=0)
"""


@pytest.fixture(scope="module")
def four_ranks(tmp_path_factory):
    """Four processes on one dump path, one of them fed another batch at execution 2."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(NET)
    processes = []
    for rank in range(4):
        env = environment({"RANK_ID": str(rank), "RANK_SIZE": "1", "ASCEND_DEVICE_ID": str(rank)})
        processes.append(subprocess.Popen(
            [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=dump",
             "--data_dump_step=0-4", "--data_dump_data=stats", "train.py"],
            cwd=str(folder), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            universal_newlines=True))
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0, output
    return folder / "dump"


def test_the_rank_that_was_fed_another_batch(four_ranks):
    run = keras_npu_dump.open_run(four_ranks)
    assert run.ranks == [0, 1, 2, 3]
    found = triage(run, write=False)
    first = found.suspects[0]
    assert first.reason == "ranks-disagree"
    assert (first.rank, first.step, first.op_type) == (2, 2, "IteratorGetNext")
    assert first.iteration == {"fit": 0, "epoch": 0, "batch": 2}
    assert first.confidence == "high" and first.downstream > 5
    assert "rank 2" in first.message and "0, 1, 3" in first.message
    assert len(found.suspects) == 1


def test_both_sides_are_dumped_next(four_ranks):
    document = triage_command(four_ranks, 1)
    with open(document["next"]["flagfile"]) as stream:
        flags = stream.read()
    assert "--data_dump_ranks=0,2\n" in flags
    assert document["next"]["dump_step"] == "2"


def test_ranks_that_agree_are_healthy(four_ranks):
    run = keras_npu_dump.open_run(four_ranks)
    for rank in (0, 1, 3):
        assert triage(run, rank=rank, write=False).verdict == "healthy"


def _job(folder, rank, weight, batch, reduced, gradients=None):
    """Executions of data parallel training: local gradient, sum over ranks, update."""
    ops = [op("IteratorGetNext", "IteratorGetNext"), op("dense/kernel", "Variable"),
           op("dense/MatMul", "MatMul", ["IteratorGetNext:0", "dense/kernel:0"]),
           op("gradient_tape/dense/MatMul_1", "MatMul",
              ["IteratorGetNext:0", "dense/MatMul:0"]),
           op("HcomAllReduce_1", "HcomAllReduce", ["gradient_tape/dense/MatMul_1:0"]),
           op("SGD/update", "ResourceApplyGradientDescent",
              ["dense/kernel:0", "", "HcomAllReduce_1:0"]),
           op("NetOutput", "NetOutput", ["dense/MatMul:0"])]
    job = Job(folder, ops, rank=rank)
    for number, x in enumerate(batch):
        w, total = weight[number], reduced[number]
        gradient = x * 0.1 if gradients is None else gradients[number]
        job.execution(number, {
            "IteratorGetNext": ([], [x]),
            "dense/MatMul": ([x, w], [x * w]),
            "gradient_tape/dense/MatMul_1": ([x, x * w], [gradient]),
            # A collective leaves its inputs and its outputs in two files.
            "HcomAllReduce_1": [([gradient], []), ([], [total])],
            "SGD/update": ([w, dump_file.TensorValue(np.float32(0.1)), total], [w - 0.1 * total])})
    return job


def test_data_parallel_ranks_may_have_their_own_batches(tmp_path):
    """Other batches, other gradients: weights and sums are equal, and all is well."""
    weights = [spread(seed=1), spread(seed=2)]
    sums = [spread(seed=3), spread(seed=4)]
    for rank in range(4):
        _job(tmp_path, rank, weights, [spread(seed=10 + rank), spread(seed=20 + rank)], sums)
    found = triage(tmp_path, write=False)
    assert found.verdict == "healthy", found.suspects


def test_a_sum_that_one_rank_did_not_get(tmp_path):
    """The collective gave rank 3 something else: it is named, not the weights after it."""
    weights = [spread(seed=1), spread(seed=2)]
    sums = [spread(seed=3), spread(seed=4)]
    for rank in range(4):
        mine = [sums[0], sums[1] * (1.001 if rank == 3 else 1)]
        _job(tmp_path, rank, weights, [spread(seed=10 + rank), spread(seed=20 + rank)], mine)
    first = triage(tmp_path, write=False).suspects[0]
    assert (first.op, first.rank, first.step) == ("HcomAllReduce_1", 3, 1)


def test_weights_that_were_not_broadcast(tmp_path):
    for rank in range(3):
        weights = [spread(seed=50 + rank), spread(seed=60 + rank)]
        _job(tmp_path, rank, weights, [spread(seed=10 + rank)] * 2, [spread(seed=3)] * 2)
    first = triage(tmp_path, write=False).suspects[0]
    assert first.reason == "ranks-disagree" and first.step == 0
    assert "dense/kernel" in first.message and "differs between the ranks 0, 1, 2" in first.message


@pytest.mark.parametrize("same_start, told", [(True, "medium"), (False, "low")])
def test_ranks_without_a_collective(tmp_path, same_start, told):
    """Trainings of their own differ from the start; a forgotten collective parts them."""
    for rank in range(3):
        ops = [op("x", "IteratorGetNext"), op("kernel", "Variable"),
               op("MatMul", "MatMul", ["x:0", "kernel:0"]),
               op("gradient_tape/MatMul", "MatMul", ["x:0", "MatMul:0"]),
               op("SGD/update", "ResourceApplyGradientDescent",
                  ["kernel:0", "", "gradient_tape/MatMul:0"])]
        job = Job(tmp_path, ops, rank=rank)
        w = spread(seed=1 if same_start else 40 + rank)
        for number in range(2):
            x = spread(seed=10 * rank + number)
            job.execution(number, {
                "x": ([], [x]), "MatMul": ([x, w], [x * w]),
                "gradient_tape/MatMul": ([x, x * w], [x]),
                "SGD/update": ([w, dump_file.TensorValue(np.float32(0.1)), x], [w - 0.1 * x])})
            w = w - 0.1 * x
    found = triage(tmp_path, write=False)
    one, = found.suspects if told == "medium" else found.observations
    assert (one.reason, one.step, one.confidence) == ("ranks-disagree", 0, told)
    assert "no collective" in one.message


def test_nan_from_one_rank_reaches_all(tmp_path):
    """The others get it through the sum; the rank whose gradient it was is named."""
    bad = spread(seed=3)
    bad[0] = np.nan
    for rank in range(3):
        batch = [spread(seed=10 + rank)]
        _job(tmp_path, rank, [spread(seed=1)], batch, [bad],
             gradients=[bad if rank == 1 else batch[0] * 0.1])
    found = triage(tmp_path, write=False)
    first = found.suspects[0]
    assert (first.op, first.rank, first.confidence) == ("gradient_tape/dense/MatMul_1", 1, "high")
    assert [one.op for one in found.suspects if one.confidence == "high"] == [first.op]


def test_nan_from_a_rank_that_was_not_dumped(tmp_path):
    bad = spread(seed=3)
    bad[0] = np.nan
    batch = [spread(seed=10)] * 2
    _job(tmp_path, 0, [spread(seed=1), bad], batch, [bad, bad])
    found = triage(tmp_path, write=False)
    first = found.suspects[0]
    assert (first.op, first.reason, first.step) == ("HcomAllReduce_1", "arrives-bad", 0)
    assert "a rank that was not dumped" in first.message
    assert len(found.suspects) == 1


def test_the_document_says_which_ranks(tmp_path):
    weights, sums = [spread(seed=1)] * 2, [spread(seed=3)] * 2
    for rank in range(2):
        batch = spread(seed=10)
        batch[5] = np.nan
        _job(tmp_path, rank, weights, [batch, batch], sums)
    found = triage(tmp_path, write=False)
    first = found.suspects[0]
    assert first.reason == "bad-data" and first.op == "IteratorGetNext"
    assert json.loads(json.dumps(found.to_json()))["checked"]["neighbours"][first.op][
        "ranks"] == [0, 1]
