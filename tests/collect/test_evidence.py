"""When names, content and circumstance disagree, what is said, and how surely?"""
import os
import shutil

import pytest

from keras_npu_dump import collect
from keras_npu_dump.collector.checks.requested_steps import nearest
from keras_npu_dump.collector.graphs.body import read_body
from keras_npu_dump.collector.graphs.roles import role_by_operators
from keras_npu_dump.collector.pairing.candidate import Candidate
from keras_npu_dump.collector.rules.evidence import AGAINST, FOR, Evidence
from keras_npu_dump.op_types.graph_names import role_of
from tests.collect import making, nets
from tests.collect.making import EVAL, TIME, TRAIN, eval_ops, train_ops


def pair_of(manifest, name):
    return next(one for one in manifest.pairs if name in one.model_names)


def test_content_decides_over_the_name_and_the_contradiction_is_shown(tmp_path):
    """The folder is named like one graph and filled with the operators of another."""
    making.graph(tmp_path / "graphs", TRAIN, nets.train("other", [3, 3], 4), 3)
    making.graph(tmp_path / "graphs", "a_function_of_another_name", train_ops(), 4)
    making.steps(tmp_path, train_ops(), (0,), TRAIN)
    pair, = collect(str(tmp_path)).pairs
    assert pair.graph == "graphs/ge_proto_00000004_Build.txt"
    assert pair.confidence == "guess"
    assert any("content against name" in text and TRAIN in text for text in pair.evidence)


def test_a_name_that_only_the_content_denies_is_a_guess(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, nets.train("other", [3, 3], 4), 3)
    making.steps(tmp_path, train_ops(), (0,), TRAIN)
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert pair.confidence == "guess"
    assert any(text.startswith("contradicted: operators") for text in pair.evidence)
    assert "operator-foreign" in making.codes(manifest)


def test_shapes_that_deny_the_name_are_a_guess(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, nets.train("net", [9, 7, 5], 16), 3)
    making.steps(tmp_path, train_ops(), (0,), TRAIN)
    pair, = collect(str(tmp_path)).pairs
    assert pair.confidence == "guess"
    assert any(text.startswith("contradicted: dtypes and shapes") for text in pair.evidence)


def test_unknown_dimensions_agree_with_any_shape(tmp_path):
    ops = train_ops(batch=4)
    for op in ops:
        op.outputs = [(dtype, tuple(-1 if dim == 4 else dim for dim in shape))
                      for dtype, shape in op.outputs]
        op.inputs = [(dtype, (-2,)) for dtype, _ in op.inputs]
    making.graph(tmp_path / "graphs", TRAIN, ops, 3)
    making.steps(tmp_path, train_ops(batch=4), (0,))
    pair, = collect(str(tmp_path)).pairs
    assert pair.confidence == "exact"
    assert "dtypes and shapes: 8 of 8 sampled files agree with the graph" in pair.evidence


def test_the_journal_denies_folders_beyond_the_last_execution(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0, 5, 40))
    making.record(tmp_path, (0, 5), 8)
    pair, = collect(str(tmp_path)).pairs
    assert pair.confidence == "guess"
    assert any("8 executions" in text and "folder 40" in text for text in pair.evidence)


def test_two_graphs_that_nothing_tells_apart_are_a_guess_and_a_warning(tmp_path):
    for pid in (6, 7):
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_0" % pid), TRAIN, train_ops(), 3,
                     mtime=making.START + 10 ** 6)
    making.steps(tmp_path, train_ops(), (0,))
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert pair.confidence == "guess"
    problem, = [one for one in manifest.problems if one.code == "ambiguous-pair"]
    assert problem.severity == "warning" and "pid_6_" in problem.message + problem.hint
    assert "pid_7_" in problem.message


