"""No fit: a GradientTape loop over the dataset in Python, plain tensors into a tf.function.

--session counts it with a DumpSession; --filtered has a callback list that keeps only its
own class; --transformer and --bert call the hooks of all callbacks by hand. With --off its
own flags leave dump off.
"""
import sys

import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

import keras_npu_dump  # noqa: E402

OPTIONS = {"config": keras_npu_dump.DumpConfig.off()} if "--off" in sys.argv else {}
WEIGHT = tf.Variable([[0.1], [0.1], [0.1]])


def update(x, y):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(tf.matmul(x, WEIGHT) - y))
    WEIGHT.assign_sub(0.01 * tape.gradient(error, WEIGHT))


@tf.function
def train_step(x, y):
    update(x, y)


@tf.function
def train_steps(iterator, steps):
    for _ in tf.range(steps):
        x, y = next(iterator)
        x, y = tf.ensure_shape(x, (4, 3)), tf.ensure_shape(y, (4, 1))
        update(x, y)


class TimeHistory(tf.keras.callbacks.Callback):
    pass


def plain():
    for x, y in small.dataset(tf):
        train_step(x, y)


def session():
    dump = keras_npu_dump.DumpSession(**OPTIONS)
    with dump:
        for _ in range(2):
            dump.next_epoch()
            batches = iter(small.dataset(tf))
            while True:
                try:
                    with dump.step():
                        train_step(*next(batches))
                except StopIteration:
                    break
    print("steps", len(dump.manifest.pairs) > 0)


def filtered():
    callbacks = [TimeHistory(), keras_npu_dump.NpuDumpCallback(**OPTIONS)]
    callbacks = [one for one in callbacks if isinstance(one, TimeHistory)]
    for x, y in small.dataset(tf):
        for one in callbacks:
            one.on_batch_begin(0)
        train_step(x, y)


def transformer():
    """Hooks once per call of many batches, numbers from 0 each time, on_train_end often."""
    callbacks = [TimeHistory(), keras_npu_dump.NpuDumpCallback(**OPTIONS)]
    batches = iter(small.dataset(tf, repeat=4))
    for round_number in range(4):
        for one in callbacks:
            one.on_epoch_begin(round_number)
            one.on_batch_begin(0)
        train_steps(batches, tf.constant(3))
        for one in callbacks:
            one.on_batch_end(2)
            one.on_epoch_end(round_number)
            one.on_train_end()


def bert():
    """Hooks with numbers that jump: on_batch_begin(0), on_batch_end(2), on_batch_begin(3)."""
    callbacks = tf.keras.callbacks.CallbackList([keras_npu_dump.NpuDumpCallback(**OPTIONS)],
                                                add_history=False)
    batches = iter(small.dataset(tf, repeat=4))
    callbacks.on_train_begin()
    for step in range(0, 12, 3):
        callbacks.on_train_batch_begin(step)
        train_steps(batches, tf.constant(3))
        callbacks.on_train_batch_end(step + 2)
    callbacks.on_train_end()


globals()[sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "plain"]()
