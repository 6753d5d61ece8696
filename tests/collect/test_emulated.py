"""Does collect pair what the emulator leaves, in every generation of CANN it knows?

As processes: `as_default()` has no undo. The truth is what Keras itself did: two
epochs of four batches with validation, compile() and another epoch, a prediction.
"""
import collections
import json
import os

import pytest

import keras_npu_dump
from keras_npu_dump.emulator.ge import generation
from tests.collect import making
from tests.emulator import processes

TRAINING = """
import json, sys
import numpy as np
import keras_npu_dump
keras_npu_dump.emulator.install()
import tensorflow as tf
dump = keras_npu_dump.NpuDumpCallback(dump_path="dump", dump_step="0|5", dump_data=%r)
import npu_device
npu_device.open().as_default()
layers = tf.keras.layers
model = tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(4, activation="relu"),
                             layers.Dense(1)])
model.compile("adam", "mse")
x = np.arange(96, dtype="float32").reshape(32, 3) / 96
y = x.sum(axis=1, keepdims=True)
options = dict(batch_size=8, verbose=0, callbacks=[dump])
model.fit(x, y, epochs=2, validation_data=(x, y), **options)
model.compile("sgd", "mse")
model.fit(x, y, epochs=1, **options)
model.predict(x, batch_size=8, verbose=0)
manifest = dump.manifest
print(json.dumps([manifest.path is not None, [one.code for one in manifest.problems
                                              if one.severity != "info"]]))
"""
# Each value of each feature that collect can see is in one of these.
GENERATIONS = ("new", "2022", "old", "new,names=tf1,time=two", "new,files=a2,csv=kernel")


@pytest.mark.parametrize("name", GENERATIONS)
def test_every_generation_of_the_emulator_is_paired(name, tmp_path):
    data = "stats" if "csv" in name else "tensor"
    _, live = processes.run_code(TRAINING % data, tmp_path, env={
        generation.VARIABLE: name})
    assert live == []
    manifest = keras_npu_dump.collect(str(tmp_path / "dump"), verify=True)
    assert manifest.errors == [] and making.codes(manifest, "warning") == []
    assert "operator-missing" not in making.codes(manifest)
    assert {pair.confidence for pair in manifest.pairs} == {"exact"}
    first, second = [manifest.pairs[position] for position in manifest.training["0"]]
    assert [(step.data_index, step.iteration) for step in first.steps] == [
        (0, {"fit": 0, "epoch": 0, "batch": 0}), (5, {"fit": 0, "epoch": 1, "batch": 1})]
    assert [(step.data_index, step.iteration) for step in second.steps] == [
        (0, {"fit": 1, "epoch": 0, "batch": 0})]
    roles = collections.Counter(pair.role for pair in manifest.pairs)
    assert (roles["train"], roles["eval"], roles["predict"]) == (2, 1, 1)
    assert set(roles) <= {"train", "eval", "predict", "init"}
    assert {graph.role for graph in manifest.graphs} <= {"train", "eval", "predict", "init",
                                                         "iterator"}
    executions = list(manifest.runs[0].executions.values())
    assert executions == [{"count": 8, "last": 7, "dumped": [0, 5]},
                          {"count": 4, "last": 3, "dumped": [0]}]


def test_the_records_of_an_emulated_run_may_be_lost(tmp_path):
    """A colleague copied the dump tree and the graph files only."""
    processes.run_code(TRAINING % "tensor", tmp_path)
    dump = tmp_path / "dump"
    for folder, _, names in os.walk(str(dump / "runs"), topdown=False):
        for name in names:
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    manifest = keras_npu_dump.collect(str(dump))
    assert {pair.confidence for pair in manifest.pairs} == {"exact"}
    assert [manifest.pairs[one].role for one in manifest.training["device:0"]] == ["train", "train"]
    assert manifest.errors == [] and making.codes(manifest, "warning") == ["no-run"]
    assert json.loads((dump / "manifest.json").read_text())["runs"] == []


def test_the_generations_here_have_every_feature_that_is_seen_on_disk():
    seen = collections.defaultdict(set)
    for name in GENERATIONS:
        chosen = generation.parse(name)
        for feature in generation.FEATURES:
            seen[feature].add(getattr(chosen, feature))
    # Counting at the end of data, reading of a variable, and what has tests of its own
    # (tests/emulator/test_rebuilds.py, test_graph_parts.py).
    unseen = {"eos", "switch", "rebuild", "parts"}
    for feature, values in generation.FEATURES.items():
        if feature not in unseen:
            assert set(values) - seen[feature] == set(), feature
