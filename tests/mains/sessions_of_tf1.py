"""TensorFlow 1: graphs in sessions, which npu_device does not execute."""
import sys

if "--open" in sys.argv:
    import npu_device

    npu_device.open().as_default()
elif "--import" in sys.argv:
    import npu_device  # some have it for its operators
if "--fail" in sys.argv:
    raise ValueError("on purpose")
if "--exit" in sys.argv:
    sys.exit(3)

import small
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
features = v1.placeholder(tf.float32, (None, 3))
weight = v1.get_variable("weight", (3, 1))
error = tf.reduce_mean(tf.square(tf.matmul(features, weight) - 1.0))
train = v1.train.GradientDescentOptimizer(0.1).minimize(error)
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    for _ in range(3):
        session.run(train, {features: small.X[:4]})
