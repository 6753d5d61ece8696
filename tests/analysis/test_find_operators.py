"""Is an operator found by the name that a person knows?"""
import numpy as np
import pytest

import keras_npu_dump
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.tensors import find_operators
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats.graph.ge_graph import Graph
from tests.analysis.synthetic import Job, op


def found(names, name):
    table = Operators([Graph("g", [op(one, "MatMul") if isinstance(one, str) else one
                                   for one in names])])
    return [table.names[position] for position in find_operators(table, name)]


def test_the_end_of_a_name_is_enough_where_it_is_one_operators():
    names = ["model/dense/MatMul", "model/dense_1/MatMul", "model/my_dense/MatMul"]
    assert found(names, "dense/MatMul") == ["model/dense/MatMul"]
    assert found(names + ["dense/MatMul"], "dense/MatMul") == ["dense/MatMul"]
    fused = op("fused_1", "MatMulV2", originals=["model/dense/MatMul", "model/dense/BiasAdd"])
    assert found([fused], "dense/BiasAdd") == ["fused_1"]


def test_only_whole_parts_of_a_name_count():
    with pytest.raises(InputError, match="near it: model/my_dense/MatMul"):
        found(["model/my_dense/MatMul"], "dense/MatMul")


def test_the_backward_pass_repeats_names_and_is_not_meant():
    names = ["model/dense/MatMul", "gradient_tape/model/dense/MatMul"]
    assert found(names, "dense/MatMul") == names[:1]
    assert found(names, "gradient_tape/model/dense/MatMul") == names[1:]
    assert found(names[1:], "dense/MatMul") == names[1:]


def test_several_are_listed():
    with pytest.raises(InputError, match="a/dense/MatMul, b/dense/MatMul"):
        found(["a/dense/MatMul", "b/dense/MatMul"], "dense/MatMul")


def test_a_tensor_of_a_functional_model(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("model/dense/MatMul", "MatMul", ["x:0"])])
    job.execution(5, {"model/dense/MatMul": ([np.ones(2)], [np.arange(3.)])})
    run = keras_npu_dump.open_run(tmp_path)
    np.testing.assert_array_equal(run.tensor("dense/MatMul", data_index=5), [0, 1, 2])
