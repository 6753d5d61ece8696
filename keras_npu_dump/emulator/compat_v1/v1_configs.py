"""Configurations of the TensorFlow 1 adapter: what they hold and what they refuse (adapter
estimator/npu/npu_config.py).

Nothing reads them here, for sessions are not dumped; they are kept as the adapter keeps them,
each argument under its name with a `_` in front.
"""
from __future__ import annotations

import enum
import functools
import inspect
from typing import Any, Dict, Optional, Tuple

from keras_npu_dump.emulator.compat_v1.v1_words import say_sessions_are_not_dumped

_NEEDED = inspect.Parameter.empty
# Class -> argument -> default. `dump_data` and `dump_layer` are kept without the `_`.
_ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "ProfilingConfig": {"enable_profiling": False, "profiling_options": None},
    "MemoryConfig": {"atomic_clean_policy": 0, "static_memory_policy": 0,
                     "memory_optimization_policy": None, "variable_use_1g_huge_page": 0},
    "DumpConfig": {"enable_dump": False, "dump_path": None, "dump_step": None,
                   "dump_mode": "output", "enable_dump_debug": False, "dump_debug_mode": "all",
                   "dump_data": "tensor", "dump_layer": None},
    "GraphMemoryOptimizeConfig": {"recompute": None, "graph_slice": None},
    "ExperimentalConfig": {
        "logical_device_cluster_deploy_mode": "LB", "logical_device_id": None,
        "model_deploy_mode": None, "model_deploy_devicelist": None,
        "graph_memory_optimize_config": None, "enable_graph_parallel": None,
        "graph_parallel_option_path": None, "graph_compiler_cache_dir": None,
        "resource_config_path": None, "accelerate_train_mode": None},
    "DynamicInputConfig": {"input_shape": _NEEDED, "dynamic_dims": _NEEDED,
                           "dynamic_node_type": _NEEDED, "compile_hybrid_mode": _NEEDED},
}
_PUBLIC = ("dump_data", "dump_layer")
# Argument -> what it has to be: values, or the name of a class.
_CHECKS: Dict[Tuple[str, str], Any] = {
    ("GraphMemoryOptimizeConfig", "recompute"): ("auto", "manual"),
    ("GraphMemoryOptimizeConfig", "graph_slice"): ("auto", "manual"),
    ("ExperimentalConfig", "graph_memory_optimize_config"): "GraphMemoryOptimizeConfig",
    ("NPURunConfig", "dump_config"): "DumpConfig",
    ("NPURunConfig", "experimental_config"): "ExperimentalConfig",
    ("NPURunConfig", "dynamic_input_config"): "DynamicInputConfig",
}


class NpuExecutePlacement(enum.Enum):
    """Where an operator runs."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"


def _check(owner: str, name: str, value: Any) -> None:
    expected = _CHECKS.get((owner, name))
    if value is None or expected is None:
        return
    if isinstance(expected, str):
        if not isinstance(value, _settings(expected)):
            raise ValueError("`%s` must be provided with type `%s`" % (name, expected))
    elif value not in expected:
        raise ValueError("%s should be in %s" % (name, list(expected)))


@functools.lru_cache(maxsize=None)
def _settings(name: str) -> Any:
    """The class of that name, made from the table."""
    signature = inspect.Signature([
        inspect.Parameter(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for argument, default in _ARGUMENTS[name].items()])

    def keep(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for argument, value in bound.arguments.items():
            _check(name, argument, value)
            setattr(self, argument if argument in _PUBLIC else "_" + argument, value)

    made = type(name, (), {"__init__": keep, "__doc__": "Settings of the TensorFlow 1 adapter: "
                           + ", ".join(_ARGUMENTS[name])})
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


# What tf.estimator.RunConfig takes itself.
_OF_TENSORFLOW = ("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
                  "save_checkpoints_secs", "session_config", "keep_checkpoint_max",
                  "keep_checkpoint_every_n_hours", "log_step_count_steps", "train_distribute",
                  "eval_distribute")


@functools.lru_cache(maxsize=None)
def _run_config() -> Any:
    import tensorflow as tf
    estimator: Optional[Any] = getattr(tf, "estimator", None)
    base: Any = estimator.RunConfig if estimator is not None else object

    class NPURunConfig(base):  # type: ignore[misc]
        """tf.estimator.RunConfig with the NPU's settings, by keyword; of those that TensorFlow
        does not know, `iterations_per_loop` and types of groups are checked.

        Args:
          iterations_per_loop: at least 1.
          settings: RunConfig's, and the adapter's, which are kept with a `_` in front.
        """

        def __init__(self, iterations_per_loop: int = 1, **settings: Any):
            from keras_npu_dump.emulator.compat_v1 import v1_checks
            say_sessions_are_not_dumped()
            v1_checks.check_positive_integer(iterations_per_loop, "iterations_per_loop")
            for name, value in settings.items():
                _check("NPURunConfig", name, value)
            if settings.get("save_checkpoints_secs") is None:
                settings.setdefault("save_checkpoints_steps", 100)
            settings.setdefault("save_summary_steps", 0)
            own = {name: settings.pop(name) for name in list(settings)
                   if name not in _OF_TENSORFLOW}
            if estimator is not None:
                super().__init__(**settings)
            self.iterations_per_loop = iterations_per_loop
            for name, value in own.items():
                setattr(self, "_" + name, value)

    return NPURunConfig


def __getattr__(name: str) -> Any:
    if name in _ARGUMENTS:
        return _settings(name)
    if name == "NPURunConfig":
        return _run_config()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
