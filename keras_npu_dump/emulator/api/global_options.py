"""The groups of npu_device's options, as scripts import them from `npu_device.configs`.

Only dump_config, the loop and enable_exception_dump mean something here; the rest is
accepted as the adapter accepts it, so that scripts run unchanged.
"""
from typing import List, Tuple

from keras_npu_dump.emulator.api.option_kinds import DeprecatedValue, NpuBaseConfig, OptionValue


class NpuDumpConfig(NpuBaseConfig):
    """Data dump and overflow detection."""


class NpuProfilingConfig(NpuBaseConfig):
    """Profiling."""


class NpuAoeConfig(NpuBaseConfig):
    """Tuning."""


class MemoryConfig(NpuBaseConfig):
    """Memory."""


class GraphMemoryOptimizeConfig(NpuBaseConfig):
    """Recomputation."""


class NpuMultiBranchesConfig(NpuBaseConfig):
    """Dynamic dimensions."""


class LogicalDeviceDeployConfig(NpuBaseConfig):
    """Deployment over devices."""


class ModelDeployConfig(NpuBaseConfig):
    """Deployment of models."""


class NpuExperimentalConfig(NpuBaseConfig):
    """Experimental options."""


class NpuRunContextOptions(NpuBaseConfig):
    """What `npu_device.npu_run_context` takes."""


class NpuConfig(NpuBaseConfig):
    """What `npu_device.global_options()` returns."""


_BASES = (NpuBaseConfig, OptionValue)
# Module of `npu_device.configs` -> the classes that it holds; the adapter's own come first.
_MODULES: List[Tuple[str, Tuple[type, ...]]] = [
    ("aoe_config", (NpuAoeConfig, *_BASES)),
    ("dump_config", (NpuDumpConfig, *_BASES)),
    ("experimental_config", (NpuExperimentalConfig, GraphMemoryOptimizeConfig,
                             LogicalDeviceDeployConfig, ModelDeployConfig,
                             NpuMultiBranchesConfig, *_BASES)),
    ("logical_device_deploy_config", (LogicalDeviceDeployConfig, *_BASES)),
    ("memory_config", (MemoryConfig, *_BASES)),
    ("memory_optimize_config", (GraphMemoryOptimizeConfig, *_BASES)),
    ("model_deploy_config", (ModelDeployConfig, *_BASES)),
    ("multi_branches_config", (NpuMultiBranchesConfig, *_BASES)),
    ("npu_config", (NpuConfig, DeprecatedValue, MemoryConfig, NpuAoeConfig, NpuDumpConfig,
                    NpuExperimentalConfig, NpuProfilingConfig, *_BASES)),
    ("npu_run_context_option", (NpuRunContextOptions, NpuExperimentalConfig, *_BASES)),
    ("option_base", (DeprecatedValue, *_BASES)),
    ("profiling_config", (NpuProfilingConfig, *_BASES)),
]


def all_modules() -> List[Tuple[str, Tuple[type, ...]]]:
    """(module, classes) of `npu_device.configs`."""
    return list(_MODULES)
