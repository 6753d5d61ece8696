"""`npu_device.distribute.hccl_ops`: one function for each operator of HCCL.

What a group of one worker gives: its own values. Arguments are checked as the operators'
definitions say (Ascend/tensorflow, hcom_ops.cpp). As in the adapter, only allreduce has a
gradient; asking for another's is TensorFlow's LookupError. What needs a second worker or remote
memory raises.
"""
from __future__ import annotations

from typing import Any, List

from keras_npu_dump.emulator.api import missing
from keras_npu_dump.emulator.distribute import workers

_PLACE = "npu_device.distribute.hccl_ops."
_REDUCTIONS = ("min", "max", "prod", "sum")


def allreduce(tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1,
              group: str = "hccl_world_group") -> Any:
    """The tensor: what min, max, prod and sum over one worker are.

    Args:
      tensor: any shape and dtype.
      reduction: "min", "max", "prod" or "sum".
      fusion, fusion_id, group: without effect.

    Returns:
      A tensor of the same shape and dtype. Its gradient is the allreduce of the gradient.

    Raises:
      ValueError: another reduction.
      NotImplementedError: there are several workers.
    """
    del fusion, fusion_id, group
    workers.need_one(_PLACE + "allreduce")
    _check_reduction("HcomAllReduce", reduction)
    import tensorflow as tf
    return tf.identity(tensor, name="HcomAllReduce")


def allgather(tensor: Any, rank_size: int, group: str = "hccl_world_group") -> Any:
    """The tensor: the first dimension of all workers' tensors, one after the other.

    Args:
      tensor: any shape and dtype.
      rank_size: workers of the group.
      group: without effect.

    Raises:
      ValueError: a scalar, or `rank_size` below 1.
      NotImplementedError: there are several workers.
    """
    del group
    workers.need_one(_PLACE + "allgather", rank_size)
    _check_size("HcomAllGather", tensor, rank_size)
    return _own(tensor, "HcomAllGather")


def broadcast(tensor: Any, root_rank: int, fusion: int = 2, fusion_id: int = 0,
              group: str = "hccl_world_group") -> List[Any]:
    """The tensors: this worker is the root.

    Args:
      tensor: list of tensors or variables, of any shapes and dtypes.
      root_rank: 0.
      fusion, fusion_id, group: without effect.

    Returns:
      List of tensors.

    Raises:
      TypeError: `tensor` is no list.
      ValueError: no worker has that rank.
      NotImplementedError: there are several workers.
    """
    del fusion, fusion_id, group
    workers.need_one(_PLACE + "broadcast")
    _check_rank("HcomBroadcast", root_rank)
    if not isinstance(tensor, (list, tuple)):
        raise TypeError("Expected list for 'input' argument to 'hcom_broadcast' Op, not %r."
                        % (tensor,))
    return [_own(one, "HcomBroadcast") for one in tensor]


def reduce(tensor: Any, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1,
           group: str = "hccl_world_group") -> Any:
    """The tensor: this worker is the root.

    Args:
      tensor: any shape and dtype.
      reduction: "min", "max", "prod" or "sum".
      root_rank: 0.
      fusion, fusion_id, group: without effect.

    Raises:
      ValueError: another reduction, or no worker has that rank.
      NotImplementedError: there are several workers.
    """
    del fusion, fusion_id, group
    workers.need_one(_PLACE + "reduce")
    _check_reduction("HcomReduce", reduction)
    _check_rank("HcomReduce", root_rank)
    return _own(tensor, "HcomReduce")


def reduce_scatter(tensor: Any, reduction: str, rank_size: int,
                   group: str = "hccl_world_group") -> Any:
    """The tensor: one worker's part of the reduced tensor is all of it.

    Args:
      tensor: any shape and dtype.
      reduction: "min", "max", "prod" or "sum".
      rank_size: workers of the group.
      group: without effect.

    Raises:
      ValueError: another reduction, a scalar, or `rank_size` below 1.
      NotImplementedError: there are several workers.
    """
    del group
    workers.need_one(_PLACE + "reduce_scatter", rank_size)
    _check_reduction("HcomReduceScatter", reduction)
    _check_size("HcomReduceScatter", tensor, rank_size)
    return _own(tensor, "HcomReduceScatter")


def send(tensor: Any, sr_tag: int, dest_rank: int, group: str = "hccl_world_group") -> Any:
    """Raises NotImplementedError: there is nobody to send to."""
    del tensor, sr_tag, group
    raise _no_partner("send", "dest_rank=%s" % dest_rank)


def receive(shape: Any, data_type: Any, sr_tag: int, src_rank: int,
            group: str = "hccl_world_group") -> Any:
    """Raises NotImplementedError: there is nobody who sends."""
    del shape, data_type, sr_tag, group
    raise _no_partner("receive", "src_rank=%s" % src_rank)


def remote_read(tensorRemote: Any, data_type: Any) -> Any:  # the vendor's spelling
    """Raises NotImplementedError: there is no remote memory."""
    del tensorRemote, data_type
    raise _no_memory("remote_read")


def remote_ref_read(tensorRemote: Any, cache: Any, offset: Any) -> Any:
    """Raises NotImplementedError: there is no remote memory."""
    del tensorRemote, cache, offset
    raise _no_memory("remote_ref_read")


def remote_write(tensorRemote: Any, tensorLocal: Any, data_type: Any) -> Any:
    """Raises NotImplementedError: there is no remote memory."""
    del tensorRemote, tensorLocal, data_type
    raise _no_memory("remote_write")


def remote_scatter_write(tensorRemote: Any, tensorLocal: Any, offset: Any) -> Any:
    """Raises NotImplementedError: there is no remote memory."""
    del tensorRemote, tensorLocal, offset
    raise _no_memory("remote_scatter_write")


def _own(tensor: Any, operator: str) -> Any:
    """The tensor under the operator's name, without a gradient."""
    import tensorflow as tf

    def no_gradient(*gradients: Any) -> Any:
        del gradients
        raise LookupError("gradient registry has no entry for: %s" % operator)

    return tf.custom_gradient(
        lambda value: (tf.identity(value, name=operator), no_gradient))(
            tf.convert_to_tensor(tensor))


def _check_reduction(operator: str, reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise ValueError("Value for attr 'reduction' of \"%s\" is not in the list of allowed"
                         " values: %s. Op is %s." % (reduction, ", ".join(
                             '"%s"' % one for one in _REDUCTIONS), operator))


def _check_size(operator: str, tensor: Any, rank_size: int) -> None:
    import tensorflow as tf
    if rank_size < 1:
        raise ValueError("%s: rank_size should be greater than 0. Received: rank_size=%s"
                         % (operator, rank_size))
    if tf.convert_to_tensor(tensor).shape.rank == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0 for %s" % operator)


def _check_rank(operator: str, root_rank: int) -> None:
    if root_rank != 0:
        raise ValueError("%s: root_rank is a rank of the group, and a group of one has rank 0"
                         " only. Received: root_rank=%s" % (operator, root_rank))


def _no_partner(name: str, argument: str) -> Exception:
    return missing.needs(_PLACE + name, "the emulator has one worker, and %s would be another"
                         % argument, "Leave it out to rehearse, or run it on devices.")


def _no_memory(name: str) -> Exception:
    return missing.needs(_PLACE + name, "the emulator has no remote memory (RDMA)",
                         "Leave it out to rehearse, or run it on devices.")
