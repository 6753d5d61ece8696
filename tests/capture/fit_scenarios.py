"""Trains small nets with the callback on the emulator; prints what the journal says.

Run as a script with the name of a scenario; the tests compare it with the folders that
the emulator, which counts executions itself, has left.
"""
import json
import os
import sys

import numpy as np

import keras_npu_dump
from keras_npu_dump import NpuDumpCallback

keras_npu_dump.emulator.install()
SCENARIO = sys.argv[1]
STEPS = sys.argv[2]
dump = NpuDumpCallback(dump_path="d", dump_step=STEPS)

import npu_device  # noqa: E402
import tensorflow as tf  # noqa: E402

npu_device.open().as_default()

X = np.arange(24 * 3, dtype=np.float32).reshape(24, 3) / 100
Y = X.sum(axis=1, keepdims=True)


def net(**options):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", **options)
    return model


def fit(model, size=24, **options):
    options.setdefault("epochs", 2)
    options.setdefault("callbacks", [dump])
    model.fit(X[:size], Y[:size], batch_size=4, shuffle=False, verbose=0, **options)


class Stop(tf.keras.callbacks.Callback):
    """Raises at begin or end of the third batch."""

    def __init__(self, when="begin"):
        super().__init__()
        self.when = when

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2 and self.when == "begin":
            raise RuntimeError("on purpose")

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2 and self.when == "end":
            raise RuntimeError("on purpose")


def unknown_size():
    def batches():
        for number in range(3):
            yield X[4 * number:4 * number + 4], Y[4 * number:4 * number + 4]
    return tf.data.Dataset.from_generator(
        batches, output_signature=(tf.TensorSpec((4, 3)), tf.TensorSpec((4, 1))))


def two_fits_with_validation():
    model = net()
    fit(model, validation_data=(X[:8], Y[:8]))
    fit(model, epochs=1)
    model.evaluate(X, Y, verbose=0)
    fit(model, epochs=1)


def compile_again():
    model = net()
    fit(model, epochs=1)
    model.compile("sgd", "mae")
    fit(model, epochs=1)


def two_models():
    first, second = net(), net()
    fit(first, epochs=1)
    fit(second, epochs=1)
    fit(first, epochs=1)


def two_callbacks():
    fit(net(), epochs=1, callbacks=[dump, NpuDumpCallback()])


def steps_per_execution():
    fit(net(steps_per_execution=2), epochs=2)


def dataset_of_unknown_size():
    net().fit(unknown_size(), epochs=2, verbose=0, callbacks=[dump])


def steps_of_unknown_size():
    net(steps_per_execution=2).fit(unknown_size(), epochs=2, verbose=0, callbacks=[dump])


def retrace():
    model = net()
    fit(model, size=16, epochs=1)                # 4 batches of 4
    model.fit(X[:15], Y[:15], batch_size=5, shuffle=False, verbose=0, callbacks=[dump])


def interrupted(when="begin"):
    model = net()
    try:
        fit(model, callbacks=[Stop(when), dump] if when == "end" else [dump, Stop(when)])
    except RuntimeError:
        pass
    fit(model, epochs=1)


def interrupted_at_end():
    interrupted("end")


def run_eagerly():
    fit(net(run_eagerly=True), epochs=1)
    tf.config.run_functions_eagerly(True)
    fit(net(), epochs=1)


def killed():
    class Kill(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                os._exit(9)
    fit(net(), callbacks=[dump, Kill()])


globals()[SCENARIO]()
print(json.dumps({"iterations": dump._capture.journal.path}))
