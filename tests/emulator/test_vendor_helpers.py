"""Do npu_device's helpers do for one worker what the adapter's do, and say where they cannot?

What is expected here is computed by hand or numpy from the adapter's sources (hicann/tensorflow,
tf_adapter_2.x/python/npu_device).
"""
import pytest

ONE = [[1.0, 2.0], [3.0, 4.0]]


@pytest.fixture(scope="module")
def one_worker(observe):
    return observe("one_worker").result


@pytest.fixture(scope="module")
def collectives(one_worker):
    return one_worker["collectives"]


@pytest.fixture(scope="module")
def distributed(one_worker):
    return one_worker["distributed"]


@pytest.fixture(scope="module")
def scaled(one_worker):
    return one_worker["loss_scales"]


@pytest.fixture(scope="module")
def native(one_worker):
    return one_worker["native"]


@pytest.fixture(scope="module")
def two(observe):
    return observe("two_workers").result


@pytest.fixture(scope="module")
def compat(observe):
    return observe("compat")


def test_operators_of_hccl_give_one_worker_its_own_values(collectives):
    assert collectives["values"] == {"allreduce": ONE, "allgather": ONE, "broadcast": [ONE, 5],
                                     "reduce": ONE, "reduce_scatter": ONE}
    assert collectives["in graph"] == [[2.0, 4.0], [6.0, 8.0]]


def test_only_allreduce_has_a_gradient(collectives):
    assert collectives["gradient"] == [[2.0, 4.0], [6.0, 8.0]]
    assert collectives["errors"]["gradient"] == [
        "LookupError", "gradient registry has no entry for: HcomAllGather"]


@pytest.mark.parametrize("what, kind, words", [
    ("reduction", "ValueError", '"mean" is not in the list'),
    ("scalar", "ValueError", "at least rank 1"),
    ("root", "ValueError", "rank 0 only"),
    ("no list", "TypeError", "Expected list"),
    ("size", "NotImplementedError", "the call says 2"),
    ("send", "NotImplementedError", "dest_rank=1 would be another"),
    ("receive", "NotImplementedError", "src_rank=1 would be another"),
    ("remote_read", "NotImplementedError", "no remote memory")])
def test_what_operators_of_hccl_refuse(collectives, what, kind, words):
    error, text = collectives["errors"][what]
    assert error == kind and words in text
    if kind == "NotImplementedError":
        assert "(used in " in text and "observe_vendor.py, line " in text


def test_with_one_worker_nothing_is_reduced_or_sent(distributed):
    assert distributed["same"] is True and distributed["broadcast"] is None


def test_grouping_broadcast_returns_values_from_a_graph_of_its_name(distributed):
    assert distributed["grouping_broadcast"] == [[1.0, 2.0], 3.0]
    name, = distributed["graphs"]
    assert name.startswith("__inference_grouping_broadcast_")


def test_grouping_gradients_apply_applies(distributed):
    assert distributed["applied"] == [1.0 - 0.5 * 2.0, 2.0 - 0.5 * 4.0]


def test_variables_are_shared_out_by_bytes_to_neighbours(distributed):
    assert distributed["shares"] == [
        [0, 0, 1, 1, -1],     # even
        [0, 1, 1, 1, -1],     # a large one has a worker to itself
        [0, 0, 0, 1, 1, -1],  # 36 of 30 is as near as 24
        [0, 1, 2, -1],        # as many workers as variables
        [0, 0, -1]]           # one worker has all
    assert distributed["too many"] == [
        "ValueError", "'number' is greater than the number of vars or 'number' is less than 0. "]


def test_the_optimizer_wrapper_takes_a_name_and_changes_the_optimizer_in_place(distributed):
    assert distributed["by name"] and distributed["same optimizer"]
    assert distributed["no name"] == "ValueError"
    assert distributed["stepped"] == [0.0 - 0.5 * 2.0, 0.0 - 0.5 * 2.0]


