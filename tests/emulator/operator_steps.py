"""Trainings with operators of the NPU: run as a file.

    python operator_steps.py RESULT_FOLDER DUMP_PATH|none

Writes RESULT_FOLDER/trained.npz with losses and weights, and steps.json with the names of the
graphs of the two trainings.
"""
import json
import os
import sys

import numpy as np


def rnn_step(tf, ops):
    """LSTM and GRU over a sequence, then a cell in a loop."""
    random = np.random.RandomState(1)

    def variable(*shape):
        return tf.Variable(random.randn(*shape).astype("float32") / 3)

    weights = [variable(9, 16), variable(16), variable(4, 12), variable(4, 12), variable(12),
               variable(12), variable(8, 16), variable(16)]
    zeros = tf.zeros([1, 3, 4])

    @tf.function
    def rnn(x):
        with tf.GradientTape() as tape:
            kind = {"direction": "UNIDIRECTIONAL", "activation": "tanh"}
            y = ops.dynamic_rnn_v2(x, weights[0], weights[1], zeros, zeros, cell_type="LSTM",
                                   **kind).y
            y = ops.dynamic_gru_v2(y, *weights[2:6], tf.fill([3], 6), zeros[0],
                                   gate_order="zrh", **kind).y
            h = c = tf.zeros([3, 4])
            for step in tf.range(2):
                cell = ops.basic_lstm_cell(y[step], h, c, *weights[6:])
                c, h = cell.ct, cell.ht
            loss = tf.reduce_mean((y[-1] + h - x[-1, :, :4]) ** 2)
        gradients = tape.gradient(loss, weights)
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(0.1 * ops.centralization(gradient, axes=[0]))
        return loss

    return rnn, weights, random.randn(6, 3, 5).astype("float32")


def mixed_step(tf, ops):
    """Dropout of all kinds, gelu, layer norm, in a loop and a branch; half precision."""
    random = np.random.RandomState(2)
    weights = [tf.Variable(random.randn(16, 32).astype("float32") / 4),
               tf.Variable(tf.ones([32])), tf.Variable(tf.zeros([32])),
               tf.Variable(tf.fill([32], 0.2))]

    @tf.function
    def mixed(x):
        with tf.GradientTape() as tape:
            y = ops.fast_gelu(tf.matmul(x, weights[0]))
            mask = ops.drop_out_gen_mask(tf.shape(y), 0.7, 3, 4)
            y = ops.drop_out_do_mask(y, mask, 0.7)
            y, _, _ = ops.fused_layer_norm(y, weights[1], weights[2], 1, -1, 1e-6)
            for _ in tf.range(2):
                mask = ops.drop_out_gen_mask_v3(tf.shape(y), 0.8, 5, 6)
                y = ops.drop_out_do_mask_v3(ops.gelu(y), mask, 0.8)
            if tf.reduce_sum(y) > -1e9:
                y = ops.p_relu(y, weights[3])
            half = ops.fast_gelu(tf.cast(y, tf.float16))
            loss = tf.reduce_mean(tf.cast(half, tf.float32) ** 2)
        gradients = tape.gradient(loss, weights)
        with tf.control_dependencies(gradients):
            status = ops.npu_get_float_status_v2()
        with tf.control_dependencies([status]):
            ops.npu_clear_float_status_v2()
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(0.1 * gradient)
        return loss

    return mixed, weights, random.randn(32, 16).astype("float32")


def main(folder, dump_path):
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    import tensorflow as tf
    config = npu_device.global_options().dump_config
    if dump_path != "none":
        os.environ["DUMP_GRAPH_PATH"] = os.path.join(dump_path, "graphs")
        config.enable_dump, config.dump_path = True, dump_path
        config.dump_step, config.dump_mode = "1|3", "all"
    npu_device.open().as_default()
    found, names = {}, {}
    for make in (rnn_step, mixed_step):
        step, weights, x = make(tf, npu_device.gen_npu_ops)
        found[make.__name__] = [step(tf.constant(x)).numpy() for _ in range(5)]
        found.update(("%s_%d" % (make.__name__, index), weight.numpy())
                     for index, weight in enumerate(weights))
        concrete = step.get_concrete_function(tf.constant(x))
        name = concrete.name
        names[make.__name__] = name.decode() if isinstance(name, bytes) else name
    np.savez(os.path.join(folder, "trained.npz"), **found)
    with open(os.path.join(folder, "steps.json"), "w") as file:
        json.dump(names, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
