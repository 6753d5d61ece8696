"""Is what the end of a script without `run` says of its dump true?"""
import pytest

from tests.conftest import run_python

FIT = """
import numpy as np
import tensorflow as tf
import keras_npu_dump
keras_npu_dump.emulator.install()
import npu_device
from keras_npu_dump import NpuDumpCallback

def fit(dump, data=None, epochs=1):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    data = data or tf.data.Dataset.from_tensor_slices(
        (np.ones((4, 4), "f"), np.ones((4, 1), "f"))).batch(2)
    model.fit(data, epochs=epochs, verbose=0, callbacks=[dump])
"""


def ends(code, folder, **env):
    stderr = run_python(FIT + code, folder, env=env).stderr
    return [line for line in stderr.splitlines() if line.startswith("keras-npu-dump: ")
            and ("not reached" in line or "Nothing of the training" in line)]


def test_a_step_behind_an_end_of_data_was_reached(tmp_path):
    """The device counts those ends too: eight batches, and index 8 is the last of them."""
    assert ends("""
def batches():
    for _ in range(4):
        yield np.ones((8, 4), "f"), np.ones((8, 1), "f")

data = tf.data.Dataset.from_generator(
    batches, output_signature=(tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1))))
dump = NpuDumpCallback(dump_path="d", dump_step="0|8")
npu_device.open().as_default()
fit(dump, data, epochs=2)
""", tmp_path) == []


@pytest.mark.parametrize("release", ["new", "old"])
def test_what_hindered_a_dump_is_named_and_nothing_else(tmp_path, release):
    """Same options in other words, and options that an old npu_device lacks, hinder nothing."""
    line, = ends("""
options = npu_device.global_options().dump_config
options.enable_dump = True
options.dump_path = "d"
options.dump_step = "0"
npu_device.open()
fit(NpuDumpCallback())
""", tmp_path, KERAS_NPU_DUMP_EMULATE_CANN=release)
    assert "`.as_default()` of what it returns never" in line and "instead of" not in line


def test_data_without_graphs_is_not_called_nothing(tmp_path):
    assert ends("""
import glob, os
dump = NpuDumpCallback(dump_path="d", dump_step="0")
npu_device.open().as_default()
fit(dump)
for path in glob.glob("d/graphs/*/*"):
    os.remove(path)
""", tmp_path) == []
