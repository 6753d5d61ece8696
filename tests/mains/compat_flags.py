"""FLAGS of tf.compat.v1: the first look at them, here at import, parses the command line.

USE=early defines our flags before that look; USE=late after a parse that skips what it
does not know. Without USE the main knows nothing of us.
"""
import os
import sys

import tensorflow as tf

flags = tf.compat.v1.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_integer("batches", 4, "")


use = os.environ.get("USE")


def npu_config():
    if use == "late":
        FLAGS(sys.argv, known_only=True)
    if use:
        import keras_npu_dump
        keras_npu_dump.flags.define_flags()
        keras_npu_dump.emulator.install()
    print("batches", FLAGS.batches)
    import npu_device
    if use:
        keras_npu_dump.apply(FLAGS)
    npu_device.open().as_default()


npu_config()

import small  # noqa: E402

small.fit(small.model(tf), callbacks=None)
