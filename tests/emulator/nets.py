"""The trainings of the emulator's tests: run as a file, each scenario once.

    python nets.py RESULT_FOLDER DUMP_PATH|none [SCENARIO...]

Writes RESULT_FOLDER/{scenario}.npz with everything that training left: losses, weights,
predictions; and graphs.json with the graphs that each scenario made.
"""
import json
import os
import sys

import numpy as np

STEPS = "0|5"


def arrays(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def labels(count, classes=3):
    return (np.arange(count) * 7 % classes).astype("int32")


def seed(tf):
    """The same start for each scenario; TensorFlow 2.6 has only the first."""
    tf.random.set_seed(3)
    np.random.seed(3)
    if hasattr(tf.keras.utils, "set_random_seed"):
        tf.keras.utils.set_random_seed(3)


def losses_callback(tf, seen):
    class Losses(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(float(logs["loss"]))
    return Losses()


def compiled(tf, model, **kwargs):
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"], **kwargs)
    return model


def weights(model):
    return {"w%d" % index: np.array(value) for index, value in enumerate(model.get_weights())}


def small_conv(tf, dropout=0.0):
    layers = tf.keras.layers
    return tf.keras.Sequential([
        tf.keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(),
        layers.ReLU(), layers.Flatten()]
        + ([layers.Dropout(dropout)] if dropout else []) + [layers.Dense(3)])


def small_dense(tf):
    return tf.keras.Sequential([
        tf.keras.Input((6,)), tf.keras.layers.Dense(5, activation="relu"),
        tf.keras.layers.Dense(3)])


def fit(tf, model, x, epochs=2, **kwargs):
    seen = []
    model.fit(x, labels(len(x)), batch_size=8, epochs=epochs, verbose=0, shuffle=False,
              callbacks=[losses_callback(tf, seen)], **kwargs)
    return dict(weights(model), losses=np.array(seen))


def dense(tf):
    return fit(tf, compiled(tf, small_dense(tf)), arrays(24, 6))


def conv(tf):
    return fit(tf, compiled(tf, small_conv(tf)), arrays(24, 8, 8, 3))


def dropout(tf):
    return fit(tf, compiled(tf, small_conv(tf, 0.4)), arrays(24, 8, 8, 3))


def lstm(tf):
    model = tf.keras.Sequential([tf.keras.Input((5, 3)), tf.keras.layers.LSTM(4),
                                 tf.keras.layers.Dense(3)])
    return fit(tf, compiled(tf, model), arrays(24, 5, 3))


def subclass(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.keras.layers.Dense(5, activation="tanh")
            self.last = tf.keras.layers.Dense(3)

        def call(self, inputs, training=False):
            return self.last(self.first(inputs))

        def train_step(self, data):
            x, y = data[0], data[1]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=y, logits=self(x, training=True)))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}

    model = Own()
    model.compile("adam")
    return fit(tf, model, arrays(24, 6))


def custom_loop(tf):
    kernel = tf.Variable(arrays(6, 3))
    other = tf.Variable(arrays(3, 3, seed=1))

    @tf.function
    def forward(x):
        return tf.nn.relu(x @ kernel) @ other

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            hidden = tf.nn.dropout(forward(x), 0.3)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=y, logits=hidden))
        for variable, gradient in zip((kernel, other), tape.gradient(loss, (kernel, other))):
            variable.assign_sub(0.1 * gradient)
        return loss

    x, y = tf.constant(arrays(8, 6)), tf.constant(labels(8))
    seen = [step(x, y).numpy() for _ in range(7)]
    return {"losses": np.array(seen), "w0": kernel.numpy(), "w1": other.numpy()}


def validation(tf):
    model = compiled(tf, small_dense(tf))
    x = arrays(24, 6)
    result = fit(tf, model, x, validation_data=(x[:16], labels(16)))
    result["evaluated"] = np.array(model.evaluate(x, labels(24), batch_size=8, verbose=0))
    result["predicted"] = model.predict(x, batch_size=8, verbose=0)
    return result


def on_batch(tf):
    model = compiled(tf, small_dense(tf))
    x, y = arrays(8, 6), labels(8)
    seen = [model.train_on_batch(x, y)[0] for _ in range(7)]
    return dict(weights(model), losses=np.array(seen), tested=np.array(model.test_on_batch(x, y)),
                predicted=model.predict_on_batch(x))


def two_fits(tf):
    model = compiled(tf, small_dense(tf))
    first = fit(tf, model, arrays(24, 6))
    second = fit(tf, model, arrays(24, 6, seed=1))
    return dict(second, before=first["losses"])


def compile_again(tf):
    model = compiled(tf, small_dense(tf))
    first = fit(tf, model, arrays(24, 6))
    second = fit(tf, compiled(tf, model), arrays(24, 6))
    return dict(second, before=first["losses"])


def two_steps(tf):
    return fit(tf, compiled(tf, small_dense(tf), steps_per_execution=2), arrays(56, 6))


def eager(tf):
    return fit(tf, compiled(tf, small_dense(tf), run_eagerly=True), arrays(24, 6))


def mixed(tf):
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = compiled(tf, small_conv(tf))
        return fit(tf, model, arrays(24, 8, 8, 3))
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")


def generator(tf):
    def batches():
        for index in range(3):
            yield arrays(8, 6, seed=index), labels(8)
    data = tf.data.Dataset.from_generator(batches, output_signature=(
        tf.TensorSpec((8, 6), tf.float32), tf.TensorSpec((8,), tf.int32)))
    model = compiled(tf, small_dense(tf))
    seen = []
    model.fit(data, epochs=2, verbose=0, callbacks=[losses_callback(tf, seen)])
    return dict(weights(model), losses=np.array(seen))


def residual(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(x))
        y = layers.Conv2D(16, 3, padding="same")(layers.ReLU()(y))
        x = layers.ReLU()(layers.Add()([x, y]))
    outputs = layers.Dense(3)(layers.GlobalAveragePooling2D()(x))
    return fit(tf, compiled(tf, tf.keras.Model(inputs, outputs)), arrays(24, 32, 32, 3))


SCENARIOS = {function.__name__: function for function in (
    dense, conv, dropout, lstm, subclass, custom_loop, validation, on_batch, two_fits,
    compile_again, two_steps, eager, mixed, generator, residual)}


def main(folder, dump_path, *names):
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    if dump_path != "none":
        config.enable_dump = True
        config.dump_path = dump_path
        config.dump_step = STEPS
        config.dump_mode = "all"
    npu_device.open().as_default()
    import tensorflow as tf

    from keras_npu_dump.emulator.ge.engine import ENGINE
    graphs = {}
    for name in names or SCENARIOS:
        seed(tf)
        before = len(ENGINE.order)
        result = SCENARIOS[name](tf)
        np.savez(os.path.join(folder, name + ".npz"), **result)
        graphs[name] = [[graph.name, graph.graph_id, graph.model_id, graph.count]
                        for graph in ENGINE.order[before:]]
        tf.keras.backend.clear_session()
    with open(os.path.join(folder, "graphs.json"), "w") as file:
        json.dump(graphs, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
