"""Loops, branches and nested loops full of updates, in a process whose cores are busy.

    update_storm.py CALLS ROUNDS

Dumps every update of each call, inputs and outputs, to the folder `d`.
"""
import multiprocessing
import sys


def spin():
    while True:
        sum(range(10000))


def main():
    calls, rounds = int(sys.argv[1]), int(sys.argv[2])
    busy = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True)
            for _ in range(multiprocessing.cpu_count())]
    for process in busy:
        process.start()

    import numpy as np
    import tensorflow as tf

    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    config.enable_dump = True
    config.dump_path = "d"
    config.dump_mode = "all"
    npu_device.open().as_default()

    draw = np.random.RandomState(0)
    held = [tf.Variable(draw.rand(size).astype(np.float32)) for size in (3, 700, 5000)]

    def update(number, scale):
        for variable in held:
            variable.assign_sub(variable * 0.25 * scale)
            variable.assign_add(tf.ones_like(variable) * tf.cast(number, tf.float32))
            variable.assign(variable * 0.5)

    @tf.function
    def train_step(scale):
        for number in tf.range(rounds):
            update(number, scale)
            if number % 3 == 1:  # a branch whose updates the next round must not overtake
                update(number, scale)
            for inner in tf.range(2):
                update(inner, scale)
        update(0, scale)

    for call in range(calls):
        train_step(tf.constant(1.0 + call))
    for process in busy:
        process.kill()


if __name__ == "__main__":
    main()
