"""The modules `npu_device.compat.v1...` and where their names come from (see `module_table`).

The adapter's build copies the TensorFlow 1 adapter (npu_bridge) here and puts
tensorflow.compat.v1 in place of tensorflow, also under the name `tf` that
`from npu_device.compat.v1.npu_init import *` gives a script (tf_adapter_2.x/compat_v1/
upgrade_tf1_compat_tf2.py). Left out by the build: loss scaling. Left out here: what only
sessions with an NPU can do, name by name (None), and dataset_ops, npu_saver, npu_rnn.
"""
from __future__ import annotations

from typing import Dict, Optional

Row = Dict[str, Optional[str]]

_HERE = "keras_npu_dump.emulator.compat_v1."
_API = "keras_npu_dump.emulator.api."
_V1 = "npu_device.compat.v1"
_NPU = _V1 + ".estimator.npu."


def _of(place: str, names: str) -> Row:
    return {name: "%s:%s" % (place, name) for name in names.split()}


def _none(names: str) -> Row:
    return dict.fromkeys(names.split())


_CONFIGS = _of(_HERE + "v1_configs", (
    "NPURunConfig ProfilingConfig MemoryConfig DumpConfig DynamicInputConfig"))
_HOOKS = _of(_HERE + "v1_hooks", (
    "NPUCheckpointSaverHook NPUOutputTensorHook NPUBroadcastGlobalVariablesHook"
    " SetIterationsVarHook TellMeStepOrLossHook"))
_OPTIMIZERS = _of(_HERE + "v1_optimizers", (
    "NPUDistributedOptimizer NPUOptimizer KerasDistributeOptimizer"
    " npu_distributed_optimizer_wrapper npu_allreduce"))
_ESTIMATORS = _of(_HERE + "v1_estimators", "NPUEstimator NPUEstimatorSpec")
_SESSIONS = _HERE + "v1_sessions"
_RANKS = _HERE + "v1_hccl"
_GEN = {"gen_npu_ops": "keras_npu_dump.emulator.operators.gen_npu_ops"}
_CALLBACK = _of("keras_npu_dump.emulator.distribute.broadcast_callbacks",
                "NPUBroadcastGlobalVariablesCallback")
_TF = {"tf": "tensorflow.compat.v1"}

