"""One rule at a time, on jobs written by hand: what is told, and what is not."""
import numpy as np
import pytest

from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats.graph import ge_graph
from keras_npu_dump.formats.tensor import dump_file
from tests.analysis.synthetic import GRAPH, Job, op, spread

HALF = np.float16


def suspects(path):
    return {one.op: one for one in triage(path, write=False).suspects}


def observations(path):
    return {one.op: one for one in triage(path, write=False).observations}


def bfloat16(values):
    words = (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return dump_file.TensorValue(words, 27, shape=words.shape)


# --- 16 bits


def test_a_product_that_saturates(tmp_path):
    """A device without infinities stops at 65504."""
    job = Job(tmp_path, [op("x", "Data"), op("dense/MatMul", "MatMulV2", ["x:0", "x:0"]),
                         op("dense/Relu", "Relu", ["dense/MatMul:0"])])
    high = np.array([1, 2, 65504, 3], HALF)
    x = np.full(4, 600, HALF)
    job.execution(0, {"dense/MatMul": ([x, x], [high]), "dense/Relu": ([high], [high])})
    found = suspects(tmp_path)
    assert set(found) == {"dense/MatMul"}
    first = found["dense/MatMul"]
    assert (first.reason, first.confidence, first.downstream) == ("saturation", "high", 1)
    assert "65504" in first.message and "600" in first.message


def test_a_bfloat16_that_saturates(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("y", "Mul", ["x:0", "x:0"])])
    x = bfloat16([1e20, 3])
    job.execution(0, {"y": ([x, x], [bfloat16([3.3895313892515355e38, 9])])})
    assert suspects(tmp_path)["y"].reason == "saturation"


def test_the_constant_of_a_mask_is_no_saturation(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("low", "Const"), op("mask", "Mul", ["x:0", "low:0"]),
                         op("scores", "AddV2", ["mask:0", "x:0"])])
    x, low = np.array([0, 1], HALF), np.array(-65504, HALF)
    mask = np.array([0, -65504], HALF)
    job.execution(0, {"mask": ([x, low], [mask]), "scores": ([mask, x], [mask])})
    assert triage(tmp_path, write=False).verdict == "healthy"


@pytest.mark.parametrize("executions, told", [(1, "low"), (2, "medium")])
def test_a_cast_that_underflows(tmp_path, executions, told):
    """Once may be right, a learned sample has no gradient; always is not."""
    job = Job(tmp_path, [op("x", "Data"), op("gradients/Cast", "Cast", ["x:0"]),
                         op("gradients/Mul", "Mul", ["gradients/Cast:0", "x:0"])])
    tiny, zero = spread(scale=1e-10), np.zeros(64, HALF)
    for number in range(executions):
        job.execution(number, {"gradients/Cast": ([tiny], [zero]),
                               "gradients/Mul": ([zero, tiny], [zero])})
    found = suspects(tmp_path) if told == "medium" else observations(tmp_path)
    assert set(found) == {"gradients/Cast"}
    assert found["gradients/Cast"].reason == "underflow"
    assert found["gradients/Cast"].confidence == told


# --- values that are not finite


def test_a_mask_of_minus_infinity_ends_in_softmax(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("minus", "Const"),
                         op("mask", "SelectV2", ["x:0", "x:0", "minus:0"]),
                         op("attention/Softmax", "Softmax", ["mask:0"]),
                         op("NetOutput", "NetOutput", ["attention/Softmax:0"])])
    x, minus = spread(4), np.array(-np.inf, np.float32)
    masked = np.array([0, 1, -np.inf, -np.inf], np.float32)
    job.execution(0, {"mask": ([x > 0, x, minus], [masked]),
                      "attention/Softmax": ([masked], [np.array([.3, .7, 0, 0], np.float32)])})
    assert triage(tmp_path, write=False).verdict == "healthy"


def test_a_row_that_is_masked_completely(tmp_path):
    """The infinities are meant; what makes NaN of them is to be named."""
    job = Job(tmp_path, [op("x", "Data"), op("minus", "Const"),
                         op("attention/Sub", "Sub", ["minus:0", "minus:0"]),
                         op("attention/Exp", "Exp", ["attention/Sub:0"]),
                         op("NetOutput", "NetOutput", ["attention/Exp:0"])])
    minus, nan = np.full(4, -np.inf, np.float32), np.full(4, np.nan, np.float32)
    job.execution(0, {"attention/Sub": ([minus, minus], [nan]),
                      "attention/Exp": ([nan], [nan])})
    found = suspects(tmp_path)
    assert set(found) == {"attention/Sub"}
    assert (found["attention/Sub"].reason, found["attention/Sub"].confidence) == ("nan", "high")


