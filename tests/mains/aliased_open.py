"""Has npu_device.open under a name of its own, from before the callback was made."""
from keras_npu_dump import NpuDumpCallback, emulator

emulator.install()
import small  # noqa: E402
import tensorflow as tf  # noqa: E402
from npu_device import open as npu_open  # noqa: E402

dump = NpuDumpCallback(dump_path="d")
npu_open().as_default()
tf.random.set_seed(1)
net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(
    1, kernel_initializer=tf.keras.initializers.RandomNormal(seed=1))])
net.compile("sgd", "mse")
print("loss", [float(one).hex() for one in small.fit(net, callbacks=[dump]).history["loss"]])
