"""Opens the device only where an argument says so, and trains in any case.

--loop does it in a loop of its own.
"""
import sys

import small
import tensorflow as tf

if "--npu" in sys.argv:
    import npu_device
    npu_device.open().as_default()

net = small.model(tf)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(net(x) - y))
    net.optimizer.apply_gradients(zip(tape.gradient(error, net.trainable_variables),
                                      net.trainable_variables))


if "--loop" in sys.argv:
    for batch in small.dataset(tf):
        train_step(*batch)
else:
    small.fit(net)
print("trained")
