"""The rest of npu_device's API: for one worker it changes nothing.

What would need a device (collectives of several workers, NPU operators) raises instead
of pretending.
"""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator

from keras_npu_dump.emulator.api import npu_device

DISTRIBUTE = ("all_reduce", "broadcast", "npu_distributed_keras_optimizer_wrapper",
              "shard_and_rebatch_dataset", "grouping_gradients_apply", "grouping_broadcast")


@contextlib.contextmanager
def keep_dtype_scope() -> Iterator[None]:
    """Operators made inside keep their dtype; nothing changes dtypes here."""
    yield


@contextlib.contextmanager
def npu_recompute_scope() -> Iterator[None]:
    """Operators made inside are recomputed on the device; without effect here."""
    yield


def _one_worker(what: str) -> None:
    handle = npu_device.global_npu_ctx()
    if handle is not None and handle.workers_num > 1:
        raise NotImplementedError(
            "npu_device.distribute.%s: the emulator has no collectives; it can emulate one worker,"
            " and RANK_SIZE says %d." % (what, handle.workers_num))


def all_reduce(values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1,
               group: str = "hccl_world_group") -> Any:
    """The values themselves: the sum and the mean over one worker.

    Args:
      values: tensors; the rest is without effect.

    Raises:
      NotImplementedError: there are several workers.
    """
    del reduction, fusion, fusion_id, group
    _one_worker("all_reduce")
    return values


def broadcast(values: Any, root_rank: int = 0, fusion: int = 2, fusion_id: int = 0,
              group: str = "hccl_world_group") -> None:
    """Nothing: there is nobody to send to.

    Args:
      values: tensors; the rest is without effect, too.

    Raises:
      NotImplementedError: there are several workers.
    """
    del values, root_rank, fusion, fusion_id, group
    _one_worker("broadcast")


def npu_distributed_keras_optimizer_wrapper(optimizer: Any, reduce_reduction: str = "mean",
                                            fusion: int = 1, fusion_id: int = -1,
                                            group: str = "hccl_world_group") -> Any:
    """The optimizer itself.

    Args:
      optimizer: of Keras; the rest is without effect.

    Raises:
      NotImplementedError: there are several workers.
    """
    del reduce_reduction, fusion, fusion_id, group
    _one_worker("npu_distributed_keras_optimizer_wrapper")
    return optimizer


def shard_and_rebatch_dataset(dataset: Any, global_batch_size: int) -> Any:
    """What one worker takes: everything.

    Args:
      dataset: tf.data.Dataset.
      global_batch_size: rows of a batch.

    Returns:
      (the dataset, the batch size), both as they are.

    Raises:
      NotImplementedError: there are several workers.
    """
    _one_worker("shard_and_rebatch_dataset")
    return dataset, global_batch_size


def grouping_gradients_apply(apply_func: Callable[..., Any], grads_and_vars: Any, *args: Any,
                             **kwargs: Any) -> Any:
    """Applies the gradients.

    Args:
      apply_func: called with the rest of the arguments, as in `optimizer.apply_gradients`.
      grads_and_vars: (gradient, variable) pairs.

    Returns:
      What `apply_func` returns.

    Raises:
      NotImplementedError: there are several workers.
    """
    _one_worker("grouping_gradients_apply")
    return apply_func(grads_and_vars, *args, **kwargs)


def grouping_broadcast(variables: Any) -> None:
    """Nothing: there is nobody to send to.

    Args:
      variables: without effect.

    Raises:
      NotImplementedError: there are several workers.
    """
    del variables
    _one_worker("grouping_broadcast")


@functools.lru_cache(maxsize=None)
def _loss_scale_optimizer() -> type:
    import tensorflow as tf
    base: Any = tf.keras.mixed_precision.LossScaleOptimizer

    class NpuLossScaleOptimizer(base):  # type: ignore[misc]
        """Keras's LossScaleOptimizer: there are no float status registers to read here."""

    return NpuLossScaleOptimizer


@functools.lru_cache(maxsize=None)
def _broadcast_callback() -> type:
    import tensorflow as tf

    base: Any = tf.keras.callbacks.Callback

    class NPUBroadcastGlobalVariablesCallback(base):  # type: ignore[misc]
        """Sends the variables of a worker to all others: there are none.

        The adapter's own does nothing either: its hook is nested in `__init__` by mistake
        (adapter npu_callbacks.py).

        Args:
          root_rank: whose variables would be sent.
        """

        def __init__(self, root_rank: int):
            super().__init__()
            self.root_rank = root_rank
            _one_worker("NPUBroadcastGlobalVariablesCallback")

    return NPUBroadcastGlobalVariablesCallback


def callback_class(name: str) -> type:
    """`npu_device.distribute.npu_callbacks.NAME`, made when it is asked for.

    Args:
      name: of the class.

    Raises:
      AttributeError: the emulator does not have it.
    """
    if name == "NPUBroadcastGlobalVariablesCallback":
        return _broadcast_callback()
    raise AttributeError(
        "npu_device.distribute.npu_callbacks.%s: the emulator does not have it." % name)


def optimizer_class(name: str) -> type:
    """`npu_device.train.optimizer.NAME`, made when it is asked for.

    Args:
      name: of the class.

    Raises:
      AttributeError: the emulator does not have it.
    """
    if name == "NpuLossScaleOptimizer":
        return _loss_scale_optimizer()
    raise AttributeError(
        "npu_device.train.optimizer.%s: the emulator does not have it." % name)


def missing(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for the module of that name, which says what is not emulated.

    Args:
      module: its full name.
    """
    def getattribute(name: str) -> Any:
        raise AttributeError("%s.%s: the emulator does not have it." % (module, name))
    return getattribute
