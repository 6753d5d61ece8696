"""Several model ids under one name: parts of one execution, or the graph built again?

GE of 2022 and the first runtime of 2026 give the known-shape parts of a dynamic graph the root's
name, ids of their own and the same data_index. Model ids here are in no order.
"""
import json
import os
import shutil

import pytest

from keras_npu_dump import collect, open_run
from keras_npu_dump.collector.pairing import loads
from keras_npu_dump.export.msaccucmp import export_msaccucmp
from keras_npu_dump.records.manifest import load_manifest
from tests.collect import making
from tests.collect.making import START, TIME, TRAIN, train_ops

GRAPHS = "graphs/pid_7_deviceid_0"


def split(count=3):
    """The operators of the training graph that are dumped, in so many parts."""
    ops = [op for op in train_ops() if op.dumped]
    return [ops[number::count] for number in range(count)]


def parts(dump, ids, indices=(0, 5), start=START + 2, which=None):
    """Writes a part for each model id; they come within a tenth of each second."""
    for number, (ops, model_id) in enumerate(zip(split(len(ids)), ids)):
        if which is None or number in which:
            making.steps(dump, ops, indices, TRAIN, model_id, start=start + number * 0.03)


def job(dump, ids=(9, 4, 7), indices=(0, 5)):
    making.graph(dump / GRAPHS, TRAIN, train_ops(), 3)
    parts(dump, ids, indices)
    making.record(dump, indices, 8)


def found(dump):
    """The only training pair: [(load, data_index, model ids, batches)] of its executions."""
    manifest = collect(str(dump), write=False)
    pair, = [one for one in manifest.pairs if one.role == "train"]
    return [(load, steps[0].data_index, {one.model_id for one in steps},
             {one.iteration and one.iteration["batch"] for one in steps})
            for load, steps in pair.executions()]


def test_parts_are_one_execution_and_nothing_was_built_again(tmp_path):
    job(tmp_path)
    manifest = collect(str(tmp_path))
    assert found(tmp_path) == [(0, 0, {9, 4, 7}, {0}), (0, 5, {9, 4, 7}, {1})]
    assert making.codes(manifest) == []
    assert {pair.confidence for pair in manifest.pairs} == {"exact"}
    # Each execution is a row, and its iteration is there once.
    text = str(manifest)
    assert text.count("epoch 0, batch 0") == 2 and text.count("/{4,7,9}/") == 2


def test_parts_are_analysed_together(tmp_path):
    job(tmp_path)
    run = open_run(str(tmp_path))
    assert [(step.data_index, step.load, len(step.folders)) for step in run.steps()] == [
        (0, 0, 3), (5, 0, 3)]
    for op in train_ops():
        if op.dumped and op.outputs:
            assert run.steps()[1].tensor(op.name).shape == op.outputs[0][1]


def test_a_part_that_lacks_files_is_a_partial_step(tmp_path):
    job(tmp_path)
    folder = tmp_path / TIME / "0" / TRAIN / "4" / "5"
    os.remove(str(folder / sorted(os.listdir(str(folder)))[0]))
    problem, = [one for one in collect(str(tmp_path)).problems if one.code == "step-partial"]
    assert "step 5" in problem.message and problem.path.endswith("/4/5")


def test_a_part_without_its_folder_in_a_step_is_missed(tmp_path):
    job(tmp_path)
    shutil.rmtree(str(tmp_path / TIME / "0" / TRAIN / "7" / "0"))
    manifest = collect(str(tmp_path))
    assert [one.code for one in manifest.problems] == ["step-partial"]
    assert found(tmp_path)[0][:3] == (0, 0, {9, 4})


def test_a_graph_with_parts_is_built_again(tmp_path):
    """The second load's ids are lower, one is used again, and one part ran only then."""
    making.graph(tmp_path / GRAPHS, TRAIN, train_ops(), 3)
    parts(tmp_path, (9, 4, 7), which=(0, 1))
    parts(tmp_path, (2, 8, 3), (0, 1), start=START + 60)
    making.record(tmp_path, (0, 5), 8, options={"dump_step": "0|1|5"})
    assert found(tmp_path) == [(0, 0, {9, 4}, {0}), (0, 5, {9, 4}, {1}),
                               (1, 0, {2, 8, 3}, {None}), (1, 1, {2, 8, 3}, {None})]
    told, = [one for one in collect(str(tmp_path)).problems if "built again" in one.message]
    assert "model id 2, 3, 8 count" in told.message


