"""Updates in loops, branches, conditions and lists, in a process whose cores are busy.

    update_storm.py ints CALLS ROUNDS
    update_storm.py fit CALLS

Dumps every update of each call, inputs and outputs, to the folder `d`. Variables of `ints` are
64-bit integers, so that all arithmetic is exact and no two states of a variable are alike; each
has a size of its own, by which its records are known.
"""
import multiprocessing
import sys

SIZES = (3, 300, 2000)
GROWN = 6364136223846793004  # even: v + v * GROWN can be undone
MIXED = 2862933555777941757  # odd: v * MIXED can be undone


def spin():
    while True:
        sum(range(10000))


def bump(tf, variable, name):
    """Two updates of which each shows what it was made from; the value between them is read."""
    with tf.name_scope(name):
        variable.assign_add(variable * tf.constant(GROWN, tf.int64))
        between = tf.bitwise.invert(variable.read_value())
        variable.assign(between * tf.constant(MIXED, tf.int64))


def loops(tf, held, rounds):
    """Loops, a branch in them, loops in loops, and what comes behind them."""
    @tf.function
    def loops_step():
        for number in tf.range(rounds):
            for variable in held:
                bump(tf, variable, "round")
            if number % 3 == 1:  # a branch whose updates the next round must not overtake
                for variable in held:
                    bump(tf, variable, "branch")
            for _ in tf.range(2):
                for variable in held:
                    bump(tf, variable, "inner")
                for _ in tf.range(2):
                    bump(tf, held[0], "innermost")
        for variable in held:
            bump(tf, variable, "behind")
    return loops_step


def branches(tf, held, rounds):
    """Branches in branches and cases, in a loop and behind each other, without a loop between."""
    @tf.function
    def branches_step():
        for number in tf.range(rounds):
            for variable in held:
                if number % 2 == 0:
                    bump(tf, variable, "even")
                    if number % 4 == 0:
                        bump(tf, variable, "fourth")
                else:
                    bump(tf, variable, "odd")
                tf.switch_case(number % 3, [lambda v=variable, n=place: bump_in(v, n)
                                            for place in range(3)])
        if held[0][0] < 0:
            bump(tf, held[0], "negative")
        else:
            bump(tf, held[0], "positive")
        bump(tf, held[0], "behind")

    def bump_in(variable, place):
        bump(tf, variable, "case_%d" % place)
        return place

    return branches_step


def conditions(tf, held, rounds):
    """Loops that end by a variable that they change, and whose conditions change variables."""
    counter = tf.Variable(tf.zeros([1], tf.int64))

    @tf.function
    def conditions_step():
        counter.assign([0])
        while tf.reduce_sum(counter) < rounds:
            counter.assign_add([1])
            for variable in held:
                bump(tf, variable, "round")
        # Lambdas, or AutoGraph does not take what they call.
        tf.while_loop(lambda number: changing(number),  # noqa: PLW0108
                      lambda number: [body(number)], [0])
        for variable in held:
            bump(tf, variable, "behind")

    def changing(number):
        for variable in held:
            bump(tf, variable, "condition")
        if held[0][0] < 0:
            bump(tf, held[0], "negative")
        return number < rounds

    def body(number):
        for variable in held:
            bump(tf, variable, "body")
        return number + 1

    return conditions_step


def lists(tf, held, rounds):
    """What loops write to lists and read from them, beside updates of rows."""
    @tf.function
    def lists_step():
        written = tf.TensorArray(tf.int64, rounds, element_shape=[SIZES[1]])
        for number in tf.range(rounds):
            for variable in held:
                bump(tf, variable, "round")
            written = written.write(number, held[1].read_value())
            held[2].scatter_add(tf.IndexedSlices(
                tf.gather(held[2], [number]) * tf.constant(GROWN, tf.int64), [number]))
        stacked = written.stack()
        for number in tf.range(rounds):
            with tf.name_scope("taken"):
                held[1].assign_add(stacked[number] * tf.constant(MIXED, tf.int64))
        for variable in held:
            bump(tf, variable, "behind")
    return lists_step


KINDS = (loops, branches, conditions, lists)


def fit(tf, calls):
    """A fit in which every execution is a loop of two steps."""
    import numpy as np
    draw = np.random.RandomState(0)
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu", input_shape=(32,)),
                                 tf.keras.layers.Dense(16), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(2 ** -8), "mse", steps_per_execution=2)
    model.fit(draw.rand(16 * calls, 32).astype(np.float32),
              draw.rand(16 * calls, 1).astype(np.float32), batch_size=8, shuffle=False, verbose=0)


def main():
    kind, calls = sys.argv[1], int(sys.argv[2])
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

    if kind == "fit":
        fit(tf, calls)
    else:
        draw = np.random.RandomState(0)
        for make in KINDS:
            held = [tf.Variable(draw.randint(1 << 62, size=size)) for size in SIZES]
            step = make(tf, held, int(sys.argv[3]))
            for _ in range(calls):
                step()
    for process in busy:
        process.kill()


if __name__ == "__main__":
    main()
