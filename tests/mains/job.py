"""One rank of a job; MODE says what becomes of it: whole, killed, or out of disk."""
import os
import resource
import signal

import npu_device

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402


class Fate(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        if mode == "full" and batch == 3:
            # A disk that takes no more: every file ends after so many bytes.
            resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))

    def on_train_batch_end(self, batch, logs=None):
        if mode == "killed" and batch == 3:
            os.kill(os.getpid(), signal.SIGKILL)


mode = os.environ.get("MODE", "whole")
small.fit(small.model(tf), epochs=2, callbacks=[Fate()])
