"""A fit and a loop of its own, written for several workers and started with one."""
import os

import npu_device
from npu_device.distribute import hccl_ops
from npu_device.distribute.hccl import npu_callbacks_append
from npu_device.distribute.npu_callbacks import broadcast_keras_model
from npu_device.npu_device import global_npu_ctx, npu_compat_function
from npu_device.utils.scope import keep_dtype_scope

npu_device.open().as_default()

import small  # noqa: E402
import tensorflow as tf  # noqa: E402

data, rows = npu_device.distribute.shard_and_rebatch_dataset(
    tf.data.Dataset.from_tensor_slices((small.X, small.Y)), 4)
data = data.batch(rows, drop_remainder=True)
net = broadcast_keras_model(small.model(tf))
net.compile(npu_device.distribute.npu_distributed_keras_optimizer_wrapper("sgd"), "mse")
npu_device.distribute.broadcast(net.trainable_variables, 0)
net.fit(data, epochs=1, verbose=0, callbacks=npu_callbacks_append())

optimizer = tf.keras.optimizers.SGD(0.01)
weight = tf.Variable([[0.1], [0.1], [0.1]])


@npu_compat_function
def train_step(x, y):
    with keep_dtype_scope():
        x = hccl_ops.broadcast([x], 0)[0]
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(hccl_ops.allreduce(tf.matmul(x, weight), "sum") - y))
    gradients = npu_device.distribute.all_reduce(tape.gradient(error, [weight]))
    npu_device.distribute.grouping_gradients_apply(optimizer.apply_gradients,
                                                   zip(gradients, [weight]))
    return error


for x, y in data:
    train_step(x, y)
values, = npu_device.distribute.grouping_broadcast([weight])
print("workers", global_npu_ctx().workers_num, "rank size", os.environ.get("RANK_SIZE"),
      "rows", rows, "trained", bool(tf.reduce_all(weight != 0.1)), "same",
      bool(tf.reduce_all(values == weight)))
