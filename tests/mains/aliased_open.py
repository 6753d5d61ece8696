"""Has npu_device.open under a name of its own, from before the callback was made."""
import sys

if "--emulate" in sys.argv:
    from keras_npu_dump import emulator
    emulator.install()
import small
import tensorflow as tf
from npu_device import open as npu_open

callbacks = []
if "--callback" in sys.argv:
    from keras_npu_dump import NpuDumpCallback
    callbacks = [NpuDumpCallback(dump_path="d")]
npu_open().as_default()
tf.random.set_seed(1)
net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(
    1, kernel_initializer=tf.keras.initializers.RandomNormal(seed=1))])
net.compile("sgd", "mse")
print("loss", [float(one).hex() for one in small.fit(
    net, callbacks=callbacks).history["loss"]])
