"""Which modules `npu_device...` consists of, and where each of their names comes from.

A row is a module as scripts import it: name -> source. A source is "module" or
"module:attribute", imported when the name is used for the first time; None is a name that
the adapter has and the emulator has not. The adapter's modules show what they import
(`tf`, `os`, `ops`), so these names are here, too: as the real modules.

Names and modules are those of the adapter of 2026 (hicann/tensorflow 82957b9,
tf_adapter_2.x/python/npu_device), measured in its source tree. `npu_device.compat.v1` is not in
that tree, but in every wheel: the build copies the TensorFlow 1 adapter there
(tf_adapter_2.x/compat_v1/CMakeLists.txt); its rows are in `emulator/compat_v1/v1_table.py`.
"""
from __future__ import annotations

from typing import Dict, Optional

from keras_npu_dump.emulator.api import global_options
from keras_npu_dump.emulator.compat_v1 import v1_table

Row = Dict[str, Optional[str]]

_HERE = "keras_npu_dump.emulator.vendor_modules."
_API = "keras_npu_dump.emulator.api."
_OPTIONS = _API + "global_options"


def _of(place: str, names: str) -> Row:
    """Names, separated by blanks, that all come from one module."""
    return {name: "%s:%s" % (place, name) for name in names.split()}


_OPENING = _of(_API + "npu_device", (
    "open global_options set_npu_loop_size npu_run_context set_device_sat_mode"
    " is_inf_nan_enabled npu_compat_function"))
_SCOPES = _API + "graph_scopes"
_WORKERS = "keras_npu_dump.emulator.distribute."
_COLLECTIVES = _WORKERS + "collectives"
_CALLBACKS = _WORKERS + "broadcast_callbacks"
_GROUPING = _WORKERS + "weight_grouping"
_LOSS_SCALE = _WORKERS + "loss_scale"
_NATIVE = _HERE + "native_helpers"
_CLUSTER = _WORKERS + "cluster_environment"
_DISTRIBUTE: Row = {
    **_of(_COLLECTIVES, "all_reduce broadcast"),
    **_of(_WORKERS + "sharding", "shard_and_rebatch_dataset"),
    **_of(_WORKERS + "distributed_optimizer", "npu_distributed_keras_optimizer_wrapper"),
}
_GROUPED = _of(_GROUPING, "grouping_gradients_apply grouping_broadcast")

# What modules of the adapter import, by the name that they give it.
_TENSORFLOW: Dict[str, str] = {
    "attr_value_pb2": "tensorflow.core.framework.attr_value_pb2",
    "context": "tensorflow.python.eager.context",
    "control_flow_ops": "tensorflow.python.ops.control_flow_ops",
    "def_function": "tensorflow.python.eager.def_function",
    "nest": "tensorflow.python.util.nest",
    "nn_ops": "tensorflow.python.ops.nn_ops",
    "ops": "tensorflow.python.framework.ops",
    "pydev": "tensorflow.python.framework.device",
    "random_seed": "tensorflow.python.framework.random_seed",
    "script_ops": "tensorflow.python.ops.script_ops",
    "smart_cond": "tensorflow.python.framework.smart_cond",
    "state_ops": "tensorflow.python.ops.state_ops",
    "tf": "tensorflow",
    "tf2": "tensorflow.compat.v2",
    "tf_contextlib": "tensorflow.python.util.tf_contextlib",
    "variable_scope": "tensorflow.python.ops.variable_scope",
    "variables": "tensorflow.python.ops.variables",
    "atexit": "atexit",
    "functools": "functools",
    "logging": "absl.logging",
    "numbers": "numbers",
    "os": "os",
    "threading": "threading",
    "weakref": "weakref",
}


def _imports(names: str) -> Row:
    return {name: _TENSORFLOW[name] for name in names.split()}


# The operators, and what takes the place of TensorFlow's functions, stand in rooms of their own.
_GEN_NPU_OPS: Row = {"gen_npu_ops": "keras_npu_dump.emulator.operators.gen_npu_ops"}
_CONVERSION = _API + "conversion."
_SYMBOLS = _CONVERSION + "npu_symbols"
OPERATORS: Dict[str, Row] = {
    "npu_device.ops.train_ops": {
        **_of(_CONVERSION + "train_ops", "gelu fast_gelu_grad"), **_GEN_NPU_OPS,
        "keras_tensor": _SYMBOLS + ":keras_tensor",
        "npu_wrapper": "npu_device.utils.npu_wrapper",
        **_imports("context nest nn_ops ops")},
    "npu_device.train.convert_dropout": {
        **_of(_CONVERSION + "convert_dropout", (
            "dropout_api_convert dropout_domask_grad grad_registry_list npu_dropout_v2")),
        **_GEN_NPU_OPS, **_imports("context nn_ops numbers ops random_seed tf tf2")},
    "npu_device.train.npu_convert": {
        **_of(_CONVERSION + "npu_convert", (
            "api_func_convert check_version_format dropout_convert judge_version_support"
            " npu_convert_api parse_range_version parse_star_ver parse_version"
            " parse_version_range verify_version")),
        "convert_dropout": "npu_device.train.convert_dropout",
        **_of(_API + "npu_device", "global_npu_ctx"),
        **_imports("context functools logging tf")},
}

_CONFIGS: Dict[str, Row] = {
    "npu_device.configs." + name: _of(_OPTIONS, " ".join(cls.__name__ for cls in classes))
    for name, classes in global_options.all_modules()}

