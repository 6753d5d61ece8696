"""A fit with NpuLossScaleOptimizer, and a callback that prints its scale and whether it overflowed.

--saturate asks the device for its overflow flag; --burst gives one batch infinite values.
"""
import sys

import npu_device

npu_device.open().as_default()
if "--saturate" in sys.argv:
    npu_device.npu_device.set_device_sat_mode(0)

import numpy as np  # noqa: E402
import small  # noqa: E402
import tensorflow as tf  # noqa: E402

if "--burst" in sys.argv:
    small.Y[8] = np.inf
net = small.model(tf)
optimizer = npu_device.train.optimizer.NpuLossScaleOptimizer(
    tf.keras.optimizers.SGD(0.01), initial_scale=1024.0, dynamic_growth_steps=4)
net.compile(optimizer, "mse")


class TimeHistory(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print("batch", batch, "loss_scale", float(optimizer.loss_scale.numpy()),
              "not_overflow", bool(optimizer.last_step_finite.numpy()))


small.fit(net, callbacks=[TimeHistory()])
print("finite", all(np.isfinite(one).all() for one in net.get_weights()))
