"""The options of npu_device: which exist, what they accept, how they complain.

Names, defaults and choices are those of the adapter (tensorflow adapter 2.x,
`npu_device/configs/*.py`); the behaviour of a single option and of a group is that
of `configs/option_base.py`, including its surprises: reading an option gives an
object, its `.value` is a text, `1 == True` passes for a switch, and a list set as
`dump_layer` becomes the text of that list.
"""
from typing import Any, ClassVar, Dict, List, Tuple

SWITCH = [True, False]


class OptionValue:
    """An option of npu_device (`configs/option_base.py`).

    Args:
      default: its value until it is set.
      optional: a list or tuple of the values that it may take; anything else for any value.
    """

    def __init__(self, default: Any, optional: Any):
        self._default = default
        self._optional = optional
        self._value = default

    @property
    def default(self) -> Any:
        """Its value until it is set."""
        return self._default

    @property
    def optional(self) -> Any:
        """The values that it may take, or None."""
        return self._optional

    @property
    def value(self) -> Any:
        """None, or a text; True and False are "1" and "0".

        Raises:
          TypeError: a value is set that is not of the default's type, and none of the list.
          ValueError: a value is set that is not in the list.
        """
        if self._value is None:
            return None
        return {"True": "1", "False": "0"}.get(str(self._value), str(self._value))

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(self._optional, (tuple, list)) and value not in self._optional:
            expected = type(self._default)
            if self._default is not None and type(value) is not expected:
                raise TypeError("Expected %s, got %s" % (expected.__name__, type(value).__name__))
            raise ValueError("'%s' not in optional list %s" % (value, self._optional))
        self._value = value


class DeprecatedValue(OptionValue):
    """An option that is still accepted; never set by default.

    Args:
      optional: see OptionValue.
      replacement: name of the option that came in its place, or None.
    """

    def __init__(self, optional: Any, replacement: Any = None):
        super().__init__(None, optional)
        self.replacement = replacement


class NpuBaseConfig:
    """A group of options and of further groups, with a fixed set of names.

    Reading an option gives its OptionValue; setting one sets the value.

    Raises:
      ValueError: an option is set that the group does not have.
      TypeError, ValueError: see `OptionValue.value`.
    """

    # name -> (default, choices); a class of NpuBaseConfig; a list: deprecated, its choices
    _OPTIONS: ClassVar[Dict[str, Any]] = {}
    _fixed_attrs: List[str]

    def __init__(self) -> None:
        for name, spec in self._OPTIONS.items():
            if isinstance(spec, tuple):
                option = OptionValue(*spec)
            elif isinstance(spec, type):
                option = spec()
            else:
                option = DeprecatedValue(spec or None)
            super().__setattr__(name, option)
        super().__setattr__("_fixed_attrs", list(self._OPTIONS))

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in self._fixed_attrs:
            raise ValueError("%s has no option %s, all options %s"
                             % (type(self).__name__, key, self._fixed_attrs))
        current = getattr(self, key)
        if isinstance(current, OptionValue):
            current.value = value
        else:
            # The adapter takes anything here, even a number, and so loses the group.
            super().__setattr__(key, value)

    def as_dict(self) -> Dict[str, str]:
        """All options that have a value, of this group and the groups in it, as texts."""
        options: Dict[str, str] = {}
        for name in self._fixed_attrs:
            option = getattr(self, name)
            if isinstance(option, OptionValue):
                if option.value is not None:
                    options[name] = option.value
            elif isinstance(option, NpuBaseConfig):
                options.update(option.as_dict())
        return options


class NpuDumpConfig(NpuBaseConfig):
    """Data dump and overflow detection (`configs/dump_config.py`)."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "enable_dump": (False, SWITCH),
        "dump_path": (None, None),
        "dump_step": (None, None),
        "dump_mode": ("output", ["input", "output", "all"]),
        "enable_dump_debug": (False, SWITCH),
        "dump_debug_mode": ("all", ["aicore_overflow", "atomic_overflow", "all"]),
        "dump_data": ("tensor", ["tensor", "stats"]),
        "dump_layer": (None, None),
    }


class NpuProfilingConfig(NpuBaseConfig):
    """Profiling; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "enable_profiling": (False, SWITCH), "profiling_options": (None, None)}


class NpuAoeConfig(NpuBaseConfig):
    """Tuning; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "aoe_mode": (None, ["1", "2", "4"]),
        "work_path": ("./", None),
        "aoe_config_file": (None, None),
    }


class MemoryConfig(NpuBaseConfig):
    """Memory; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "atomic_clean_policy": (0, [0, 1]),
        "static_memory_policy": (0, [0, 1, 2, 3, 4]),
        "variable_use_1g_huge_page": (0, [0, 1, 2]),
    }


class GraphMemoryOptimizeConfig(NpuBaseConfig):
    """Recomputation; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {"recompute": (None, ["auto", "manual"])}


class NpuMultiBranchesConfig(NpuBaseConfig):
    """Dynamic dimensions; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {"input_shape": (None, None), "dynamic_dims": (None, None),
                "dynamic_node_type": (None, ["0", "1"])}


