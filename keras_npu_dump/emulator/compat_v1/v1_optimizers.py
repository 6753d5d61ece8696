"""Optimizers over several workers (adapter estimator/npu/npu_optimizer.py), for one worker.

Each hands everything to the optimizer inside, as the adapter's do in a job of one; several
workers raise where gradients would be reduced.
"""
from __future__ import annotations

import functools
from typing import Any

from keras_npu_dump.emulator.api import missing
from keras_npu_dump.emulator.compat_v1 import v1_hccl
from keras_npu_dump.emulator.distribute import hccl_operators, workers

_PLACE = "npu_device.compat.v1...npu_optimizer."


def npu_allreduce(values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1,
                  group: str = "hccl_world_group") -> Any:
    """Values reduced over all workers: the same values from one.

    Args:
      values: a tensor, tf.IndexedSlices, or a list of them.
      reduction: "mean", "sum", "min", "max" or "prod".
      fusion, fusion_id, group: without effect.

    Raises:
      ValueError: another reduction.
      NotImplementedError: there are several workers.
    """
    import tensorflow as tf
    workers.need_one(_PLACE + "npu_allreduce", v1_hccl.get_rank_size())
    if isinstance(values, (list, tuple)):
        return [npu_allreduce(one, reduction, fusion, fusion_id, group) for one in values]
    kind = "sum" if reduction == "mean" else reduction
    if not isinstance(values, tf.IndexedSlices):
        return hccl_operators.allreduce(values, kind, fusion, fusion_id, group)
    return tf.IndexedSlices(hccl_operators.allgather(values.values, 1, group),
                            hccl_operators.allgather(values.indices, 1, group),
                            dense_shape=values.dense_shape)


def npu_distributed_optimizer_wrapper(optimizer: Any) -> Any:
    """The optimizer itself; its gradients would be reduced over all workers.

    Args:
      optimizer: of TensorFlow 1 or Keras, or the name of one of Keras.

    Raises:
      NotImplementedError: there are several workers.
    """
    import tensorflow as tf
    workers.need_one(_PLACE + "npu_distributed_optimizer_wrapper", v1_hccl.get_rank_size())
    return tf.keras.optimizers.get(optimizer) if isinstance(optimizer, str) else optimizer


def npu_tf_optimizer(opt: Any) -> Any:
    """NPUDistributedOptimizer around an optimizer of TensorFlow 1."""
    return _distributed()(opt)


def npu_keras_optimizer(opt: Any) -> Any:
    """KerasDistributeOptimizer around an optimizer of Keras."""
    return _keras()(opt)


def _delegating(base: Any, inside: str) -> Any:
    """An optimizer of TensorFlow 1 that asks another one for everything."""
    class Delegating(base):  # type: ignore[misc]
        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            """The gradients of the optimizer inside."""
            workers.need_one(_PLACE + type(self).__name__, v1_hccl.get_rank_size())
            return getattr(self, inside).compute_gradients(*args, **kwargs)

        def apply_gradients(self, grads_and_vars: Any, global_step: Any = None,
                            name: Any = None) -> Any:
            """Lets the optimizer inside apply them."""
            return getattr(self, inside).apply_gradients(grads_and_vars, global_step, name)

        def get_slot(self, *args: Any, **kwargs: Any) -> Any:
            """Asks the optimizer inside."""
            return getattr(self, inside).get_slot(*args, **kwargs)

        def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
            """Asks the optimizer inside."""
            return getattr(self, inside).get_slot_names(*args, **kwargs)

        def variables(self, *args: Any, **kwargs: Any) -> Any:
            """Asks the optimizer inside."""
            return getattr(self, inside).variables(*args, **kwargs)
    return Delegating


