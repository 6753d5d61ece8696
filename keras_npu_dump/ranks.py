"""Which of several processes this one is, read and refused as npu_device does it.

npu_device (adapter npu_device.py, `open`) takes the device from ASCEND_DEVICE_ID, the
number of processes from RANK_SIZE or CM_WORKER_SIZE, never both, and for more than one wants
RANK_TABLE_FILE with RANK_ID, or CM_CHIEF_IP with CM_CHIEF_PORT and CM_CHIEF_DEVICE. A
variable that is set to nothing is set. With CM_CHIEF_IP the rank is known to HCCL alone,
after `open()`. It reads nothing of what mpirun and srun say; we do, where RANK_ID is not set.

Before `open()` we say what it will refuse (`read`); the emulator's `open()` refuses it
(`as_npu_device`).
"""
from __future__ import annotations

import os
import re
from typing import AbstractSet, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type

from keras_npu_dump import messages
from keras_npu_dump.errors import ConfigError

# What launchers say of a process: the names of its rank, and of how many there are (Open MPI,
# MVAPICH2, MPICH and Intel MPI, PMIx, SLURM). A batch script of SLURM is a step of one task.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", None),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)
# The variables that hold a rank, by whatever launcher.
LAUNCHED = tuple(name for name, _ in _LAUNCHERS)


