"""In time: in which executions an operator goes wrong, and which suspect comes first."""
import numpy as np

from keras_npu_dump.analysis.triage import triage
from keras_npu_dump.formats import tensor
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
            "SGD/update": ([before, tensor.Value(np.float32(0.1)), y], [y])})
    found = triage(tmp_path, write=False)
    assert [(one.op, one.reason) for one in found.suspects] == [("IteratorGetNext", "bad-data")]
    near = found.checked["neighbours"]["IteratorGetNext"]
    assert near["data_indices"] == [3, 8]
    assert near["consequences"] == [4, 5, 6, 7, 9]
    text = triage_text(found)
    assert "   seen in      data_index 3, 8\n" in text
    assert "consequences in 4-7, 9 (through variables)\n" in text
