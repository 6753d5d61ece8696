"""Trains long after a dump that never comes: no operator is called as dump_layer says."""
import time

import npu_device

from keras_npu_dump.capture.process import first_dump

first_dump.PATIENCE = 0.5
npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402


class Slow(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.1)


small.fit(small.model(tf), epochs=20, callbacks=[Slow()])
print("trained to the end")