TABLE: Dict[str, Row] = {
    "npu_device": {
        **_OPENING, **_GEN_NPU_OPS,
        **_of(_SCOPES, "keep_dtype_scope npu_recompute_scope"),
        # Not the packages of these names, which `from npu_device.distribute import ...` finds.
        **{name: "npu_device._api." + name
           for name in ("distribute", "train", "ops", "compat", "configs")}},
    "npu_device._api": {},
    "npu_device._api.compat": _of(_NATIVE, "enable_v1"),
    "npu_device._api.compat.v1": _of("npu_device.compat.utils", "SessionConfigBuilder"),
    "npu_device._api.configs": {"run_context_options": _OPTIONS + ":NpuRunContextOptions"},
    "npu_device._api.configs.experimental": {},
    "npu_device._api.distribute": {**_DISTRIBUTE, **_GROUPED},
    "npu_device._api.ops": _of("npu_device.ops.train_ops", "gelu"),
    "npu_device._api.train": {},
    "npu_device._api.train.optimizer": _of(_LOSS_SCALE, "NpuLossScaleOptimizer"),
    "npu_device.compat": {},
    "npu_device.compat.utils": {
        **_of("tensorflow.core.protobuf.rewriter_config_pb2", "RewriterConfig"),
        **_of(_HERE + "session_config", "SessionConfigBuilder"), **_imports("tf")},
    "npu_device.configs": {},
    **_CONFIGS,
    "npu_device.distribute": {},
    "npu_device.distribute.hccl": {
        **_DISTRIBUTE,
        **_of(_CALLBACKS, "NPUBroadcastGlobalVariablesCallback npu_callbacks_append"),
        **_of(_API + "npu_device", "global_npu_ctx npu_compat_function"),
        **_of(_SCOPES, "npu_gradients_scope npu_optimizer_scope"),
        "hccl_ops": "npu_device.distribute.hccl_ops", **_imports("logging tf")},
    "npu_device.distribute.hccl_ops": {
        **_of(_WORKERS + "hccl_operators", (
            "allgather allreduce broadcast receive reduce reduce_scatter remote_read"
            " remote_ref_read remote_scatter_write remote_write send")),
        "gen_hccl_ops": _GEN_NPU_OPS["gen_npu_ops"], **_imports("ops")},
    "npu_device.distribute.npu_callbacks": {
        **_of(_CALLBACKS, (
            "NPUBroadcastGlobalVariablesCallback NpuBroadcastScopeContext broadcast_helper"
            " broadcast_keras_model broadcast_registry npu_broadcast_scope_wrapper")),
        **_of(_CLUSTER, "get_ranksize"),
        "hccl": "npu_device.distribute.hccl", "keras": "tensorflow.python.keras",
        **_imports("control_flow_ops os state_ops tf weakref")},
    "npu_device.distribute.weight_update_grouping": {
        **_GROUPED, **_of(_GROUPING, "GroupingVars"),
        **_of(_API + "npu_device", "global_npu_ctx npu_compat_function"),
        "hccl": "npu_device.distribute.hccl",
        **_imports("attr_value_pb2 logging ops tf")},
    "npu_device.npu_device": {
        **_OPENING, **_GEN_NPU_OPS,
        **_of(_API + "npu_device", "NPU NpuDeviceHandle close global_npu_ctx"),
        **_of(_OPTIONS, "NpuConfig NpuRunContextOptions"),
        **_of(_NATIVE, ("NpuCompatEagerFunc enable_v1 stupid_repeat watch_op_register"
                        " wrap_cpu_only_api")),
        **_of(_CLUSTER, "get_ranksize set_cm_chief_worksize_env set_rank_table_file_env"),
        **_imports("atexit context def_function logging ops os pydev script_ops tf"
                   " tf_contextlib threading")},
    "npu_device.ops": {},
    "npu_device.train": {},
    "npu_device.train.optimizer": {},
    "npu_device.train.optimizer.npu_loss_scale_optimizer": {
        **_of(_LOSS_SCALE, "NpuExperimentalLossScaleOptimizer NpuLossScaleOptimizer"),
        **_of(_COLLECTIVES, "all_reduce"), **_GEN_NPU_OPS,
        **_of(_API + "npu_device", "global_npu_ctx is_inf_nan_enabled npu_compat_function"),
        **_imports("attr_value_pb2 nest ops smart_cond tf variable_scope variables")},
    "npu_device.utils": {},
    "npu_device.utils.npu_wrapper": _of(_SYMBOLS, (
        "NpuOpLambda backend core generic_utils get_npu_symbol_from_name"
        " get_one_name_for_npu_symbol npu_functional_support npu_symbol_register")),
    "npu_device.utils.scope": {
        **_of(_SCOPES, ("keep_dtype_scope npu_gradients_scope npu_optimizer_scope"
                        " npu_recompute_scope")),
        **_imports("attr_value_pb2 ops tf_contextlib")},
    **OPERATORS,
    **v1_table.TABLE,
}

# Names that nobody may see in `dir`, but that probes of the device look at.
PRIVATE: Dict[str, Row] = {
    "npu_device.npu_device": _of(_API + "npu_device", "_npu_device_instances"),
}


def loaded_at_import(name: str) -> bool:
    """Whether `import npu_device` alone brings this module, as in the adapter.

    Args:
      name: of a module of `TABLE`.
    """
    return not name.startswith(("npu_device.compat.v1", "npu_device.train.convert_dropout",
                                "npu_device.train.npu_convert"))
