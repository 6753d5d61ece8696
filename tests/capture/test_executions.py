"""Is an execution that is seen counted for the fit, step or loop that it belongs to?

Each script counts on the emulator, which names its folders by what was really executed.
"""
import json

from tests.conftest import run_python

PRELUDE = """
import json, sys
import numpy as np
import keras_npu_dump
from keras_npu_dump import DumpSession, NpuDumpCallback
from keras_npu_dump.capture.model import function_calls, train_function
keras_npu_dump.emulator.install()
import npu_device
import tensorflow as tf

X = np.arange(48, dtype=np.float32).reshape(16, 3) / 50
Y = X.sum(axis=1, keepdims=True)

def net(name=None):
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)], name=name)
    model.compile("sgd", "mse")
    return model

def unknown_size():
    def batches():
        for number in range(4):
            yield X[4 * number:4 * number + 4], Y[4 * number:4 * number + 4]
    return tf.data.Dataset.from_generator(
        batches, output_signature=(tf.TensorSpec((4, 3)), tf.TensorSpec((4, 1))))

def lines(face):
    with open(face._capture.journal.path) as file:
        return [json.loads(line) for line in file]

def batches_of(face):
    return [[one.iteration and [one.iteration["epoch"], one.iteration["batch"]]
             for one in pair.steps] for pair in face.manifest.pairs if pair.role == "train"]
"""


def answer(code, folder, env=None):
    done = run_python(PRELUDE + code, folder, env=env)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_only_the_fits_own_function_tells_where_its_data_ended(tmp_path):
    """Of a model without gradients, beside another's train_on_batch, and when nobody listens."""
    (ends, first, after, are_seen), _ = answer("""
class NoGradients(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.mean = tf.Variable(tf.zeros(3), trainable=False)

    def call(self, x):
        return x * self.mean

    def train_step(self, data):
        mean = tf.reduce_mean(tf.matmul(data[0], tf.eye(3)), 0)
        self.mean.assign_add(mean)
        return {"loss": tf.reduce_mean(mean)}

class Critic(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        critic.train_on_batch(X[:4], Y[:4])

dump = NpuDumpCallback(dump_path="d", dump_step="0|4|5")
npu_device.open().as_default()
critic = net("critic")
signed = tf.function(lambda x: x, input_signature=[tf.TensorSpec(())])
assert train_function.names(signed) is None and signed.experimental_get_tracing_count() == 0
first = NoGradients()
first.compile()
first.fit(unknown_size(), epochs=2, verbose=0, callbacks=[dump])
net("second").fit(unknown_size(), epochs=2, verbose=0, callbacks=[dump, Critic()])
function_calls._give_up(ValueError("on purpose"))
net("third").fit(unknown_size(), epochs=2, verbose=0, callbacks=[dump])
models = {one["section"]: one["model"] for one in lines(dump) if one["event"] == "section"}
ends = {}
for one in lines(dump):
    if one["event"] == "end-of-data":
        ends.setdefault(models[one["section"]], []).append(one["data_index"])
after = {}
for one in lines(dump):
    if one["event"] == "execution" and one["data_index"] in (4, 5):
        after.setdefault(models[one["section"]], {})[one["data_index"]] = [
            one["epoch"], one["batch"], one.get("ends")]
print(json.dumps([ends, first.name, after, function_calls.are_seen()]))
""", tmp_path, env={"KERAS_NPU_DUMP_EMULATE_CANN": "eos=static"})
    fits = {first, "second", "third"}
    assert set(ends) == fits and all(one in ([4], [4, 8]) for one in ends.values())
    assert [after[name] for name in sorted(fits)] == 3 * [{"4": [1, 0, 1], "5": [1, 1, 1]}]
    assert not are_seen


