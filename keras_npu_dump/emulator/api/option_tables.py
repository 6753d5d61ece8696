"""Which options npu_device has, by release: names, defaults, and what they may be.

The newest is as it was measured on the adapter of 2026 (hicann/tensorflow 82957b9). The
older two are what public copies of `npu_device/configs` of 2022 and of the first release
hold; of their groups only NpuConfig, NpuDumpConfig and NpuProfilingConfig are known.
"""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional


class Deprecated(NamedTuple):
    """An option that is still accepted.

    Attributes:
      optional: the values that it may take; None for any.
      replacement: what came in its place; None for nothing.
    """

    optional: Optional[List[Any]]
    replacement: Optional[str]


# Class of the group -> option -> (default, values that it may take), Deprecated, or the
# class of a group inside.
Table = Dict[str, Dict[str, Any]]

_SWITCH = [True, False]
_OFF = (False, _SWITCH)
_ON = (True, _SWITCH)
_FREE = (None, None)

_NEW: Table = {
    "NpuConfig": {
        "graph_run_mode": (1, [0, 1]),
        "graph_memory_max_size": _FREE,
        "variable_memory_max_size": _FREE,
        "variable_format_optimize": Deprecated(_SWITCH, None),
        "enable_scope_fusion_passes": _FREE,
        "fusion_switch_file": _FREE,
        "precision_mode": (None, [
            "force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
            "allow_mix_precision", "cube_fp16in_fp32out", "allow_mix_precision_fp16",
            "allow_mix_precision_bf16", "allow_fp32_to_bf16"]),
        "precision_mode_v2": (None, [
            "fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
            "cube_hif8", "mixed_hif8"]),
        "op_select_implmode": Deprecated(["high_performance", "high_precision"],
                                         "op_precision_mode"),
        "optypelist_for_implmode": Deprecated(None, "op_precision_mode"),
        "op_compiler_cache_mode": ("enable", ["enable", "disable", "force"]),
        "op_compiler_cache_dir": _FREE,
        "stream_max_parallel_num": _FREE,
        "hcom_parallel": _ON,
        "hcom_multi_mode": _FREE,
        "is_tailing_optimization": _OFF,
        "op_debug_level": Deprecated([0, 1, 2, 3, 4], "op_debug_config"),
        "op_debug_config": _FREE,
        "debug_dir": _FREE,
        "modify_mixlist": _FREE,
        "enable_exception_dump": (2, [0, 1, 2]),
        "dump_config": "NpuDumpConfig",
        "aoe_config": "NpuAoeConfig",
        "profiling_config": "NpuProfilingConfig",
        "enable_small_channel": _OFF,
        "deterministic": (0, [0, 1]),
        "op_precision_mode": _FREE,
        "graph_exec_timeout": _FREE,
        "topo_sorting_mode": (None, [0, 1, None]),
        "customize_dtypes": _FREE,
        "overflow_flag": (1, [0, 1]),
        "stream_sync_timeout": (-1, None),
        "event_sync_timeout": (-1, None),
        "external_weight": _OFF,
        "memory_config": "MemoryConfig",
        "jit_compile": ("auto", ["true", "false", "auto"]),
        "graph_compiler_cache_dir": _FREE,
        "ac_parallel_enable": (None, ["0", "1"]),
        "quant_dumpable": (None, ["0", "1"]),
        "execute_times": (-1, None),
        "input_fusion_size": (131072, None),
        "compile_dynamic_mode": _OFF,
        "export_compile_stat": (1, [0, 1, 2]),
        "aicore_num": _FREE,
        "oo_level": ("O3", ["O0", "O1", "O2", "O3"]),
        "oo_constant_folding": _ON,
        "input_batch_cpy": _OFF,
        "shape_generalization_mode": ("STRICT", ["STRICT", "FULL", "ADAPTIVE"]),
        "all_tensor_not_empty": _OFF,
        "auto_multistream_parallel_mode": _FREE,
        "optimization_switch": _FREE,
        "experimental": "NpuExperimentalConfig",
    },
    "NpuDumpConfig": {
        "enable_dump": _OFF,
        "dump_path": _FREE,
        "dump_step": _FREE,
        "dump_mode": ("output", ["input", "output", "all"]),
        "enable_dump_debug": _OFF,
        "dump_debug_mode": ("all", ["aicore_overflow", "atomic_overflow", "all"]),
        "dump_data": ("tensor", ["tensor", "stats"]),
        "dump_layer": _FREE,
    },
    "NpuProfilingConfig": {
        "enable_profiling": _OFF,
        # The blanks stand in the adapter's source, behind a line that goes on.
        "profiling_options": (
            '{"output":".\\/","training_trace":"on","task_time":"on",' + 45 * " "
            + '"hccl":"on","aicpu":"on","aic_metrics":"PipeUtilization",' + 45 * " "
            + '"msproftx":"off"}', None),
    },
    "NpuAoeConfig": {
        "aoe_mode": (None, ["1", "2", "4"]),
        "work_path": ("./", None),
        "aoe_config_file": _FREE,
    },
    "MemoryConfig": {
        "atomic_clean_policy": (0, [0, 1]),
        "static_memory_policy": (0, [0, 1, 2, 3, 4]),
        "variable_use_1g_huge_page": (0, [0, 1, 2]),
    },
    "GraphMemoryOptimizeConfig": {
        "recompute": (None, ["auto", "manual"]),
        "graph_slice": (None, ["auto"]),
    },
    "NpuMultiBranchesConfig": {
        "input_shape": _FREE,
        "dynamic_dims": _FREE,
        "dynamic_node_type": (None, ["0"]),
    },
    "LogicalDeviceDeployConfig": {
        "logical_device_cluster_deploy_mode": ("LB", ["LB", "SINGLE"]),
        "logical_device_id": _FREE,
    },
    "ModelDeployConfig": {
        "model_deploy_mode": _FREE,
        "model_deploy_devicelist": _FREE,
    },
    "NpuExperimentalConfig": {
        "multi_branches_config": "NpuMultiBranchesConfig",
        "logical_device_deploy_config": "LogicalDeviceDeployConfig",
        "model_deploy_config": "ModelDeployConfig",
        "graph_memory_optimize_config": "GraphMemoryOptimizeConfig",
        "resource_config_path": _FREE,
        "graph_parallel_option_path": _FREE,
        "enable_graph_parallel": _OFF,
    },
    "NpuRunContextOptions": {"experimental": "NpuExperimentalConfig"},
}

