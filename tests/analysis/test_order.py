"""In time: in which executions an operator goes wrong, and which suspect comes first."""
import numpy as np

from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats.tensor import dump_file
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op, spread

NAN = np.full(4, np.nan, np.float32)


def test_executions_that_only_inherit_are_told_apart(tmp_path):
    """The batches 3 and 8 hold NaN; what 3 did to the weights is in all that follow."""
    job = Job(tmp_path, [
        op("IteratorGetNext", "IteratorGetNext"), op("dense/kernel", "Variable"),
        op("dense/MatMul", "MatMul", ["IteratorGetNext:0", "dense/kernel:0"]),
        op("gradient_tape/dense/MatMul", "MatMul", ["IteratorGetNext:0", "dense/MatMul:0"]),
        op("SGD/update", "ResourceApplyGradientDescent",
           ["dense/kernel:0", "", "gradient_tape/dense/MatMul:0"]),
        op("NetOutput", "NetOutput", ["dense/MatMul:0"])])
    for number in range(10):
        x = NAN if number in (3, 8) else spread(4, seed=number)
        before = spread(4) if number <= 3 else NAN
        y = NAN if number >= 3 else spread(4, seed=9)
        job.execution(number, {
            "IteratorGetNext": ([], [x]), "dense/MatMul": ([x, before], [y]),
            "gradient_tape/dense/MatMul": ([x, y], [y]),
            "SGD/update": ([before, dump_file.TensorValue(np.float32(0.1)), y], [y])})
    found = triage(tmp_path, write=False)
    assert [(one.op, one.reason) for one in found.suspects] == [("IteratorGetNext", "bad-data")]
    near = found.checked["neighbours"]["IteratorGetNext"]
    assert near["data_indices"] == [3, 8]
    assert near["consequences"] == [4, 5, 6, 7, 9]
    text = triage_text(found)
    assert "   seen in      data_index 3, 8\n" in text
    assert "consequences in 4-7, 9 (through variables)\n" in text


def test_an_earlier_fit_comes_first(tmp_path):
    """Of medium confidence at the end of the first fit, of high in the second."""
    job = Job(tmp_path, [op("x", "Data"), op("norm/Rsqrt", "Rsqrt", ["x:0"]),
                         op("loss/Log", "Log", ["x:0"]),
                         op("NetOutput", "NetOutput", ["norm/Rsqrt:0", "loss/Log:0"])])
    x = np.abs(spread(16)) + 1
    for number in range(12):
        fit = int(number == 11)
        y = np.float32(1e7 if number == 10 else 1) / np.sqrt(x)
        given = x * (number != 11)
        with np.errstate(divide="ignore"):
            logarithm = np.log(given)
        job.execution(number, {"norm/Rsqrt": ([x], [y]), "loss/Log": ([given], [logarithm])},
                      iteration=(0, number % 11), fit=fit)
    found = triage(tmp_path, write=False)
    assert [(one.op, one.iteration["fit"], one.step, one.confidence)
            for one in found.suspects] == [
                ("norm/Rsqrt", 0, 10, "medium"), ("loss/Log", 1, 11, "high")]
    assert "it first goes wrong in norm/Rsqrt, data_index 10" in triage_text(found)


def _exploding(tmp_path, after, broken=True):
    """The first update takes a bias from zero to `after`; then probabilities are zero."""
    job = Job(tmp_path, [
        op("x", "Data"), op("dense/kernel", "Variable"), op("dense/bias", "Variable"),
        op("dense/MatMul", "MatMul", ["x:0", "dense/kernel:0"]),
        op("dense/BiasAdd", "BiasAdd", ["dense/MatMul:0", "dense/bias:0"]),
        op("Softmax", "Softmax", ["dense/BiasAdd:0"]),
        op("gradient_tape/Reciprocal", "Reciprocal", ["Softmax:0"]),
        op("gradient_tape/dense/MatMul", "MatMul", ["x:0", "gradient_tape/Reciprocal:0"]),
        op("gradient_tape/dense/BiasAddGrad", "BiasAddGrad", ["gradient_tape/Reciprocal:0"]),
        op("SGD/kernel", "ResourceApplyGradientDescent",
           ["dense/kernel:0", "", "gradient_tape/dense/MatMul:0"]),
        op("SGD/bias", "ResourceApplyGradientDescent",
           ["dense/bias:0", "", "gradient_tape/dense/BiasAddGrad:0"])], data="stats")
    kernel, rate = spread(4, scale=0.3, seed=1), np.array([1e6], np.float32)
    for number in range(4):
        x = spread(4, seed=number)
        bias = np.full(4, after if number else 0, np.float32)
        end = np.full(4, after, np.float32)
        y = x * kernel
        given = np.full(4, 1e-6 if number and broken else 0.25, np.float32)
        inverse = 1 / given
        gradient = spread(4, seed=20 + number, scale=0.1)
        job.execution(number, {
            "dense/MatMul": ([x, kernel], [y]), "dense/BiasAdd": ([y, bias], [y + bias]),
            "Softmax": ([y + bias], [given]), "gradient_tape/Reciprocal": ([given], [inverse]),
            "gradient_tape/dense/MatMul": ([x, inverse], [gradient]),
            "gradient_tape/dense/BiasAddGrad": ([inverse], [gradient]),
            "SGD/kernel": ([kernel, rate, gradient], [kernel]),
            "SGD/bias": ([bias, rate, gradient], [end])})
    return triage(tmp_path, write=False)


def test_the_update_that_exploded_comes_before_what_breaks_on_it(tmp_path):
    found = _exploding(tmp_path, 1e5)
    assert [(one.op, one.step, one.confidence) for one in found.suspects] == [
        ("SGD/bias", 0, "medium"), ("gradient_tape/Reciprocal", 1, "medium")]
    assert "dense/bias goes from 0 to 100000" in found.suspects[0].message
    assert "in the execution before, although" in found.suspects[1].message
    # The next dump shows both: the update, and that something breaks on it.
    assert found.next.dump_step == "0-1"
    assert {"SGD/bias", "gradient_tape/Reciprocal"} <= set(found.next.dump_layer)


def test_an_update_on_which_nothing_breaks_is_odd_only(tmp_path):
    found = _exploding(tmp_path, 1e5, broken=False)
    assert found.verdict == "healthy"
    assert [one.op for one in found.observations] == ["SGD/bias"]
    assert "Looks odd, of low confidence:\n   SGD/bias" in triage_text(found)


def test_a_small_update_is_not_blamed(tmp_path):
    assert [one.op for one in _exploding(tmp_path, 3).suspects] == ["gradient_tape/Reciprocal"]
