"""Which of several processes this one is, read and refused as npu_device does it.

npu_device (adapter npu_device.py, `open`) takes the device from ASCEND_DEVICE_ID, the
number of processes from RANK_SIZE or CM_WORKER_SIZE, never both, and for more than one wants
RANK_TABLE_FILE with RANK_ID, or CM_CHIEF_IP with CM_CHIEF_PORT and CM_CHIEF_DEVICE.
With the latter the rank is known to HCCL alone, after `open()`.

Before `open()` we say what it will refuse (`read`); the emulator's `open()` refuses it
(`as_npu_device`).
"""
from __future__ import annotations

import os
from typing import AbstractSet, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type

from keras_npu_dump import messages
from keras_npu_dump.errors import ConfigError


class Cluster(NamedTuple):
    """This process among those of its job.

    Attributes:
      rank: 0 without RANK_ID in a job of one; None where only HCCL will know it.
      size: how many processes there are.
      size_given: whether the environment says so.
      device: logical number of the device that `npu_device.open()` without an argument opens.
      problems: what npu_device or HCCL will refuse, as sentences.
      nonsense: those that are wrong in any job, such as a number that cannot be read; they are
        among `problems`, too.
    """

    rank: Optional[int]
    size: int
    size_given: bool
    device: int
    problems: List[str]
    nonsense: List[str]


class Refusal(NamedTuple):
    """What `npu_device.open()` refuses in the description of a job.

    Attributes:
      error: the class of what it raises.
      message: its message (adapter npu_device.py).
      sentence: the same in our words, for use before `open()`.
    """

    error: Type[Exception]
    message: str
    sentence: str


def read(environment: Optional[Mapping[str, str]] = None) -> Cluster:
    """Reads the environment; never raises, see `Cluster.problems`.

    Args:
      environment: variables by name. Defaults to `os.environ`.

    Returns:
      This process's place in its job. A number that cannot be read has its default there.
    """
    values: Dict[str, str] = dict(os.environ if environment is None else environment)
    nonsense: List[str] = []
    device = _number(values, "ASCEND_DEVICE_ID", 0, nonsense)
    name = _size_name(values)
    size = _number(values, name, 1, nonsense)
    rank: Optional[int] = None if size > 1 else 0
    if values.get("RANK_ID"):
        rank = _number(values, "RANK_ID", 0, nonsense)
        # npu_device reads it in a job of several only; shells give a single one any number.
        if size > 1 and not 0 <= rank < size:
            nonsense.append("RANK_ID=%d is none of 0 to %d (%s=%d)"
                            % (rank, size - 1, name, size))
    refused = _refused_sizes(values) + _refused_cluster(values, size)
    problems = nonsense + [refusal.sentence for refusal in refused]
    table = values.get("RANK_TABLE_FILE")
    if size > 1 and table and not os.path.isfile(table):
        problems.append("RANK_TABLE_FILE=%s is no file" % table)
    return Cluster(rank, size, name in values, device, problems, nonsense)


def as_npu_device(environment: Mapping[str, str]) -> Tuple[int, int]:
    """What `npu_device.open()` makes of the environment, its errors included.

    Args:
      environment: variables by name.

    Returns:
      (number of workers, rank of this process). Of several workers the rank is RANK_ID, or 0
      without it: npu_device asks HCCL (`hccl.manage.api.get_rank_id`), which is not here.

    Raises:
      ValueError: both RANK_SIZE and CM_WORKER_SIZE are set, or a number cannot be read.
      RuntimeError: a job of several is not described.
    """
    _raise_first(_refused_sizes(environment))
    workers = int(environment.get(_size_name(environment), "1"))
    _raise_first(_refused_cluster(environment, workers))
    return workers, int(environment.get("RANK_ID", "0")) if workers > 1 else 0


def _raise_first(refused: List[Refusal]) -> None:
    for refusal in refused:
        raise refusal.error(refusal.message)


def _size_name(values: Mapping[str, str]) -> str:
    return "RANK_SIZE" if "RANK_SIZE" in values else "CM_WORKER_SIZE"


def _refused_sizes(values: Mapping[str, str]) -> List[Refusal]:
    if not ("RANK_SIZE" in values and "CM_WORKER_SIZE" in values):
        return []
    return [Refusal(
        ValueError, "RANK_SIZE and CM_WORKER_SIZE cannot be configured at the same time",
        "RANK_SIZE and CM_WORKER_SIZE are both set, npu_device.open() refuses that: unset one of"
        " them")]


