"""`npu.distribute.all_reduce` and `broadcast` (adapter distribute/hccl.py).

In a job of one worker the adapter skips them; several workers raise here.
"""
from __future__ import annotations

from typing import Any

from keras_npu_dump.emulator.distribute import workers


def all_reduce(values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1,
               group: str = "hccl_world_group") -> Any:
    """The values themselves: sum, mean, least, greatest and product over one worker.

    Args:
      values: a tensor, or a list of tensors and None; the rest is without effect.

    Returns:
      `values`, the same object, as the adapter does.

    Raises:
      NotImplementedError: there are several workers.
    """
    del reduction, fusion, fusion_id, group
    if not workers.alone():
        workers.need_one("npu_device.distribute.all_reduce")
    return values


def broadcast(values: Any, root_rank: int = 0, fusion: int = 2, fusion_id: int = 0,
              group: str = "hccl_world_group") -> None:
    """Nothing: there is nobody to send to.

    Args:
      values: a variable or a list of them; the rest is without effect, too.

    Raises:
      NotImplementedError: there are several workers.
    """
    del values, root_rank, fusion, fusion_id, group
    if not workers.alone():
        workers.need_one("npu_device.distribute.broadcast")
