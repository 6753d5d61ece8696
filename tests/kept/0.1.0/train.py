"""The training whose dumps are kept: three batches and a validation.

With "overflow" it computes in float16, and the square of the first loss is infinite there.
"""
import sys

import numpy as np
import tensorflow as tf

OVERFLOW = "overflow" in sys.argv

X = np.arange(12 * 3, dtype=np.float32).reshape(12, 3) * np.float32(300 if OVERFLOW else 0.01)
Y = X.sum(axis=1, keepdims=True) * np.ones((1, 2), np.float32)

layers = tf.keras.layers
net = tf.keras.Sequential([tf.keras.Input((3,)),
                           layers.Dense(2, dtype="float16" if OVERFLOW else None)], name="small")
net.layers[-1].set_weights([np.array([[0.5, -0.25], [1, 0.125], [-0.75, 2]], np.float32),
                            np.array([0.1, -0.1], np.float32)])
net.compile("sgd", "mse")
net.fit(X, Y, batch_size=4, epochs=1, shuffle=False, verbose=0,
        validation_data=(X[:4], Y[:4]), validation_batch_size=4)
