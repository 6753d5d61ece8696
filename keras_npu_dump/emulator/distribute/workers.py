"""Whether there are other workers, whom the emulator does not have."""
from __future__ import annotations

from typing import Optional

from keras_npu_dump.emulator.api import missing, npu_device


def alone() -> bool:
    """Whether a collective has nobody to talk to: no default device, or a job of one."""
    handle = npu_device.global_npu_ctx()
    return handle is None or not handle.is_cluster_worker()


def need_one(what: str, size: Optional[int] = None) -> None:
    """Stops where other workers would have to answer.

    Args:
      what: full name of the function that was called.
      size: how many workers the call itself speaks of.

    Raises:
      NotImplementedError: there are several workers.
    """
    handle = npu_device.global_npu_ctx()
    count = max(size or 1, 1 if handle is None else handle.workers_num)
    if count > 1:
        raise missing.needs(
            what, "the emulator has no collectives; it can emulate one worker, and %s says %d"
            % ("the call" if size == count else "RANK_SIZE", count),
            "Rehearse with RANK_SIZE=1.")