def test_ranks_that_overwrote_each_others_file_share_it_and_it_is_said(tmp_path):
    """Eight processes, one directory, the same numbers: one file is left for all."""
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    for rank in range(8):
        making.steps(tmp_path, train_ops(), (0,), device=rank)
    manifest = collect(str(tmp_path))
    assert [(pair.graph, pair.confidence, pair.device) for pair in manifest.pairs] == [
        ("graphs/ge_proto_00000003_Build.txt", "exact", rank) for rank in range(8)]
    assert all(any("overwrite each other" in text for text in pair.evidence)
               for pair in manifest.pairs)
    assert sorted(manifest.training) == ["device:%d" % rank for rank in range(8)]


def test_a_pair_by_content_alone(tmp_path):
    """A vendor's change of names: nothing but the operators says what belongs together."""
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    making.graph(tmp_path / "graphs", EVAL, eval_ops(), 4)
    making.steps(tmp_path, train_ops(), (0,), "model_0001")
    making.steps(tmp_path, eval_ops(), (0,), "model_0002", 6)
    manifest = collect(str(tmp_path))
    assert [(pair.model_names, pair.role, pair.confidence) for pair in manifest.pairs] == [
        (["model_0001"], "train", "content"), (["model_0002"], "eval", "content")]


def test_an_evaluation_whose_graph_is_lost_is_not_given_the_training_graph(tmp_path):
    """All its operators are in the training graph, too."""
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    making.steps(tmp_path, eval_ops(), (0,), "model_0002", 6)
    manifest = collect(str(tmp_path))
    assert manifest.pairs == [] and "no-pair" in making.codes(manifest, "error")


def test_two_operators_that_the_graph_lacks_are_too_many_for_content_alone(tmp_path):
    ops = train_ops()
    dumped = [one for one in ops if one.dumped]
    for strange, paired in ((1, 1), (2, 0)):
        left_out = dumped[-strange:]
        dump = tmp_path / str(strange)
        making.graph(dump / "graphs", TRAIN, [one for one in ops if one not in left_out], 3)
        making.steps(dump, ops, (0,), "model_0001")
        assert len(collect(str(dump)).pairs) == paired


def test_shapes_that_agree_for_the_most_part_are_too_few_for_content_alone(tmp_path):
    """The same net at another batch size: only weights and their updates have equal shapes."""
    making.graph(tmp_path / "graphs", TRAIN, train_ops(batch=16), 3)
    making.steps(tmp_path, train_ops(batch=4), (0,), "model_0001")
    manifest = collect(str(tmp_path))
    assert manifest.pairs == [] and "no-pair" in making.codes(manifest, "error")


def test_a_journal_that_knows_one_of_two_graphs_prefers_it_and_decides_nothing():
    knows = Evidence("journal", FOR, "it ran")
    denies = Evidence("journal", AGAINST, "it did not run")
    known, unknown, denied = (Candidate(None, None, found)
                              for found in ({"journal": knows}, {}, {"journal": denies}))
    assert known.key > unknown.key and not known.beats(unknown)
    assert known.key > denied.key and known.beats(denied)


def test_only_the_pbtxt_twin_is_left(tmp_path):
    """ge_onnx says less than ge_proto; it is used where nothing else is there."""
    text = ('ir_version: 6\nproducer_name: "ascend"\ngraph {\n  node {\n'
            '    name: "net/dense/MatMul"\n    op_type: "ge:MatMulV2"\n  }\n  name: "%s"\n}\n')
    path = tmp_path / "graphs/ge_onnx_00000003_graph_3_Build.pbtxt"
    path.parent.mkdir()
    path.write_text(text % TRAIN)
    making.graph(tmp_path / "graphs", EVAL, eval_ops(), 4, 4)
    twin = tmp_path / "graphs/ge_onnx_00000004_graph_4_Build.pbtxt"
    twin.write_text(text % EVAL)
    manifest = collect(str(tmp_path))
    assert [graph.file for graph in manifest.graphs] == [
        "graphs/ge_onnx_00000003_graph_3_Build.pbtxt", "graphs/ge_proto_00000004_graph_4_Build.txt"]


@pytest.mark.parametrize("content", [b"", b"graph {", b"\x00\x01\x02", b"graph {\n  name: \"x",
                                     b"no graph at all\n"])
