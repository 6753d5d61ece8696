"""Small trainings, five that really fail and five that are healthy but look odd.

    nets.py NAME

Plain training scripts as users write them: `keras-npu-dump run --emulate` runs them.
Batches are made by hand, so that what goes wrong does so at a known one.
"""
import sys

import npu_device
import numpy as np
import tensorflow as tf

from tests.analysis.nets_list import FAILING, HEALTHY

BATCH = 16


def dataset(make, batches):
    """`make(number)` gives batch `number` as (x, y)."""
    arrays = [make(number) for number in range(batches)]
    x = np.concatenate([one[0] for one in arrays])
    y = np.concatenate([one[1] for one in arrays])
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)


def random_batch(number, features=8, classes=4):
    rng = np.random.RandomState(100 + number)
    x = rng.randn(BATCH, features).astype("float32")
    labels = (x[:, :classes].argmax(axis=1)).astype("int32")
    return x, np.eye(classes, dtype="float32")[labels]


def fit(model, data, epochs=1):
    model.fit(data, epochs=epochs, shuffle=False, verbose=0)


def log_of_zero(batches):
    """The loss takes the logarithm of probabilities; in batch 2 some are exactly zero."""
    def make(number):
        x, y = random_batch(number)
        return (x * 1e4 if number == 2 else x), y

    def loss(y_true, y_pred):
        return -tf.reduce_mean(tf.reduce_sum(y_true * tf.math.log(y_pred), axis=-1))

    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)),
        tf.keras.layers.Dense(4, activation="softmax")])
    model.compile("adam", loss)
    fit(model, dataset(make, batches))


def norm_at_zero(batches):
    """The loss is a norm of what the model says; in batch 1 that is the zero vector."""
    def make(number):
        x, y = random_batch(number)
        return (x * 0 if number == 1 else x), y * 0

    def loss(y_true, y_pred):
        return tf.reduce_mean(tf.norm(y_pred - y_true, axis=-1))

    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="tanh", use_bias=False, input_shape=(8,)),
        tf.keras.layers.Dense(4, use_bias=False)])
    model.compile("sgd", loss)
    fit(model, dataset(make, batches))


def float16_overflow(batches):
    """A float16 layer whose products no longer fit; in batch 3 the inputs are large."""
    def make(number):
        x, y = random_batch(number, features=64)
        return (np.abs(x) * 2e4 if number == 3 else x), y

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="relu", kernel_initializer="ones",
                              input_shape=(64,)),
        tf.keras.layers.Dense(4),
        tf.keras.layers.Activation("softmax", dtype="float32")])
    model.compile(tf.keras.optimizers.SGD(0.001), "categorical_crossentropy")
    fit(model, dataset(make, batches))


def exploding_rate(batches):
    """A learning rate with which every update overshoots further than the one before."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(8,))])
    model.compile(tf.keras.optimizers.SGD(12.0), "mse")
    fit(model, dataset(random_batch, batches))


def variance_of_constant(batches):
    """A layer divides by the variance of the batch; batch 2 is constant."""
    def make(number):
        x, y = random_batch(number)
        return (x * 0 + 3 if number == 2 else x), y

    class Standardise(tf.keras.layers.Layer):
        def call(self, inputs):
            mean, variance = tf.nn.moments(inputs, axes=[0])
            return (inputs - mean) / variance

    model = tf.keras.Sequential([
        tf.keras.layers.InputLayer(input_shape=(8,)), Standardise(),
        tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(4)])
    model.compile("adam", "mse")
    fit(model, dataset(make, batches))


def dropout(batches):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(32, activation="relu", input_shape=(8,)),
        tf.keras.layers.Dropout(0.7),
        tf.keras.layers.Dense(4, activation="softmax")])
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    fit(model, dataset(random_batch, batches))


def sparse_relu(batches):
    """Biases far below zero: nearly all units are off in nearly all samples."""
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(64, activation="relu", input_shape=(8,),
                              bias_initializer=tf.keras.initializers.Constant(-1.0)),
        tf.keras.layers.Dense(4)])
    model.compile("adam", tf.keras.losses.CategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    fit(model, dataset(random_batch, batches))


def one_hot(batches):
    """Labels come as numbers; most classes never occur, the weights begin at zero."""
    def make(number):
        x, y = random_batch(number)
        return x, y.argmax(axis=1).astype("int32")

    class Hot(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            hot = tf.one_hot(tf.cast(tf.reshape(y_true, [-1]), tf.int32), 20)
            return tf.nn.softmax_cross_entropy_with_logits(hot, y_pred)

    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="tanh", input_shape=(8,)),
        tf.keras.layers.Dense(20, kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(0.5), Hot())
    fit(model, dataset(make, batches))


def large_embeddings(batches):
    """Embeddings of a hundred thousand and more that stay what they are."""
    def make(number):
        rng = np.random.RandomState(number)
        x = rng.randint(0, 50, (BATCH, 6)).astype("int32")
        return x, (x.sum(axis=1, keepdims=True) % 2).astype("float32")

    model = tf.keras.Sequential([
        tf.keras.layers.Embedding(50, 8, embeddings_initializer=tf.keras.initializers.
                                  RandomUniform(-3e5, 3e5, seed=1)),
        tf.keras.layers.LayerNormalization(),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    fit(model, dataset(make, batches))


def loss_scaling(batches):
    """A loss scale that is too large for the first batch: one update is skipped, training
    goes on with half of it."""
    def make(number):
        x, y = random_batch(number)
        return (x * 16 if number == 0 else x), y

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)),
        tf.keras.layers.Dense(4),
        tf.keras.layers.Activation("softmax", dtype="float32")])
    scaled = tf.keras.mixed_precision.LossScaleOptimizer
    inner = tf.keras.optimizers.SGD(0.1)
    try:
        optimizer = scaled(inner, initial_scale=2.0 ** 16, dynamic_growth_steps=1000)
    except TypeError:
        optimizer = scaled(inner, initial_scale=2.0 ** 16)
    model.compile(optimizer, "categorical_crossentropy")
    fit(model, dataset(make, batches))


def main():
    name = sys.argv[1]
    batches = dict(FAILING, **HEALTHY)[name]
    npu_device.open().as_default()
    getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)(7)
    globals()[name](batches)


if __name__ == "__main__":
    main()
