"""Things done with the emulated device, each in a process of its own: run as a file.

    python observe.py NAME FOLDER

Does what the function NAME says in FOLDER and prints its result as JSON, last line.
"""
import json
import os
import sys

import numpy as np

from tests.emulator import nets


def opened(as_default=True, **options):
    """npu_device with the dump options set, opened; TensorFlow beside it."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    config = npu_device.global_options().dump_config
    for name, value in options.items():
        if name != "dump_data" or hasattr(config, name):  # the oldest npu_device has only tensors
            setattr(config, name, value)
    handle = npu_device.open()
    if as_default:
        handle.as_default()
    import tensorflow as tf
    nets.seed(tf)
    return npu_device, tf


def dump_options(folder, **options):
    os.makedirs(folder + "/dump", exist_ok=True)
    return dict(dict(enable_dump=True, dump_path=folder + "/dump", dump_mode="all"), **options)


def engine():
    from keras_npu_dump.emulator.ge.engine import ENGINE
    return ENGINE


def counts():
    return [[graph.name, graph.count] for graph in engine().order]


def numbered(count, start=0):
    """Batches of 8 rows whose values tell which batch it is."""
    return np.repeat(np.arange(start, start + count, dtype="float32"), 8)[:, None] * np.ones(
        (1, 6), "float32")


def batches_of_steps(folder):
    """Two fits with validation, then train_on_batch; every row says its batch."""
    _, tf = opened(**dump_options(folder, dump_step="1|4|7|9-10"))
    model = nets.compiled(tf, nets.small_dense(tf))
    model.fit(numbered(3), nets.labels(24), batch_size=8, epochs=1, verbose=0, shuffle=False,
              validation_data=(numbered(2, 100), nets.labels(16)))
    model.fit(numbered(3, 10), nets.labels(24), batch_size=8, epochs=2, verbose=0, shuffle=False,
              validation_data=(numbered(2, 100), nets.labels(16)))
    for index in range(2):
        model.train_on_batch(numbered(1, 50 + index), nets.labels(8))
    return counts()


def every_step(folder):
    """No dump_step: every execution of every graph; a sunk loop longer than the loop size."""
    _, tf = opened(**dump_options(folder, dump_mode="output"))
    model = nets.compiled(tf, nets.small_dense(tf))
    model.fit(numbered(3), nets.labels(24), batch_size=8, epochs=2, verbose=0, shuffle=False)
    total = tf.Variable(0.0)

    @tf.function
    def longer(iterator):
        for _ in tf.range(2):
            total.assign_add(next(iterator))

    iterator = iter(tf.data.Dataset.from_tensor_slices(np.arange(9, dtype="float32")))
    for _ in range(3):
        longer(iterator)
    return counts()


def retraces(folder):
    """Changing batch shapes in fit and in train_on_batch; compile again."""
    _, tf = opened(**dump_options(folder, dump_step="0", dump_mode="output"))
    model = nets.compiled(tf, nets.small_dense(tf))
    model.fit(numbered(3)[:20], nets.labels(20), batch_size=8, epochs=2, verbose=0)
    fitted = counts()
    for rows in (8, 4, 6, 5):
        model.train_on_batch(numbered(1)[:rows], nets.labels(rows))
    by_batch = counts()[len(fitted):]
    nets.compiled(tf, model).fit(numbered(3), nets.labels(24), batch_size=8, epochs=1, verbose=0)
    return {"fit": fitted, "by_batch": by_batch, "all": counts(),
            "static": {graph.name: graph.static for graph in engine().order}}


def end_of_data(folder):
    """Datasets of unknown size over two epochs: of a training, and of a dynamic graph."""
    _, tf = opened(**dump_options(folder, dump_step="0|3-4", dump_mode="output",
                                  dump_data="stats"))
    nets.generator(tf)
    train = next(graph for graph in engine().order if "train" in graph.name)

    @tf.function
    def dynamic(iterator):
        return tf.cast(next(iterator), tf.bfloat16, name="shortened")

    data = tf.data.Dataset.from_generator(lambda: iter(([1.0], [2.0], [3.0])),
                                          output_signature=tf.TensorSpec((None,), tf.float32))
    for _ in range(2):
        iterator = iter(data)
        try:
            while True:
                dynamic(iterator)
        except tf.errors.OutOfRangeError:
            pass
    return {"count": train.count, "name": train.name, "ge_name": train.ge_name,
            "graph_id": train.graph_id, "model_id": train.model_id,
            "dynamic": [engine().order[-1].ge_name, engine().order[-1].count],
            "keras": int(tf.keras.__version__.split(".")[0])}


def api(folder):
    """open(), options and probes, without any training."""
    seen = {}
    from keras_npu_dump import emulator
    seen["before"] = emulator.installed()
    emulator.install()
    os.environ["NPU_LOOP_SIZE"] = "4"
    import npu_device
    import npu_device.npu_device as inner
    seen["after"] = emulator.installed()
    seen["marked"] = npu_device.__emulated__
    seen["probe before"] = [bool(inner._npu_device_instances), inner.global_npu_ctx() is None]
    os.environ["ASCEND_DEVICE_ID"], os.environ["DEVICE_ID"] = "3", "7"
    seen["loop size of NPU_LOOP_SIZE"] = engine().loop_size
    os.environ["NPU_LOOP_SIZE"] = "5"  # too late
    config = npu_device.global_options().dump_config
    config.enable_dump = True
    config.dump_path = folder
    config.dump_step = "4"
    handle = npu_device.open()
    seen["name"] = handle.name()
    config.dump_step = "9"
    seen["snapshot"] = engine().session.options["dump_step"]
    seen["same"] = npu_device.open(3) is handle
    try:
        npu_device.open(1)
    except RuntimeError as error:
        seen["other id"] = str(error)
    seen["probe opened"] = [sorted(inner._npu_device_instances), inner.global_npu_ctx() is None]
    seen["as_default"] = handle.as_default() is handle
    seen["probe default"] = inner.global_npu_ctx() is handle
    seen["close at top"] = hasattr(npu_device, "close")
    inner.close()
    seen["after close"] = npu_device.open(3) is handle
    seen["public"] = sorted(
        name for name in ("open", "global_options", "set_npu_loop_size", "npu_run_context",
                          "set_device_sat_mode", "is_inf_nan_enabled", "keep_dtype_scope",
                          "npu_recompute_scope", "distribute", "train", "ops", "compat",
                          "configs", "gen_npu_ops") if hasattr(npu_device, name))
    npu_device.set_npu_loop_size(0)  # logs, does not raise
    seen["loop size"] = engine().loop_size
    npu_device.set_device_sat_mode(7)
    with npu_device.npu_run_context(), npu_device.keep_dtype_scope(), \
            npu_device.npu_recompute_scope():
        pass
    try:
        with npu_device.npu_run_context({}):
            pass
    except ValueError as error:
        seen["run context"] = str(error)
    from npu_device.configs.dump_config import NpuDumpConfig
    from npu_device.configs.npu_config import NpuConfig
    seen["classes"] = [NpuConfig.__name__, NpuDumpConfig.__name__]
    seen["time folder exists"] = bool(os.listdir(folder)) and os.listdir(folder) != ["script.py"]
    from npu_device import distribute
    from npu_device.distribute.hccl import all_reduce
    from npu_device.distribute.npu_callbacks import NPUBroadcastGlobalVariablesCallback
    from npu_device.npu_device import gen_npu_ops, npu_compat_function
    NPUBroadcastGlobalVariablesCallback(0)
    seen["imports"] = [all_reduce is distribute.all_reduce, callable(npu_compat_function),
                       gen_npu_ops is npu_device.gen_npu_ops]
    seen["distribute"] = [distribute.all_reduce(5), distribute.broadcast([1]),
                          distribute.shard_and_rebatch_dataset("d", 8)]
    import tensorflow as tf
    seen["loss scale"] = issubclass(npu_device.train.optimizer.NpuLossScaleOptimizer,
                                    tf.keras.mixed_precision.LossScaleOptimizer)
    try:
        getattr(npu_device.gen_npu_ops, "nothing")  # noqa: B009
    except AttributeError as error:
        seen["missing"] = str(error)
    return seen


def fault(folder):
    """A bad dump_path that slipped past: open() works, the first graph fails."""
    from keras_npu_dump.emulator.api.global_options import NpuConfig
    from keras_npu_dump.emulator.ge.ge_session import GeSession
    npu_device, tf = opened(enable_dump=True, dump_path=folder + "/not/there")
    seen = {"opened": npu_device.npu_device.global_npu_ctx() is not None, "errors": []}

    def attempt(action):
        try:
            action()
        except tf.errors.InternalError as error:
            seen["errors"].append([type(error).__name__, error.message, error.error_code])

    attempt(lambda: tf.Variable(1.0))
    function = tf.function(lambda x: x * 2)
    attempt(lambda: function(tf.constant(1.0)))
    attempt(lambda: iter(tf.data.Dataset.range(3)))
    seen["plain eager"] = float(tf.constant(1.0) + 1.0)
    seen["graphs"] = len(engine().order) + len(engine().small)
    fault_text, engine().session.fault = engine().session.fault, None
    model = nets.compiled(tf, nets.small_dense(tf))
    before = len(engine().order)
    engine().session.fault = fault_text
    attempt(lambda: model.fit(numbered(3), nets.labels(24), batch_size=8, verbose=0))
    seen["graphs after fit"] = len(engine().order) - before
    engine().session.fault = None
    model.fit(numbered(3), nets.labels(24), batch_size=8, verbose=0)
    seen["iterations"] = int(model.optimizer.iterations.numpy())
    seen["count"] = [graph.count for graph in engine().order if "train" in graph.name]
    seen["others"] = {}
    for name, changes in (("both", {"enable_dump_debug": True}), ("step", {"dump_step": "5-1"})):
        # open() takes options once per process, so its session is begun by hand.
        config = NpuConfig()
        for option, value in dict(dump_options(folder), **changes).items():
            setattr(config.dump_config, option, value)
        engine().open(GeSession(config.as_dict(), 0))
        try:
            tf.function(lambda x: x * 2)(tf.constant(1.0))
        except tf.errors.InternalError as error:
            seen["others"][name] = error.message
    return seen


def environment(folder):
    """Graph files while the environment changes; no dump path."""
    _, tf = opened()
    made = []

    def run(**env):
        for name, value in env.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        function = tf.function(lambda x: x * tf.constant([2.0, 3.0]) + 1.0)
        function(tf.constant([1.0, 2.0]))
        after = sorted(os.path.relpath(os.path.join(root, file), folder)
                       for root, _, files in os.walk(folder) for file in files
                       if file.startswith("ge_"))
        made.append([name for name in after if not any(name in names for names in made)])

    run()
    run(DUMP_GE_GRAPH="2", DUMP_GRAPH_LEVEL="4")
    run(DUMP_GRAPH_LEVEL="3", DUMP_GRAPH_FORMAT="onnx")
    run(DUMP_GRAPH_FORMAT="ge_proto", DUMP_GRAPH_PATH=folder + "/first", ASCEND_WORK_PATH=folder)
    run(DUMP_GRAPH_PATH=folder + "/second")
    run(DUMP_GE_GRAPH="1", DUMP_GRAPH_LEVEL=None)
    run(DUMP_GE_GRAPH="4")
    run(DUMP_GE_GRAPH="3", DUMP_GRAPH_LEVEL="PreRun|uil")
    return {"made": made, "pid": os.getpid()}


def always(folder):
    """A dump path, and no word of graphs in the environment; the current directory."""
    _, tf = opened(**dump_options(folder, dump_step="7"))
    tf.function(lambda x: x * tf.constant([2.0, 3.0]))(tf.constant([1.0, 2.0]))
    return sorted(file for file in os.listdir(folder) if file.startswith("ge_"))


def loops(folder):
    """Loops that consume an iterator: sunk to the device, and inside a graph."""
    npu_device, tf = opened(**dump_options(folder, dump_step="1|4-5"))
    npu_device.set_npu_loop_size(3)
    total = tf.Variable(np.zeros((6,), "float32"))

    def batches(**kwargs):
        data = tf.data.Dataset.from_tensor_slices(np.arange(180, dtype="float32").reshape(30, 6))
        return iter(data.batch(1, **kwargs).repeat())

    def add(x):
        total.assign_add(tf.reduce_sum(x, axis=0))

    @tf.function
    def sunk(iterator):
        for _ in tf.range(3):
            add(next(iterator))

    @tf.function
    def hosted(iterator):
        for _ in tf.range(3):
            add(next(iterator))

    @tf.function
    def inside(iterator):
        for _ in tf.range(3):
            add(next(iterator))
        return tf.reduce_sum(total)

    for function, kwargs in ((sunk, {"drop_remainder": True}), (hosted, {}),
                             (inside, {"drop_remainder": True})):
        iterator = batches(**kwargs)
        for _ in range(3):
            function(iterator)
    return {"kinds": [[graph.name, graph.loop.kind, graph.count] for graph in engine().order],
            "small": [graph[0] for graph in engine().small]}


def layers(folder):
    """dump_layer and dump_mode: what is asked for, and nothing else."""
    _, tf = opened(**dump_options(folder, dump_step="0", dump_mode="input",
                                  dump_layer="mul_me  not_there"))
    kernel = tf.Variable(np.ones((2, 2), "float32"))

    @tf.function
    def step(x):
        y = tf.multiply(x, 2.0, name="mul_me")
        return tf.matmul(y, kernel, name="not_me")

    step(tf.constant([[1.0, 2.0]]))
    return counts()


def overflow(folder):
    """Overflow detection in a float16 training with one batch of large values."""
    os.makedirs(folder + "/dump")
    _, tf = opened(enable_dump_debug=True, dump_path=folder + "/dump", dump_step="99",
                   dump_layer="nothing")
    weight = tf.Variable(np.ones((4, 3), "float16"))

    @tf.function
    def step(x):
        y = tf.matmul(x, weight, name="product")
        return tf.cast(tf.nn.relu(y, name="after"), tf.float32, name="widened")

    for scale in (1.0, 3e4, 1.0):
        step(tf.constant(scale * np.ones((2, 4)), tf.float16))
    return counts()


def long_names(folder):
    """Names that do not fit into a file name or need sanitising, of operators and a function."""
    _, tf = opened(**dump_options(folder, dump_step="0"))

    @tf.function
    def step(x):
        with tf.name_scope("a" * 150):
            with tf.name_scope("b.c" * 40):
                y = tf.multiply(x, 2.0, name="long")
        return tf.add(y, 1.0, name="x.y")

    step(tf.constant([1.0]))

    def named():
        data = tf.data.Dataset.range(3).map(lambda number: number * 2)
        return data.reduce(tf.constant(0, tf.int64), lambda total, number: total + number)

    named.__name__ = "sum.of data/read\\inside"
    tf.function(named)()
    return counts()


def workers(folder):
    """How several workers must be described."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    seen = []
    for env in ({"RANK_SIZE": "2", "CM_WORKER_SIZE": "2"}, {"RANK_SIZE": "2"},
                {"RANK_SIZE": "2", "RANK_TABLE_FILE": "t"},
                {"RANK_SIZE": "2", "CM_CHIEF_IP": "1.2.3.4"},
                {"RANK_SIZE": "2", "RANK_TABLE_FILE": "t", "RANK_ID": "1"}):
        for name in ("RANK_SIZE", "CM_WORKER_SIZE", "RANK_TABLE_FILE", "RANK_ID", "CM_CHIEF_IP"):
            os.environ.pop(name, None)
        os.environ.update(env)
        try:
            handle = npu_device.open()
            seen.append([handle.workers_num, handle.worker_id, handle.is_cluster_worker()])
            handle.as_default()
            npu_device.distribute.all_reduce([1])
        except (ValueError, RuntimeError) as error:
            seen.append([type(error).__name__, str(error)])
    return seen


if __name__ == "__main__":
    from tests.emulator import observe_bodies, observe_vendor
    known = {**vars(observe_vendor), **vars(observe_bodies), **globals()}
    print(json.dumps(known[sys.argv[1]](sys.argv[2])))