def test_nothing_takes_it(tmp_path):
    """An output that is used by nothing may hold anything."""
    job = Job(tmp_path, [op("x", "Data"), op("norm", "FusedBatchNormV3", ["x:0"]),
                         op("relu", "Relu", ["norm:0"]),
                         op("NetOutput", "NetOutput", ["relu:0"])])
    x, nan = spread(), np.full(4, np.nan, np.float32)
    job.execution(0, {"norm": ([x], [x, nan]), "relu": ([x], [np.maximum(x, 0)])})
    found = triage(tmp_path, write=False)
    assert found.verdict == "healthy"
    assert [one.op for one in found.observations] == ["norm"]


def test_without_a_graph(tmp_path):
    """Times in the names give the order, the files themselves inputs and outputs."""
    job = Job(tmp_path, [op("a", "Relu"), op("b", "Log"), op("c", "Neg")], with_graph=False)
    x, bad = np.abs(spread(8)), np.full(8, -np.inf, np.float32)
    x[3] = 0
    job.execution(0, {"a": ([x], [x]), "b": ([x], [bad]), "c": ([bad], [-bad])})
    result = triage(tmp_path, write=False)
    first = result.suspects[0]
    assert (first.op, first.op_type, first.step) == ("b", "Log", 0)
    assert first.downstream == 1 and "logarithm of zero" in first.message
    assert not result.checked["graph"]
    assert result.checked["not_checked"]["zero-gradient"] == "no graph"


def test_the_batch_itself_is_bad(tmp_path):
    job = Job(tmp_path, [op("IteratorGetNext", "IteratorGetNext"),
                         op("dense/MatMul", "MatMul", ["IteratorGetNext:0", ""]),
                         op("NetOutput", "NetOutput", ["dense/MatMul:0"])])
    x, good = spread(), spread(seed=1)
    x[7] = np.nan
    job.execution(0, {"dense/MatMul": ([x, good], [x])})
    first = triage(tmp_path, write=False).suspects[0]
    assert (first.op, first.reason, first.confidence) == ("IteratorGetNext", "bad-data", "high")


def test_a_variable_that_was_bad_from_the_start(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("dense/kernel", "Variable"),
                         op("dense/MatMul", "MatMul", ["x:0", "dense/kernel:0"]),
                         op("NetOutput", "NetOutput", ["dense/MatMul:0"])])
    weight = spread()
    weight[0] = np.nan
    job.execution(0, {"dense/MatMul": ([spread(seed=1), weight], [weight])})
    found = triage(tmp_path, write=False)
    first = found.suspects[0]
    assert first.reason == "bad-variable" and "dense/kernel holds NaN" in first.message
    assert found.next.dump_step is None and "initial value" in found.next.why


def test_the_third_turn_of_a_loop(tmp_path):
    """An operator in a body runs several times; bad inputs count for their own turn."""
    body = ge_graph.Graph("loop0body7", [
        op("loop/state", "Data", _parent_node_index=0), op("loop/cell/Square", "Square",
                                                           ["loop/state:0"]),
        op("loop_NetOutput", "NetOutput", ["loop/cell/Square:0"])])
    root = ge_graph.Graph(GRAPH, [
        op("x", "Data"), ge_graph.GraphOp("loop", "While", ["x:0"], subgraph_names=["loop0body7"],
                                       original_op_names=["loop"]),
        op("out/Identity", "AddV2", ["loop:0", "x:0"]),
        op("NetOutput", "NetOutput", ["out/Identity:0"])])
    job = Job(tmp_path, [root, body])
    values = [np.full(4, 10.0 ** power, np.float32) for power in (5, 10, 20)]
    infinite = np.full(4, np.inf, np.float32)
    turns = [([values[0]], [values[1]]), ([values[1]], [values[2]]), ([values[2]], [infinite]),
             ([infinite], [infinite])]
    job.execution(0, {"loop/cell/Square": turns,
                      "out/Identity": ([infinite, values[0]], [infinite])})
    first = triage(tmp_path, write=False).suspects[0]
    assert (first.op, first.reason, first.confidence) == ("loop/cell/Square", "infinity", "high")
    assert "1e+20" in first.message  # the input of the turn in which it happened
    assert first.downstream == 1


