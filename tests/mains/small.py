"""What the mains train: a line through 24 points, batches of 4, six a round."""
import numpy as np

X = np.arange(24 * 3, dtype=np.float32).reshape(24, 3) / 100
Y = X.sum(axis=1, keepdims=True)


def model(tf, name=None, **compile_options):
    net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)], name=name)
    net.compile("sgd", "mse", **compile_options)
    return net


def dataset(tf, repeat=1):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(4, drop_remainder=True).repeat(repeat)


def fit(net, **options):
    options = dict(dict(batch_size=4, epochs=1, shuffle=False, verbose=0), **options)
    return net.fit(X, Y, **options)
