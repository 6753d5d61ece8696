"""The cases of the reference (users, section 3) that concern folders and graphs.

Each test is named after its case: number, then what happened to somebody.
"""
import os

import pytest

from keras_npu_dump import collect
from keras_npu_dump.sizes import human_bytes
from tests.collect import files, making, nets
from tests.collect.making import EVAL, TIME, TRAIN, eval_ops, train_ops


def only(manifest, code):
    found = [one for one in manifest.problems if one.code == code]
    assert len(found) == 1, manifest.problems
    return found[0]


def test_case_05_the_graph_has_no_step_id_and_leaves_nothing(tmp_path):
    """Other graphs have folders, so dump was on; the training graph cannot tell its steps."""
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    making.graph(graphs, TRAIN, train_ops(step_id=False), 3)
    making.graph(graphs, EVAL, eval_ops(), 4)
    making.steps(tmp_path, eval_ops(), (0,), EVAL, 6)
    making.record(tmp_path, (0,), 3, options={"dump_step": "0"})
    problem = only(collect(str(tmp_path)), "step-missing")
    assert problem.severity == "error"
    assert "no step id" in problem.message and "without dump_step" in problem.hint


def test_case_05_an_empty_time_folder(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(step_id=False), 3)
    os.makedirs(str(tmp_path / TIME / "0"))
    making.record(tmp_path, (0,), 3, options={"dump_step": "0"})
    manifest = collect(str(tmp_path))
    assert "no step id" in only(manifest, "not-dumped").message
    assert manifest.pairs == []


def test_case_06_a_loop_on_the_device_makes_odd_numbers(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0, 5, 10))
    making.record(tmp_path, (), None, options={"dump_step": "0|5|10"},
                  environment={"NPU_LOOP_SIZE": "100"})
    manifest = collect(str(tmp_path))
    assert [step.data_index for step in manifest.pairs[0].steps] == [0, 5, 10]
    assert any("NPU_LOOP_SIZE=100" in one.message for one in manifest.problems
               if one.code == "index-uncertain")


def test_case_07_no_data_index_level(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(step_id=False), 3)
    making.step(tmp_path, "%s/0/%s/5" % (TIME, TRAIN), train_ops())
    making.record(tmp_path, (0,), 1, options={"dump_step": ""})
    manifest = collect(str(tmp_path))
    step, = manifest.pairs[0].steps
    assert (step.data_index, step.model_id, step.iteration) == (None, 5, None)
    assert making.codes(manifest, "error") == []
    assert "no data_index" in only(manifest, "index-uncertain").message


def test_case_17_cards_start_a_second_apart_and_leave_several_time_folders(tmp_path):
    for rank in range(4):
        pid = 100 + rank
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_%d" % (pid, rank)), TRAIN, train_ops(), 3)
        making.steps(tmp_path, train_ops(), (0, 5), device=rank,
                     time="2030031717464%d" % (rank // 2))
        making.record(tmp_path, (0, 5), 8, run_id="rank%d" % rank, rank=rank, device=rank, pid=pid)
    manifest = collect(str(tmp_path))
    assert sorted(manifest.training) == ["0", "1", "2", "3"]
    for rank in range(4):
        position, = manifest.training[str(rank)]
        pair = manifest.pairs[position]
        assert "pid_%d_" % (100 + rank) in pair.graph and pair.confidence == "exact"
        assert [step.iteration["batch"] for step in pair.steps] == [0, 1]
    assert manifest.problems == []


@pytest.mark.parametrize("name, folder", [
    ("ge_default_20230713074125", "ge_default_20230713074125_sub_1_unknow"),
    ("ResNet-50_0", "ResNet-50_0"),
    ("ge_default_20230118103502", "ge_default_20230118103502"),
    ("ge_default_20230713074125", "ge_default_20230713074125_sub_0_input"),
    ("a graph/with.odd\\signs", "a_graph_with_odd_signs"),
])
def test_case_19_names_without_two_numbers(tmp_path, name, folder):
    making.graph(tmp_path / "graphs", name, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0,), folder)
    pair, = collect(str(tmp_path)).pairs
    assert pair.model_names == [folder]
    assert pair.confidence in ("exact", "id")


def test_case_20_step_9_comes_before_step_10(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (10, 9, 100, 2))
    pair, = collect(str(tmp_path)).pairs
    assert [step.data_index for step in pair.steps] == [2, 9, 10, 100]


def test_case_22_no_graph_has_the_word_iterator(tmp_path):
    """A network fed by hand: its graphs have Data operators only."""
    ops = train_ops(iterator=False)
    making.graph(tmp_path / "graphs", TRAIN, ops, 3)
    making.graph(tmp_path / "graphs", EVAL, eval_ops(iterator=False), 4)
    making.steps(tmp_path, ops, (0,))
    manifest = collect(str(tmp_path))
    assert [(pair.role, pair.confidence) for pair in manifest.pairs] == [("train", "exact")]
    assert [graph.has_iterator for graph in manifest.graphs] == [False, None]


def test_case_23_training_and_validation_both_have_an_iterator(tmp_path):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path))
    assert {pair.role: pair.model_names for pair in manifest.pairs} == {
        "train": [TRAIN], "eval": [EVAL]}
    assert [graph.has_iterator for graph in manifest.graphs] == [True, True]
    assert [manifest.pairs[one].role for one in manifest.training["0"]] == ["train"]