def test_what_was_built_again_has_the_same_operators_whatever_its_number(tmp_path):
    making.graph(tmp_path / GRAPHS, TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0, 5), TRAIN, 8)
    making.steps(tmp_path, train_ops(), (0,), TRAIN, 3, start=START + 60)
    making.record(tmp_path, (0, 5), 8)
    assert found(tmp_path) == [(0, 0, {8}, {0}), (0, 5, {8}, {1}), (1, 0, {3}, {None})]
    assert [step.load for step in open_run(str(tmp_path)).steps()] == [0, 0, 1]


def test_other_operators_at_another_time_are_no_part(tmp_path):
    """Of each load only one branch was dumped: the second comes after index 5 of the first."""
    making.graph(tmp_path / GRAPHS, TRAIN, train_ops(), 3)
    first, second = split(2)
    making.steps(tmp_path, first, (0, 5), TRAIN, 8)
    making.steps(tmp_path, second, (0, 5), TRAIN, 3, start=START + 60)
    making.record(tmp_path, (0, 5), 8)
    assert [one[:3] for one in found(tmp_path)] == [
        (0, 0, {8}), (0, 5, {8}), (1, 0, {3}), (1, 5, {3})]


def test_each_build_has_its_file_and_its_parts(tmp_path):
    for number in (3, 12):
        making.graph(tmp_path / GRAPHS, TRAIN, train_ops(), number)
    parts(tmp_path, (9, 4, 7))
    parts(tmp_path, (5, 2, 8), start=START + 60)
    manifest = collect(str(tmp_path))
    assert {(os.path.basename(pair.graph), frozenset(one.model_id for one in pair.steps))
            for pair in manifest.pairs} == {
                ("ge_proto_00000003_Build.txt", frozenset({9, 4, 7})),
                ("ge_proto_00000012_Build.txt", frozenset({5, 2, 8}))}
    assert "ambiguous-pair" not in making.codes(manifest)


def test_parts_below_a_single_model_id(tmp_path):
    job(tmp_path)
    manifest = collect(str(tmp_path / TIME / "0" / TRAIN / "4"))
    pair, = manifest.pairs
    assert [(one.data_index, one.iteration["batch"]) for one in pair.steps] == [(0, 0), (5, 1)]


def test_the_comparator_gets_one_folder_for_each_execution(tmp_path):
    job(tmp_path / "d")
    result = export_msaccucmp(str(tmp_path / "d"), str(tmp_path / "out"))
    assert [one.leaf.rpartition("/")[2] for one in result.leaves] == ["0", "5"]
    assert {one.files for one in result.leaves} == {sum(op.dumped for op in train_ops())}


@pytest.mark.parametrize("ids,loads", [((9, 4, 7), 1), ((5,), 0)])
def test_only_manifests_of_several_ids_have_loads(tmp_path, ids, loads):
    job(tmp_path, ids)
    collect(str(tmp_path))
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert {"load" in one for one in document["pairs"][0]["steps"]} == {bool(loads)}
    assert load_manifest(str(tmp_path / "manifest.json")).to_json() == document


def test_a_manifest_without_loads_is_read_as_version_0_1_0_meant_it(tmp_path):
    making.graph(tmp_path / GRAPHS, TRAIN, train_ops(), 3)
    for model_id in (5, 8):
        making.steps(tmp_path, train_ops(), (0,), TRAIN, model_id, start=START + model_id)
    collect(str(tmp_path))
    path = tmp_path / "manifest.json"
    document = json.loads(path.read_text())
    for step in document["pairs"][0]["steps"]:
        del step["load"]
    path.write_text(json.dumps(document))
    pair, = load_manifest(str(path)).pairs
    assert [(load, [one.model_id for one in steps]) for load, steps in pair.executions()] == [
        (0, [5]), (1, [8])]


def test_any_number_of_builds_is_sorted_out_without_looking_at_each_pair(monkeypatch):
    looks = []
    may_hold = loads._Load.may_hold
    monkeypatch.setattr(loads._Load, "may_hold",
                        lambda self, model: looks.append(1) or may_hold(self, model))

    class Folder:
        model_name = "train"

        def __init__(self, number, index):
            self.model_id, self.data_index = number, index
            self.first_time = 10 * number + index
            self.operators = frozenset(["op%d" % number])

    found = loads.loads_of([Folder(number, index) for number in range(400) for index in (0, 1)])
    assert sorted(found.values()) == list(range(400))  # each counted from 0 anew
    assert len(looks) <= 400 * loads._NEAR