class Cluster(NamedTuple):
    """This process among those of its job.

    Attributes:
      rank: by RANK_ID, or else by mpirun or srun; 0 without them in a job of one; None where
        only HCCL will know it.
      size: how many processes there are; by mpirun or srun where npu_device is told nothing.
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
    refused = _refused_sizes(values) + _refused_cluster(values, size)
    size_given = name in values
    rank: Optional[int] = None if size > 1 else 0
    launched = _launched(values)
    if values.get("RANK_ID"):
        rank = _number(values, "RANK_ID", 0, nonsense)
        # npu_device reads it in a job of several only; shells give a single one any number.
        if size > 1 and not 0 <= rank < size:
            nonsense.append("RANK_ID=%d is none of 0 to %d (%s=%d)"
                            % (rank, size - 1, name, size))
    elif launched is not None and (size <= 1 or launched.rank < size):
        rank = launched.rank
    problems = nonsense + [refusal.sentence for refusal in refused]
    table = values.get("RANK_TABLE_FILE")
    if size > 1 and table is not None and not os.path.isfile(table):
        problems.append("RANK_TABLE_FILE=%s is no file" % (table or "''"))
    if not size_given and launched is not None and launched.size is not None:
        size, size_given = launched.size, True
    return Cluster(rank, size, size_given, device, problems, nonsense)


class _Launched(NamedTuple):
    """What mpirun or srun say of this process: the variable, its rank, how many there are."""

    name: str
    rank: int
    size: Optional[int]


def _launched(values: Mapping[str, str]) -> Optional[_Launched]:
    """What the first launcher of `_LAUNCHERS` says; None where none has started this process."""
    for name, size_name in _LAUNCHERS:
        rank = _count(values.get(name))
        if rank is None:
            continue
        size = None if size_name is None else _count(values.get(size_name))
        if size is None or rank < size:
            return _Launched(name, rank, size)
    return None


def _count(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and re.match(r"[0-9]{1,9}$", text) else None


def doubts(environment: Optional[Mapping[str, str]] = None) -> List[str]:
    """What in the description of a job npu_device does not refuse, and what may fail all the same.

    Args:
      environment: variables by name. Defaults to `os.environ`.

    Returns:
      Sentences for the user, without a full stop.
    """
    values: Mapping[str, str] = os.environ if environment is None else environment
    workers = _number(values, _size_name(values), 1, [])
    found = []
    by_chief = workers > 1 and "CM_CHIEF_IP" in values and "RANK_TABLE_FILE" not in values
    if by_chief and "CM_WORKER_IP" not in values:
        found.append("CM_CHIEF_IP is set without CM_WORKER_IP: npu_device.open() asks for it"
                     " nowhere and hands None to its native module, which takes texts only. Set"
                     " CM_WORKER_IP to the address of this host")
    launched = _launched(values)
    if (launched is not None and workers > 1 and not values.get("RANK_ID")
            and "RANK_TABLE_FILE" in values):
        found.append("npu_device does not read %s=%d: export RANK_ID=$%s in each process"
                     % (launched.name, launched.rank, launched.name))
    return found


def as_npu_device(environment: Mapping[str, str]) -> Tuple[int, int]:
    """What `npu_device.open()` makes of the environment, its errors included.

    Args:
      environment: variables by name.

    Returns:
      (number of workers, rank of this process). npu_device asks HCCL for the rank of one of
      several (`hccl.manage.api.get_rank_id`), which is not here: it is RANK_ID, or what mpirun
      or srun say, or 0.

    Raises:
      ValueError: both RANK_SIZE and CM_WORKER_SIZE are set, or a number cannot be read.
      RuntimeError: a job of several is not described.
    """
    _raise_first(_refused_sizes(environment))
    workers = int(environment.get(_size_name(environment), "1"))
    _raise_first(_refused_cluster(environment, workers))
    if workers <= 1:
        return workers, 0
    if "RANK_TABLE_FILE" in environment:  # with CM_CHIEF_IP it is not looked at
        return workers, int(environment["RANK_ID"])
    launched = _launched(environment)
    rank = _count(environment.get("RANK_ID"))
    return workers, rank if rank is not None else launched.rank if launched is not None else 0


def _raise_first(refused: List[Refusal]) -> None:
    for refusal in refused:
        raise refusal.error(refusal.message)


def _size_name(values: Mapping[str, str]) -> str:
    return "RANK_SIZE" if "RANK_SIZE" in values else "CM_WORKER_SIZE"


def _refused_sizes(values: Mapping[str, str]) -> List[Refusal]:
    if not ("RANK_SIZE" in values and "CM_WORKER_SIZE" in values):
        return []
    return [Refusal(
        ValueError, "RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time",  # sic
        "RANK_SIZE and CM_WORKER_SIZE are both set, npu_device.open() refuses that: unset one of"
        " them")]


def _refused_cluster(values: Mapping[str, str], size: int) -> List[Refusal]:
    """What npu_device will refuse of the description of a job of `size` processes, in its order."""
    table, chief = values.get("RANK_TABLE_FILE"), values.get("CM_CHIEF_IP")
    if size <= 1:
        return []
    wants = ("%s=%d: npu_device.open() wants one of RANK_TABLE_FILE and CM_CHIEF_IP, and finds"
             % (_size_name(values), size))
    if table is not None and chief is not None:
        empty = " (one that is set to nothing counts)" if not (table and chief) else ""
        return [Refusal(
            RuntimeError, "CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time.",
            "%s both%s: unset one of them" % (wants, empty))]
    if chief is not None:
        for name, what in (("CM_CHIEF_PORT", "port"), ("CM_CHIEF_DEVICE", "device"),
                           ("CM_CHIEF_IP", "ip")):
            if not values.get(name):
                return [Refusal(
                    RuntimeError,
                    "You must specify cm chief %s by set env %s in distribution mode" % (
                        what, name),
                    "CM_CHIEF_IP wants CM_CHIEF_PORT and CM_CHIEF_DEVICE beside it, and"
                    " npu_device.open() refuses a job where %s is %s" % (
                        name, "empty" if name in values else "not set"))]
        return []
    if table is None:
        return [Refusal(
            RuntimeError, "CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured.",  # sic
            "%s neither" % wants)]
    if not values.get("RANK_ID"):
        return [Refusal(
            RuntimeError, "You must specify rank id by set env RANK_ID in distribution mode",
            "RANK_TABLE_FILE is set without RANK_ID, npu_device.open() wants both")]
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
    for text in cluster.problems + doubts():
        messages.warning("%s.", text)
    if cluster.problems and emulated and cluster.size > 1:
        messages.info(
            "A rehearsal of %d ranks is as many processes with RANK_SIZE=%d, each with a RANK_ID of"
            " its own, the same as ASCEND_DEVICE_ID, and RANK_TABLE_FILE, which may be any file"
            " here%s.", cluster.size, cluster.size, "" if not any(
                name.startswith("CM_") for name in os.environ) else ", without the CM_ variables")


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
                          " none, and none of %s." % (text, ", ".join(LAUNCHED)))
    remarks: Tuple[str, ...] = ()
    if cluster.size_given and max(chosen) >= cluster.size:
        remarks = ("data_dump_ranks=%s: this job has ranks 0 to %d only."
                   % (text, cluster.size - 1),)
    return cluster.rank in chosen, remarks


def rank_after_open(handle: Any, cluster: Cluster) -> int:
    """The rank as far as it can be known; in a job of several it is HCCL's answer.

    Args:
      handle: what `npu_device.open()` returned, or None.
      cluster: see `read`.
    """
    worker = getattr(handle, "worker_id", None)
    known = isinstance(worker, int) and worker >= 0
    # mpirun may count otherwise than HCCL; npu_device asks it in a job of several only.
    if cluster.rank is not None and not (known and getattr(handle, "workers_num", 1) > 1):
        return cluster.rank
    return int(worker) if known and worker is not None else 0
