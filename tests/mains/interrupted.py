"""Ends in the middle of the second fit: by a signal, by sys.exit, by an error of a callback."""
import os
import signal
import sys

import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402


class End(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch != 3:
            return
        if how == "exit":
            sys.exit(7)
        if how == "error":
            raise KeyError("on purpose")
        os.kill(os.getpid(), signal.Signals[how].value)


how = sys.argv[1]
net = small.model(tf)
small.fit(net)
small.fit(net, callbacks=[End()])
print("not reached")
