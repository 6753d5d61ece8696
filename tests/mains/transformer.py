"""A transformer block that classifies sequences, with the NPU's dropout and gelu; argparse."""
import argparse
import ast
import random

import npu_device
import npu_dropout  # noqa: F401  # replaces Dropout.call
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
parser = argparse.ArgumentParser()
parser.add_argument("--data_dump_flag", type=ast.literal_eval)
parser.add_argument("--data_dump_step", default="10")
parser.add_argument("--data_dump_path", default="/home/data")
args, _ = parser.parse_known_args()


def npu_config():
    if args.data_dump_flag:
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = args.data_dump_path
        npu_device.global_options().dump_config.dump_step = args.data_dump_step
        npu_device.global_options().dump_config.dump_mode = "all"
    npu_device.open().as_default()


def gelu(x):
    # As mains for several releases of the adapter ask.
    if not hasattr(npu_device.ops, "gelu"):
        return npu_device.gen_npu_ops.fast_gelu(x)
    return npu_device.ops.gelu(x)


class TransformerBlock(layers.Layer):
    def __init__(self, width, heads, inner, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=heads, key_dim=width)
        self.ffn = tf.keras.Sequential([layers.Dense(inner, activation=gelu), layers.Dense(width)])
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate, seed=1)
        self.dropout2 = layers.Dropout(rate, seed=2)

    def call(self, inputs, training=None):
        attended = self.dropout1(self.att(inputs, inputs), training=training)
        first = self.norm1(inputs + attended)
        return self.norm2(first + self.dropout2(self.ffn(first), training=training))


npu_config()
tf.random.set_seed(3)
random.seed(3)  # Keras 3 starts from it
inputs = layers.Input((6,))
x = layers.Embedding(40, 16)(inputs)
x = TransformerBlock(16, 2, 32)(x)
x = layers.GlobalAveragePooling1D()(x)
x = gelu(layers.Dropout(0.1, seed=3)(x))
net = tf.keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
net.compile("adam", "sparse_categorical_crossentropy")
tokens = np.random.RandomState(0).randint(0, 40, (24, 6))
history = net.fit(tokens, tokens[:, 0] % 2, batch_size=8, epochs=2, shuffle=False, verbose=0)
print(history.history["loss"])
print([float(np.abs(weight).sum()) for weight in net.get_weights()])
