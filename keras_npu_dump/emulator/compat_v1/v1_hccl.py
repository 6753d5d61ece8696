"""Ranks as `npu_device.compat.v1.npu_init` imports them from HCCL (hccl.manage.api, split.api), and
collectives that have more arguments in the TensorFlow 1 adapter (adapter hccl/hccl_ops.py).
"""
from __future__ import annotations

import os
from typing import Any

from keras_npu_dump.emulator.compat_v1 import v1_checks
from keras_npu_dump.emulator.distribute import cluster_environment, hccl_operators, workers

_PLACE = "npu_device.compat.v1.npu_init."


def get_rank_size(group: str = "hccl_world_group") -> int:
    """Workers of the job, by RANK_SIZE or CM_WORKER_SIZE."""
    del group
    return int(cluster_environment.get_ranksize())


def get_rank_id(group: str = "hccl_world_group") -> int:
    """This worker's rank: RANK_ID in a job of several, 0 in a job of one."""
    return int(os.environ.get("RANK_ID") or 0) if get_rank_size(group) > 1 else 0


def get_local_rank_size(group: str = "hccl_world_group") -> int:
    """Workers on this server: 1; of several only the rank table knows."""
    workers.need_one(_PLACE + "get_local_rank_size", get_rank_size(group))
    return 1


def get_local_rank_id(group: str = "hccl_world_group") -> int:
    """This worker's place on this server: 0; of several only the rank table knows."""
    workers.need_one(_PLACE + "get_local_rank_id", get_rank_size(group))
    return 0


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank in the job: the same in a job of one."""
    workers.need_one(_PLACE + "get_world_rank_from_group_rank", get_rank_size(group))
    return group_rank_id


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in the group: the same in a job of one."""
    workers.need_one(_PLACE + "get_group_rank_from_world_rank", get_rank_size(group))
    return world_rank_id


def create_group(group: str, rank_num: int, rank_ids: Any) -> None:
    """Accepts a group of one. Raises NotImplementedError for more."""
    del group, rank_ids
    workers.need_one(_PLACE + "create_group", rank_num)


def destroy_group(group: str) -> None:
    """Nothing: groups of one are not kept."""
    del group


def set_split_strategy_by_idx(idxList: Any, group: str = "hccl_world_group") -> None:
    """Nothing: it says how the reduction of gradients is cut, and here is none."""
    del idxList, group


def set_split_strategy_by_size(dataSizeList: Any, group: str = "hccl_world_group") -> None:
    """Nothing: it says how the reduction of gradients is cut, and here is none."""
    del dataSizeList, group


def get_npu_rank_id() -> Any:
    """The rank that `init_resource` has found; 0 before."""
    return v1_checks.get_value("npu_rank_id", 0)


def get_npu_local_rank_id() -> Any:
    """The place on the server that `init_resource` has found; 0 before."""
    return v1_checks.get_value("npu_local_rank_id", 0)


def get_npu_rank_size() -> Any:
    """The workers that `init_resource` has found; 1 before."""
    return v1_checks.get_value("npu_rank_size", 1)


def get_npu_local_rank_size() -> Any:
    """The workers on the server that `init_resource` has found; 1 before."""
    return v1_checks.get_value("npu_local_rank_size", 1)


def allgather(tensor: Any, rank_size: int, group: str = "hccl_world_group", fusion: int = 0,
              fusion_id: int = -1) -> Any:
    """See `hccl_operators.allgather`; the rest is without effect."""
    del fusion, fusion_id
    return hccl_operators.allgather(tensor, rank_size, group)


def reduce_scatter(tensor: Any, reduction: str, rank_size: int, group: str = "hccl_world_group",
                   fusion: int = 0, fusion_id: int = -1) -> Any:
    """See `hccl_operators.reduce_scatter`; the rest is without effect."""
    del fusion, fusion_id
    return hccl_operators.reduce_scatter(tensor, reduction, rank_size, group)
