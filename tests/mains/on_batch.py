"""train_on_batch before, between and inside fits of one model."""
import sys

import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

net = small.model(tf)
batch = (small.X[:4], small.Y[:4])


class Also(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch_number, logs=None):
        if batch_number == 2:
            net.train_on_batch(*batch)


if "--first" in sys.argv:
    net.train_on_batch(*batch)
small.fit(net)
for _ in range(2):
    net.train_on_batch(*batch)
small.fit(net)
if "--inside" in sys.argv:
    small.fit(net, callbacks=[Also()])
    small.fit(net)
