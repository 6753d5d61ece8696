"""`npu.distribute.npu_distributed_keras_optimizer_wrapper` (adapter distribute/hccl.py)."""
from __future__ import annotations

import functools
from typing import Any, Callable

from keras_npu_dump.emulator.api import graph_scopes
from keras_npu_dump.emulator.distribute import collectives


def npu_distributed_keras_optimizer_wrapper(optimizer: Any, reduce_reduction: str = "mean",
                                            fusion: int = 1, fusion_id: int = -1,
                                            group: str = "hccl_world_group") -> Any:
    """An optimizer whose gradients are reduced over all workers before they are applied.

    Its updates are marked as the optimizer's in the graph, what it computes as gradients as the
    backward pass. Where Keras's optimizers compute no gradients (Keras 3), only the first.

    Args:
      optimizer: of Keras, or its name.
      reduce_reduction, fusion, fusion_id, group: see `all_reduce`.

    Returns:
      The same optimizer, its methods replaced.

    Raises:
      ValueError: no optimizer has that name.
    """
    import tensorflow as tf
    made = tf.keras.optimizers.get(optimizer)
    apply_gradients = made.apply_gradients

    @functools.wraps(apply_gradients)
    def reduced(grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        gradients, variables = zip(*grads_and_vars)
        with graph_scopes.npu_optimizer_scope():
            gradients = collectives.all_reduce(gradients, reduce_reduction, fusion, fusion_id,
                                               group)
            return apply_gradients(zip(gradients, variables), *args, **kwargs)

    made.apply_gradients = reduced
    # The adapter puts its get_gradients under a name that nobody calls; so it is here.
    for name, place in (("get_gradients", "get_gradient"),
                        ("_compute_gradients", "_compute_gradients")):
        original = getattr(made, name, None)
        if callable(original):
            setattr(made, place, _backward(original))
    return made


def _backward(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute(*args: Any, **kwargs: Any) -> Any:
        with graph_scopes.npu_gradients_scope():
            return original(*args, **kwargs)
    return compute