def test_train_on_batch_after_a_fit_is_counted_on_its_function(tmp_path):
    """Alone, in steps of a session, and a fit without the callback; then the next fit."""
    (batches, doubted, counts), stderr = answer("""
dump = NpuDumpCallback(dump_path="d", dump_step=None)
npu_device.open().as_default()
model = net()

def fit(**options):
    model.fit(X[:8], Y[:8], batch_size=4, verbose=0, **options)

fit(callbacks=[dump])
for _ in range(2):
    model.train_on_batch(X[:4], Y[:4])
session = DumpSession()
with session:
    for _ in range(2):
        with session.step():
            model.train_on_batch(X[:4], Y[:4])
fit()
fit(callbacks=[dump])
doubted = [one["data_index"] for one in lines(dump)
           if one["event"] == "execution" and "fit" in one and one["uncertain"]]
model.train_on_batch(X[:4], Y[:4])
counts = [one.index for one in dump._capture.journal.sections if one.index]
print(json.dumps([batches_of(dump), doubted, counts]))
""", tmp_path)
    steps, outside = [[0, 0], [0, 1]], [None, None]
    if len(batches) == 1:  # Keras 2: one function for both
        assert batches == [steps + outside + steps + outside + steps + [None]] and counts == [11]
    else:
        assert batches == [steps + outside + steps, outside + steps + [None]]
        assert counts == [6, 5]
    assert doubted == []
    assert "the optimizer counted" not in stderr


def test_after_a_fit_that_was_left_train_on_batch_is_none_of_it(tmp_path):
    """Inside a fit the function that it shares is not taken for the end of that fit."""
    (count, batches, doubts, known), _ = answer("""
class Also(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if self.params["epochs"] == 2:
            raise KeyError("on purpose")
        model.train_on_batch(X[:4], Y[:4])

dump = NpuDumpCallback(dump_path="d", dump_step=None)
npu_device.open().as_default()
model = net()

def fit(*callbacks, epochs=1):
    model.fit(X[:8], Y[:8], batch_size=4, verbose=0, callbacks=[*callbacks, dump], epochs=epochs)

try:
    fit(Also(), epochs=2)                        # left before the end of its first batch is told
except KeyError:
    known = []
    for _ in range(3):
        model.train_on_batch(X[:4], Y[:4])
        known.append(dump._capture.journal.sections[0].graph_known)
fit()
fit(Also())                                      # each of two batches is followed by another
section = dump._capture.journal.sections[0]
print(json.dumps([section.index, max(batches_of(dump), key=len)[:6], section.doubts[1:], known]))
""", tmp_path)
    if count == 10:  # Keras 2
        assert batches == [[0, 0], None, None, None, [0, 0], [0, 1]]
        assert len(doubts) == 1 and "optimizer counted 2 updates" in doubts[0]
        assert known == [True, True, True]  # two functions may run in a step after it
    else:
        assert (count, doubts) == (5, [])


def test_a_loop_and_a_fit_on_a_device_opened_by_an_earlier_name(tmp_path):
    (batches, fits), _ = answer("""
npu_open = npu_device.open
keras_npu_dump.apply(dump_path="d", dump_step=None)
npu_open().as_default()
model, optimizer = net(), tf.keras.optimizers.SGD(0.01)

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

for number in range(3):
    train_step(tf.constant(X[:4]), tf.constant(Y[:4]))
dump = NpuDumpCallback()
model.fit(X[:8], Y[:8], batch_size=4, verbose=0, callbacks=[dump])
train_step(tf.constant(X[:4]), tf.constant(Y[:4]))
fits = [[one["fit"], one["model"]] for one in lines(dump) if one["event"] == "fit"]
batches = [[[one.iteration[name] for name in ("fit", "epoch", "batch")] for one in pair.steps]
           for pair in dump.manifest.pairs if pair.role == "train"]
print(json.dumps([batches, [fits, model.name]]))
""", tmp_path)
    assert batches == [[[0, 0, batch] for batch in range(4)], [[1, 0, 0], [1, 0, 1]]]
    assert fits[0] == [[0, "loop"], [1, fits[1]]]
