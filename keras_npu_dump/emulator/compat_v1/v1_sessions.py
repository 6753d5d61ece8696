"""Configurations of sessions with the adapter's "NpuOptimizer" in them (adapter npu_init.py).

They are made as the adapter makes them, so that scripts find in them what they look for;
TensorFlow without the adapter's library passes over an optimizer that it does not know.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Tuple

from keras_npu_dump.emulator.compat_v1 import v1_checks, v1_hccl
from keras_npu_dump.emulator.compat_v1.v1_words import say_sessions_are_not_dumped

_OPTIMIZER = "NpuOptimizer"
_REWRITES = ("function_optimization", "constant_folding", "shape_optimization",
             "arithmetic_optimization", "loop_optimization", "dependency_optimization",
             "layout_optimizer")


def npu_config_proto(config_proto: Any = None) -> Any:
    """A ConfigProto for the NPU: soft placement, no remapping, no XLA, and "NpuOptimizer" once.

    Args:
      config_proto: tf.compat.v1.ConfigProto, which is changed; anything else for a new one.
    """
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
    config = config_proto
    if not isinstance(config, config_pb2.ConfigProto):
        config = config_pb2.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    if all(one.name != _OPTIMIZER for one in rewriting.custom_optimizers):
        rewriting.custom_optimizers.add().name = _OPTIMIZER
        rewriting.memory_optimization = RewriterConfig.OFF
    config.allow_soft_placement = True
    config.log_device_placement = False
    rewriting.remapping = RewriterConfig.OFF
    npu_graph_options(config.graph_options)
    return config


def npu_graph_options(graph_options: Any = None) -> Any:
    """GraphOptions without XLA.

    Args:
      graph_options: is changed; anything else for new ones.
    """
    from tensorflow.core.protobuf import config_pb2
    options = graph_options
    if not isinstance(options, config_pb2.GraphOptions):
        options = config_pb2.GraphOptions()
    npu_optimizer_options(options.optimizer_options)
    return options


def npu_optimizer_options(optimizer_options: Any = None) -> Any:
    """OptimizerOptions without XLA.

    Args:
      optimizer_options: is changed; anything else for new ones.
    """
    from tensorflow.core.protobuf import config_pb2
    options = optimizer_options
    if not isinstance(options, config_pb2.OptimizerOptions):
        options = config_pb2.OptimizerOptions()
    options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return options


def npu_run_config_init(run_config: Any = None) -> Any:
    """tf.estimator.RunConfig whose session is configured by `npu_config_proto`.

    Args:
      run_config: is changed; anything else for a new one.

    Raises:
      NotImplementedError: this TensorFlow has no estimators.
    """
    from keras_npu_dump.emulator.compat_v1 import v1_estimators
    config_class = v1_estimators.tensorflow_estimator("npu_run_config_init").RunConfig
    config = run_config if isinstance(run_config, config_class) else config_class()
    config.__dict__["_session_config"] = npu_config_proto(config.session_config)
    return config


def _session(config: Any) -> Any:
    import tensorflow as tf
    say_sessions_are_not_dumped()
    return tf.compat.v1.Session(config=npu_config_proto(config))


def _backend() -> Any:
    """Keras's functions of sessions: those of TensorFlow 1's Keras."""
    import tensorflow as tf
    return tf.compat.v1.keras.backend


def set_keras_session_npu_config(config: Any = None) -> Any:
    """Makes a session configured by `npu_config_proto` Keras's, and returns it."""
    session = _session(config)
    _backend().set_session(session)
    return session


def npu_clear_session(config: Any = None) -> None:
    """Gives Keras a new session in place of what it has."""
    _backend().clear_session()
    set_keras_session_npu_config(config)


def init_resource(config: Any = None) -> Tuple[Any, Any]:
    """A session, and the operation that ends the job of workers: here one that does nothing.

    Args:
      config: see `npu_config_proto`.

    Returns:
      (session, operation); ranks are to be had from `get_npu_rank_id()` and its like.

    Raises:
      NotImplementedError: there are several workers.
    """
    import tensorflow as tf
    graph = tf.Graph()
    with graph.as_default():
        shutdown = tf.no_op(name="NPUShutdown")
    say_sessions_are_not_dumped()
    session = tf.compat.v1.Session(graph=graph, config=npu_config_proto(config))
    v1_checks.global_dict_init()
    for name in ("rank_id", "local_rank_id", "rank_size", "local_rank_size"):
        v1_checks.set_value("npu_" + name, getattr(v1_hccl, "get_" + name)())
    return session, shutdown


def shutdown_resource(sess: Any, npu_shutdown: Any) -> None:
    """Ends the job of workers, with what `init_resource` has returned."""
    sess.run(npu_shutdown)


def close_session(sess: Any) -> None:
    """Closes a session."""
    sess.close()


def decorator_tf_session(func: Callable[..., Any]) -> Callable[..., Any]:
    """A session's `__init__` whose configuration passes through `npu_config_proto`.

    The adapter replaces those of TensorFlow's sessions when it is imported; here they stay.

    Args:
      func: takes `config`.
    """
    signature = inspect.signature(func)

    @functools.wraps(func)
    def made(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments["config"] = npu_config_proto(bound.arguments.get("config"))
        return func(*bound.args, **bound.kwargs)
    return made


def __getattr__(name: str) -> Any:
    # What needs TensorFlow is made when it is asked for (PEP 562).
    if name == "backend":
        from tensorflow import keras
        return keras.backend
    if name == "experimental_options":
        from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
        return {"disable_model_pruning": False, **dict.fromkeys(_REWRITES, RewriterConfig.ON)}
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
