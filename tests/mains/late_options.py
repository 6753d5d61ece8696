"""Sets dump options after open(), and trains in a loop of its own."""
import sys

import keras_npu_dump

if "--install" in sys.argv:
    keras_npu_dump.emulator.install()
    keras_npu_dump.apply(dump_path="d", dump_step=1, min_free_gb=0)

import npu_device

npu_device.open().as_default()
late = npu_device.global_options().dump_config
late.dump_step, late.dump_mode = "3", "input"

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

WEIGHT = tf.Variable([[0.1], [0.1], [0.1]])


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(tf.matmul(x, WEIGHT) - y))
    WEIGHT.assign_sub(0.01 * tape.gradient(error, WEIGHT))


for x, y in small.dataset(tf):
    train_step(x, y)
