"""Trainings whose values all go out as they come, or a chain of large values.

    sink_nets.py nets RESULT_FOLDER DUMP_PATH tensor|stats SCENARIO...
    sink_nets.py chain DUMP_PATH tensor|stats
"""
import json
import resource
import sys
import weakref

LENGTH, SIZE = 30, 1 << 21  # operators, and elements of 4 bytes of what each makes


def nets(result, dump_path, data, *scenarios):
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device

    from keras_npu_dump.emulator.tracer import sinks
    from tests.emulator import nets
    # Of nearly every value alone, and many blocks.
    sinks.SMALL, sinks.BLOCK, sinks._LEAST = 8, 2000, 8
    npu_device.global_options().dump_config.dump_data = data
    nets.main(result, dump_path, *scenarios)


def chain(dump_path, data):
    """Peak in MB before and after a dumped call, and the most bytes that sinks had at once."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    config.enable_dump, config.dump_path, config.dump_mode = True, dump_path, "output"
    config.dump_step, config.dump_data = "1", data
    npu_device.open().as_default()
    import tensorflow as tf

    from keras_npu_dump.emulator.tracer import runs
    live, most = {}, [0]
    reduce = runs.Reading.reduce

    def watched(self, place, group, arrays):
        for array in arrays:
            if not array.shape:
                continue  # of TensorFlow 2.6 a number, which nothing can refer to
            live[id(array)] = array.nbytes
            weakref.finalize(array, live.pop, id(array))
        most[0] = max(most[0], sum(live.values()))
        return reduce(self, place, group, arrays)

    runs.Reading.reduce = watched

    @tf.function
    def step(x):
        for _ in range(LENGTH):
            x = tf.sin(x) + 1.0
        return tf.reduce_sum(x)

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

    x = tf.zeros(SIZE)
    plain = float(step(x))
    before = peak()
    dumped = float(step(x))
    print(json.dumps([before, peak(), most[0], sum(live.values()), plain == dumped]))


if __name__ == "__main__":
    {"nets": nets, "chain": chain}[sys.argv[1]](*sys.argv[2:])
