"""Further things for observe.py: names of npu_device, and its helpers for one worker."""
import importlib
import inspect
import json
import os
import pickle

import numpy as np

from tests.emulator import observe


def surface(folder):
    """Imports the modules of the fixture in its order; what they show, and what gives nothing."""
    from keras_npu_dump import emulator
    emulator.install()
    import npu_device
    with open(os.environ["SURFACE"]) as stream:
        measured = json.load(stream)
    seen = {"modules": {}, "empty": [], "signatures": {}}
    for place in measured["modules"]:
        try:
            module = importlib.import_module(place)
        except ImportError as error:
            seen["modules"][place] = "%s: %s" % (type(error).__name__, error)
            continue
        names = [name for name in dir(module) if not name.startswith("_")]
        seen["modules"][place] = names
        seen["empty"] += ["%s.%s" % (place, name) for name in names if not hasattr(module, name)]
    for name in measured["signatures"]:
        place = npu_device.distribute if name.startswith("d.") else npu_device
        seen["signatures"][name] = str(inspect.signature(
            getattr(place, name.rpartition(".")[2])))
    seen["run_context_options"] = npu_device.configs.run_context_options().as_dict()
    return seen


def _error(action):
    """The kind and the words of what an action raises."""
    try:
        action()
    except Exception as error:  # pylint: disable=broad-except
        return [type(error).__name__, str(error)]
    return None


def _list(tensor):
    return np.asarray(tensor).tolist()


def collectives(folder):
    """hccl_ops for one worker: values, gradients, and what raises."""
    _, tf = observe.opened()
    from npu_device.distribute import hccl_ops
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    seen = {"values": {
        "allreduce": _list(hccl_ops.allreduce(x, "sum")),
        "allgather": _list(hccl_ops.allgather(x, 1)),
        "broadcast": [_list(one) for one in hccl_ops.broadcast([x, 5], 0)],
        "reduce": _list(hccl_ops.reduce(x, "max", 0)),
        "reduce_scatter": _list(hccl_ops.reduce_scatter(x, "min", 1))}}

    @tf.function
    def in_graph(value):
        return hccl_ops.allreduce(value, "prod") + hccl_ops.broadcast([value], 0)[0]

    seen["in graph"] = _list(in_graph(x))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(hccl_ops.allreduce(x, "sum") ** 2)
    seen["gradient"] = _list(tape.gradient(loss, x))

    def through_allgather():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(hccl_ops.allgather(x, 1))
        tape.gradient(loss, x)

    seen["errors"] = {
        "gradient": _error(through_allgather),
        "reduction": _error(lambda: hccl_ops.allreduce(x, "mean")),
        "size": _error(lambda: hccl_ops.allgather(x, 2)),
        "scalar": _error(lambda: hccl_ops.reduce_scatter(1.0, "sum", 1)),
        "root": _error(lambda: hccl_ops.reduce(x, "sum", 1)),
        "no list": _error(lambda: hccl_ops.broadcast(x, 0)),
        "send": _error(lambda: hccl_ops.send(x, 0, 1)),
        "receive": _error(lambda: hccl_ops.receive([1], tf.float32, 0, 1)),
        "remote_read": _error(lambda: hccl_ops.remote_read(x, tf.float32))}
    return seen


