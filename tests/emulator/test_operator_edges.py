"""Do operators and helpers hold where models are saved and little is known of their inputs?"""
import pytest

from tests.emulator import processes

START = """
import json, tempfile
import npu_device as npu
npu.open().as_default()
import numpy as np
import tensorflow as tf
found = {}
"""
END = "\nprint(json.dumps(found))\n"

GELU = """
inputs = tf.keras.Input([4])
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(npu.ops.gelu(inputs)))
x = np.linspace(-3, 3, 8).reshape(2, 4).astype("float32")
made = model.predict(x, verbose=0)
kernel, bias = model.get_weights()
expected = (x / (1 + np.exp(-1.702 * x))) @ kernel + bias
found["values"] = float(np.abs(made - expected).max())
model.to_json()
copy = tf.keras.models.clone_model(model)
copy.set_weights(model.get_weights())
found["clone"] = bool(np.array_equal(copy.predict(x, verbose=0), made))
path = tempfile.mkdtemp() + "/model.h5"
model.save(path)
found["h5"] = bool(np.array_equal(tf.keras.models.load_model(path).predict(x, verbose=0), made))
from npu_device.utils.npu_wrapper import get_npu_symbol_from_name
found["symbol"] = get_npu_symbol_from_name("npu.ops.gelu") is npu.gen_npu_ops.fast_gelu
try:
    tf.RegisterGradient("FastGelu")(lambda op, grad: grad)
    found["second"] = "taken"
except KeyError:
    found["second"] = "KeyError"
"""

EDGES = """
ops = npu.gen_npu_ops
drop = tf.function(
    lambda x, mask: ops.drop_out_do_mask_v3(x, mask, 0.5),
    input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.uint8)])
flat = tf.function(
    lambda x, mask: ops.drop_out_do_mask_v3(x, mask, 0.5),
    input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([2, 3], tf.uint8)])
x = np.arange(1, 7, dtype="float32").reshape(2, 3)
mask = np.array([[1, 0, 1], [0, 1, 1]], "uint8")
found["plain"] = [bool(np.array_equal(one(x, mask), x * mask * 2)) for one in (drop, flat)]
wide = np.arange(512, dtype="float32").reshape(16, 32)
tiles = (np.arange(512) % 3 > 0).astype("uint8")
tiled = tiles.reshape(2, 1, 16, 16)
kept = tiled.transpose(1, 2, 0, 3).reshape(16, 32)
found["tiled"] = bool(np.array_equal(drop(wide, tiled), wide * kept * 2))
found["scalar"] = ops.drop_out_gen_mask([], 0.5).shape.as_list()
try:
    tf.function(lambda x: ops.fused_layer_norm(x, [1.0], [0.0])[0],
                input_signature=[tf.TensorSpec(None, tf.float32)]).get_concrete_function()
except ValueError as error:
    found["rank"] = "known rank" in str(error)
@tf.function
def status(value):
    with tf.control_dependencies([tf.group(tf.group(value * 1.0), tf.constant(1.0))]):
        return ops.npu_get_float_status_v2()
found["status"] = [np.asarray(status(tf.constant(one))).tolist() for one in (1.0, float("inf"))]
found["none"] = np.asarray(ops.npu_get_float_status_v2()).tolist()
from npu_device.compat.v1.estimator import npu_ops
half = np.asarray(tf.function(lambda x: npu_ops.dropout(x, 0.5))(tf.ones([1000])))
found["dropout"] = [sorted(set(half.tolist())), bool(300 < (half > 0).sum() < 700)]
found["lstm"] = npu_ops.basic_lstm_cell is ops.basic_lstm_cell
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    return processes.run_code(
        "from keras_npu_dump import emulator\nemulator.install()\n" + START + GELU + EDGES + END,
        folder)


def test_a_functional_model_with_gelu_is_saved_cloned_and_loaded(found):
    assert found["values"] < 1e-5
    assert found["clone"] and found["h5"] and found["symbol"]


def test_the_gradient_of_fast_gelu_is_registered_by_the_import_as_in_the_adapter(found):
    assert found["second"] == "KeyError"


def test_masks_whose_rank_is_not_known(found):
    assert found["plain"] == [True, True] and found["tiled"]
    assert found["scalar"] == [16]  # 128 bits


def test_layer_norm_without_a_rank_is_one_message(found):
    assert found["rank"]


def test_float_status_waits_through_groups_and_is_zero_where_it_waits_for_nothing(found):
    assert found["status"] == [[0] * 8, [1] + [0] * 7]
    assert found["none"] == [0] * 8


def test_dropout_and_lstm_of_compat_v1(found):
    assert found["dropout"] == [[0.0, 2.0], True]
    assert found["lstm"]


@pytest.mark.parametrize("generation, error", [("new", "TypeError"), ("2022", "ValueError"),
                                               ("old", "ValueError")])
def test_the_first_releases_check_no_types(tmp_path, generation, error):
    code = """
import json
from keras_npu_dump import emulator
emulator.install()
import npu_device as npu
try:
    npu.global_options().graph_run_mode = "1"
except (TypeError, ValueError) as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    name, text = processes.run_code(code, tmp_path, {"KERAS_NPU_DUMP_EMULATE_CANN": generation})
    assert name == error
    assert error == "TypeError" or text == "'1' not in optional list [0, 1]"
