"""A helper as ModelZoo mains carry one beside them: Keras's Dropout on the NPU's operators, its
gradient registered by hand."""
import tensorflow as tf
from npu_device import gen_npu_ops
from tensorflow.python.framework import ops, random_seed


@ops.RegisterGradient("DropOutDoMask")
def _do_mask_grad(op, grad):
    return [gen_npu_ops.drop_out_do_mask(grad, op.inputs[1], op.inputs[2]), None, None]


def dropout(x, keep_prob, seed=None, name=None):
    if tf.executing_eagerly():
        raise RuntimeError("dropout() works inside a function only")
    x = tf.convert_to_tensor(x)
    if keep_prob == 1:
        return x
    seed, seed2 = random_seed.get_seed(seed)
    mask = gen_npu_ops.drop_out_gen_mask(tf.shape(x), keep_prob, seed, seed2, name)
    return gen_npu_ops.drop_out_do_mask(x, mask, keep_prob, name)


def _call(self, inputs, training=None):
    if not training:
        return tf.identity(inputs)
    return dropout(inputs, keep_prob=1 - self.rate, seed=self.seed)


tf.keras.layers.Dropout.call = _call
