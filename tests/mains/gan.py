"""A GAN: two training functions in each step of a DumpSession.

--critic=5 runs the first function five times in a step, as a WGAN does; --every=2 the second in
every second step only; --shared has both functions train the same model with one optimizer;
--outside calls the first once before the loop. With --plain the loop is as it is without us:
nothing of ours is called (start it with `keras-npu-dump run`), and no step is told.
"""
import argparse
import contextlib

import npu_device

parser = argparse.ArgumentParser()
parser.add_argument("--critic", type=int, default=1)
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--steps", type=int, default=3)
for name in ("--shared", "--outside", "--plain"):
    parser.add_argument(name, action="store_true")
OPTIONS = parser.parse_args()

npu_device.open().as_default()

import tensorflow as tf  # noqa: E402

generator = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(3)], name="generator")
critic = generator if OPTIONS.shared else tf.keras.Sequential(
    [tf.keras.Input((3,)), tf.keras.layers.Dense(1)], name="critic")
RATE = tf.constant(0.01)


def descend(model, tape, loss):
    for variable, gradient in zip(model.trainable_variables,
                                  tape.gradient(loss, model.trainable_variables)):
        variable.assign_sub(RATE * gradient)


def judge(x):
    return tf.reduce_mean(x if OPTIONS.shared else critic(x))


@tf.function
def d_step(x, noise):
    with tf.GradientTape() as tape:
        loss = judge(generator(noise)) - judge(x)
    descend(critic, tape, loss)
    return loss


@tf.function
def g_step(noise):
    with tf.GradientTape() as tape:
        loss = -judge(generator(noise))
    descend(generator, tape, loss)
    return loss


@tf.function
def evaluate(noise):
    return judge(generator(noise))


def a_session():
    import keras_npu_dump
    return keras_npu_dump.DumpSession()


dump = None if OPTIONS.plain else a_session()
x, noise = tf.ones((4, 3)), tf.ones((4, 2))
if OPTIONS.outside:
    d_step(x, noise)
with contextlib.nullcontext() if dump is None else dump:
    for _ in range(2):
        for step in range(OPTIONS.steps):
            with contextlib.nullcontext() if dump is None else dump.step():
                for _again in range(OPTIONS.critic):
                    d_step(x, noise)
                if (step + 1) % OPTIONS.every == 0:
                    g_step(noise)
            evaluate(noise)
        if dump is not None:
            dump.next_epoch()
print("trained")
