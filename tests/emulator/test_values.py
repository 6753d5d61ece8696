"""Are the numbers in the dump what the operators computed? numpy recomputes them.

Every operator of these types in every dumped execution of the trainings, with the
attributes of the graph applied; in loop bodies for each round.
"""
import collections

import numpy as np
import pytest

from tests.emulator.conftest import inputs, operators, outputs

SCENARIOS = ("dense", "conv", "dropout", "lstm", "subclass", "custom_loop", "validation",
             "two_steps", "mixed", "residual")


def matmul(op, a, b):
    a = a.T if op.attr("transpose_a") else a
    b = b.T if op.attr("transpose_b") else b
    return np.matmul(a.astype("float64"), b.astype("float64")).astype(a.dtype)


def mean(reduce):
    def run(op, x, axes):
        axis = tuple(np.atleast_1d(axes).tolist())
        return reduce(x.astype("float64") if x.dtype.kind == "f" else x, axis=axis,
                      keepdims=bool(op.attr("keep_dims"))).astype(x.dtype)
    return run


def softmax_loss(op, logits, labels):
    x = logits.astype("float64")
    logs = x - x.max(-1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    return -logs[np.arange(len(labels)), labels].astype(logits.dtype)


BINARY = {
    "AddV2": np.add, "Mul": np.multiply, "Sub": np.subtract, "RealDiv": np.divide,
    "Maximum": np.maximum, "Minimum": np.minimum, "SquaredDifference": lambda a, b: (a - b) ** 2,
    "GreaterEqual": np.greater_equal, "Greater": np.greater, "Less": np.less,
    "LogicalAnd": np.logical_and, "BiasAdd": np.add, "FloorMod": np.mod,
    "DivNoNan": lambda a, b: np.divide(a, b, out=np.zeros_like(a), where=b != 0),
}
UNARY = {
    "Relu": lambda x: np.maximum(x, 0), "Tanh": np.tanh, "Sqrt": np.sqrt, "Neg": np.negative,
    "Square": np.square, "Sigmoid": lambda x: 1 / (1 + np.exp(-x.astype("float64"))),
    "Identity": lambda x: x, "StopGradient": lambda x: x, "LogicalNot": np.logical_not,
    "ZerosLike": np.zeros_like, "Rsqrt": lambda x: 1 / np.sqrt(x),
}
GRADIENTS = {
    "ReluGrad": lambda g, y: g * (y > 0), "TanhGrad": lambda y, g: g * (1 - y * y),
    "SigmoidGrad": lambda y, g: g * y * (1 - y),
}
OTHER = {
    "MatMul": matmul, "Mean": mean(np.mean), "Sum": mean(np.sum), "Max": mean(np.max),
    "Prod": mean(np.prod), "SparseSoftmaxCrossEntropyWithLogits": softmax_loss,
    "Reshape": lambda op, x, shape: x.reshape(shape),
    "Transpose": lambda op, x, perm: np.transpose(x, perm),
    "AddN": lambda op, *terms: sum(term.astype("float64") for term in terms),
    "BiasAddGrad": lambda op, g: g.astype("float64").sum(tuple(range(g.ndim - 1))),
    "Pack": lambda op, *parts: np.stack(parts, op.attr("axis", 0)),
    "ArgMax": lambda op, x, axis: np.argmax(x, int(axis)),
    "Tile": lambda op, x, times: np.tile(x, times),
    "ExpandDims": lambda op, x, axis: np.expand_dims(x, int(axis)),
    "Fill": lambda op, shape, value: np.full(shape, value),
    "Range": lambda op, start, limit, delta: np.arange(start, limit, delta),
    "Equal": lambda op, a, b: np.equal(a, b),
    "SelectV2": lambda op, c, a, b: np.where(c, a, b),
    "Pow": lambda op, a, b: np.power(a.astype("float64"), b),
}
SUMS = ("MatMul", "Sum", "Mean", "AddN", "BiasAddGrad")
TOLERANCE = {"float16": 4e-3, "float32": 2e-5}


def expected(op, arrays):
    kind = op.type
    if kind in BINARY:
        return BINARY[kind](*arrays)
    if kind in UNARY:
        return UNARY[kind](*arrays)
    if kind in GRADIENTS:
        return GRADIENTS[kind](*arrays)
    if kind in OTHER:
        return OTHER[kind](op, *arrays)
    return None


def checkable(op):
    return any(op.type in table for table in (BINARY, UNARY, GRADIENTS, OTHER))


@pytest.fixture(scope="module")
def checked(dumped):
    """{operator type: how many files were recomputed}; fails at the first wrong one."""
    seen = collections.Counter()
    for scenario in SCENARIOS:
        for name, _, _, _ in dumped.graphs[scenario]:
            known = {op.name: op for graph in dumped.graph(name) for op in graph.ops}
            for folder in dumped.steps(name).values():
                for op_name, records in operators(folder).items():
                    op = known[op_name]
                    if checkable(op):
                        for record in records:
                            compare(op, inputs(record), outputs(record)[0], scenario)
                            seen[op.type] += 1
    return seen


def compare(op, arrays, found, scenario):
    label = "%s of %s (%s)" % (op.name, scenario, op.type)
    wanted = np.asarray(expected(op, arrays))
    assert wanted.shape == found.shape, label
    if found.dtype.kind == "f":
        rtol = TOLERANCE.get(found.dtype.name, 1e-7)
        # Terms that cancel leave rounding of the size of the terms, not of the result.
        terms = [np.abs(x) if x.dtype.kind == "f" else x for x in arrays]
        scale = np.abs(expected(op, terms)) if op.type in SUMS else np.abs(wanted)
        scale = float(np.max(scale.astype("float64"), initial=1e-6))
        np.testing.assert_allclose(found.astype("float64"), wanted.astype("float64"), rtol=rtol,
                                   atol=rtol * scale, err_msg=label)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=label)