def test_case_23_keras_3_calls_training_and_validation_alike(tmp_path):
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    names = ["__inference_multi_step_on_iterator_%d" % number for number in (900, 1200)]
    making.graph(graphs, names[0], eval_ops(), 3)
    making.graph(graphs, names[1], train_ops(optimizer="sub"), 4)
    making.steps(tmp_path, eval_ops(), (0,), names[0], 5)
    making.steps(tmp_path, train_ops(optimizer="sub"), (0,), names[1], 6)
    manifest = collect(str(tmp_path))
    assert [(pair.model_names[0], pair.role) for pair in manifest.pairs] == [
        (names[0], "eval"), (names[1], "train")]


def test_case_25_the_first_file_is_the_initialisation_graph(shared_fixtures, tmp_path):
    """A real one, found in public."""
    with open(str(shared_fixtures / "graphs/variable_init.ge_proto_00000000_Build.txt"),
              "rb") as stream:
        files.write(str(tmp_path / "graphs/ge_proto_00000000_Build.txt"), stream.read())
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 7)
    making.steps(tmp_path, train_ops(), (0,))
    manifest = collect(str(tmp_path))
    assert [(graph.role, graph.name) for graph in manifest.graphs] == [
        ("init", "ge_default_20230713074122_1"), ("train", TRAIN)]
    assert manifest.pairs[0].graph == "graphs/ge_proto_00000007_Build.txt"


def test_case_26_files_of_other_stages_have_the_same_graph(tmp_path):
    making.plain_job(tmp_path)
    folder = tmp_path / "graphs/pid_7_deviceid_0"
    for number, stage in enumerate(("PreRunBegin", "PreRunAfterBuild", "AfterBuildModel",
                                    "BeforePreBuildModel", "RunCustomPass_Build_x")):
        making.graph(folder, TRAIN, train_ops(), file_name="ge_proto_%08d_graph_3_%s.txt" % (
            10 + number, stage))
        making.graph(folder, TRAIN, train_ops(), file_name="ge_onnx_%08d_graph_3_%s.pbtxt" % (
            10 + number, stage))
    manifest = collect(str(tmp_path))
    assert [graph.file for graph in manifest.graphs] == [
        "graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt",
        "graphs/pid_7_deviceid_0/ge_proto_00000004_graph_4_Build.txt"]
    assert manifest.problems == []


