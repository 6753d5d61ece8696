"""What the environment says of a job's workers, as the adapter's `open()` asks for it."""
from __future__ import annotations

import os
from typing import Any, Dict, Optional

_NEEDED = (("CM_CHIEF_PORT", "port"), ("CM_CHIEF_DEVICE", "device"))


def get_ranksize() -> str:
    """The number of workers: RANK_SIZE, or CM_WORKER_SIZE, or "1"; a text, as it is there.

    Raises:
      ValueError: both variables are set.
    """
    size, workers = os.environ.get("RANK_SIZE"), os.environ.get("CM_WORKER_SIZE")
    if size is not None and workers is not None:
        raise ValueError("RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time")
    return size if size is not None else "1" if workers is None else workers


def set_cm_chief_worksize_env(global_kw_options: Optional[Dict[str, Any]] = None,
                              env_cm_chief_ip: Optional[str] = None,
                              workers_num: Optional[int] = None) -> None:
    """Puts a cluster without a rank table into the options.

    Args:
      global_kw_options: options by name; five `_distribute.cm_...` are added.
      env_cm_chief_ip: address of the chief.
      workers_num: number of workers.

    Raises:
      RuntimeError: CM_CHIEF_PORT or CM_CHIEF_DEVICE is not set, or the address is empty.
    """
    for variable, word in _NEEDED:
        if not os.environ.get(variable):
            raise RuntimeError("You must specify cm chief %s by set env %s in distribution mode"
                               % (word, variable))
    if not env_cm_chief_ip:
        raise RuntimeError(
            "You must specify cm chief ip by set env CM_CHIEF_IP in distribution mode")
    added = {"cm_chief_ip": env_cm_chief_ip, "cm_chief_port": os.environ["CM_CHIEF_PORT"],
             "cm_chief_worker_device": os.environ["CM_CHIEF_DEVICE"],
             "cm_worker_ip": os.environ.get("CM_WORKER_IP"), "cm_worker_size": str(workers_num)}
    _options(global_kw_options).update(
        {"_distribute." + name: value for name, value in added.items()})


def set_rank_table_file_env(global_kw_options: Optional[Dict[str, Any]] = None,
                            env_rank_table: Optional[str] = None) -> None:
    """Puts a cluster with a rank table into the options.

    Args:
      global_kw_options: options by name; `_distribute.rank_table` and `_distribute.rank_id` are
        added.
      env_rank_table: path of the table.

    Raises:
      RuntimeError: RANK_ID is not set.
    """
    rank = os.environ.get("RANK_ID")
    if not rank:
        raise RuntimeError("You must specify rank id by set env RANK_ID in distribution mode")
    _options(global_kw_options).update(
        {"_distribute.rank_table": env_rank_table, "_distribute.rank_id": rank})


def _options(options: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    if options is None:  # the default cannot be used in the adapter, either
        raise TypeError("'NoneType' object does not support item assignment")
    return options
