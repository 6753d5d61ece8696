"""A loop of its own around an LSTM of the NPU: one operator for the whole sequence."""
import npu_device
import numpy as np
import tensorflow as tf

npu_device.open().as_default()
gen_npu_ops = npu_device.gen_npu_ops
BATCH, STEPS, SIZE, HIDDEN = 4, 7, 5, 8


class NpuLstm(tf.Module):
    def __init__(self):
        super().__init__()
        stdv = 1 / np.sqrt(HIDDEN)
        random = np.random.RandomState(0)
        self.w = tf.Variable(random.uniform(-stdv, stdv, (SIZE + HIDDEN, 4 * HIDDEN)),
                             dtype="float32")
        self.b = tf.Variable(tf.zeros([4 * HIDDEN]))
        self.out = tf.Variable(random.uniform(-stdv, stdv, (HIDDEN, 1)), dtype="float32")

    def __call__(self, x):
        zeros = tf.zeros([1, tf.shape(x)[0], HIDDEN])
        y = gen_npu_ops.dynamic_rnn_v2(
            x=tf.transpose(x, [1, 0, 2]), w=self.w, b=self.b, init_h=zeros, init_c=zeros,
            cell_type="LSTM", direction="UNIDIRECTIONAL", cell_depth=1, use_peephole=False,
            keep_prob=1.0, cell_clip=-1.0, num_proj=0, time_major=True, activation="tanh",
            forget_bias=1.0, is_training=True)[0]
        return tf.matmul(y[-1], self.out)


net = NpuLstm()


@tf.function
def train_step(iterator):
    x, label = next(iterator)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - label) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    for variable, gradient in zip(net.trainable_variables, gradients):
        variable.assign_sub(0.5 * gradient)
    return loss


data = np.random.RandomState(1).randn(6 * BATCH, STEPS, SIZE).astype("float32")
iterator = iter(tf.data.Dataset.from_tensor_slices((data, data[:, -1, :1])).batch(
    BATCH, drop_remainder=True))
print([float(train_step(iterator)) for _ in range(6)])