_OLD_CONFIG: Dict[str, Any] = {
    "graph_run_mode": (1, [0, 1]),
    "graph_memory_max_size": _FREE,
    "variable_memory_max_size": _FREE,
    "variable_format_optimize": _ON,
    "enable_scope_fusion_passes": _FREE,
    "fusion_switch_file": _FREE,
    "precision_mode": ("allow_fp32_to_fp16", [
        "force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
        "allow_mix_precision"]),
    "auto_tune_mode": _FREE,
    "op_select_implmode": ("high_performance", ["high_performance", "high_precision"]),
    "optypelist_for_implmode": _FREE,
    "op_compiler_cache_mode": ("disable", ["enable", "disable", "force"]),
    "op_compiler_cache_dir": _FREE,
    "stream_max_parallel_num": _FREE,
    "hcom_parallel": _OFF,
    "hcom_multi_mode": _FREE,
    "is_tailing_optimization": _OFF,
    "op_debug_level": (0, [0, 1, 2, 3]),
    "debug_dir": _FREE,
    "modify_mixlist": _FREE,
    "enable_exception_dump": (0, [0, 1]),
    "dump_config": "NpuDumpConfig",
    "profiling_config": "NpuProfilingConfig",
}
_OLD_PROFILING = {"enable_profiling": _OFF, "profiling_options": _FREE}
_OLD: Table = {
    "NpuConfig": _OLD_CONFIG,
    "NpuDumpConfig": {
        "enable_dump": _OFF,
        "dump_path": _FREE,
        "dump_step": _FREE,
        "dump_mode": ("output", ["input", "output", "all"]),
        "enable_dump_debug": _OFF,
        "dump_debug_mode": _FREE,
    },
    "NpuProfilingConfig": _OLD_PROFILING,
}
_OF_2022: Table = dict(
    _NEW,
    NpuConfig=dict(
        _OLD_CONFIG,
        op_debug_level=(0, [0, 1, 2, 3, 4]),
        aoe_config="NpuAoeConfig",
        enable_small_channel=_OFF,
        graph_exec_timeout=_FREE,
        jit_compile=_ON,
        topo_sorting_mode=(None, [0, 1, None]),
        customize_dtypes=_FREE,
        experimental="NpuExperimentalConfig"),
    NpuProfilingConfig=_OLD_PROFILING)
_BY_RELEASE = {"new": _NEW, "2022": _OF_2022, "old": _OLD}


def of(release: str) -> Table:
    """The options of a release.

    Args:
      release: "new", "2022" or "old".
    """
    return _BY_RELEASE[release]