def test_npu_callbacks(distributed):
    assert distributed["appended"] == [True, "NPUBroadcastGlobalVariablesCallback", 0, False, 1]
    assert distributed["pickled"] is True
    assert distributed["registry"] == 0 and distributed["registered"] == [1, True]
    assert distributed["model"] == [True, 5, 3]  # kernel and bias are registered, too
    assert distributed["scope"] == [True, False, "no strategy", True]


def test_a_dataset_is_sharded_in_a_job_of_several(two):
    assert two["shard"] == [[1, 3, 5], 4, "int"]
    assert two["uneven"] == ["ValueError", "Batch size must be divisible by num npus: 2"]


def test_collectives_of_several_workers_raise_and_name_the_line(two):
    for what, (kind, text) in two["errors"].items():
        assert kind == "NotImplementedError", what
        assert "RANK_SIZE says 2 (used in " in text and "observe_vendor.py, line " in text


def test_scopes_mark_operators_in_the_graph(observe):
    seen = observe("one_worker")
    name, = seen.result["scopes"]
    graph = seen.build_files()[name][0]
    marks = {operator.name: sorted(set(operator.attrs) & {
        "_keep_dtype", "_optimizer", "_backward", "_recompute"}) for operator in graph.ops}
    assert {name: marks[name] for name in ("kept", "optimized", "backward", "plain")} == {
        "kept": ["_keep_dtype"], "optimized": ["_optimizer"],
        "backward": ["_backward", "_recompute"], "plain": []}


def weights(steps):
    return [step[0] for step in steps]


def finite(steps):
    return [step[1] for step in steps]


def scales(steps):
    return [step[2] for step in steps]


def test_in_inf_nan_mode_keras_scales_and_last_step_finite_stays_false(scaled):
    assert scaled["first mode"] is True
    assert weights(scaled["inf nan"]) == [7.0, 7.0] and scales(scaled["inf nan"]) == [4.0, 2.0]
    assert finite(scaled["inf nan"]) == [False, False]


def test_in_saturation_mode_last_step_finite_tells(scaled):
    assert scaled["mode 0"] is False
    assert weights(scaled["saturation"]) == [7.0, 7.0, 6.5, 6.0]
    assert finite(scaled["saturation"]) == [True, False, True, True]
    # Halved by the overflow, which counts from anew; doubled after two finite steps.
    assert scales(scaled["saturation"]) == [4.0, 2.0, 2.0, 4.0]
    assert [step[3] for step in scaled["saturation"]] == [1, 2, 3, 4]
    assert scaled["floor"] == [8.0, False, 1.0, 1]


@pytest.mark.parametrize("which", ["fixed", "experimental"])
def test_a_fixed_scale_stays_and_an_overflow_is_not_applied(scaled, which):
    assert weights(scaled[which]) == [7.0, 7.0, 6.0]
    assert finite(scaled[which]) == [True, False, True]
    assert scales(scaled[which]) == [4.0, 4.0, 4.0]


def test_arguments_of_loss_scale_optimizers(scaled):
    assert scaled["experimental dynamic"] == 32768.0 and scaled["again"] == 16.0
    assert scaled["keyword"][0] == "TypeError" and scaled["fixed needs"] == "ValueError"
    assert scaled["classes"] == ["NpuLossScaleOptimizer", True]


def test_releases_of_2022_always_ask_the_device(scaled):
    assert finite(scaled["2022"]) == [True, False] and weights(scaled["2022"]) == [7.0, 7.0]


def test_set_device_sat_mode_changes_is_inf_nan_enabled(scaled):
    assert [scaled["first mode"], scaled["mode 0"], scaled["mode 2"], scaled["mode 1"]] == [
        True, False, False, True]  # 3 was refused with a line, and changed nothing
    assert scaled["modes"] == ["TypeError", "TypeError"]


