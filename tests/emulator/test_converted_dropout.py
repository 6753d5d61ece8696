"""What as_default() makes of tf.nn.dropout: the adapter's range of versions decides."""
import pytest

from tests.emulator import processes

tf = pytest.importorskip("tensorflow")
CONVERTED = tuple(map(int, tf.__version__.split(".")[:2])) == (2, 6)
SCRIPT = """
import json
from keras_npu_dump import emulator
emulator.install()
import npu_device
import tensorflow as tf
from tensorflow.python.ops import nn_ops
x = tf.ones([40, 50])
found = {}

def types(function, *args):
    graph = tf.function(function).get_concrete_function(*args).graph
    return sorted(op.type if "_npu_operator" not in op.node_def.attr else
                  op.node_def.attr["_npu_operator"].s.decode() for op in graph.get_operations())

found["before"] = types(lambda: tf.nn.dropout(x, 0.3))
npu_device.open().as_default()
found["function"] = types(lambda: tf.nn.dropout(x, 0.3))
found["inner name"] = types(lambda: nn_ops.dropout_v2(x, 0.3, seed=2))
found["v1"] = types(lambda: tf.compat.v1.nn.dropout(x, rate=0.3))
found["noise shape"] = types(lambda: tf.nn.dropout(x, 0.3, noise_shape=[40, 1]))
found["nothing dropped"] = types(lambda: tf.nn.dropout(x, 0.0))
layer = tf.keras.layers.Dropout(0.3)
found["layer"] = types(lambda: layer(x, training=True))
found["inference"] = types(lambda: layer(x, training=False))
found["eager"] = float(tf.reduce_mean(tf.nn.dropout(x, 0.3)))

@tf.function
def dropped():
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.dropout(x, 0.3, seed=5)
    return y, tape.gradient(y, x)

y, gradient = dropped()
found["mean"] = float(tf.reduce_mean(y))
found["gradient"] = bool(tf.reduce_all(y == gradient))  # of ones
from npu_device.train import npu_convert
from npu_device.train.convert_dropout import npu_dropout_v2
for error, call in (("eager error", lambda: npu_dropout_v2(x, 0.5)),
                    ("whole", lambda: types(lambda: npu_dropout_v2(tf.constant([1]), 0.5))),
                    ("rate", lambda: types(lambda: npu_dropout_v2(x, 1.0)))):
    try:
        call()
        found[error] = None
    except (RuntimeError, ValueError) as problem:
        found[error] = type(problem).__name__
found["formats"] = [npu_convert.check_version_format(one) for one in (
    "2.6.2", "2.6.*", "*", "2.6.1~2.6.5", "2.*.1", "~2.6.1", "2.6.", "a", "2.6.*~2.7.1")]
from keras_npu_dump.emulator.api.conversion import npu_convert as inside
inside._version_range.clear()
found["ranges"] = [npu_convert.judge_version_support([one]) for one in ("2.0.1", "2.6", "*")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return processes.run_code(SCRIPT, tmp_path_factory.mktemp("converted"))


def masked(types):
    return [kind for kind in types if kind.startswith("DropOut")]


def test_before_the_device_is_the_default_nothing_is_converted(found):
    assert masked(found["before"]) == []


@pytest.mark.parametrize("how", ("function", "inner name", "v1", "layer"))
def test_dropout_in_a_function_is_the_npus_where_the_adapter_says_so(found, how):
    if how == "layer" and not CONVERTED:
        assert masked(found[how]) == []
        return
    assert masked(found[how]) == (["DropOutDoMask", "DropOutGenMask"] if CONVERTED else [])


@pytest.mark.parametrize("how", ("noise shape", "nothing dropped", "inference"))
def test_the_rest_stays_tensorflows(found, how):
    assert masked(found[how]) == []


def test_it_keeps_what_it_should_and_its_gradient_is_the_mask(found):
    assert abs(found["eager"] - 1) < 0.1 and abs(found["mean"] - 1) < 0.1
    assert found["gradient"] is True


def test_it_refuses_what_the_adapter_refuses(found):
    assert found["eager error"] == "RuntimeError"
    assert found["whole"] == found["rate"] == "ValueError"


def test_versions_are_read_as_the_adapter_reads_them(found):
    assert found["formats"] == [True, True, True, True, False, False, False, False, False]
    assert found["ranges"] == [False, False, True]
