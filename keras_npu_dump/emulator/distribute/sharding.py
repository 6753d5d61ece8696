"""`npu.distribute.shard_and_rebatch_dataset` (adapter distribute/hccl.py); no collective in it."""
from __future__ import annotations

from typing import Any, Tuple

from keras_npu_dump.emulator.api import npu_device


def shard_and_rebatch_dataset(dataset: Any, global_bs: int) -> Tuple[Any, int]:
    """This worker's share of a dataset, and of the rows of a batch.

    Args:
      dataset: tf.data.Dataset that is not batched yet.
      global_bs: rows of a batch of the whole job.

    Returns:
      (every n-th element from this worker's rank on, rows of a batch here), both as they are in
      a job of one or without a default device.

    Raises:
      ValueError: the rows cannot be shared out evenly.
    """
    handle = npu_device.global_npu_ctx()
    if handle is None or handle.workers_num <= 1:
        return dataset, global_bs
    workers = handle.workers_num
    if global_bs % workers:
        raise ValueError("Batch size must be divisible by num npus: %d" % workers)
    return dataset.shard(workers, handle.worker_id), int(global_bs) // workers
