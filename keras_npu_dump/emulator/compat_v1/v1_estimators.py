"""Estimators of the TensorFlow 1 adapter: TensorFlow's, where it has them (up to 2.15).

They train on the CPU or GPU and are not dumped; elsewhere making one raises.
"""
from __future__ import annotations

import functools
from typing import Any

from keras_npu_dump.emulator.api import missing
from keras_npu_dump.emulator.compat_v1 import v1_configs
from keras_npu_dump.emulator.compat_v1.v1_words import say_sessions_are_not_dumped
from keras_npu_dump.emulator.distribute import cluster_environment

_PLACE = "npu_device.compat.v1.npu_init."


def tensorflow_estimator(what: str) -> Any:
    """tf.estimator.

    Args:
      what: name that needs it.

    Raises:
      NotImplementedError: this TensorFlow has none.
    """
    import tensorflow as tf
    found = getattr(tf, "estimator", None)
    if found is None:
        raise missing.needs(
            _PLACE + what, "TensorFlow %s has no estimators any more" % tf.__version__,
            "Rehearse it with TensorFlow 2.6, or a Keras model in its place.")
    return found


def _without(name: str) -> Any:
    """A class that says what is missing when one of it is made."""
    def refuse(cls: Any, *args: Any, **kwargs: Any) -> Any:
        del cls, args, kwargs
        tensorflow_estimator(name)
    return type(name, (), {"__new__": refuse, "__doc__": "Needs tf.estimator."})


@functools.lru_cache(maxsize=None)
def _estimator() -> Any:
    import tensorflow as tf
    if getattr(tf, "estimator", None) is None:
        return _without("NPUEstimator")
    base: Any = tf.estimator.Estimator

    class NPUEstimator(base):  # type: ignore[misc]
        """tf.estimator.Estimator; nothing of it is dumped here.

        Args:
          model_fn, model_dir, params, warm_start_from: see tf.estimator.Estimator.
          config: NPURunConfig.
          job_start_file: without effect.

        Raises:
          ValueError: another kind of `config`.
        """

        def __init__(self, model_fn: Any = None, model_dir: Any = None, config: Any = None,
                     params: Any = None, job_start_file: str = "", warm_start_from: Any = None):
            del job_start_file
            if not isinstance(config, v1_configs.NPURunConfig):
                raise ValueError("`config` must be provided with type `NPUConfigs`")
            say_sessions_are_not_dumped()
            super().__init__(model_fn=model_fn, model_dir=model_dir, config=config,
                             params=params, warm_start_from=warm_start_from)
    return NPUEstimator


@functools.lru_cache(maxsize=None)
def _spec() -> Any:
    import tensorflow as tf
    if getattr(tf, "estimator", None) is None:
        return _without("NPUEstimatorSpec")
    base: Any = tf.estimator.EstimatorSpec

    class NPUEstimatorSpec(base):  # type: ignore[misc]
        """tf.estimator.EstimatorSpec.

        Args:
          host_call: kept, and not called: it is the device's way to write summaries.
        """

        def __new__(cls, mode: Any, *args: Any, host_call: Any = None, **kwargs: Any) -> Any:
            made = super().__new__(cls, mode, *args, **kwargs)
            made._host_call = host_call
            return made
    return NPUEstimatorSpec


def model_to_npu_estimator(keras_model: Any = None, keras_model_path: Any = None,
                           custom_objects: Any = None, model_dir: Any = None,
                           checkpoint_format: str = "saver", config: Any = None,
                           job_start_file: str = "") -> Any:
    """An NPUEstimator of a Keras model.

    Args:
      keras_model, keras_model_path, custom_objects, model_dir, checkpoint_format: see
        tf.keras.estimator.model_to_estimator.
      config: NPURunConfig.
      job_start_file: without effect.

    Raises:
      NotImplementedError: this TensorFlow has no estimators.
    """
    estimators = tensorflow_estimator("keras_to_npu.model_to_npu_estimator")
    import tensorflow as tf
    made = tf.keras.estimator.model_to_estimator(
        keras_model=keras_model, keras_model_path=keras_model_path,
        custom_objects=custom_objects, model_dir=model_dir,
        config=estimators.RunConfig(model_dir=model_dir), checkpoint_format=checkpoint_format)
    return _estimator()(model_fn=made._model_fn, model_dir=model_dir, config=config,
                        job_start_file=job_start_file,
                        warm_start_from=made._warm_start_settings)


@functools.lru_cache(maxsize=None)
def _strategy() -> Any:
    from tensorflow.python.distribute import distribute_lib, one_device_strategy
    extended_base: Any = one_device_strategy.OneDeviceExtended
    base: Any = distribute_lib.StrategyV1

    class NPUExtended(extended_base):  # type: ignore[misc]
        """One device, and as many replicas as there are workers."""

        @property
        def _num_replicas_in_sync(self) -> int:
            return int(cluster_environment.get_ranksize())

    class NPUStrategy(base):  # type: ignore[misc]
        """A strategy for one device for each worker.

        Args:
          device: "/cpu:0".

        Raises:
          ValueError: another device.
        """

        def __init__(self, device: str = "/cpu:0"):
            if device != "/cpu:0":
                raise ValueError('"device" only support "/cpu:0"')
            super().__init__(NPUExtended(self, device))
    return NPUStrategy


_MAKERS = {"NPUEstimator": _estimator, "NPUEstimatorSpec": _spec, "NPUStrategy": _strategy}


def __getattr__(name: str) -> Any:
    # Their bases are TensorFlow's, so the classes are made when they are asked for (PEP 562).
    if name in _MAKERS:
        return _MAKERS[name]()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
