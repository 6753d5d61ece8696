"""Does analysis answer where a manifest, a record or a graph claims what cannot be?"""
import json
import shutil

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis.dump_files import GraphCache
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats.graph import graph_writer
from keras_npu_dump.formats.graph.ge_graph import Desc, Graph, GraphOp
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op, spread


@pytest.fixture
def job(tmp_path):
    """Three executions, the last of them with NaN out of a logarithm."""
    made = Job(tmp_path / "dump", [op("x", "Data"), op("log", "Log", ["x:0"]),
                                   op("out", "NetOutput", ["log:0"])], data="stats")
    for index in range(3):
        values = spread()
        bad = values.copy()
        bad[3] = np.nan if index == 2 else 0
        made.execution(index, {"log": ([values], [bad])})
    return made


def changed(job, change):
    """The manifest of a job, with its first execution changed; the path of it."""
    path = keras_npu_dump.collect(job.folder).path
    with open(path) as stream:
        document = json.load(stream)
    change(document["pairs"][0]["steps"][0])
    with open(path, "w") as stream:
        json.dump(document, stream)
    return path


def test_a_folder_that_the_manifest_names_and_nobody_can_open_is_one_gap(job):
    expected = triage(keras_npu_dump.open_run(job.folder), write=False)
    path = changed(job, lambda step: step.update(path="nowhere/0"))
    found = triage(path, write=False)
    assert [(one.op, one.reason, one.step) for one in found.suspects] == [
        (one.op, one.reason, one.step) for one in expected.suspects] != []
    (gap,) = found.checked["incomplete"]
    assert gap["code"] == "unreadable" and gap["path"] == "nowhere/0"
    table = keras_npu_dump.open_run(path).statistics()
    assert sorted(set(table["data_index"].tolist())) == [1, 2]
    assert len(table.problems) == 1


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_manifest_that_names_what_no_file_can_be_called_is_not_believed(job, name):
    path = changed(job, lambda step: step.update(path=name))
    assert triage(path, write=False).checked["incomplete"] == []
    assert [one.data_index for one in keras_npu_dump.open_run(job.folder).steps()] == [0, 1, 2]


def test_an_execution_without_its_folder_leaves_overflow_records_readable(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("mul", "Mul", ["x:0", "x:0"])],
              options={"enable_dump_debug": True})
    for index in range(2):
        folder = job.execution(index, {"mul": ([spread(), spread()], [spread()])})
        job.overflow(folder, "mul")
    path = keras_npu_dump.collect(job.folder).path
    shutil.rmtree(str(tmp_path / job.session() / "0" / "__inference_train_function_77" / "5" / "0"))
    found = triage(path, write=False)
    assert [(one.op, one.reason, one.step) for one in found.suspects] == [
        ("mul", "overflow-event", 1)]
    assert [one["code"] for one in found.checked["incomplete"]] == ["unreadable"]


def test_a_rank_that_no_cluster_has_is_unknown_in_the_table(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("relu", "Relu", ["x:0"])], data="stats")
    job.execution(0, {"relu": ([spread()], [spread()])}, iteration=(1 << 40, 2))
    table = keras_npu_dump.open_run(str(tmp_path)).statistics()
    assert set(table["epoch"].tolist()) == {-1} and set(table["batch"].tolist()) == {2}


def test_shapes_beyond_all_bounds_have_a_size_that_can_be_told(tmp_path):
    absurd = Desc(dtype="DT_FLOAT", shape=[1 << 62] * 70)
    ops = [op("x", "Data"), GraphOp("far", "Mul", ["x:0", "x:0"], [absurd, absurd], [absurd]),
           op("near", "Add", ["far:0"]), op("out", "NetOutput", ["near:0"])]
    job = Job(tmp_path, ops, data="stats")
    bad = spread()
    bad[0] = np.inf
    job.execution(0, {"near": ([bad], [bad])})
    found = triage(str(tmp_path), write=False)
    assert found.suspects[0].reason == "arrives-bad" and "far" in found.next.dump_layer
    assert 0 < found.next.estimated_bytes < 1 << 60 and "far" in triage_text(found)


def call(name, body, inputs):
    return GraphOp(name, "PartitionedCall", inputs, subgraph_names=[body])


def body(name, inner=None):
    """A sub-graph that gives back what it takes, through `inner` if that is named."""
    ops = [GraphOp("arg", "Data", attrs={"_parent_node_index": 0})]
    if inner is not None:
        ops.append(call("call", inner, ["arg:0"]))
    return Graph(name, ops + [op("result", "NetOutput", ["arg:0" if inner is None else "call:0"])])


def test_calls_inside_calls_without_end_do_not_exhaust_the_stack():
    depth = 3000
    graphs = [Graph("root", [op("x", "Data"), call("call", "g0", ["x:0"]),
                             op("relu", "Relu", ["call:0"])])]
    graphs += [body("g%d" % number, "g%d" % (number + 1)) for number in range(depth)]
    graphs.append(body("g%d" % depth))
    table = Operators(graphs)
    assert len(table) == 3 + 3 * depth + 2
    position = table.by_name("relu")
    assert table.producers_of(position) in (["x"], ["call"])


def test_calls_in_a_row_are_followed_to_the_value_that_they_hand_on(tmp_path):
    count = 3000
    # The last call stands first, so that no answer is known when it is asked for.
    row = [call("call%d" % number, "g%d" % number,
                ["call%d:0" % (number - 1) if number else "x:0"]) for number in range(count)]
    graphs = [Graph("root", [op("relu", "Relu", ["call%d:0" % (count - 1)])] + row[::-1]
                    + [op("x", "Data")])]
    graphs += [body("g%d" % number) for number in range(count)]
    path = str(tmp_path / "ge_proto_00000003_graph_3_Build.txt")
    graph_writer.write_graphs(path, graphs)
    table, _ = GraphCache().get(path, "")
    assert table.producers_of(table.by_name("relu")) == ["x"]