@functools.lru_cache(maxsize=None)
def _distributed() -> Any:
    import tensorflow as tf
    base: Any = _delegating(tf.compat.v1.train.Optimizer, "_optimizer")

    class NPUDistributedOptimizer(base):  # type: ignore[misc]
        """Averages gradients over all workers.

        Args:
          optimizer: of TensorFlow 1.
          is_weight_update_sharding: whether each worker updates a part of the variables.
          name: Defaults to "Distributed" and the name of the optimizer's class.
        """

        def __init__(self, optimizer: Any, is_weight_update_sharding: bool = False,
                     name: Any = None):
            self._optimizer = optimizer
            self._is_weight_update_sharding = is_weight_update_sharding
            super().__init__(use_locking=False,
                             name=name or "Distributed%s" % type(optimizer).__name__)
    return NPUDistributedOptimizer


@functools.lru_cache(maxsize=None)
def _npu() -> Any:
    import tensorflow as tf
    base: Any = _delegating(tf.compat.v1.train.Optimizer, "_opt")

    class NPUOptimizer(base):  # type: ignore[misc]
        """Averages gradients over all workers, and scales the loss.

        Args:
          opt: of TensorFlow 1.
          loss_scale_manager: needed where `is_loss_scale`.
          is_distributed, is_tailing_optimization: without effect for one worker.
          is_loss_scale: False.
          name: Defaults to "NPUOptimizer" and the name of the optimizer's class.

        Raises:
          ValueError: loss scaling without a manager.
          NotImplementedError: loss scaling; the adapter's build leaves its managers out.
        """

        def __init__(self, opt: Any, loss_scale_manager: Any = None, is_distributed: bool = False,
                     is_loss_scale: bool = False, is_tailing_optimization: bool = False,
                     name: Any = None):
            del is_distributed, is_tailing_optimization
            if is_loss_scale and loss_scale_manager is None:
                raise ValueError("is_loss_scale is True, loss_scale_manager can not be None")
            if is_loss_scale:
                raise missing.needs(
                    _PLACE + "NPUOptimizer", "the emulator has no loss scaling of sessions",
                    "Rehearse with is_loss_scale=False, or with NpuLossScaleOptimizer.")
            self._opt = opt
            super().__init__(use_locking=False,
                             name=name or "NPUOptimizer%s" % type(opt).__name__)
    return NPUOptimizer


@functools.lru_cache(maxsize=None)
def _keras() -> Any:
    from tensorflow.python.keras.optimizer_v2 import optimizer_v2
    base: Any = optimizer_v2.OptimizerV2

    class KerasDistributeOptimizer(base):  # type: ignore[misc]
        """Averages gradients over all workers. As in the adapter an optimizer of the Keras inside
        TensorFlow 2.6, which tf.keras from 2.6 on does not take in `compile`.

        Args:
          optimizer: of Keras.
          name: of this one.
        """

        def __init__(self, optimizer: Any, name: str = "NpuKerasOptimizer", **kwargs: Any):
            super().__init__(name, **kwargs)
            self._optimizer = optimizer

        def get_updates(self, loss: Any, params: Any) -> Any:
            """The updates of the optimizer inside."""
            return self._optimizer.get_updates(loss, params)

        def apply_gradients(self, grads_and_vars: Any, name: Any = None) -> Any:
            """Lets the optimizer inside apply them."""
            workers.need_one(_PLACE + "KerasDistributeOptimizer", v1_hccl.get_rank_size())
            return self._optimizer.apply_gradients(
                grads_and_vars, **({} if name is None else {"name": name}))

        def get_config(self) -> Any:
            """The optimizer inside, and the base's own."""
            return dict(super().get_config(), optimizer=self._optimizer)

    return KerasDistributeOptimizer


_MAKERS = {"NPUDistributedOptimizer": _distributed, "NPUOptimizer": _npu,
           "KerasDistributeOptimizer": _keras}


def __getattr__(name: str) -> Any:
    # Their bases are TensorFlow's, so the classes are made when they are asked for (PEP 562).
    if name in _MAKERS:
        return _MAKERS[name]()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
