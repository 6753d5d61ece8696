"""The triage command: what it refuses, and what its text says of what it looked at."""
import sys

import numpy as np
import pytest

from keras_npu_dump.analysis.triage import triage
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op, spread
from tests.conftest import run_command


def small_job(folder, **options):
    return Job(folder, [op("x", "Data"), op("a", "Neg", ["x:0"]), op("b", "Relu", ["a:0"]),
                        op("c", "Square", ["b:0"]), op("NetOutput", "NetOutput", ["c:0"])],
               **options)


def small_execution(job, data_index):
    x = spread(seed=data_index)
    return job.execution(data_index, {"a": ([x], [-x]), "b": ([-x], [np.maximum(-x, 0)])})


@pytest.mark.parametrize("arguments, told", [
    (("--role", "foo"), "role: expected one of train, eval, predict, iterator, init, unknown, all."
                        " Received: 'foo'"),
    (("--limit", "0"), "limit: expected at least 1 operator. Received: 0"),
    (("--limit", "-3"), "limit: expected at least 1 operator. Received: -3")])
def test_what_is_refused(tmp_path, arguments, told):
    small_execution(small_job(tmp_path), 0)
    done = run_command([sys.executable, "-m", "keras_npu_dump", "triage", "."] + list(arguments),
                       tmp_path, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert told in done.stderr and "Traceback" not in done.stderr


def test_a_role_that_was_not_dumped_is_named(tmp_path):
    from keras_npu_dump.errors import InputError
    small_execution(small_job(tmp_path), 0)
    with pytest.raises(InputError, match="no eval graph was dumped"):
        triage(tmp_path, role="eval", write=False)


def test_operators_that_were_looked_at_are_counted(tmp_path):
    """The graph has five; two left files, in both executions."""
    job = small_job(tmp_path)
    small_execution(job, 0)
    small_execution(job, 1)
    found = triage(tmp_path, write=False)
    assert found.checked["operators"] == 2
    assert "in 8 tensors of 2 operators in 2 dumped executions" in triage_text(found)