@pytest.mark.parametrize("variable, folder", [
    ("NPU_COLLECT_PATH", "somewhere/extra-info/graph/7_0"),
    ("DUMP_GRAPH_PATH", "somewhere/pid_7_deviceid_0"),
    ("ASCEND_WORK_PATH", "somewhere"),
    ("ASCEND_DUMP_PATH", "somewhere/pid_7_deviceid_0"),  # by the documentation alone
    (None, "cwd"),
])
def test_case_27_graphs_lie_where_a_variable_of_the_training_said(tmp_path, variable, folder):
    making.graph(tmp_path / folder, TRAIN, train_ops(), 3)
    making.steps(tmp_path / "dump", train_ops(), (0, 5))
    environment = {variable: str(tmp_path / "somewhere")} if variable else {}
    making.record(tmp_path / "dump", (0, 5), 8, environment=environment,
                  cwd=str(tmp_path / "cwd"))
    pair, = collect(str(tmp_path / "dump")).pairs
    assert pair.graph == str(tmp_path / folder / "ge_proto_00000003_Build.txt")
    assert pair.confidence == "exact"


@pytest.mark.parametrize("variable, folder", [
    ("NPU_COLLECT_PATH", "somewhere/extra-info/graph/7_0"),
    ("DUMP_GRAPH_PATH", "somewhere/pid_7_deviceid_0"),
    ("ASCEND_WORK_PATH", "somewhere"),
    ("ASCEND_DUMP_PATH", "somewhere/pid_7_deviceid_0"),  # by the documentation alone
    (None, "cwd"), (None, "cwd/pid_7_deviceid_0"),
])
def test_case_27_by_hand_in_the_shell_that_trained(tmp_path, variable, folder, monkeypatch):
    """No records: the variables of this shell, then this directory."""
    making.graph(tmp_path / folder, TRAIN, train_ops(), 3)
    making.steps(tmp_path / "dump", train_ops(), (0, 5))
    (tmp_path / "cwd").mkdir(exist_ok=True)
    monkeypatch.chdir(str(tmp_path / "cwd"))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "somewhere"))
    pair, = collect(str(tmp_path / "dump")).pairs
    assert (pair.graph, pair.confidence) == (
        str(tmp_path / folder / "ge_proto_00000003_Build.txt"), "exact")


@pytest.mark.parametrize("layout", ["graphs", "graphs/pid_7_deviceid_0", "graphs/a/b/c", "",
                                    "pid_7_deviceid_0", "extra-info/graph/7_0"])
def test_case_27_graphs_lie_beside_the_dump(tmp_path, layout):
    making.graph(tmp_path / layout, TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0,))
    assert collect(str(tmp_path)).pairs[0].confidence == "exact"


def test_case_27_a_folder_or_a_file_is_named(tmp_path):
    making.graph(tmp_path / "far/away", TRAIN, train_ops(), 3)
    making.steps(tmp_path / "dump", train_ops(), (0,))
    for named in ("far", "far/away", "far/away/ge_proto_00000003_Build.txt"):
        manifest = collect(str(tmp_path / "dump"), graphs=[str(tmp_path / named)])
        assert manifest.pairs[0].confidence == "exact"


def test_case_29_only_other_stages_were_written(tmp_path):
    making.steps(tmp_path, train_ops(), (0,))
    making.graph(tmp_path / "graphs", TRAIN, train_ops(),
                 file_name="ge_proto_00000003_graph_3_PreRunBegin.txt")
    problem = only(collect(str(tmp_path)), "no-graph")
    assert "PreRunBegin" in problem.hint and "DUMP_GRAPH_LEVEL" in problem.hint


def test_case_30_the_build_file_was_dropped_by_a_cap(tmp_path):
    for number in (0, 1, 2, 4):
        making.graph(tmp_path / "graphs", "AssignVariableOp_%d" % number,
                     nets.initialise("v%d" % number, (3,)), number)
    making.steps(tmp_path, train_ops(), (0,))
    problem = only(collect(str(tmp_path)), "no-pair")
    assert "gaps" in problem.hint and "maxDumpFileSize" in problem.hint