# --- values that jump, and values that do not move


def test_an_operator_that_jumps_alone(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("norm/Rsqrt", "Rsqrt", ["x:0"]),
                         op("norm/Mul", "Mul", ["norm/Rsqrt:0", "x:0"])])
    x = np.abs(spread(16)) + 1
    for number, scale in enumerate([1, 1, 1, 1e7]):
        y = np.float32(scale) / np.sqrt(x)
        job.execution(number, {"norm/Rsqrt": ([x], [y]), "norm/Mul": ([y, x], [y * x])})
    found = suspects(tmp_path)
    assert set(found) == {"norm/Rsqrt"}
    assert (found["norm/Rsqrt"].step, found["norm/Rsqrt"].reason) == (3, "jump")


def test_a_batch_with_a_heavy_tail_is_odd_only(tmp_path):
    job = Job(tmp_path, [op("IteratorGetNext", "IteratorGetNext"),
                         op("log", "Log1p", ["IteratorGetNext:0"])])
    for number, scale in enumerate([1, 1, 1e6]):
        x = np.abs(spread(16)) * scale
        job.execution(number, {"IteratorGetNext": ([], [x]), "log": ([x], [np.log1p(x)])})
    found = triage(tmp_path, write=False)
    assert found.verdict == "healthy"
    assert [(one.op, one.step) for one in found.observations] == [("IteratorGetNext", 2)]


def _training(tmp_path, steps, features, gradient):
    ops = [op("IteratorGetNext", "IteratorGetNext"), op("dense/kernel", "Variable"),
           op("dense/MatMul", "MatMul", ["IteratorGetNext:0", "dense/kernel:0"]),
           op("dense/Relu", "Relu", ["dense/MatMul:0"]),
           op("gradient_tape/loss", "Mul", ["dense/Relu:0", "IteratorGetNext:0"]),
           op("gradient_tape/dense/ReluGrad", "ReluGrad",
              ["gradient_tape/loss:0", "dense/Relu:0"]),
           op("gradient_tape/dense/MatMul", "MatMul",
              ["IteratorGetNext:0", "gradient_tape/dense/ReluGrad:0"]),
           op("SGD/update", "ResourceApplyGradientDescent",
              ["dense/kernel:0", "", "gradient_tape/dense/MatMul:0"])]
    job = Job(tmp_path, ops)
    w = spread(seed=5)
    for number in range(steps):
        x, before = spread(seed=number), features(number)
        after = np.maximum(before, 0)
        down = spread(seed=30 + number, scale=0.1)
        through, grad = gradient(number, down, after)
        job.execution(number, {
            "IteratorGetNext": ([], [x]), "dense/MatMul": ([x, w], [before]),
            "dense/Relu": ([before], [after]), "gradient_tape/loss": ([after, x], [down]),
            "gradient_tape/dense/ReluGrad": ([down, after], [through]),
            "gradient_tape/dense/MatMul": ([x, through], [grad]),
            "SGD/update": ([w, dump_file.TensorValue(np.float32(0.1)), grad], [w - 0.1 * grad])})
        w = w - 0.1 * grad
    return triage(tmp_path, write=False)


def test_a_layer_that_is_off_for_good(tmp_path):
    """All units below zero in every execution: the layer is named, its gradient with it."""
    zero = np.zeros(64, np.float32)
    found = _training(tmp_path, 3, lambda number: -1 - np.abs(spread(seed=number)),
                      lambda number, down, after: (zero, zero))
    assert [one.op for one in found.suspects] == ["dense/Relu"]
    first = found.suspects[0]
    assert first.reason == "constant-output"
    assert "gradient_tape/dense/ReluGrad" in first.also


def test_a_gradient_that_stops(tmp_path):
    """The layer works, and what comes back through it is exactly zero."""
    zero = np.zeros(64, np.float32)
    found = _training(tmp_path, 3, lambda number: spread(seed=40 + number),
                      lambda number, down, after: (zero, zero))
    first = found.suspects[0]
    assert (first.op, first.reason) == ("gradient_tape/dense/ReluGrad", "zero-gradient")


