"""Asks for a dump of its own in the way that its first argument names; `run` may ask for another.

All but session speak before the device is open.
"""
import sys

import npu_device

import keras_npu_dump

OWN = {"dump_path": "own", "dump_step": "0|5", "dump_data": "stats"}
how = sys.argv[1]
callbacks = []
if how == "callback":
    callbacks.append(keras_npu_dump.NpuDumpCallback(**OWN))
elif how == "apply":
    keras_npu_dump.apply(**OWN)
    # Whoever attaches with the same words is told nothing new.
    callbacks.append(keras_npu_dump.NpuDumpCallback(**OWN))
elif how == "overflow":
    callbacks.append(keras_npu_dump.NpuDumpCallback(enable_dump_debug=True))
npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402


def by_hand():
    step = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, tf.ones((3, 1)))))
    dump = keras_npu_dump.DumpSession(dump_layer="MatMul", **OWN)
    with dump:
        for x, _ in small.dataset(tf):
            with dump.step():
                step(x)


if how == "session":
    by_hand()
else:
    small.fit(small.model(tf), callbacks=callbacks)
print("trained")