def test_a_broken_graph_file_is_told_and_the_others_still_pair(tmp_path, content):
    making.plain_job(tmp_path)
    (tmp_path / "graphs/pid_7_deviceid_0/ge_proto_00000009_graph_9_Build.txt").write_bytes(content)
    manifest = collect(str(tmp_path))
    assert making.codes(manifest) == ["unreadable"]
    assert [pair.confidence for pair in manifest.pairs] == ["exact", "exact"]
    assert manifest.graphs[-1].name in (None, "")


def test_a_graph_file_that_was_cut_off_still_has_its_name(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    path = str(tmp_path / "graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt")
    os.truncate(path, os.path.getsize(path) // 2)
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert (pair.confidence, pair.role) == ("exact", "train")
    assert manifest.graphs[0].op_count is None
    assert making.codes(manifest) == ["unreadable"]


def test_the_body_is_read_only_where_it_is_needed(tmp_path):
    making.plain_job(tmp_path)
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", "__inference_predict_function_99",
                 eval_ops(), 8, 8)
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", "nobody_knows_what", eval_ops(), 9, 9)
    manifest = collect(str(tmp_path))
    assert {graph.name: graph.op_count is not None for graph in manifest.graphs} == {
        TRAIN: True, EVAL: True, "__inference_predict_function_99": False,
        "nobody_knows_what": True}


@pytest.mark.parametrize("name, role", [
    ("__inference_train_function_328", "train"), ("__inference_test_function_9", "eval"),
    ("__inference_predict_function_1", "predict"), ("dp_init_AnonymousIterator0", "iterator"),
    ("__inference_one_step_on_data_12", "train"),
    ("__inference_one_step_on_data_distributed_12", "predict"),
    ("__inference_multi_step_on_iterator_12", "unknown"),
    ("ge_default_20230713074125_11", "unknown"),
    ("AssignVariableOp_3", "init"), ("__inference_initialize_variables_44", "init"),
    ("set_loop_var", "init"), ("ResNet-50_0", "unknown"), ("", "unknown"), (None, "unknown")])
def test_roles_by_name(name, role):
    assert role_of(name) == role


@pytest.mark.parametrize("file, role", [
    ("variable_init.ge_proto_00000000_Build.txt", "init"),
    ("small_train_2020.ge_proto_00056_Build.txt", "forward"),
    ("offline_resnet50.ge_proto_00000062_Build.txt", "forward")])
def test_roles_of_real_graphs_by_their_operators(shared_fixtures, file, role):
    path = str(shared_fixtures / "graphs" / file)
    assert role_by_operators(read_body(path, os.path.getsize(path)))[0] == role


def test_an_eager_update_is_no_training_graph(tmp_path):
    tensor = ("DT_FLOAT", (3,))
    ops = [nets.Op("kernel", "Variable", [], [tensor], dumped=False),
           nets.Op("arg_1", "Data", [], [tensor], dumped=False),
           nets.Op("ResourceApplyGradientDescent", "ResourceApplyGradientDescent", [tensor] * 2, [],
              ["kernel:0", "arg_1:0"])]
    path = making.graph(tmp_path, "ResourceApplyGradientDescent_7", ops)
    assert role_by_operators(read_body(path, os.path.getsize(path)))[0] == "init"


def test_stopping_a_gradient_is_not_computing_one(tmp_path):
    ops = eval_ops() + [nets.Op("StopGradient", "StopGradient", [("DT_FLOAT", (1,))],
                                [("DT_FLOAT", (1,))])]
    making.graph(tmp_path / "graphs", "some_name", ops, 3)
    assert collect(str(tmp_path)).graphs[0].role == "eval"


def test_launches_of_one_day_are_kept_apart(tmp_path):
    """Three trainings one after the other on one device, without records."""
    for number in range(3):
        start = making.START + 120 * number
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_0" % (50 - number)), TRAIN, train_ops(), 3,
                     mtime=start + 1)
        making.step(tmp_path, "2030031717%02d40/0/%s/5/0" % (46 + 2 * number, TRAIN), train_ops(),
                    start + 2)
    manifest = collect(str(tmp_path))
    assert [(pair.time, pair.graph.split("/")[1], pair.confidence) for pair in manifest.pairs] == [
        ("20300317174640", "pid_50_deviceid_0", "exact"),
        ("20300317174840", "pid_49_deviceid_0", "exact"),
        ("20300317175040", "pid_48_deviceid_0", "exact")]
    assert manifest.training == {"device:0": [2]}


