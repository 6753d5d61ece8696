"""The end of data of unknown size in a dynamic graph, from the training to the answer."""
import pytest

from tests.emulator import processes

CODE = """
import json
import numpy as np
import tensorflow as tf
from keras_npu_dump import emulator
emulator.install()
from keras_npu_dump import NpuDumpCallback
callback = NpuDumpCallback(dump_path="d", dump_step="all", dump_data="stats")
import npu_device
npu_device.open().as_default()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
def batches():
    for rows in (4, 4, 2):
        yield np.ones((rows, 3), np.float32), np.ones((rows, 1), np.float32)
data = tf.data.Dataset.from_generator(batches, output_types=("float32", "float32"),
                                      output_shapes=((None, 3), (None, 1)))
model.fit(data, epochs=2, verbose=0, callbacks=[callback])
print(json.dumps(callback.manifest.to_json()))
"""


@pytest.mark.parametrize("generation,counts", [("2022", True), ("new", False)])
def test_fact_0_5_the_answer_knows_whether_dynamic_graphs_count_it(tmp_path, generation, counts):
    manifest = processes.run_code(CODE, tmp_path, {"KERAS_NPU_DUMP_EMULATE_CANN": generation,
                                                   "TF_ENABLE_ONEDNN_OPTS": "0"})
    pair, = [manifest["pairs"][number] for number in manifest["training"]["0"]]
    batches = {step["data_index"]: (step["iteration"]["epoch"], step["iteration"]["batch"])
               for step in pair["steps"] if step["iteration"]}
    later = 1 if counts else 0
    assert [batches.get(index) for index in (0, 1, 2)] == [(0, 0), (0, 1), (0, 2)]
    assert [batches.get(3 + later + number) for number in range(3)] == [(1, 0), (1, 1), (1, 2)]
    assert any("the device %s that" % ("counted" if counts else "did not count") in text
               or "taken to have%s counted" % ("" if counts else " not") in text
               for text in pair["evidence"])
