"""The triage command: what it refuses, and what its text says of what it looked at."""
import sys

import numpy as np
import pytest

from keras_npu_dump.analysis.triage.triage import triage
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


@pytest.mark.parametrize("dumped, counted, told, step", [
    (range(4), 20, "4 dumped executions of 20; from data_index 4 on nothing was dumped", "4-19"),
    ([0], 2, "1 dumped execution of 2; from data_index 1 on nothing was dumped", "1"),
    ([0, 2, 7], 8, "3 dumped executions of 8; data_index 1, 3-6 were not dumped", "1|3-6"),
    ([0, 2], 3, "2 dumped executions of 3; data_index 1 was not dumped", "1"),
    (range(3), 3, "3 dumped executions", None)])
def test_executions_that_were_not_dumped_are_told(tmp_path, dumped, counted, told, step):
    """The verdict is of what was dumped; the rest is proposed as the next dump."""
    job = small_job(tmp_path)
    for data_index in dumped:
        small_execution(job, data_index)
    job.counted(counted)
    found = triage(tmp_path)
    text = triage_text(found)
    assert text.partition("\n")[0].endswith("operators in " + told)
    assert found.verdict == "healthy" and found.checked["counted"] == counted
    assert (found.next.dump_step, found.next.dump_layer) == (step, [])
    if step is not None:
        assert found.next.dump_data == "stats" and found.next.estimated_bytes > 0
        assert "Next: statistics of all operators" in text
        with open(found.next.flagfile) as stream:
            assert "--data_dump_step=%s\n" % step in stream.read()


def test_of_many_executions_a_few_are_dumped_next(tmp_path):
    job = small_job(tmp_path)
    small_execution(job, 0)
    job.counted(2000000)
    steps = triage(tmp_path, write=False).next.dump_step.split("|")
    assert len(steps) == 16 and (steps[0], steps[-1]) == ("1", "1999999")


def test_without_a_journal_nothing_is_said_of_the_rest(tmp_path):
    small_execution(small_job(tmp_path, record=False), 0)
    found = triage(tmp_path, write=False)
    assert found.checked["counted"] is None
    assert found.next.dump_step is None and found.checked["not_seen"] == []


def _broken(folder, operators, **options):
    job = small_job(folder, **options)
    x = np.zeros(4, np.float32)
    bad = np.full(4, np.inf, np.float32)
    values = {"a": ([x], [x]), "b": ([x], [bad]), "c": ([bad], [bad])}
    job.execution(0, {name: values[name] for name in operators})
    return triage(folder)


def test_data_that_is_there_is_not_asked_for_again(tmp_path):
    """The operator and what feeds it lie here as tensors: how to look at them is told."""
    found = _broken(tmp_path / "d", "abc")
    assert found.suspects[0].op == "b"
    assert (found.next.dump_step, found.next.flagfile, found.next.dump_layer) == (None, None, [])
    assert not (tmp_path / "d" / "next.flags").exists()
    text = triage_text(found)
    assert "SCRIPT" not in text
    commands = [line.strip() for line in text.splitlines() if "keras-npu-dump " in line]
    assert commands[0] == "keras-npu-dump inspect %s --step 0 --tensor b" % (tmp_path / "d")
    assert " export " in commands[-1] and "--to npy" in commands[-1]
    for command in commands:
        run_command([sys.executable, "-m", "keras_npu_dump"] + command.split()[1:], tmp_path)


@pytest.mark.parametrize("operators, options", [
    ("bc", {}),                     # what feeds it is not there
    ("abc", {"data": "stats"})])    # no values are there
def test_data_that_is_not_there_is_asked_for(tmp_path, operators, options):
    found = _broken(tmp_path, operators, **options)
    assert found.next.dump_layer[0] == "b" and found.next.dump_step == "0"
    assert (tmp_path / "next.flags").exists()
    assert "SCRIPT" in triage_text(found)
