"""What is a graph for, by its operators alone, by the journal, and by its name last?"""
import os

import pytest

from keras_npu_dump import collect
from keras_npu_dump.collector.graphs.body import read_body
from keras_npu_dump.collector.graphs.roles import FORWARD, role_by_operators
from tests.collect import making, nets
from tests.collect.making import TRAIN
from tests.collect.nets import FLOAT, Op

WEIGHTS = (FLOAT, (4, 2))
VARIABLE = Op("kernel", "Variable", [], [WEIGHTS], dumped=False)
FEED = Op("x", "Data", [WEIGHTS], [WEIGHTS], [""], dumped=False)
ITERATOR = Op("AnonymousIterator0", "IteratorV2", [], [("DT_INT64", ())], dumped=False)
RELU = Op("net/Relu", "Relu", [WEIGHTS], [WEIGHTS])
FILL = Op("zeros", "Fill", [WEIGHTS], [WEIGHTS])
ASSIGN = Op("Assign", "Assign", [WEIGHTS, WEIGHTS], [WEIGHTS])
COUNT = Op("Count", "AssignAdd", [("DT_INT64", ())], [("DT_INT64", ())])
METRIC = Op("Total", "AssignAdd", [(FLOAT, ())], [(FLOAT, ())])
ADAM = Op("Adam/ApplyAdam", "ApplyAdamD", [WEIGHTS], [WEIGHTS])
GRADIENT = Op("gradient_tape/net/ReluGrad", "ReluGrad", [WEIGHTS], [WEIGHTS])


@pytest.mark.parametrize("name,role", [
    ("ResourceGather_7", "init"), ("ResourceGather_7_7", "init"), ("net/gathered_3", "init"),
    ("__inference_one_step_on_data_9", "predict"), ("__inference_ResourceGather_9", "predict")])
def test_an_operator_that_ran_by_itself_is_no_prediction(tmp_path, name, role):
    """The adapter calls its graph as the operator is called; a function of one is a function."""
    gather = Op("net/gathered", "ResourceGather", [WEIGHTS], [WEIGHTS], [], ["ResourceGather"])
    making.graph(tmp_path / "graphs", name, [VARIABLE, FEED, gather], 3)
    making.steps(tmp_path, [gather], (0,), name.replace("/", "_"), 5)
    pair, = collect(str(tmp_path)).pairs
    assert pair.role == role


@pytest.mark.parametrize("ops, role", [
    ([ADAM], "init"),                       # an eager update, run by itself
    ([ADAM, VARIABLE], "init"),
    ([ADAM, FILL], "train"),
    ([ADAM, RELU], "train"),
    ([ADAM, ASSIGN], "train"),
    ([ADAM, GRADIENT], "train"),
    ([ADAM, Op("Adam/2", "ApplyAdamD", [WEIGHTS], [WEIGHTS])], "train"),
    ([GRADIENT], "train"),
    ([FEED, RELU, GRADIENT], "train"),
    ([ITERATOR], "iterator"),
    ([ITERATOR, FILL], "iterator"),
    ([ITERATOR, RELU], FORWARD),
    ([ITERATOR, COUNT], FORWARD),
    ([VARIABLE, FILL], "init"),
    ([VARIABLE, ASSIGN], "init"),
    ([FEED, ASSIGN], "init"),
    ([FEED, VARIABLE], FORWARD),
    ([FEED, RELU], FORWARD),
    ([FEED, RELU, COUNT], FORWARD),
    ([FEED, RELU, METRIC], "eval"),
    ([ITERATOR, RELU, METRIC], "eval"),
    ([RELU], "unknown"),
    ([RELU, METRIC], "unknown"),
], ids=lambda value: value if isinstance(value, str) else "+".join(op.type for op in value))
def test_what_operators_show(tmp_path, ops, role):
    path = making.graph(tmp_path, "g", ops)
    assert role_by_operators(read_body(path, os.path.getsize(path)))[0] == role


@pytest.mark.parametrize("name, role", [
    ("__inference_test_function_3", "eval"), ("__inference_predict_function_3", "predict"),
    ("__inference_f_3", "predict"), (TRAIN, "predict")])
def test_the_name_decides_between_evaluation_and_prediction(tmp_path, name, role):
    """Forward operators without a metric; a name of a training does not make it one."""
    making.graph(tmp_path / "graphs", name, nets.predict("net", [8, 4, 2], 4))
    making.steps(tmp_path, nets.predict("net", [8, 4, 2], 4), (0,), name)
    pair, = collect(str(tmp_path)).pairs
    assert pair.role == role
    assert any("by the name" in text for text in pair.evidence) == (name[12:-2] in (
        "test_function", "predict_function"))


def test_what_the_journal_counted_was_trained_whatever_it_looks_like(tmp_path):
    ops = nets.predict("net", [8, 4, 2], 4)
    making.graph(tmp_path / "graphs", TRAIN, ops)
    making.steps(tmp_path, ops, (0, 5))
    making.record(tmp_path, (0, 5), 8)
    pair, = collect(str(tmp_path)).pairs
    assert pair.role == "train"
    assert any("by the journal" in text for text in pair.evidence)
    assert "although it has no gradient operators" in pair.evidence


def two_ranks(tmp_path, counted, ops):
    """Both have a graph of the same name; rank 1's journal has counted `counted`."""
    for rank in range(2):
        making.graph(tmp_path / ("graphs/pid_%d_deviceid_%d" % (100 + rank, rank)), TRAIN, ops)
        making.steps(tmp_path, ops, (0, 5), device=rank)
        making.record(tmp_path, (0, 5), 8, name=(TRAIN, counted)[rank], run_id="rank%d" % rank,
                      rank=rank, pid=100 + rank, device=rank)
    return {pair.rank: pair for pair in collect(str(tmp_path)).pairs}


def test_what_another_rank_has_counted_is_no_evidence(tmp_path):
    for pair in two_ranks(tmp_path, TRAIN, making.train_ops()).values():
        told = [text for text in pair.evidence if "rank" in text]
        assert len(told) == 2 and all("rank%d" % pair.rank in text for text in told), told


def test_what_another_rank_has_trained_with_makes_no_role(tmp_path):
    pairs = two_ranks(tmp_path, "__inference_other_9", nets.predict("net", [8, 4, 2], 4))
    assert (pairs[0].role, pairs[1].role) == ("train", "predict")


def test_what_another_rank_has_counted_does_not_exclude_a_graph(tmp_path):
    pairs = two_ranks(tmp_path, "__inference_other_9", making.train_ops())
    assert [(pair.graph.split("/")[1], pair.confidence) for pair in pairs.values()] == [
        ("pid_100_deviceid_0", "exact"), ("pid_101_deviceid_1", "exact")]


def test_hosts_side_by_side_whose_processes_have_the_same_numbers(tmp_path):
    for host in ("a", "b"):
        making.graph(tmp_path / host / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops())
        making.steps(tmp_path / host, making.train_ops(), (0, 5))
        making.record(tmp_path / host, (0, 5), 8, run_id="host_" + host, rank="ab".index(host))
    for pair in collect(str(tmp_path)).pairs:
        told = [text for text in pair.evidence if "host_" in text]
        assert len(told) == 2 and all("host_" + "ab"[pair.rank] in text for text in told), told