def test_a_training_that_works(tmp_path):
    found = _training(tmp_path, 3, lambda number: spread(seed=40 + number),
                      lambda number, down, after: (down * (after > 0), down * (after > 0) * 2))
    assert found.verdict == "healthy", found.suspects
    assert not found.observations


def _prices(tmp_path, sizes):
    """A bias that learns; its size before and after each update."""
    ops = [op("x", "Data"), op("price/bias", "Variable"),
           op("price/BiasAdd", "BiasAdd", ["x:0", "price/bias:0"]),
           op("gradient_tape/price/BiasAddGrad", "BiasAddGrad", ["price/BiasAdd:0"]),
           op("SGD/update", "ResourceApplyGradientDescent",
              ["price/bias:0", "", "gradient_tape/price/BiasAddGrad:0"])]
    job = Job(tmp_path, ops)
    x = spread(4)
    for number, (before, after) in enumerate(zip(sizes, sizes[1:])):
        w, new = np.full(4, before, np.float32), np.full(4, after, np.float32)
        gradient = np.full(4, -after, np.float32)
        job.execution(number, {
            "price/BiasAdd": ([x, w], [x + w]),
            "gradient_tape/price/BiasAddGrad": ([x], [gradient]),
            "SGD/update": ([w, dump_file.TensorValue(np.float32(1)), gradient], [new])})
    return triage(tmp_path, write=False)


def test_weights_that_learn_large_numbers_are_odd_only(tmp_path):
    """From one to a hundred thousand, and there they stay."""
    found = _prices(tmp_path, [1.0, 50, 2e3, 3e4, 9e4, 9.9e4, 1e5])
    assert found.verdict == "healthy", found.suspects
    assert [(one.op, one.step) for one in found.observations] == [("SGD/update", 0)]


@pytest.mark.parametrize("sizes, told", [
    ([1.0, 5e3, 5.1e3, 5.2e3], "medium"),               # all of it in one update
    ([1.0, 20, 400, 8e3, 1.6e5], "medium"),             # and growing still
    ([1.0, 20, 400, 8e3, 1.6e5, 3.2e6], "high"),
    ([1.0, 20, 400, np.inf, np.inf], "high")])
def test_weights_that_diverge(tmp_path, sizes, told):
    first = _prices(tmp_path, sizes).suspects[0]
    assert (first.op, first.reason, first.step) == ("SGD/update", "jump", 0)
    assert first.confidence == told


# --- what makes the answer true


def test_original_names_and_the_fusion_pass(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), ge_graph.GraphOp(
        "fused_LogNeg", "Log", ["x:0"], original_op_names=["loss/Log", "loss/Neg"],
        attrs={"pass_name": ge_graph.AttrList(["LogNegFusionPass"], "STRING")}),
        op("NetOutput", "NetOutput", ["fused_LogNeg:0"])])
    x = np.zeros(4, np.float32)
    job.execution(0, {"fused_LogNeg": ([x], [np.full(4, np.inf, np.float32)])})
    found = triage(tmp_path, write=False)
    first = found.suspects[0]
    assert first.original_ops == ["loss/Log", "loss/Neg"]
    assert first.fusion_pass == "LogNegFusionPass"
    assert found.checked["neighbours"]["fused_LogNeg"]["fusion_pass"] == "LogNegFusionPass"


def test_a_broken_file_is_told_and_the_rest_judged(tmp_path):
    job = Job(tmp_path, [op("x", "Data"), op("a", "Log", ["x:0"]), op("b", "Neg", ["a:0"]),
                         op("NetOutput", "NetOutput", ["b:0"])])
    x = np.zeros(4, np.float32)
    folder = job.execution(0, {"a": ([x], [x - np.inf]), "b": ([x - np.inf], [x + np.inf])})
    import os
    name = next(one for one in os.listdir(folder) if one.startswith("Neg."))
    with open(os.path.join(folder, name), "r+b") as stream:
        stream.truncate(60)
    found = triage(tmp_path, write=False)
    assert found.suspects[0].op == "a"
    assert [one["path"] for one in found.checked["unreadable"]] == [os.path.join(folder, name)]


def test_nothing_to_look_at(tmp_path):
    from keras_npu_dump.errors import InputError
    with pytest.raises(InputError):
        triage(tmp_path, write=False)
    with pytest.raises(InputError):
        triage(tmp_path / "missing", write=False)