def _refused_cluster(values: Mapping[str, str], size: int) -> List[Refusal]:
    """What npu_device or HCCL will refuse of the description of a job of `size` processes."""
    table, chief = values.get("RANK_TABLE_FILE"), values.get("CM_CHIEF_IP")
    if size <= 1:
        return []
    if bool(table) == bool(chief):
        return [Refusal(
            RuntimeError,
            "You must specify one of RANK_TABLE_FILE and CM_CHIEF_IP in distribution mode",
            "%s=%d: npu_device.open() wants one of RANK_TABLE_FILE and CM_CHIEF_IP, and finds %s"
            % (_size_name(values), size, "both" if table else "neither"))]
    if table and not values.get("RANK_ID"):
        return [Refusal(
            RuntimeError, "You must specify rank id by set env RANK_ID in distribution mode",
            "RANK_TABLE_FILE is set without RANK_ID, npu_device.open() wants both")]
    if chief and not (values.get("CM_CHIEF_PORT") and values.get("CM_CHIEF_DEVICE")):
        return [Refusal(
            RuntimeError, "You must specify CM_CHIEF_PORT and CM_CHIEF_DEVICE with CM_CHIEF_IP",
            "CM_CHIEF_IP is set without CM_CHIEF_PORT and CM_CHIEF_DEVICE, npu_device.open() wants"
            " all three")]
    return []


def _number(values: Mapping[str, str], name: str, default: int, problems: List[str]) -> int:
    text = values.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        problems.append("%s=%r is not a number, npu_device.open() fails on it" % (name, text))
        return default


def refuse_nonsense(cluster: Cluster) -> None:
    """Raises what is wrong with this process's place in its job, before anything is made.

    Args:
      cluster: see `read`.

    Raises:
      ConfigError: a number cannot be read, or the job has no such rank.
    """
    if cluster.nonsense:
        raise ConfigError("the environment describes no job: %s." % "; ".join(cluster.nonsense))


def tell_problems(emulated: bool) -> None:
    """Says before `npu_device.open()` what it will refuse, and what ranks have to be given.

    Args:
      emulated: whether the emulator stands in for npu_device; then one more message says
        what a rehearsal of several ranks needs.
    """
    cluster = read()
    for text in cluster.problems:
        messages.warning("%s.", text)
    if cluster.problems and emulated and cluster.size > 1:
        messages.info(
            "A rehearsal of %d ranks is as many processes with RANK_SIZE=%d, each with a RANK_ID of"
            " its own, the same as ASCEND_DEVICE_ID, and RANK_TABLE_FILE, which may be any file"
            " here.", cluster.size, cluster.size)


def is_chosen(chosen: Optional[AbstractSet[int]], cluster: Cluster) -> Tuple[bool, Tuple[str, ...]]:
    """Whether `data_dump_ranks` lets this process dump, and what there is to say of it.

    By options alone: graphs that differ between the ranks of a job make it hang.

    Args:
      chosen: numbers of the ranks that dump; None is all.
      cluster: see `read`.

    Returns:
      Whether this one dumps, and sentences for the user.

    Raises:
      ConfigError: if no rank of the job is chosen, or the rank of this process is not known.
    """
    if chosen is None:
        return True, ()
    text = ",".join(str(rank) for rank in sorted(chosen))
    if cluster.size_given and min(chosen) >= cluster.size:
        raise ConfigError("data_dump_ranks: expected ranks from 0 to %d, as this job has %d."
                          " Received: %s." % (cluster.size - 1, cluster.size, text))
    if cluster.rank is None:
        raise ConfigError("data_dump_ranks=%s: expected RANK_ID in the environment, to"
                          " know which rank this process is before npu_device.open(). Received:"
                          " none." % text)
    remarks: Tuple[str, ...] = ()
    if cluster.size_given and max(chosen) >= cluster.size:
        remarks = ("data_dump_ranks=%s: this job has ranks 0 to %d only."
                   % (text, cluster.size - 1),)
    return cluster.rank in chosen, remarks


def rank_after_open(handle: Any, cluster: Cluster) -> int:
    """The rank as far as it can be known; HCCL's answer where RANK_ID does not say it.

    Args:
      handle: what `npu_device.open()` returned, or None.
      cluster: see `read`.
    """
    if cluster.rank is not None:
        return cluster.rank
    worker = getattr(handle, "worker_id", None)
    return worker if isinstance(worker, int) and worker >= 0 else 0
