"""A later graph changes the format of shared variables: the earlier one is built again.

Rehearsed on request, from the training to the collector's answer.
"""
import pytest

from tests.emulator import processes

CODE = """
import json
import random
import numpy as np
import tensorflow as tf
from keras_npu_dump import emulator
emulator.install()
from keras_npu_dump import NpuDumpCallback
callback = NpuDumpCallback(dump_path="d", dump_step="0|2|5")
import npu_device
npu_device.open().as_default()
random.seed(1)
np.random.seed(1)
tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu"),
                             tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
draw = np.random.RandomState(0)
x, y = draw.rand(16, 4).astype("float32"), draw.rand(16, 1).astype("float32")
losses = model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0,
                   validation_data=(x, y), callbacks=[callback]).history["loss"]
manifest = callback.manifest
print(json.dumps({"losses": losses, "manifest": manifest.to_json()}))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    found = {}
    for generation in ("new", "new,rebuild=yes", "2022,rebuild=yes"):
        folder = tmp_path_factory.mktemp("rebuilt")
        found[generation] = processes.run_code(CODE, folder, {
            "KERAS_NPU_DUMP_EMULATE_CANN": generation, "TF_ENABLE_ONEDNN_OPTS": "0"})
    return found


@pytest.mark.parametrize("generation", ["new,rebuild=yes", "2022,rebuild=yes"])
def test_fact_3_a_graph_that_is_built_again_counts_from_0(trained, generation):
    """The evaluation after the first epoch shares the weights: at batch 4 the training graph
    is built again, once, and the other eight batches are its second load's."""
    manifest = trained[generation]["manifest"]
    pairs = [manifest["pairs"][number] for number in manifest["training"]["0"]]
    assert [[step["data_index"] for step in pair["steps"]] for pair in pairs] == [
        [0, 2], [0, 2, 5]]
    first, second = [{step["model_id"] for step in pair["steps"]} for pair in pairs]
    assert len(first) == 1 == len(second) and first != second
    files = [pair["graph"] for pair in pairs]
    assert len(set(files)) == 2
    graphs = [next(one for one in manifest["graphs"] if one["file"] == file) for file in files]
    assert graphs[0]["name"] == graphs[1]["name"]
    assert graphs[0]["graph_id"] == graphs[1]["graph_id"]
    # The journal counts calls of the function: only the first load's are known batches.
    assert [step["iteration"] for step in pairs[0]["steps"]] == [
        {"fit": 0, "epoch": 0, "batch": 0}, {"fit": 0, "epoch": 0, "batch": 2}]
    assert all(step["iteration"] is None for step in pairs[1]["steps"])
    assert any("built again" in one["message"] for one in manifest["problems"]
               if one["code"] == "index-uncertain")
    assert any("load 2 of" in text for text in pairs[1]["evidence"])


def test_a_rebuild_changes_no_value(trained):
    assert trained["new"]["losses"] == trained["new,rebuild=yes"]["losses"]
    assert len(trained["new"]["manifest"]["training"]["0"]) == 1
