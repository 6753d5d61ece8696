"""Scopes of the TensorFlow 1 adapter: marks on operators (adapter estimator/npu/npu_scope.py).

They mark nodes as `graph_scopes` does, and mean nothing to the emulator beyond that.
"""
from __future__ import annotations

from typing import Any, Optional

from keras_npu_dump.emulator.api.graph_scopes import keep_dtype_scope, marked, npu_optimizer_scope
from keras_npu_dump.emulator.compat_v1 import v1_checks
from keras_npu_dump.emulator.compat_v1.v1_configs import NpuExecutePlacement

__all__ = ["keep_dtype_scope", "npu_optimizer_scope"]


def without_npu_compile_scope() -> Any:
    """Operators made inside run on the host."""
    return marked(_without_npu_compile=True)


def npu_variable_scope(placement: NpuExecutePlacement = NpuExecutePlacement.ALL) -> Any:
    """Variables made inside lie where `placement` says.

    Raises:
      ValueError: no NpuExecutePlacement.
    """
    if not isinstance(placement, NpuExecutePlacement):
        raise ValueError("placement vaule must be in NpuExecutePlacement's vaule")
    return marked(_variable_placement=placement.value.encode())


def npu_stage_scope(stage: int) -> Any:
    """Operators made inside are the stage of that number."""
    return marked(_stage_level=stage)


def npu_mem_type_scope() -> Any:
    """Outputs of operators made inside lie in memory that others can read."""
    return marked(_output_memory_type=1)


def npu_weight_prefetch_scope(buffer_pool_id: int = 0, buffer_pool_size: int = 2 ** 29) -> Any:
    """Prefetches made inside use a pool of memory.

    Args:
      buffer_pool_id: its number.
      buffer_pool_size: its size in bytes.
    """
    return marked(_buffer_pool_id=buffer_pool_id, _buffer_pool_size=buffer_pool_size)


def op_specified_engine_scope(engine_name: str, kernel_lib_name: str) -> Any:
    """Operators made inside run on an engine, with a library of kernels."""
    return marked(_specified_engine_name=engine_name.encode(),
                  _specified_kernel_lib_name=kernel_lib_name.encode())


def npu_qos_label_scope(label: int) -> Any:
    """Operators made inside have a label of service."""
    return marked(_qos_service_label=label)


def subgraph_multi_dims_scope(index: int) -> Any:
    """Operators made inside belong to a subgraph with several shapes."""
    return marked(_subgraph_multi_dims_index=index)


def npu_recompute_scope() -> Any:
    """A name scope, not a mark, in this adapter."""
    import tensorflow as tf
    return tf.name_scope("NpuRecompute")


def npu_graph_slice_scope(slice_num: Optional[int] = None) -> Any:
    """A name scope that says into how many parts the graph is cut.

    Raises:
      TypeError, ValueError: no integer above 0.
    """
    import tensorflow as tf
    if slice_num is not None:
        v1_checks.check_positive_integer(slice_num, "slice_num")
    return tf.name_scope("SliceNum-%s-NpuGraphSlicing%s" % (slice_num, slice_num))


def disable_autofuse() -> Any:
    """Operators made inside are not fused."""
    return marked(_disable_autofuse_scope=True)


def limit_core_num_scope(op_aicore_num: str = "0", op_vectorore_num: str = "0") -> Any:
    """Fused operators made inside use so many vector cores.

    Raises:
      ValueError: `op_vectorore_num` is no text of a number above 0.
    """
    del op_aicore_num
    if not isinstance(op_vectorore_num, str):
        raise ValueError("Param op_vectorore_num must be string.")
    if not op_vectorore_num.strip().lstrip("+-").isdigit():
        raise ValueError("Param op_vectorore_num can not be converted into a valid int number.")
    if int(op_vectorore_num) <= 0:
        raise ValueError("Param op_vectorore_num must be greater than zero.")
    return marked(_op_vectorcore_num=op_vectorore_num.encode())