def test_containers_that_all_call_their_device_0_are_one_launch(tmp_path):
    for rank in range(3):
        pid = 100 - rank
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_0" % pid), TRAIN, train_ops(), 3)
        making.step(tmp_path, "2030031717464%d/0/%s/5/0" % (rank, TRAIN), train_ops(),
                    making.START + 30 + rank)
        making.record(tmp_path, (0,), 1, run_id="rank%d" % rank, rank=rank, pid=pid,
                      started=making.iso(making.START - 1 + rank), options={"dump_step": "0"})
    manifest = collect(str(tmp_path))
    assert [(pair.rank, pair.graph.split("/")[1]) for pair in manifest.pairs] == [
        (0, "pid_100_deviceid_0"), (1, "pid_99_deviceid_0"), (2, "pid_98_deviceid_0")]
    assert sorted(manifest.training) == ["0", "1", "2"] and manifest.problems == []


def test_a_second_time_folder_and_extra_levels_above(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.step(tmp_path, "%s/20300317174641/0/%s/5/0" % (TIME, TRAIN), train_ops())
    making.record(tmp_path, (0,), 1, options={"dump_step": "0"})
    pair, = collect(str(tmp_path)).pairs
    assert (pair.time, pair.confidence) == (TIME, "exact")
    assert pair.steps[0].path == "%s/20300317174641/0/%s/5/0" % (TIME, TRAIN)
    assert pair.steps[0].iteration is not None


def test_trees_of_two_hosts_side_by_side(tmp_path):
    for host in ("rank_0", "rank_1"):
        making.step(tmp_path, "%s/%s/0/%s/5/0" % (host, TIME, TRAIN), train_ops())
        making.graph(tmp_path / host / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    manifest = collect(str(tmp_path))
    assert sorted(step.path.split("/")[0] for pair in manifest.pairs for step in pair.steps) == [
        "rank_0", "rank_1"]


def test_nearest_names():
    names = ["model/dense/MatMul", "model/dense/BiasAdd", "model/dense_1/MatMul", "loss/Mean"]
    assert nearest("dense/MatMul", names)[0] == "model/dense/MatMul"
    assert nearest("model/dense/matmul", names)[0] == "model/dense/MatMul"
    assert nearest("quite another thing", names) == []


def test_a_leaf_that_was_copied_alone(tmp_path):
    """Neither time nor device: the files, and a folder of graphs, are all there is."""
    making.step(tmp_path, "%s/5/0" % TRAIN, train_ops())
    making.step(tmp_path, "leaf", train_ops())
    making.graph(tmp_path / "g", TRAIN, train_ops(), 3)
    making.graph(tmp_path / "g", EVAL, eval_ops(), 4)
    named, = collect(str(tmp_path / TRAIN / "5" / "0"), graphs=[str(tmp_path / "g")]).pairs
    assert (named.role, named.time, named.device) == ("train", None, None)
    bare, = collect(str(tmp_path / "leaf"), graphs=[str(tmp_path / "g")]).pairs
    assert (bare.role, bare.confidence, bare.model_names) == ("train", "content", [])


def test_numbered_folders_that_are_no_dump_are_passed_over(tmp_path):
    making.plain_job(tmp_path)
    for path in ("0/images/1/2/cat.jpg", "checkpoints/0/model/1/3/weights.h5"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x")
    manifest = collect(str(tmp_path))
    assert len(manifest.pairs) == 2 and manifest.problems == []


def test_an_overflow_dump_owes_no_files(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    where = "%s/0/%s/5/3" % (TIME, TRAIN)
    making.step(tmp_path, where, train_ops(), only=["net/dense/MatMul"])
    (tmp_path / where / "Opdebug.Node_OpDebug.0.3.1900000005000000").write_bytes(
        making.files.dump_file("Node_OpDebug", 1, [], [("DT_FLOAT", (512,))]))
    making.record(tmp_path, (), None, options={"enable_dump": False, "enable_dump_debug": True})
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert pair.confidence == "exact"
    assert pair.steps[0].kinds == {"dump": 1, "overflow": 1}
    assert manifest.problems == []


def test_a_process_of_a_large_job_reads_its_own_device_alone(tmp_path, monkeypatch):
    making.plain_job(tmp_path)
    for device in range(1, 5):
        making.steps(tmp_path, train_ops(), (0,), device=device)
    listed = []
    from keras_npu_dump.collector.scan import dump_tree

    real = dump_tree._list
    monkeypatch.setattr(dump_tree, "_list", lambda path, problems: (
        listed.append(path) or real(path, problems)))
    manifest = collect(str(tmp_path), run_id="run")
    assert len(manifest.pairs) == 2
    assert not [path for path in listed if "/%s/1/" % TIME in path + "/"]


def test_a_copied_folder_answers_from_its_own_graphs(tmp_path):
    """The records name, by absolute paths, where the folder was before; that is still there."""
    making.plain_job(tmp_path / "before")
    making.record(tmp_path / "before", (0, 5), 8, cwd=str(tmp_path),
                  environment={"DUMP_GRAPH_PATH": str(tmp_path / "before/graphs")})
    shutil.copytree(str(tmp_path / "before"), str(tmp_path / "copy"))
    manifest = collect(str(tmp_path / "copy"))
    assert all(graph.file.startswith("graphs/") for graph in manifest.graphs)
    assert [pair.confidence for pair in manifest.pairs] == ["exact", "exact"]


def test_graphs_of_an_older_ge_lie_where_the_training_ran(tmp_path):
    """It knew no DUMP_GRAPH_PATH, so that the folder in the record stays empty."""
    making.plain_job(tmp_path / "dump", evaluate=False)
    shutil.move(str(tmp_path / "dump/graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt"),
                str(tmp_path / "ge_proto_00003_Build.txt"))
    making.record(tmp_path / "dump", (0, 5), 8, cwd=str(tmp_path),
                  environment={"DUMP_GRAPH_PATH": str(tmp_path / "dump/graphs")})
    pair, = collect(str(tmp_path / "dump")).pairs
    assert (pair.graph, pair.confidence) == (str(tmp_path / "ge_proto_00003_Build.txt"), "exact")


def test_operators_that_ran_outside_any_graph_are_no_error(tmp_path):
    making.plain_job(tmp_path)
    making.step(tmp_path, "%s/0" % TIME, nets.initialise("lonely", (3,)))
    manifest = collect(str(tmp_path))
    assert len(manifest.pairs) == 2
    assert making.codes(manifest) == ["single-operator"] and manifest.errors == []


@pytest.mark.parametrize("device", ["0", "7"])
@pytest.mark.parametrize("name", [
    "te_gatherv2_064b.5.1.0.3.20240912164014958", "exception_info.5.1.1706152473105513",
    "GatherV2.embedding_GatherV2.5.1.1706152473105513"])
def test_an_exception_dump_inside_is_told_in_one_line(tmp_path, device, name):
    making.plain_job(tmp_path)
    before = collect(str(tmp_path))
    folder = tmp_path / "extra-info" / "data-dump" / device
    folder.mkdir(parents=True)
    (folder / name).write_bytes(b"\0" * 100)
    (folder / "5.1.20240912164014958.bin").write_bytes(b"\0" * 100)
    manifest = collect(str(tmp_path))
    assert manifest.pairs == before.pairs
    assert making.codes(manifest) == [*making.codes(before), "exception-files"]
    assert [one.path for one in manifest.problems if one.code == "exception-files"] == [
        os.path.join("extra-info", "data-dump")]
    for path in (folder, folder.parent, folder.parent.parent):
        manifest = collect(str(path), write=False)
        assert not manifest.pairs and "exception-files" in making.codes(manifest)
