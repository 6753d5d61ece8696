"""Further things for observe.py: bodies, nesting, and what is hard about functions."""
import collections
import os

import numpy as np


def _opened(folder, **options):
    from tests.emulator import observe
    if os.environ.get("OBSERVE_DUMP") == "no":
        return observe.opened()
    return observe.opened(**observe.dump_options(folder, **dict(dict(dump_step="1"), **options)))


def _engine():
    from tests.emulator import observe
    return observe.engine()


def _number(tensor):
    return float(np.sum(tensor.numpy())).hex()


def bodies(folder):
    """cond, switch_case, map_fn, loops in loops: executions 0, 1, 2; 1 is dumped."""
    _, tf = _opened(folder)
    x = tf.constant(np.random.RandomState(0).randn(4, 3).astype("float32"))
    seen = {}

    @tf.function
    def branch(flag):
        return tf.cond(flag, lambda: tf.multiply(x, 2.0, name="taken"),
                       lambda: tf.subtract(x, 1.0, name="other"))

    seen["branch"] = [_number(branch(tf.constant(flag))) for flag in (False, True, False)]

    @tf.function
    def case(index):
        return tf.switch_case(index, [lambda: tf.multiply(x, 2.0, name="first"),
                                      lambda: tf.nn.dropout(x, 0.5, name="second"),
                                      lambda: tf.subtract(x, 1.0, name="third")])

    seen["case"] = [_number(case(tf.constant(index))) for index in (0, 1, 1, 2)]

    @tf.function
    def nested(count):
        total = tf.constant(0.0)
        for i in tf.range(count):
            for j in tf.range(i):
                if j % 2 == 0:
                    total = tf.add(total, tf.cast(i * 10 + j, tf.float32), name="even")
                else:
                    total = tf.subtract(total, 1.0, name="odd")
        return total

    seen["nested"] = [_number(nested(tf.constant(count))) for count in (2, 4, 3)]

    @tf.function
    def mapped(values):
        return tf.map_fn(lambda row: tf.reduce_max(row, name="largest"), values)

    seen["mapped"] = [_number(mapped(x + index)) for index in range(3)]

    limits = tf.Variable([[100.0], [6.0]])

    @tf.function
    def stopped(count):
        total = tf.constant(0.0)
        i = tf.constant(0)
        # The condition takes a variable and holds a loop, and with `break` a branch.
        while tf.gather(limits, [1])[0, 0] > tf.reduce_sum(tf.map_fn(
                lambda row: tf.multiply(row, 2.0, name="inside"), total * tf.ones((2,)))) / 4.0:
            if i == count:
                break
            total = tf.add(total, tf.cast(i, tf.float32), name="summed")
            limits.scatter_nd_add([[1, 0]], [0.5])
            i += 1
        return total

    seen["stopped"] = [_number(stopped(tf.constant(count))) for count in (1, 3, 9)]
    seen["limits"] = limits.numpy().tolist()
    seen["names"] = [graph.name for graph in _engine().order]
    return seen


def functions(folder):
    """Functions made before the device, with XLA, with a tape outside, methods, errors."""
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.reduce_sum(tf.nn.softmax(x * 3.3 + 0.1) * tf.sin(x))

    _, tf = _opened(folder)
    x = tf.constant(np.random.RandomState(0).randn(64, 33).astype("float32"))
    seen = {"xla": [_number(compiled(x)) for _ in range(3)]}

    weight = tf.Variable(np.random.RandomState(1).randn(33, 7).astype("float32"))

    @tf.function
    def outcome(x):
        return tf.reduce_mean(tf.nn.dropout(tf.tanh(x @ weight), 0.3))

    seen["tape"] = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = outcome(x)
        weight.assign_sub(tape.gradient(loss, weight))
        seen["tape"].append(_number(loss))
    seen["tape"].append(_number(weight))

    class Nested(tf.Module):
        @tf.function
        def inner(self, x):
            if tf.reduce_sum(x) > 0:  # autograph's work
                return x * 2
            return x * 3

        @tf.function
        def outer(self, x):
            return self.inner(x) + 1

    module = Nested()
    seen["method"] = [_number(module.outer(x)) for _ in range(2)]
    seen["flat"] = not any("inner" in name for name in
                           (node.op for node in _definition(tf, module.outer, x).node_def))

    @tf.function
    def guarded(x):
        tf.debugging.assert_less(x, 1.0)
        return x * 2

    guarded(tf.constant(0.0))
    try:
        guarded(tf.constant(2.0))
    except tf.errors.InvalidArgumentError as error:
        seen["error"] = [type(error).__name__, "twin" in str(error), "guarded" in str(error)
                         or "assert_less" in str(error)]
    seen["after error"] = _number(guarded(tf.constant(0.5)))

    @tf.function
    def checked(x):
        return tf.debugging.check_numerics(x, "odd")

    checked(tf.constant(0.0))
    try:
        checked(tf.constant(float("nan")))
    except tf.errors.InvalidArgumentError as error:
        seen["line"] = "observe_bodies.py" in str(error)

    @tf.function
    def switched(x):
        off, on = tf.raw_ops.Switch(data=x, pred=tf.reduce_sum(x) > 0)
        return tf.raw_ops.Merge(inputs=[off * 3, on * 2]).output

    seen["v1"] = [_number(switched(x)) for _ in range(3)]
    total = tf.Variable(0.0)

    def unordered(x):
        # No automatic control dependencies: nothing fetches the update.
        tf.raw_ops.AssignAddVariableOp(resource=total.handle, value=x)
        return x + 1.0

    wrapped = tf.compat.v1.wrap_function(unordered, [tf.TensorSpec((), tf.float32)])
    seen["wrapped"] = [_number(wrapped(tf.constant(2.0))) for _ in range(3)] + [_number(total)]
    seen["counts"] = {graph.name: graph.count for graph in _engine().order}
    seen["onednn"] = not tf.__version__.startswith("2.6.")
    return seen