def distributed(folder):
    """The helpers of npu.distribute for one worker, and GroupingVars for any number."""
    npu_device, tf = observe.opened(**observe.dump_options(folder, dump_step="0"))
    from npu_device.distribute import hccl, npu_callbacks, weight_update_grouping
    distribute = npu_device.distribute
    weight = tf.Variable([1.0, 2.0])
    values = [weight, None]
    seen = {"same": distribute.all_reduce(values) is values,
            "broadcast": distribute.broadcast(values),
            "grouping_broadcast": [_list(one) for one in distribute.grouping_broadcast(
                [weight, tf.Variable(3.0)])]}
    optimizer = tf.keras.optimizers.SGD(0.5)

    @tf.function
    def apply(gradient):
        distribute.grouping_gradients_apply(optimizer.apply_gradients, zip([gradient], [weight]))

    apply(tf.constant([2.0, 4.0]))
    seen["applied"] = _list(weight)
    seen["graphs"] = [name for name, _ in observe.counts() if "grouping" in name]

    def shares(lengths, number):
        variables = [tf.Variable(tf.zeros(one)) for one in lengths]
        grouped = weight_update_grouping.GroupingVars([None, *variables], number)
        return [grouped.get_gid_by_var(one) for one in [*variables, weight]]

    seen["shares"] = [shares([[10], [10], [10], [10]], 2), shares([[100], [1], [1], [1]], 2),
                      shares([[3], [3], [3], [3], [3]], 2), shares([[2], [2, 2], []], 3),
                      shares([[4], [4]], 1)]
    seen["too many"] = _error(lambda: shares([[1]], 2))

    made = distribute.npu_distributed_keras_optimizer_wrapper("sgd")
    seen["by name"] = isinstance(made, type(tf.keras.optimizers.get("sgd")))
    own = tf.keras.optimizers.SGD(0.5)
    seen["same optimizer"] = distribute.npu_distributed_keras_optimizer_wrapper(own) is own
    seen["no name"] = _error(lambda: distribute.npu_distributed_keras_optimizer_wrapper(
        "made up"))[0]

    @tf.function
    def step(gradient):
        own.apply_gradients([(gradient, weight)])

    step(tf.constant([2.0, 2.0]))
    seen["stepped"] = _list(weight)

    mine = [object()]
    appended = hccl.npu_callbacks_append(mine)
    seen["appended"] = [appended is mine, type(appended[-1]).__name__, appended[-1].root_rank,
                        appended[-1].broadcast_done, len(hccl.npu_callbacks_append())]
    seen["pickled"] = type(pickle.loads(pickle.dumps(appended[-1]))) is type(appended[-1])
    seen["registry"] = len(npu_callbacks.broadcast_registry)
    npu_callbacks.broadcast_helper([weight])
    npu_callbacks.broadcast_helper([weight])
    seen["registered"] = [len(npu_callbacks.broadcast_registry),
                          npu_callbacks.broadcast_registry[id(weight)] is weight]
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))]) \
        if tf.__version__ < "2.16" else tf.keras.Sequential(
            [tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
    seen["model"] = [npu_callbacks.broadcast_keras_model(model) is model,
                     npu_callbacks.broadcast_keras_model(5),
                     len(npu_callbacks.broadcast_registry)]
    strategy = tf.distribute.get_strategy()
    wrapped = npu_callbacks.npu_broadcast_scope_wrapper(
        npu_callbacks.npu_broadcast_scope_wrapper(tf.distribute.OneDeviceStrategy("/cpu:0")))
    with wrapped.scope(), wrapped.scope():
        inside = tf.Variable(1.0)
    seen["scope"] = [npu_callbacks.broadcast_registry.get(id(inside)) is not None,
                     npu_callbacks.NpuBroadcastScopeContext._is_in_scope,
                     npu_callbacks.npu_broadcast_scope_wrapper("no strategy"),
                     tf.distribute.get_strategy() is strategy]
    return seen


def two_workers(folder):
    """What works without a collective in a job of two, and what raises."""
    os.environ.update(RANK_SIZE="2", RANK_ID="1", RANK_TABLE_FILE="t")
    npu_device, tf = observe.opened()
    from npu_device.distribute import hccl_ops, npu_callbacks
    dataset, rows = npu_device.distribute.shard_and_rebatch_dataset(tf.data.Dataset.range(6), 8)
    optimizer = npu_device.distribute.npu_distributed_keras_optimizer_wrapper("sgd")
    weight = tf.Variable(1.0)
    npu_callbacks.NPUBroadcastGlobalVariablesCallback(0)
    distribute = npu_device.distribute
    return {"shard": [[int(one) for one in dataset], rows, type(rows).__name__],
            "uneven": _error(lambda: distribute.shard_and_rebatch_dataset(dataset, 7)),
            "errors": {
                "all_reduce": _error(lambda: distribute.all_reduce([1.0])),
                "broadcast": _error(lambda: distribute.broadcast([weight])),
                "grouping_broadcast": _error(lambda: distribute.grouping_broadcast([weight])),
                "hccl_ops.allreduce": _error(lambda: hccl_ops.allreduce(1.0, "sum")),
                "broadcast_helper": _error(lambda: npu_callbacks.broadcast_helper([weight])),
                "apply_gradients": _error(lambda: optimizer.apply_gradients(
                    [(tf.constant(1.0), weight)]))}}


def scopes(folder):
    """Marks on operators, as the Build graph has them."""
    npu_device, tf = observe.opened(**observe.dump_options(folder, dump_step="0"))
    from npu_device.utils import scope
    x = tf.constant([1.0])

    @tf.function
    def marked(value):
        with scope.keep_dtype_scope():
            value = tf.add(value, 1.0, name="kept")
        with scope.npu_optimizer_scope():
            value = tf.add(value, 1.0, name="optimized")
        with scope.npu_gradients_scope(), npu_device.npu_recompute_scope():
            value = tf.add(value, 1.0, name="backward")
        return tf.add(value, 1.0, name="plain")

    marked(x)
    return [name for name, _ in observe.counts() if "marked" in name]


def one_worker(folder):
    """What helpers do for one worker, all in one process."""
    return {one.__name__: one(folder)
            for one in (distributed, collectives, scopes, native, loss_scales, missing_names)}


def loss_scales(folder):
    """Steps with finite and infinite gradients, in both modes of overflow."""
    npu_device, tf = observe.opened()
    seen = {"first mode": npu_device.is_inf_nan_enabled()}
    optimizers = npu_device.train.optimizer

    def steps(optimizer, gradients):
        weight = tf.Variable(8.0)

        @tf.function
        def step(gradient):
            optimizer.apply_gradients([(gradient, weight)])

        told = []
        for one in gradients:
            step(tf.constant(one))
            told.append([float(weight), bool(optimizer.last_step_finite.numpy()),
                         float(optimizer.loss_scale), int(optimizer.iterations)])
        return told

    def sgd():
        return tf.keras.optimizers.SGD(1.0)

    infinite = float("inf")
    unscale = 1.0 if hasattr(tf.keras.mixed_precision.LossScaleOptimizer,
                             "get_unscaled_gradients") else 4.0  # Keras 3 unscales itself
    finite = unscale * 1.0
    half = finite / (2.0 if unscale == 1.0 else 4.0)  # after the scale was halved

    def dynamic():
        return optimizers.NpuLossScaleOptimizer(sgd(), initial_scale=4.0, dynamic_growth_steps=2)

    seen["inf nan"] = steps(dynamic(), [finite, infinite])
    os.environ["KERAS_NPU_DUMP_EMULATE_CANN"] = "2022"
    seen["2022"] = steps(dynamic(), [finite, infinite])
    del os.environ["KERAS_NPU_DUMP_EMULATE_CANN"]
    npu_device.npu_device.set_device_sat_mode(0)
    seen["mode 0"] = npu_device.is_inf_nan_enabled()
    seen["saturation"] = steps(dynamic(), [finite, infinite, half, half])
    low = optimizers.NpuLossScaleOptimizer(sgd(), initial_scale=1.0)
    seen["floor"] = steps(low, [infinite])[0]
    fixed = optimizers.NpuLossScaleOptimizer(sgd(), dynamic=False, initial_scale=4.0)
    seen["fixed"] = steps(fixed, [finite, infinite, finite])
    from npu_device.train.optimizer.npu_loss_scale_optimizer import (
        NpuExperimentalLossScaleOptimizer,
        NpuLossScaleOptimizer,
    )
    seen["experimental"] = steps(NpuExperimentalLossScaleOptimizer(sgd(), 4.0),
                                 [finite, infinite, finite])
    seen["experimental dynamic"] = float(
        NpuExperimentalLossScaleOptimizer(sgd(), "dynamic").loss_scale)
    config = NpuLossScaleOptimizer(sgd(), dynamic=False, initial_scale=16.0).get_config()
    seen["again"] = float(NpuLossScaleOptimizer.from_config(config).loss_scale)
    seen["keyword"] = _error(lambda: dynamic().apply_gradients(
        [], experimental_aggregate_gradients=False))
    seen["fixed needs"] = _error(lambda: NpuLossScaleOptimizer(sgd(), dynamic=False))[0]
    npu_device.set_device_sat_mode(3)
    npu_device.set_device_sat_mode(2)
    seen["mode 2"] = npu_device.is_inf_nan_enabled()
    npu_device.set_device_sat_mode(1)
    seen["mode 1"] = npu_device.is_inf_nan_enabled()
    seen["modes"] = [_error(lambda: npu_device.set_device_sat_mode(-1))[0],
                     _error(lambda: npu_device.set_device_sat_mode("1"))[0]]
    seen["classes"] = [NpuLossScaleOptimizer.__name__, issubclass(
        NpuLossScaleOptimizer, tf.keras.mixed_precision.LossScaleOptimizer)]
    return seen


def native(folder):
    """Helpers of npu_device.npu_device, utils.npu_wrapper and compat."""
    npu_device, tf = observe.opened()
    from npu_device import npu_device as inner
    from npu_device.utils import npu_wrapper
    seen = {"repeat": [inner.stupid_repeat("x", 3), _error(lambda: inner.stupid_repeat(3, 3))[0]]}
    with inner.watch_op_register():
        pass
    traced = []

    @inner.npu_compat_function(jit_compile=True)
    def compiled(x):
        traced.append(1)
        return x + 1

    seen["compat function"] = [int(compiled(tf.constant(1))), int(compiled(tf.constant(2))),
                               len(traced)]

    @tf.function
    def body(x):
        return inner.wrap_cpu_only_api(tf.py_function)(lambda one: one * 2, [x], tf.float32)

    seen["py_function"] = float(body(tf.constant(2.0)))
    options = {}
    os.environ["RANK_ID"] = "3"
    inner.set_rank_table_file_env(options, "table.json")
    seen["rank table"] = dict(options)
    os.environ.update(CM_CHIEF_PORT="1", CM_CHIEF_DEVICE="2", CM_WORKER_IP="w")
    inner.set_cm_chief_worksize_env(options, "c", 4)
    seen["chief"] = {key: options[key] for key in sorted(options) if ".cm_" in key}
    seen["no ip"] = _error(lambda: inner.set_cm_chief_worksize_env({}, "", 4))
    del os.environ["RANK_ID"]
    seen["no rank"] = _error(lambda: inner.set_rank_table_file_env({}, "t"))
    os.environ["CM_WORKER_SIZE"] = "2"
    seen["rank size"] = inner.get_ranksize()
    os.environ["RANK_SIZE"] = "2"
    seen["both"] = _error(inner.get_ranksize)
    del os.environ["RANK_SIZE"], os.environ["CM_WORKER_SIZE"]

    def double(x):
        # Tensors only, as the adapter's own operators: what makes the wrapper step in.
        if not tf.is_tensor(x) or type(x).__name__ == "KerasTensor":
            raise TypeError("no tensor")
        return x * 2

    npu_wrapper.npu_symbol_register(["math.double", "double"], double)
    supported = npu_wrapper.npu_functional_support(double)
    inputs = tf.keras.Input((2,))
    model = tf.keras.Model(inputs, supported(inputs))
    layer = npu_wrapper.NpuOpLambda(double)
    seen["symbols"] = [npu_wrapper.get_npu_symbol_from_name("double") is double,
                       npu_wrapper.get_one_name_for_npu_symbol(double),
                       npu_wrapper.get_npu_symbol_from_name("none"), layer.symbol]
    seen["functional"] = _list(model(tf.constant([[1.0, 2.0]])))
    again = type(model).from_config(model.get_config(), custom_objects={
        "NpuOpLambda": npu_wrapper.NpuOpLambda})
    seen["again"] = _list(again(tf.constant([[1.0, 2.0]])))
    seen["no symbol"] = _error(lambda: npu_wrapper.NpuOpLambda.from_config(
        {"name": "x", "function": "none"}))
    seen["not keras"] = _error(lambda: supported("text"))[0]
    builder = npu_device.compat.v1.SessionConfigBuilder()
    builder.parameter_map["precision_mode"].s = b"allow_mix_precision"
    optimizer, = builder.session_config.graph_options.rewrite_options.custom_optimizers
    seen["builder"] = [optimizer.name, optimizer.parameter_map["precision_mode"].s.decode()]
    with npu_device.npu_run_context(npu_device.configs.run_context_options()):
        pass
    return seen


def compat(folder):
    """npu_device.compat.v1: its modules, configurations, sessions, and what has no graph here."""
    from keras_npu_dump import emulator
    emulator.install()
    import tensorflow as tf

    from keras_npu_dump.emulator.vendor_modules import module_table
    places = [place for place in module_table.TABLE if place.startswith("npu_device.compat.v1")]
    seen = {"empty": []}
    for place in places:
        module = importlib.import_module(place)
        seen["empty"] += ["%s.%s" % (place, name) for name, source
                          in module_table.TABLE[place].items()
                          if hasattr(module, name) != (source is not None)]
    script = {"tf": tf}
    exec("from npu_device.compat.v1.npu_init import *", script)  # pylint: disable=exec-used
    seen["tf"] = script["tf"].__name__
    config = script["npu_config_proto"](script["npu_config_proto"]())
    rewriting = config.graph_options.rewrite_options
    seen["proto"] = [[one.name for one in rewriting.custom_optimizers],
                     config.allow_soft_placement, rewriting.remapping,
                     config.graph_options.optimizer_options.global_jit_level]
    session, shutdown = script["init_resource"]()
    script["shutdown_resource"](session, shutdown)
    script["close_session"](session)
    seen["ranks"] = [script["get_npu_rank_id"](), script["get_npu_rank_size"](),
                     script["get_rank_id"](), script["get_local_rank_size"]()]
    hooks = script["npu_hooks_append"]()
    seen["hooks"] = [type(one).__name__ for one in hooks]
    graph = tf.Graph()
    with graph.as_default():
        weight = tf.compat.v1.get_variable("weight", initializer=4.0, use_resource=True)
        step = tf.compat.v1.train.get_or_create_global_step()
        loss = weight * weight
        inner = tf.compat.v1.train.GradientDescentOptimizer(0.25)
        optimizer = script["npu_tf_optimizer"](script["npu_distributed_optimizer_wrapper"](inner))
        train = optimizer.minimize(loss, global_step=step)
        told = []
        hooks.append(script["NPUOutputTensorHook"](
            {"loss": loss}, output_every_n_steps=2,
            output_fn=lambda values: told.append([float(one["loss"]) for one in values])))
        hooks.append(script["TellMeStepOrLossHook"](step=step, total_step=3))
        with tf.compat.v1.train.SingularMonitoredSession(hooks=hooks, config=config) as running:
            for _ in range(3):
                running.run(train)
            seen["weight"] = float(running.run(weight))
    seen["told"] = told
    seen["environment"] = [os.environ["STEP_NOW"], os.environ["TOTAL_STEP"]]
    from npu_device.compat.v1.estimator.npu import npu_config, npu_scope, util
    dump = script["DumpConfig"](True, "/d", dump_layer="a")
    seen["dump config"] = [dump._enable_dump, dump._dump_path, dump._dump_mode, dump.dump_layer]
    seen["config errors"] = [
        _error(lambda: script["NPURunConfig"](dump_config={}))[0],
        _error(lambda: script["NPURunConfig"](iterations_per_loop=0))[0],
        _error(lambda: npu_config.GraphMemoryOptimizeConfig("made up"))[0],
        _error(lambda: script["DynamicInputConfig"](1))[0],
        _error(lambda: util.check_bool_type(1, "x"))[0]]
    with tf.Graph().as_default(), npu_scope.without_npu_compile_scope(), \
            npu_scope.npu_variable_scope(npu_config.NpuExecutePlacement.HOST), \
            npu_scope.npu_stage_scope(2):
        made = tf.constant(1.0).op
        seen["marks"] = [made.get_attr("_without_npu_compile"),
                         made.get_attr("_variable_placement").decode(),
                         made.get_attr("_stage_level")]
    seen["estimators"] = hasattr(tf, "estimator")
    if seen["estimators"]:
        def model_fn(features, labels, mode):
            del features, labels
            total = tf.compat.v1.get_variable("w", initializer=1.0)
            step = tf.compat.v1.assign_add(tf.compat.v1.train.get_global_step(), 1)
            return script["NPUEstimatorSpec"](mode, loss=total * 1.0, train_op=step,
                                              host_call=None)

        estimator = script["NPUEstimator"](model_fn, config=script["NPURunConfig"](
            model_dir=folder + "/model", dump_config=dump))
        estimator.train(lambda: tf.data.Dataset.range(4), steps=2)
        seen["estimator"] = int(estimator.get_variable_value("global_step"))
    else:
        seen["estimator"] = _error(lambda: script["NPUEstimator"](None))
    import npu_device
    npu_device.open()
    npu_device.compat.enable_v1()
    seen["v1"] = [tf.executing_eagerly(), os.environ["ASCEND_DEVICE_ID"]]
    return seen


def missing_names(folder):
    """What imports of names say that are not there."""
    path = os.path.join(folder, "main.py")
    seen = {}
    for line in ("from npu_device.distribute import made_up",
                 "from npu_device.compat.v1.estimator.npu_ops import LARSV2",
                 "import npu_device.configs.experimental",
                 "import npu_device.gen_npu_ops",
                 "import npu_device.distribute as d\nd.made_up"):
        with open(path, "w") as stream:
            stream.write("import os\n" + line + "\n")
        with open(path) as stream:
            code = compile(stream.read(), path, "exec")
        seen[line.splitlines()[-1]] = _error(lambda code=code: exec(code, {}))
    return seen
