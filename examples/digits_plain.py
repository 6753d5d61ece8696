"""A training main that knows nothing of dumping: it opens its NPU and trains.

    keras-npu-dump run --emulate --data_dump_step='0|5' examples/digits_plain.py --epochs=2
"""
import argparse

import npu_device
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=128)
    args = parser.parse_args()

    npu_device.open().as_default()
    tf.random.set_seed(1)

    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., np.newaxis]
    labels = digits.target.astype(np.int32)

    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(16, 3, activation="relu", input_shape=(8, 8, 1)),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(10),
    ])
    model.compile(optimizer="adam", metrics=["accuracy"],
                  loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(images[:1408], labels[:1408], batch_size=args.batch_size, epochs=args.epochs,
              shuffle=False, verbose=2, validation_data=(images[1408:1792], labels[1408:1792]))


if __name__ == "__main__":
    main()
