"""What a person asks of a run: which operators, which values, where the worst ones are."""
import json

import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis.inspect.run_contents import inspect_run
from keras_npu_dump.errors import InputError
from keras_npu_dump.report.run_text import inspect_run_text
from tests.analysis.conftest import command
from tests.analysis.synthetic import Job, op


@pytest.fixture(scope="module")
def run(trained):
    return keras_npu_dump.open_run(trained("dropout", data="tensor", step="0|3"))


@pytest.fixture
def holes(tmp_path):
    """An operator with one NaN, one infinity and a ramp between them."""
    job = Job(tmp_path, [op("x", "Data"), op("net/ramp", "Relu", ["x:0"], ["ramp/Relu"])])
    values = np.arange(40, dtype=np.float32).reshape(4, 10)
    values[1, 2], values[3, 4] = np.nan, -np.inf
    job.execution(0, {"net/ramp": ([values], [values])}, iteration=(1, 7))
    return keras_npu_dump.open_run(tmp_path)


def text(description):
    json.dumps(description, allow_nan=False)
    return inspect_run_text(description)


def test_an_overview(run):
    description = inspect_run(run)
    assert description["kind"] == "run" and description["ranks"] == [0]
    graph = next(one for one in description["graphs"] if one["role"] == "train")
    assert [one["data_index"] for one in graph["executions"]] == [0, 3]
    assert "fit 0, epoch 0, batch 3" in text(description)


def test_operators_by_name_type_and_execution(run):
    description = inspect_run(run, op="Relu$", step=3)
    assert {one["op_type"] for one in description["operators"]} == {"Relu"}
    for one in description["operators"]:
        assert {row["data_index"] for row in one["tensors"]} == {3}
        assert [row["io"] for row in one["tensors"]] == ["input", "output"]
    assert inspect_run(run, op_type="MatMul", step="0:3")["operators"]
    assert "MatMul" in text(inspect_run(run, op_type="MatMul"))
    with pytest.raises(InputError, match="no operator's name has a match"):
        inspect_run(run, op="nothing_like_that")
    with pytest.raises(InputError, match="no operator is of type"):
        inspect_run(run, op_type="Warp")


def test_tensorflow_s_names_are_found_too(holes):
    found, = inspect_run(holes, op="ramp/Relu")["operators"]
    assert found["op"] == "net/ramp" and found["original_ops"] == ["ramp/Relu"]


def test_one_tensor_with_its_worst_places(holes):
    facts = inspect_run(holes, tensor="net/ramp:output:0", step="1:7")
    assert facts["original_shape"] == [4, 10] and facts["data_type"] == "DT_FLOAT"
    assert facts["worst"][0] == {"place": [1, 2], "value": "nan"}
    assert facts["worst"][1] == {"place": [3, 4], "value": "-inf"}
    assert facts["worst"][2] == {"place": [3, 9], "value": 39.0}
    assert (facts["statistics"]["nan"], facts["statistics"]["neg_inf"]) == (1, 1)
    assert facts["percentiles"]["100"] == 39.0 and facts["percentiles"]["0"] == 0.0
    assert sum(facts["histogram"]["counts"]) == 38
    shown = text(facts)
    assert "[1, 2]" in shown and "#" in shown and "1 NaN" in shown
    assert inspect_run(holes, tensor="ramp/Relu:input:0")["io"] == "input"


def test_wrong_questions(holes):
    for question in ({"tensor": "net/ramp:output:3"}, {"step": "1:2:3:4", "op": "x"},
                     {"step": 9, "op": "ramp"}, {"tensor": "net/rump"}):
        with pytest.raises(InputError):
            inspect_run(holes, **question)


def test_the_command(trained, run):
    path = trained("dropout", data="tensor", step="0|3")
    name = next(one.name for one in run.operators() if one.type == "Softmax")
    document = json.loads(command("inspect", path, "--op", "Softmax$", "--step", 3, "--json"))
    assert document["operators"][0]["op"] == name
    shown = command("inspect", path, "--tensor", name + ":output:0")
    assert "percentiles" in shown and "DT_FLOAT" in shown
