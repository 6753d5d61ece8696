"""Trainings that really fail: is the operator named that a person would name?"""
import pytest

from keras_npu_dump.analysis.triage.triage import triage
from tests.analysis.conftest import triage_command

# scenario -> (type, part of the TensorFlow name, first data_index, reason)
ANSWERS = {
    "log_of_zero": ("Log", "loss/Log", 2, "infinity"),
    "norm_at_zero": ("SqrtGrad", "norm/SqrtGrad", 1, "infinity"),
    "float16_overflow": ("MatMul", "dense", 3, "infinity"),
    "variance_of_constant": ("RealDiv", "standardise", 2, "nan"),
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_the_operator_and_the_execution_where_it_starts(trained, name):
    op_type, part, data_index, reason = ANSWERS[name]
    found = triage(trained(name), write=False)
    first = found.suspects[0]
    assert (first.op_type, first.step, first.reason) == (op_type, data_index, reason)
    assert part in first.original_ops[0]
    assert first.iteration == {"fit": 0, "epoch": 0, "batch": data_index}
    assert first.confidence == "high"
    assert first.downstream >= 5
    # What follows is counted: no other operator is called the culprit.
    assert [one.op for one in found.suspects if one.confidence == "high"] == [first.op]


def test_an_exploding_rate_is_named_before_anything_is_infinite(trained):
    """The update of the weights, where it starts; not the first infinity, steps later."""
    path = trained("exploding_rate")
    found = triage(path, write=False)
    first = found.suspects[0]
    assert first.reason == "jump" and first.confidence == "high"
    assert "SGD" in first.op or "sgd" in first.op
    assert "kernel goes from" in first.message
    infinite = _first_infinite(path)
    assert first.step <= 1 and infinite > 10
    assert "data_index %d" % infinite in first.message
    assert len(found.suspects) == 1, [one.op for one in found.suspects]


def _first_infinite(path):
    import keras_npu_dump
    for step in keras_npu_dump.open_run(path).steps():
        table = step.statistics()
        if ((table["nan"] > 0) | (table["pos_inf"] > 0) | (table["neg_inf"] > 0)).any():
            return step.data_index
    raise AssertionError("this training did not fail")


def test_the_forward_layer_is_named_not_its_gradient(trained):
    """Loss scaling makes infinite gradients on purpose, from the first execution on."""
    found = triage(trained("float16_overflow"), write=False)
    assert "gradient" not in found.suspects[0].op
    assert "float16" in found.suspects[0].message and "65504" in found.suspects[0].message


def test_the_gradient_of_the_logarithm_says_the_same_once_more(trained):
    first = triage(trained("log_of_zero"), write=False).suspects[0]
    assert any("Reciprocal" in name for name in first.also)


@pytest.mark.parametrize("mode", ["output", "input"])
def test_half_a_dump_names_the_same_operator(trained, mode):
    """What dump_mode leaves out stands at the other end of the edge."""
    found = triage(trained("log_of_zero", mode=mode), write=False)
    first = found.suspects[0]
    assert (first.op_type, first.step, first.confidence) == ("Log", 2, "high")
    assert [one.op for one in found.suspects if one.confidence == "high"] == [first.op]


def test_executions_that_were_not_dumped(trained):
    """Weights went bad in between: the variable is named, and these executions are asked for."""
    found = triage(trained("log_of_zero", step="0|4"), write=False)
    first = found.suspects[0]
    assert first.reason == "bad-variable" and first.step == 4
    assert "not dumped" in first.message
    assert found.next.dump_step == "1-3"
    assert found.next.dump_layer == [] and found.next.dump_data == "stats"
    assert 0 < found.next.estimated_bytes < 1 << 20


def test_the_command_says_so_with_its_status_and_one_document(trained):
    document = triage_command(trained("log_of_zero"), 1)
    assert list(document) == ["schema", "verdict", "suspects", "next", "checked"]
    assert document["schema"] == "keras_npu_dump.triage/1"
    assert document["verdict"] == "suspect"
    assert list(document["suspects"][0]) == [
        "op", "op_type", "original_ops", "step", "iteration", "rank", "reason", "message",
        "confidence", "downstream"]
    assert list(document["next"]) == ["dump_layer", "dump_step", "estimated_bytes", "flagfile"]
    near = document["checked"]["neighbours"][document["suspects"][0]["op"]]
    assert any("Softmax" in name for name in near["producers"])
    assert near["consumers"]