def rarities(folder):
    """Loops beside an iterator, random conditions, calls of old, values without bytes."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    npu_device.global_options().enable_exception_dump = 1
    _, tf = _opened(folder, dump_step="0-9")
    from tensorflow.python.framework import function
    seen = {}

    @tf.function
    def drawn():
        return tf.while_loop(lambda i: tf.random.uniform([]) < 0.8, lambda i: (i + 1,),
                             [tf.constant(0)])[0]

    seen["drawn"] = [int(drawn()) for _ in range(12)]

    @tf.function
    def rounds(dump_on):  # a name that the twin's own argument might have had
        for _ in tf.range(20):
            dump_on = dump_on * 0.9 + tf.random.normal([])
        return dump_on

    generator = tf.random.Generator.from_seed(1)

    @tf.function
    def tossed():
        # The generator's state is no int32, as the result is.
        return (generator.binomial(shape=[3], counts=[10.0] * 3, probs=[0.5, 0.3, 0.2]),
                generator.normal([2]))

    seen["tossed"] = [[_number(part) for part in tossed()] for _ in range(12)]
    seen["rounds"] = [_number(rounds(tf.constant(0.0))) for _ in range(8)]

    @tf.function
    def counted(x):
        table = tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)
        tf.raw_ops.LookupTableInsertV2(table_handle=table, keys=x, values=tf.cast(x, tf.float32))
        return tf.raw_ops.LookupTableSizeV2(table_handle=table)

    seen["table"] = [int(counted(tf.constant([key], tf.int64))) for key in range(12)]

    @function.Defun(tf.float32, tf.float32, func_name="called_of_old")
    def called(x, y):
        return tf.add(x, y, name="sum"), tf.multiply(x, y, name="product")

    @tf.function
    def calling(x):
        total, product = called(x, 3.0)
        return total * 10.0 + product

    seen["calling"] = float(calling(tf.constant(2.0)))
    total = tf.Variable(0.0)
    data = tf.data.Dataset.from_tensor_slices(np.ones((30, 2), "float32"))

    @tf.function
    def beside(iterator):
        x = next(iterator)
        for i in tf.range(2):
            total.assign_add(x[i])

    beside(iter(data))

    @tf.function
    def through(iterator):
        for _ in tf.range(2):
            total.assign_add(next(iterator)[0])
        return total.read_value()

    through(iter(data))

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
    def dynamic(x):
        return x * 2.0

    dynamic(tf.constant([1.0]))
    words = tf.Variable(["a", "bc"], name="words")
    words.assign(["d", "ef"])
    ranks = tf.Variable(1.0, shape=tf.TensorShape(None), name="any_rank")
    ranks.assign([1.0, 2.0])
    seen["kinds"] = {graph.name.split("_")[3]: graph.loop and graph.loop.kind
                     for graph in _engine().order}
    seen["names"] = [graph.name for graph in _engine().order]
    return seen


def _definition(tf, function, *args):
    from tensorflow.python.eager import context
    name = function.get_concrete_function(*args).name
    return context.context().get_function_def(
        name.decode() if isinstance(name, bytes) else name)


def unreadable(folder):
    """A function that cannot be instrumented: TensorFlow refuses its twin."""
    _, tf = _opened(folder, dump_step="0-9")
    from keras_npu_dump.emulator.tracer import added_nodes
    push = added_nodes.push
    # Registered without complaint; what is wrong in a body would show when it runs.
    added_nodes.push = lambda *args: push(*args).replace("output_handle", "nothing")
    step = tf.function(lambda x: tf.while_loop(lambda y: y < 2.0, lambda y: (y * 2.0,), [x])[0])
    results = [float(step(tf.constant(1.0))) for _ in range(3)]
    return {"results": results, "count": [graph.count for graph in _engine().order],
            "name": _engine().order[0].name}


def blocked(folder):
    """The dump folder cannot be made when the first dump comes."""
    _, tf = _opened(folder, dump_step="0-9")
    time_folder = os.path.join(folder, "dump", _engine().session.time_folder)
    with open(time_folder, "w"):
        pass
    step = tf.function(lambda x: x * 2.0)
    return [float(step(tf.constant(1.0))) for _ in range(3)]


def at_fault(folder):
    """The emulator itself fails: in the text of a graph, then in writing values."""
    _, tf = _opened(folder, dump_step="0-9")
    from keras_npu_dump.emulator.ge import dump_writer
    from keras_npu_dump.emulator.graphs import build_file

    def fail(*args, **options):
        raise KeyError("a case nobody thought of")

    build_file.write_function = dump_writer.write_operator = fail
    variable = tf.Variable(1.0)
    step = tf.function(lambda x: variable.assign_add(x) * 2.0)
    return [float(step(tf.constant(1.0))) for _ in range(3)] + [float(variable)]


def scope(folder):
    """The device as a scope instead of as the default."""
    from tests.emulator import observe
    npu_device, tf = observe.opened(as_default=False, **observe.dump_options(folder))
    step = tf.function(lambda x: x * 2.0)
    step(tf.constant(1.0))
    outside = len(_engine().order)
    with npu_device.open().scope():
        step(tf.constant(1.0))
        step(tf.constant(1.0))
    step(tf.constant(1.0))
    return [outside, [[graph.name, graph.count] for graph in _engine().order]]


def threads(folder):
    """One function called by several threads at once."""
    import threading
    _, tf = _opened(folder, dump_step="0-999", dump_mode="output")
    step = tf.function(lambda x: x * 2.0)
    step(tf.constant(1.0))
    workers = [threading.Thread(target=lambda: [step(tf.constant(1.0)) for _ in range(20)])
               for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [[graph.name, graph.count] for graph in _engine().order]


def iterators(folder):
    """How many dp_init graphs each way of feeding a model makes."""
    from tests.emulator import nets, observe
    _, tf = observe.opened()
    seen = {"version": tf.__version__}
    model = nets.compiled(tf, nets.small_dense(tf))
    x, y = nets.arrays(24, 6), nets.labels(24)

    def count(name, action):
        before = len(_engine().small)
        action()
        seen[name] = sum(graph[0].startswith("dp_init")
                         for graph in list(_engine().small)[before:])

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    count("numpy", lambda: model.fit(x, y, batch_size=8, epochs=3, verbose=0))
    count("tf.data", lambda: model.fit(data, epochs=3, verbose=0))
    count("validation", lambda: model.fit(x, y, batch_size=8, epochs=3, verbose=0,
                                          validation_data=(x, y)))
    count("train_on_batch", lambda: [model.train_on_batch(x, y) for _ in range(2)])
    count("predict", lambda: model.predict(x, verbose=0))
    count("for", lambda: list(data))
    return seen


def callbacks(folder):
    """Op callbacks count the same executions; nothing is dumped."""
    from tests.emulator import nets, observe
    _, tf = observe.opened()
    from tensorflow.python.framework import op_callbacks
    seen = collections.Counter()

    def note(op_type, inputs, attrs, outputs, op_name=None, graph=None):
        if graph is None:
            seen[op_type if isinstance(op_type, str) else op_type.decode()] += 1

    op_callbacks.add_op_callback(note)
    before = len(_engine().small)
    nets.validation(tf)
    nets.on_batch(tf)
    nets.custom_loop(tf)
    nets.generator(tf)
    op_callbacks.remove_op_callback(note)
    small = collections.Counter(name.rpartition("_")[0] if "Op_" in name else "MakeIterator"
                                for name, _, _ in list(_engine().small)[before:])
    return {"functions": {graph.name: [graph.count, seen[graph.name]]
                          for graph in _engine().order},
            "unknown": [name for name in seen if name.startswith("__inference")
                        and name not in _engine().graphs],
            "small": {name: [count, seen[name]] for name, count in small.items()}}
