"""npu_device before TensorFlow, or after it; with --open the script opens its device itself."""
import sys

if "--after" in sys.argv:
    import tensorflow as tf
import npu_device

if "--after" not in sys.argv:
    import tensorflow as tf
import small

if "--open" in sys.argv:
    npu_device.open().as_default()
tf.random.set_seed(1)
net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(
    1, kernel_initializer=tf.keras.initializers.RandomNormal(seed=1))])
net.compile("sgd", "mse")
print("loss", [float(one).hex() for one in small.fit(net).history["loss"]])