TABLE: Dict[str, Row] = {
    _V1: {
        "helper": _V1 + ".helper.helper", "hccl_ops": _V1 + ".hccl.hccl_ops",
        "npu_estimator": _NPU + "npu_estimator", "atexit": "atexit",
        **_of(_HERE + "v1_resources", "npu_bridge_handle npu_close")},
    _V1 + ".npu_init": {
        **_CONFIGS, **_HOOKS, **_OPTIMIZERS, **_ESTIMATORS, **_CALLBACK,
        **_of(_SESSIONS, (
            "decorator_tf_session npu_config_proto npu_graph_options npu_optimizer_options"
            " npu_run_config_init set_keras_session_npu_config init_resource shutdown_resource"
            " close_session npu_clear_session experimental_options")),
        **_of(_RANKS, (
            "get_npu_rank_id get_npu_local_rank_id get_npu_rank_size get_npu_local_rank_size"
            " create_group destroy_group get_rank_size get_local_rank_size get_rank_id"
            " get_local_rank_id get_world_rank_from_group_rank get_group_rank_from_world_rank"
            " set_split_strategy_by_idx set_split_strategy_by_size")),
        **_of(_HERE + "v1_hooks", "NpuEmptyHook npu_hooks_append"),
        **_of("keras_npu_dump.emulator.distribute.broadcast_callbacks", "npu_callbacks_append"),
        **_of(_HERE + "v1_optimizers", "npu_keras_optimizer npu_tf_optimizer"),
        **_of("tensorflow.core.protobuf.rewriter_config_pb2", "RewriterConfig"),
        **_of(_HERE + "v1_sessions", "backend"),
        "npu_ops": _V1 + ".estimator.npu_ops", "npu_scope": _NPU + "npu_scope",
        "keras_to_npu": _NPU + "keras_to_npu", "npu_strategy": _NPU + "npu_strategy",
        "util": _NPU + "util", "npu_plugin": _NPU + "npu_plugin",
        "npu_unary_ops": _GEN["gen_npu_ops"], "hccl_ops": _V1 + ".hccl.hccl_ops",
        "profiler": _V1 + ".profiler.profiler", "npu_cpu_ops": _V1 + ".npu_cpu.npu_cpu_ops",
        "config_pb2": "tensorflow.core.protobuf.config_pb2",
        "rewriter_config_pb2": "tensorflow.core.protobuf.rewriter_config_pb2",
        "session": "tensorflow.python.client.session",
        "session_run_hook": "tensorflow.python.training.session_run_hook",
        "os": "os", **_TF, **_none("npu_rnn scoped_graph_manager")},
    _V1 + ".estimator": {},
    _V1 + ".estimator.npu": {},
    _NPU + "npu_config": {
        **_CONFIGS, **_of(_HERE + "v1_configs", (
            "ExperimentalConfig GraphMemoryOptimizeConfig NpuExecutePlacement")),
        **_of(_SESSIONS, "decorator_tf_session")},
    _NPU + "npu_estimator": _ESTIMATORS,
    _NPU + "npu_hook": {**_HOOKS, **_none(
        "NPUShutDownHook NPULogOutfeedSessionHook NPUInfeedOutfeedSessionHook"
        " broadcast_global_variables")},
    _NPU + "npu_optimizer": _OPTIMIZERS,
    _NPU + "npu_callbacks": _CALLBACK,
    _NPU + "npu_scope": _of(_HERE + "v1_scopes", (
        "without_npu_compile_scope npu_variable_scope keep_dtype_scope npu_stage_scope"
        " npu_mem_type_scope npu_weight_prefetch_scope op_specified_engine_scope"
        " npu_qos_label_scope subgraph_multi_dims_scope npu_optimizer_scope npu_recompute_scope"
        " npu_graph_slice_scope disable_autofuse limit_core_num_scope")),
    _NPU + "npu_plugin": {
        **_of(_API + "npu_device", "set_device_sat_mode is_inf_nan_enabled"),
        **_of(_HERE + "v1_resources", "npu_resource_init npu_resource_shutdown npu_close"),
        **_none("init_rdma_pool rdma_remote_register rdma_remote_init get_var_addr_and_size"
                " malloc_shared_memory get_rdma_cache")},
    _NPU + "npu_strategy": _of(_HERE + "v1_estimators", "NPUStrategy"),
    _NPU + "keras_to_npu": _of(_HERE + "v1_estimators", "model_to_npu_estimator"),
    _NPU + "util": {
        **_of(_HERE + "v1_checks", (
            "check_not_none check_positive_integer check_nonnegative_integer check_bool_type"
            " convert_bool_to_int format_string check_path check_aoe_mode"
            " check_profiling_options variable_initializer_in_host set_iteration_per_loop"
            " IterationPerLoop global_dict_init set_value get_value")),
        **_of("keras_npu_dump.emulator.distribute.cluster_environment", "get_ranksize")},
    _V1 + ".estimator.npu_ops": {
        **_of(_API + "conversion.convert_dropout", "dropout"),
        **_of("keras_npu_dump.emulator.operators.gen_npu_ops", "basic_lstm_cell"),
        **_GEN, **_TF, **_none(
            "NPUInit NPUShutdown initialize_system shutdown_system LARS LARSV2"
            " adam_apply_one_assign adam_apply_one_with_decay_assign"
            " outfeed_dequeue_op outfeed_enqueue_op stop_outfeed_dequeue_op")},
    _V1 + ".estimator.npu_unary_ops": {"npu_unary_ops": _GEN["gen_npu_ops"]},
    _V1 + ".hccl": {},
    _V1 + ".hccl.hccl_ops": {
        **_of("npu_device.distribute.hccl_ops", (
            "allreduce broadcast reduce send receive remote_read remote_ref_read remote_write"
            " remote_scatter_write")),
        **_of(_RANKS, "allgather reduce_scatter"),
        **_none("gather_all_to_all_v all_to_all_v all_to_all_v_c"),
        "gen_hccl_ops": _GEN["gen_npu_ops"]},
    _V1 + ".helper": {},
    _V1 + ".helper.helper": _of(_HERE + "v1_resources", "npu_bridge_handle get_gen_ops"),
    _V1 + ".npu_cpu": {},
    _V1 + ".npu_cpu.npu_cpu_ops": {"gen_npu_cpu_ops": _GEN["gen_npu_ops"]},
    _V1 + ".profiler": {},
    _V1 + ".profiler.profiler": _of(_HERE + "v1_resources", "Profiler"),
}
