"""A callback that is given to predict() and evaluate(), as no fit() is called."""
import sys

from keras_npu_dump import NpuDumpCallback, emulator

if "--install" in sys.argv:
    emulator.install()

import npu_device

dump = NpuDumpCallback(dump_path="d", dump_step="0|1|9", min_free_gb=0)
npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

net = small.model(tf)
if "--evaluate" in sys.argv:
    net.evaluate(small.X, small.Y, batch_size=4, verbose=0, callbacks=[dump])
net.predict(small.X, batch_size=4, verbose=0, callbacks=[dump])
