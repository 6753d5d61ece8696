"""Ends by an exception: while a training function is traced, or in execution 3.

crash.py tracing|execution|callback|thread [--loop] [--session] [--retry] [--text=TEXT]. Batch 3
holds an index that the embedding does not have. --loop has a loop of its own, --session counts
it with a DumpSession; --retry catches the exception and trains on. --dump uses a callback of its
own, for plain python.
"""
import argparse
import sys
import threading

parser = argparse.ArgumentParser()
parser.add_argument("how")
for name in ("--loop", "--session", "--retry", "--dump", "--emulate"):
    parser.add_argument(name, action="store_true")
parser.add_argument("--text", default="on purpose")
OPTIONS = parser.parse_args()

import keras_npu_dump  # noqa: E402

if OPTIONS.emulate:
    keras_npu_dump.emulator.install()
import npu_device  # noqa: E402

CALLBACKS = [keras_npu_dump.NpuDumpCallback(dump_path="d", dump_step="0|3|5")] if (
    OPTIONS.dump) else []
npu_device.open().as_default()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

X = np.arange(24).reshape(24, 1) % 10
Y = np.ones((24, 1), np.float32)
if OPTIONS.how in ("execution", "thread"):
    X[13] = 99


def loss(y, found):
    if OPTIONS.how == "tracing":
        raise ValueError(OPTIONS.text)
    return tf.reduce_mean(tf.square(found - y))


class End(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if OPTIONS.how == "callback" and batch == 3:
            raise KeyError(OPTIONS.text)
        if OPTIONS.how == "exit" and batch == 3:
            sys.exit(7)


def network():
    net = tf.keras.Sequential([
        tf.keras.layers.Embedding(10, 2), tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1)], name="net")
    net.compile("sgd", loss)
    return net


def fit():
    network().fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=[End(), *CALLBACKS])


def loop():
    net = network()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            error = loss(y, net(x))
        for variable, gradient in zip(net.trainable_variables,
                                      tape.gradient(error, net.trainable_variables)):
            variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))

    dump = keras_npu_dump.DumpSession() if OPTIONS.session else None
    if dump is not None:
        dump.__enter__()
    for start in range(0, 24, 4):
        try:
            x, y = tf.constant(X[start:start + 4]), tf.constant(Y[start:start + 4])
            if dump is None:
                train_step(x, y)
            else:
                with dump.step():
                    train_step(x, y)
        except tf.errors.InvalidArgumentError:
            if not OPTIONS.retry:
                raise
    if dump is not None:
        dump.__exit__()


train = loop if OPTIONS.loop or OPTIONS.session else fit
if OPTIONS.how == "thread":
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
else:
    train()
print("came to its end")
