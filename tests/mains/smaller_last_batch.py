"""A loop of one's own over batches of 5 and a last one of 4, which is traced on its own.

--sequence fits a keras Sequence from its second epoch on.
"""
import sys
import time

import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

WEIGHT = tf.Variable([[0.1], [0.1], [0.1]])


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(tf.matmul(x, WEIGHT) - y))
    WEIGHT.assign_sub(0.01 * tape.gradient(error, WEIGHT))


def loop():
    for _ in range(2):
        for x, y in tf.data.Dataset.from_tensor_slices((small.X, small.Y)).batch(5):
            train_step(x, y)
            time.sleep(0.2)  # as long as a look at the dump folder may take


class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 5

    def __getitem__(self, number):
        rows = slice(5 * number, min(5 * number + 5, 24))
        return small.X[rows], small.Y[rows]


def sequence():
    small.model(tf).fit(Batches(), initial_epoch=1, epochs=3, shuffle=False, verbose=0)


globals()[sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "loop"]()