class LogicalDeviceDeployConfig(NpuBaseConfig):
    """Deployment over devices; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "logical_device_cluster_deploy_mode": ("LB", ["LB", "SINGLE"]),
        "logical_device_id": (None, None)}


class NpuExperimentalConfig(NpuBaseConfig):
    """Experimental options; accepted and without effect here."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "multi_branches_config": NpuMultiBranchesConfig,
        "logical_device_deploy_config": LogicalDeviceDeployConfig,
        "graph_memory_optimize_config": GraphMemoryOptimizeConfig,
        "resource_config_path": (None, None),
    }


class NpuRunContextOptions(NpuBaseConfig):
    """What `npu_device.npu_run_context` takes."""

    _OPTIONS: ClassVar[Dict[str, Any]] = {"experimental": NpuExperimentalConfig}


_FREE = (None, None)
_PRECISION_MODES = [
    "force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
    "allow_mix_precision", "cube_fp16in_fp32out", "allow_mix_precision_fp16",
    "allow_mix_precision_bf16", "allow_fp32_to_bf16"]


class NpuConfig(NpuBaseConfig):
    """What `npu_device.global_options()` returns (`configs/npu_config.py`).

    Only dump_config and enable_exception_dump mean something here; the rest is
    accepted as the adapter accepts it, so that scripts run unchanged.
    """

    _OPTIONS: ClassVar[Dict[str, Any]] = {
        "graph_run_mode": (1, [0, 1]),
        "graph_memory_max_size": _FREE,
        "variable_memory_max_size": _FREE,
        "variable_format_optimize": SWITCH,
        "enable_scope_fusion_passes": _FREE,
        "fusion_switch_file": _FREE,
        "precision_mode": (None, _PRECISION_MODES),
        "precision_mode_v2": (None, [
            "fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
            "cube_hif8", "mixed_hif8"]),
        "op_select_implmode": ["high_performance", "high_precision"],
        "optypelist_for_implmode": [],
        "op_compiler_cache_mode": ("enable", ["enable", "disable", "force"]),
        "op_compiler_cache_dir": _FREE,
        "stream_max_parallel_num": _FREE,
        "hcom_parallel": (True, SWITCH),
        "hcom_multi_mode": _FREE,
        "is_tailing_optimization": (False, SWITCH),
        "op_debug_level": [0, 1, 2, 3, 4],
        "op_debug_config": _FREE,
        "debug_dir": _FREE,
        "modify_mixlist": _FREE,
        "enable_exception_dump": (2, [0, 1, 2]),
        "dump_config": NpuDumpConfig,
        "aoe_config": NpuAoeConfig,
        "profiling_config": NpuProfilingConfig,
        "enable_small_channel": (False, SWITCH),
        "deterministic": (0, [0, 1, 2]),
        "op_precision_mode": _FREE,
        "graph_exec_timeout": _FREE,
        "logical_device_cluster_deploy_mode": ("LB", ["LB", "SINGLE"]),
        "logical_device_id": _FREE,
        "model_deploy_mode": _FREE,
        "model_deploy_devicelist": _FREE,
        "topo_sorting_mode": (None, [0, 1, 2, 3, None]),
        "insert_op_file": _FREE,
        "customize_dtypes": _FREE,
        "overflow_flag": (1, [0, 1]),
        "stream_sync_timeout": (-1, None),
        "event_sync_timeout": (-1, None),
        "external_weight": (False, [True, False, 0, 1, 2]),
        "memory_config": MemoryConfig,
        "jit_compile": ("auto", [True, False, "auto", "True", "False", "true", "false"]),
        "graph_compiler_cache_dir": _FREE,
        "graph_slice": _FREE,
        "static_model_ops_lower_limit": _FREE,
        "quant_dumpable": (None, ["0", "1"]),
        "execute_times": _FREE,
        "input_fusion_size": _FREE,
        "compile_dynamic_mode": (None, SWITCH),
        "export_compile_stat": (None, [0, 1, 2]),
        "aicore_num": _FREE,
        "oo_level": _FREE,
        "oo_constant_folding": (None, SWITCH),
        "oo_dead_code_elimination": (None, SWITCH),
        "input_batch_cpy": (None, SWITCH),
        "shape_generalization_mode": (None, ["STRICT", "FULL", "ADAPTIVE"]),
        "all_tensor_not_empty": (None, SWITCH),
        "auto_multistream_parallel_mode": _FREE,
        "optimization_switch": _FREE,
        "experimental": NpuExperimentalConfig,
    }


def all_groups() -> List[Tuple[str, type]]:
    """(module, class) of the classes that scripts may import from `npu_device.configs`."""
    return [
        ("npu_config", NpuConfig), ("dump_config", NpuDumpConfig),
        ("profiling_config", NpuProfilingConfig), ("aoe_config", NpuAoeConfig),
        ("memory_config", MemoryConfig), ("experimental_config", NpuExperimentalConfig),
        ("memory_optimize_config", GraphMemoryOptimizeConfig),
        ("multi_branches_config", NpuMultiBranchesConfig),
        ("logical_device_deploy_config", LogicalDeviceDeployConfig),
        ("npu_run_context_option", NpuRunContextOptions),
        ("option_base", OptionValue),
    ]
