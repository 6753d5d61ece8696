"""Prints its manifest itself; with an argument it trains again after that."""
import sys

import npu_device
import small

from keras_npu_dump import NpuDumpCallback

dump = NpuDumpCallback(dump_path="d", dump_step="0|9")
npu_device.open().as_default()

import tensorflow as tf  # noqa: E402

net = small.model(tf)
small.fit(net, callbacks=[dump])
print(dump.manifest)
if sys.argv[1:]:
    small.fit(net, callbacks=[dump])