def test_case_31_the_disk_was_full(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = str(tmp_path / TIME / "0" / TRAIN / "5" / "5")
    for name in sorted(os.listdir(step))[4:]:
        open(os.path.join(step, name), "wb").close()
    manifest = collect(str(tmp_path))
    assert [one.code for one in manifest.errors] == ["empty-file"] * 10
    assert all("full disk" in one.hint for one in manifest.errors)


@pytest.mark.parametrize("free, faulty, told", [
    (99, False, True), (101, False, False), (999, True, True), (1001, True, False)])
def test_case_31_the_disk_is_nearly_full(free, faulty, told, tmp_path, monkeypatch):
    """Little room is told; with files that are cut off, more than a little is told too."""
    making.plain_job(tmp_path, evaluate=False)
    if faulty:
        step = tmp_path / TIME / "0" / TRAIN / "5" / "5"
        (step / sorted(os.listdir(str(step)))[0]).write_bytes(b"")
    real = os.statvfs(str(tmp_path))
    few = type("", (), {"f_bavail": free * 1000, "f_frsize": 1000})()
    monkeypatch.setattr(os, "statvfs", lambda path: few if path == str(tmp_path) else real)
    found = [one for one in collect(str(tmp_path)).problems if one.code == "disk-low"]
    assert len(found) == told
    if told:
        assert found[0].message.startswith("%s are free" % human_bytes(free * 1000 ** 2))
        assert found[0].severity == "warning"


def test_case_31_ten_thousand_empty_files_are_one_finding_not_ten_thousand(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = tmp_path / TIME / "0" / TRAIN / "5" / "5"
    for number in range(300):
        (step / ("Add.a%d.1.2.19000000050000%02d" % (number, number % 100))).write_bytes(b"")
    manifest = collect(str(tmp_path))
    told = [one for one in manifest.problems if one.code == "empty-file"]
    assert len(told) == 21 and told[-1].message.startswith("280 more")


def test_case_32_long_names_became_digits(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = str(tmp_path / TIME / "0" / TRAIN / "5" / "0")
    lines = []
    for number, name in enumerate(sorted(os.listdir(step))):
        digits = str(10 ** 18 + number)
        os.rename(os.path.join(step, name), os.path.join(step, digits))
        lines.append("%s,%s\n" % (digits, name))
    files.write(os.path.join(step, "mapping.csv"), "".join(lines + lines[:3]))
    manifest = collect(str(tmp_path))
    pair, = manifest.pairs
    assert pair.confidence == "exact" and manifest.problems == []
    assert pair.steps[0].files == 14 and pair.steps[0].kinds == {"dump": 14, "mapping": 1}


def test_case_32_links_that_another_tool_left_are_not_counted_twice(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = str(tmp_path / TIME / "0" / TRAIN / "5" / "0")
    name = sorted(os.listdir(step))[0]
    os.symlink(name, os.path.join(step, "1234567890123456789"))
    manifest = collect(str(tmp_path))
    assert manifest.pairs[0].steps[0].files == 14 and manifest.problems == []


def test_case_33_rows_of_the_mapping_are_bad_or_missing(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = str(tmp_path / TIME / "0" / TRAIN / "5" / "0")
    names = sorted(os.listdir(step))
    os.rename(os.path.join(step, names[0]), os.path.join(step, "111"))
    os.rename(os.path.join(step, names[1]), os.path.join(step, "222"))
    files.write(os.path.join(step, "mapping.csv"),
                "333,%s\n\n,\nno digits,x\n111,%s\n222,Node_OpDebug.1.1234567afa891234567\n"
                % (names[2], names[0]))
    manifest = collect(str(tmp_path))
    problem = only(manifest, "unmapped-name")
    assert problem.path.endswith("/222") and "names the operator" in problem.message
    assert manifest.pairs[0].confidence == "exact"


def test_case_36_names_of_nine_fields(tmp_path):
    ops = train_ops()
    making.graph(tmp_path / "graphs", TRAIN, ops, 3)
    for path in making.step(tmp_path, "%s/0/%s/5/0" % (TIME, TRAIN), ops):
        folder, name = os.path.split(path)
        kind, op_name, task, stream, moment = name.split(".")
        os.rename(path, os.path.join(folder, "%s.%s_lxslice1.%s.%s.%s.4.330.0.0" % (
            kind, op_name, stream, task, moment)))
    manifest = collect(str(tmp_path))
    assert "operators: 14 of the 14 that have files are in the graph" in manifest.pairs[0].evidence
    assert making.codes(manifest) == ["no-run"]


def test_case_38_operators_that_never_leave_a_file_are_not_missed(tmp_path):
    making.plain_job(tmp_path)
    manifest = collect(str(tmp_path))
    assert "operator-missing" not in making.codes(manifest)


def test_case_38_operators_in_a_branch_that_was_not_taken_are_not_missed(tmp_path):
    branch = nets.Op("cond/then/Mul", "Mul", [("DT_FLOAT", (2,))] * 2, [("DT_FLOAT", (2,))])
    call = nets.Op("cond", "If", [], [], subgraphs=["cond_then"], dumped=False)
    making.graph(tmp_path / "graphs", TRAIN, train_ops() + [call], 3,
                 subgraphs=[("cond_then", [branch])])
    making.steps(tmp_path, train_ops(), (0,))
    manifest = collect(str(tmp_path))
    assert manifest.graphs[0].subgraphs == ["cond_then"]
    assert making.codes(manifest) == ["no-run"]


def test_case_38_an_operator_that_should_have_a_file_and_has_none(tmp_path):
    making.plain_job(tmp_path, evaluate=False)
    step = tmp_path / TIME / "0" / TRAIN / "5" / "5"
    lost = next(one for one in step.iterdir() if one.name.startswith("Relu.net_dense_1_Relu"))
    lost.unlink()
    problem = only(collect(str(tmp_path)), "step-partial")
    assert problem.severity == "error" and "net/dense_1/Relu" in problem.message
    assert problem.path == "%s/0/%s/5/5" % (TIME, TRAIN)


def test_case_38_an_operator_that_leaves_nothing_in_any_step(tmp_path):
    """The device has its reasons: no step tells that it should have left a file."""
    making.plain_job(tmp_path, evaluate=False)
    for index in ("0", "5"):
        step = tmp_path / TIME / "0" / TRAIN / "5" / index
        next(one for one in step.iterdir() if one.name.startswith(
            "Relu.net_dense_1_Relu")).unlink()
    manifest = collect(str(tmp_path))
    problem = only(manifest, "operator-missing")
    assert problem.severity == "info" and "net/dense_1/Relu" in problem.message
    assert making.codes(manifest) == ["operator-missing"]


def test_case_41_a_name_of_dump_layer_is_wrong(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0,), only=["net/dense/MatMul"])
    making.record(tmp_path, (0,), 1, options={
        "dump_step": "0", "dump_layer": "net/dense/MatMul net/dense/BiasAdd dense_1/MatMull"})
    manifest = collect(str(tmp_path))
    problem = only(manifest, "layer-unknown")
    assert "'dense_1/MatMull'" in problem.message and "net/dense_1/MatMul" in problem.hint
    assert making.codes(manifest) == ["layer-unknown"]


def test_case_41_no_name_of_dump_layer_is_right(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3)
    making.record(tmp_path, (0,), 1, options={"dump_step": "0", "dump_layer": "dense/matmul"})
    manifest = collect(str(tmp_path))
    assert "no operator has a name of dump_layer" in only(manifest, "not-dumped").message
    assert "dense/MatMul" in only(manifest, "layer-unknown").hint


def test_case_43_a_rank_that_was_not_asked_to_dump_is_not_missed(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, (), 8, run_id="rank1", rank=1, device=1, pid=8,
                  options={"enable_dump": False})
    assert making.codes(collect(str(tmp_path))) == []


@pytest.mark.parametrize("recorded", [True, False])
def test_case_44_the_folder_was_used_yesterday(tmp_path, recorded):
    day = 86400
    old = tmp_path / "graphs/pid_6_deviceid_0"
    making.graph(old, TRAIN, train_ops(), 3, 3, mtime=making.START - day + 1)
    for index in (0, 5):
        making.step(tmp_path, "20300316174640/0/%s/5/%d" % (TRAIN, index), train_ops(),
                    making.START - day + 2 + index)
    making.plain_job(tmp_path)
    if recorded:
        making.record(tmp_path, (0, 5), 8, run_id="yesterday", pid=6,
                      started=making.iso(making.START - day - 2),
                      ended=making.iso(making.START - day + 60))
    else:
        os.unlink(str(tmp_path / "runs/run/run.json"))
        os.unlink(str(tmp_path / "runs/run/iterations.jsonl"))
    manifest = collect(str(tmp_path))
    said = {(pair.time, pair.role): (pair.graph, pair.confidence) for pair in manifest.pairs}
    assert said["20300316174640", "train"] == (
        "graphs/pid_6_deviceid_0/ge_proto_00000003_graph_3_Build.txt", "exact")
    assert said[TIME, "train"] == (
        "graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt", "exact")
    today, = manifest.training["0" if recorded else "device:0"]
    assert manifest.pairs[today].time == TIME
    assert "earlier launch" in only(manifest, "run-older").message


def test_case_44_graph_files_of_a_deleted_run_are_left_alone(tmp_path):
    """Same script, same names; the dump of yesterday is gone, its graphs are still there."""
    making.plain_job(tmp_path, evaluate=False)
    for folder in ("graphs", "graphs/pid_6_deviceid_0"):
        making.graph(tmp_path / folder, TRAIN, train_ops(), 3, 3, mtime=making.START - 86400)
    manifest = collect(str(tmp_path))
    assert [(pair.graph, pair.confidence) for pair in manifest.pairs] == [
        ("graphs/pid_7_deviceid_0/ge_proto_00000003_graph_3_Build.txt", "exact")]


def test_case_44_todays_graph_is_missing_and_yesterdays_is_no_substitute(tmp_path):
    making.steps(tmp_path, train_ops(), (0, 5))
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3, 3, mtime=making.START - 86400)
    making.record(tmp_path, (0, 5), 8)
    manifest = collect(str(tmp_path))
    assert manifest.pairs == []
    problem = only(manifest, "no-pair")
    assert "has the name" in problem.message and "older" in problem.message


def test_case_46_every_graph_is_listed_with_its_folder(tmp_path):
    making.plain_job(tmp_path)
    graphs = tmp_path / "graphs/pid_7_deviceid_0"
    making.graph(graphs, "AssignVariableOp_0", nets.initialise("kernel", (3,)), 0, 0)
    making.steps(tmp_path, nets.initialise("kernel", (3,)), (0,), "AssignVariableOp_0", 1)
    making.graph(graphs, "dp_init_AnonymousIterator0", nets.iterator(0), 1, 1)
    manifest = collect(str(tmp_path))
    assert sorted((pair.role, pair.model_names[0]) for pair in manifest.pairs) == [
        ("eval", EVAL), ("init", "AssignVariableOp_0"), ("train", TRAIN)]
    assert [graph.role for graph in manifest.graphs] == ["init", "iterator", "train", "eval"]


def test_case_47_an_empty_folder_may_be_in_another_container(tmp_path):
    manifest = collect(str(tmp_path))
    assert manifest.empty and making.codes(manifest) == ["no-run", "not-dumped"]
    assert "nothing ran here" in only(manifest, "no-run").message
    problem = only(manifest, "not-dumped")
    assert problem.severity == "error" and "container" in problem.hint
    assert os.listdir(str(tmp_path)) == []


def test_case_54_the_dump_was_skipped_without_a_word(tmp_path):
    """The device was opened before the settings were made: the graph itself says so."""
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 3,
                 options={"ge.exec.enableDump": "0"})
    making.record(tmp_path, (0, 5), 8)
    problem = only(collect(str(tmp_path)), "not-dumped")
    assert "npu_device.open()" in problem.message and problem.severity == "error"


def test_case_62_only_the_build_file_is_there(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", TRAIN, train_ops(), 0, 0)
    making.steps(tmp_path, train_ops(), (0, 5))
    making.record(tmp_path, (0, 5), 8, environment={})
    assert making.codes(collect(str(tmp_path))) == []
