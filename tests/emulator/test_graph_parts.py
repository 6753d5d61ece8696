"""A dynamic graph whose parts of known shape are models of their own, from training to answer."""
import collections

import pytest

from keras_npu_dump import collect
from keras_npu_dump.formats import tree
from tests.emulator import processes

CODE = """
import json
import numpy as np
import tensorflow as tf
from keras_npu_dump import NpuDumpCallback, emulator, triage
emulator.install()
callback = NpuDumpCallback(dump_path="d", dump_step="0|2|4", dump_data="stats")
import npu_device
npu_device.open().as_default()
model = tf.keras.Sequential([tf.keras.layers.Dense(3, "relu", kernel_initializer="ones"),
                             tf.keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("adam", "mse")
draw = np.random.RandomState(0)
model.fit(draw.rand(10, 4).astype("float32"), draw.rand(10, 1).astype("float32"), batch_size=4,
          epochs=2, shuffle=False, verbose=0, callbacks=[callback])
print(json.dumps([callback.manifest.to_json()["problems"], triage("d").to_json()["verdict"]]))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    found = {}
    for generation in ("2022,parts=one", "2022", "2022,parts=own"):
        folder = tmp_path_factory.mktemp("parts")
        result = processes.run_code(CODE, folder, {
            "KERAS_NPU_DUMP_EMULATE_CANN": generation, "TF_ENABLE_ONEDNN_OPTS": "0"})
        found[generation.partition(",")[2] or "root"] = folder / "d", result
    return found


def training(path):
    manifest = collect(str(path), write=False)
    pair, = [manifest.pairs[number] for number in manifest.training["0"]]
    return manifest, pair


def names(manifest, steps):
    return collections.Counter(file.dump.op_type + "." + file.dump.op_name for one in steps
                               for file in tree.list_files(manifest.absolute(one.path)))


@pytest.mark.parametrize("kind", ["root", "parts=own"])
def test_fact_4_parts_have_folders_of_their_own_and_are_one_execution(trained, kind):
    path, (problems, verdict) = trained[kind]
    assert problems == trained["parts=one"][1][0] and verdict == trained["parts=one"][1][1]
    manifest, pair = training(path)
    whole, one = training(trained["parts=one"][0])
    executions, undivided = pair.executions(), one.executions()
    assert [(load, steps[0].data_index) for load, steps in executions] == [(0, 0), (0, 2), (0, 4)]
    for (_, steps), (_, alone) in zip(executions, undivided):
        assert len(steps) > 1 == len(alone)
        assert len({step.model_id for step in steps}) == len(steps)
        assert {tuple(step.iteration.items()) for step in steps} == {
            tuple(alone[0].iteration.items())}
        # Together they have each file once, as the whole graph has.
        assert names(manifest, steps) == names(whole, alone)
    called = {step.model_name for _, steps in executions for step in steps}
    assert (len(called) == 1) == (kind == "root")
    assert sorted(name for name in called if not name.endswith("_know")) == one.model_names


def test_parts_have_no_operator_of_unknown_shape(trained):
    """What depends on the batch stays with the root: its model has it in every execution."""
    manifest, pair = training(trained["parts=own"][0])
    for step in pair.steps:
        types = {file.dump.op_type for file in tree.list_files(manifest.absolute(step.path))}
        assert ("Relu" in types) == (not step.model_name.endswith("_know"))