def test_helpers_of_the_inner_module(native):
    assert native["repeat"] == [None, "TypeError"]
    assert native["compat function"] == [2, 3, 1]
    assert native["py_function"] == 4.0


def test_options_of_a_cluster(native):
    assert native["rank table"] == {"_distribute.rank_table": "table.json",
                                    "_distribute.rank_id": "3"}
    assert native["chief"] == {
        "_distribute.cm_chief_ip": "c", "_distribute.cm_chief_port": "1",
        "_distribute.cm_chief_worker_device": "2", "_distribute.cm_worker_ip": "w",
        "_distribute.cm_worker_size": "4"}
    assert native["no ip"][0] == native["no rank"][0] == "RuntimeError"
    assert native["rank size"] == "2" and native["both"][0] == "ValueError"


def test_symbols_become_layers_of_functional_models(native):
    assert native["symbols"] == [True, "math.double", None, "math.double"]
    assert native["functional"] == native["again"] == [[2.0, 4.0]]
    assert native["no symbol"] == ["ValueError", "NPU symbol `npu.none` could not be found."]
    assert native["not keras"] == "TypeError"


def test_the_session_config_builder(native):
    assert native["builder"] == ["NpuOptimizer", "allow_mix_precision"]


def test_every_name_of_compat_v1_gives_something(compat):
    assert compat.result["empty"] == []


def test_star_import_puts_tensorflow_1_in_place_of_tf(compat):
    assert compat.result["tf"] == "tensorflow.compat.v1"


def test_configurations_of_compat_v1(compat):
    seen = compat.result
    assert seen["proto"] == [["NpuOptimizer"], True, 2, -1]  # RewriterConfig.OFF, jit OFF
    assert seen["dump config"] == [True, "/d", "output", "a"]
    assert seen["config errors"] == ["ValueError", "ValueError", "ValueError", "TypeError",
                                     "TypeError"]
    assert seen["ranks"] == [0, 1, 0, 1]
    assert seen["marks"] == [True, "host", 2]


def test_a_session_trains_with_hooks_and_optimizer_of_compat_v1(compat):
    seen = compat.result
    assert seen["hooks"] == ["NPUBroadcastGlobalVariablesHook"]
    assert seen["weight"] == 0.5  # 4, 2, 1, 0.5: half of it each step
    assert [len(one) for one in seen["told"]] == [2, 2]
    assert seen["environment"] == ["3", "3"]


def test_estimators_train_where_tensorflow_has_them(compat):
    seen = compat.result
    if seen["estimators"]:
        assert seen["estimator"] == 2
    else:
        kind, text = seen["estimator"]
        assert kind == "NotImplementedError" and "has no estimators any more (used in " in text


def test_enable_v1_says_once_that_sessions_are_not_dumped(compat):
    assert compat.result["v1"] == [False, "0"]
    assert compat.stderr.count("nothing of them is dumped") == 1


def test_what_is_missing_says_who_uses_it_and_what_to_do(observe):
    seen = observe("one_worker")
    told = seen.result["missing_names"]
    place = "(used in %s, line 2)" % (seen.folder / "main.py")
    known = told["from npu_device.compat.v1.estimator.npu_ops import LARSV2"]
    assert known == ["ImportError", "npu_device.compat.v1.estimator.npu_ops.LARSV2: the emulator"
                     " does not have it %s. Put TensorFlow's own in its place to rehearse, or run"
                     " this part on the device." % place]
    unknown = told["from npu_device.distribute import made_up"]
    assert unknown == ["ImportError", "npu_device.distribute.made_up: npu_device has no such name"
                       " (adapter of 2026) %s. Correct the import or the attribute." % place]
    assert told["import npu_device.configs.experimental"] == [
        "ModuleNotFoundError", "No module named 'npu_device.configs.experimental'"]
    assert told["import npu_device.gen_npu_ops"][0] == "ModuleNotFoundError"
    kind, text = told["d.made_up"]
    assert kind == "AttributeError" and place.replace("line 2", "line 3") in text
