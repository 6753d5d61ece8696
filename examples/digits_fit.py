"""A small convolutional network on handwritten digits, with dump flags and callback.

The digits come with scikit-learn: real data, nothing is downloaded. On an Ascend
host it trains on the NPU; elsewhere start it with the emulator:

    keras-npu-dump run --emulate examples/digits_fit.py
    python examples/digits_fit.py --emulate --data_dump_flag --data_dump_step='0|5'
"""
import numpy as np
import tensorflow as tf
from absl import app, flags
from sklearn.datasets import load_digits

import keras_npu_dump
from keras_npu_dump.flags import define_flags

FLAGS = flags.FLAGS

flags.DEFINE_integer("epochs", 2, "Epochs to train.")
flags.DEFINE_integer("batch_size", 128, "Batch size.")
flags.DEFINE_boolean("emulate", False, "Use the emulator where there is no NPU.")
define_flags()


def load_data():
    """Returns (x_train, y_train), (x_test, y_test); images 8x8x1, float32 in [0, 1]."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., np.newaxis]
    labels = digits.target.astype(np.int32)
    return (images[:1408], labels[:1408]), (images[1408:1792], labels[1408:1792])


def build_model():
    return tf.keras.Sequential([
        tf.keras.layers.Conv2D(16, 3, activation="relu", input_shape=(8, 8, 1)),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(10),
    ])


def main(argv):
    del argv
    if FLAGS.emulate:
        keras_npu_dump.emulator.install()
    config = keras_npu_dump.DumpConfig.from_flags(FLAGS)
    dump = keras_npu_dump.NpuDumpCallback(config=config)  # before open(): options are read there
    import npu_device  # the vendor's, or the emulator
    npu_device.open().as_default()

    tf.random.set_seed(1)
    train, test = load_data()
    model = build_model()
    model.compile(optimizer="adam", metrics=["accuracy"],
                  loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(*train, batch_size=FLAGS.batch_size, epochs=FLAGS.epochs, shuffle=False, verbose=2,
              validation_data=test, callbacks=[dump])
    if dump.manifest is not None:
        print("pairs:", len(dump.manifest.pairs))


if __name__ == "__main__":
    app.run(main)