@pytest.mark.parametrize("kind", ["MatMul", "BiasAdd", "Relu", "Mul", "Sum", "ReluGrad",
                                  "BiasAddGrad", "SparseSoftmaxCrossEntropyWithLogits",
                                  "Reshape", "Sigmoid", "Tanh", "TanhGrad", "SigmoidGrad",
                                  "AddV2", "Identity", "DivNoNan", "Transpose", "GreaterEqual"])
def test_dumped_outputs_are_numpy_s_result_of_the_dumped_inputs(checked, kind):
    assert checked[kind] > 0


def test_many_operators_were_recomputed(checked):
    assert len(checked) >= 25 and sum(checked.values()) > 1000


def test_a_cast_keeps_its_values(dumped):
    name = next(graph[0] for graph in dumped.graphs["mixed"] if "train" in graph[0])
    casts = 0
    for records in operators(dumped.steps(name)[5]).values():
        for record in records:
            if record[0].op_name.rpartition("/")[2].startswith("Cast"):
                (source,), (target,) = inputs(record), outputs(record)
                np.testing.assert_array_equal(target, source.astype(target.dtype))
                casts += 1
    assert casts > 5


def update_records(dumped, scenario, data_index):
    name = next(graph[0] for graph in dumped.graphs[scenario] if "train" in graph[0]
            or "step" in graph[0])
    known = {op.name: op.type for graph in dumped.graph(name) for op in graph.ops}
    for op_name, records in operators(dumped.steps(name)[data_index]).items():
        for record in records:
            yield known[op_name], record


def test_updates_show_the_variable_before_and_after(dumped):
    seen = collections.Counter()
    for scenario in ("conv", "two_steps", "custom_loop"):
        for kind, record in update_records(dumped, scenario, 5):
            given, made = inputs(record), outputs(record)
            if kind in ("AssignAddVariableOp", "AssignSubVariableOp"):
                sign = 1 if "Add" in kind else -1
                np.testing.assert_allclose(made[0], given[0] + sign * given[1], rtol=1e-6)
            elif kind == "AssignVariableOp":
                np.testing.assert_array_equal(made[0], given[1])
            elif kind == "ResourceApplyAdam":
                var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad = given
                np.testing.assert_allclose(made[1], m + (grad - m) * (1 - beta1), rtol=1e-4,
                                           atol=1e-7)
                np.testing.assert_allclose(made[2], v + (grad * grad - v) * (1 - beta2),
                                           rtol=1e-4, atol=1e-9)
                rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
                np.testing.assert_allclose(
                    made[0], var - rate * made[1] / (np.sqrt(made[2]) + epsilon), rtol=1e-4,
                    atol=1e-6)
            else:
                continue
            seen[kind] += 1
    assert seen["AssignSubVariableOp"] + seen["ResourceApplyAdam"] > 10
    assert seen["AssignAddVariableOp"] > 2


def test_weights_go_on_from_step_to_step_within_a_loop(dumped):
    """Two rounds in one execution: what the first left is what the second begins with."""
    updates = collections.defaultdict(list)
    for kind, record in update_records(dumped, "two_steps", 0):
        if kind in ("AssignSubVariableOp", "ResourceApplyAdam"):
            updates[record[0].op_name].append(record)
    assert updates
    for records in updates.values():
        assert len(records) == 2
        np.testing.assert_array_equal(outputs(records[0])[0], inputs(records[1])[0])
