"""Overflow detection: each record tied to its operator, in words, the first one first."""
import os
import struct

import numpy as np
import pytest

from keras_npu_dump.analysis.triage.rules.overflow_events import status_words
from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats import names
from keras_npu_dump.formats.tensor import dump_file
from keras_npu_dump.formats.tensor.opdebug import parse_record
from keras_npu_dump.report.triage_text import triage_text
from tests.analysis.synthetic import Job, op

OPTIONS = {"enable_dump": False, "enable_dump_debug": True}
LARGE, INF = np.full(8, 6e4, np.float16), np.full(8, np.inf, np.float16)


def _job(folder, emulated=False):
    return Job(folder, [op("x", "Data"), op("dense/MatMul", "MatMulV2", ["x:0", "x:0"]),
                        op("dense/BiasAdd", "BiasAdd", ["dense/MatMul:0"]),
                        op("loss/Exp", "Exp", ["x:0"])], options=OPTIONS, emulated=emulated)


def test_the_first_event_first(tmp_path):
    """BiasAdd overflows because MatMul did; Exp on its own account, later."""
    job = _job(tmp_path)
    folder = job.execution(4, {"dense/MatMul": ([LARGE, LARGE], [INF])})
    job.overflow(folder, "dense/MatMul", status=(0x400,))
    job.execution(4, {"dense/BiasAdd": ([INF, LARGE], [INF])})
    job.overflow(folder, "dense/BiasAdd", status=(0x20,))
    job.execution(4, {"loss/Exp": ([LARGE], [INF])})
    job.overflow(folder, "loss/Exp", source="AIV", status=(0x20, 0, 0, 0))
    found = triage(tmp_path, write=False)
    assert [one.op for one in found.suspects] == ["dense/MatMul", "loss/Exp"]
    first = found.suspects[0]
    assert (first.reason, first.step, first.confidence) == ("overflow-event", 4, "high")
    assert first.downstream == 1
    assert "cube unit" in first.message
    assert "+inf in 8 of 8" in first.message
    assert found.checked["rules"] == ["overflow-event"]
    assert "cube unit" in triage_text(found)


def test_events_of_several_executions_in_their_order(tmp_path):
    job = _job(tmp_path)
    for number, name in ((2, "loss/Exp"), (3, "dense/MatMul")):
        folder = job.execution(number, {name: ([LARGE], [INF])})
        job.overflow(folder, name)
    assert [(one.op, one.step) for one in triage(tmp_path, write=False).suspects] == [
        ("loss/Exp", 2), ("dense/MatMul", 3)]


def test_the_nearest_in_time_of_one_task(tmp_path):
    """A task that runs twice leaves two files; the record belongs to the one before it."""
    job = _job(tmp_path)
    folder = job.execution(0, {"dense/MatMul": [([LARGE, LARGE], [LARGE]),
                                                ([LARGE, LARGE], [INF])]})
    job.overflow(folder, "dense/MatMul")
    assert "+inf in 8 of 8" in triage(tmp_path, write=False).suspects[0].message


def test_a_record_without_its_operator(tmp_path):
    job = _job(tmp_path)
    folder = job.execution(0, {})
    job.overflow(folder, "dense/MatMul", task_id=77)
    first = triage(tmp_path, write=False).suspects[0]
    assert first.op == "task 77, stream 3" and first.confidence == "medium"
    assert triage(tmp_path, write=False).next.dump_layer == []


def test_a_record_that_is_not_set_is_no_event(tmp_path):
    """The old layout has three blocks, of which mostly one is set."""
    job = _job(tmp_path)
    folder = job.execution(0, {"dense/MatMul": ([LARGE, LARGE], [INF])})
    data = bytearray(2048)
    struct.pack_into("<6Q", data, 256, 5, 3, 1, 0, 0, 0)
    struct.pack_into("<3Q", data, 1024, 0, 0, 0x20)
    dump_file.write_file(os.path.join(folder, names.format_dump_name(names.DumpName(
        "Opdebug", "Node_OpDebug", 1, 3, job.stamp + 1))), "Node_OpDebug", [],
        [dump_file.TensorValue(np.frombuffer(bytes(data), np.uint8))], job.stamp + 1)
    found = triage(tmp_path, write=False)
    assert [one.op for one in found.suspects] == ["dense/MatMul"]
    assert "AI Core reports an overflow: floating point" in found.suspects[0].message


@pytest.mark.parametrize("emulated, told", [
    (False, "this does not exclude NaN that comes without overflow"),
    (True, "the emulator sees float16 outputs only")])
def test_nothing_overflowed(tmp_path, emulated, told):
    """The folder holds graphs and a record of the run, and no dump: what was not seen is told."""
    _job(tmp_path, emulated=emulated)
    found = triage(tmp_path, write=False)
    assert found.verdict == "healthy"
    text = triage_text(found)
    assert text.startswith(
        "nothing found: overflow detection was on, and no operator overflowed; " + told)
    assert "healthy" not in text


@pytest.mark.parametrize("source, status, words", [
    ("AIC", (0x20,), "floating point arithmetic out of range"),
    ("AIC", (0x120,), "floating point arithmetic out of range, float32 or int32 converted to "
     "float16 out of range"),
    ("AIV", (0, 0x10, 0, 0), "integer arithmetic out of range"),
    ("AICPU", (0x4000,), "status 0x4000"),
])
def test_status_bits_in_words(source, status, words):
    from keras_npu_dump.formats.tensor.opdebug import pack_record
    version = 1 if len(status) == 4 else 0
    record, = parse_record(pack_record(source, {}, status, version))
    assert status_words(record) == words


def test_atomic_status_in_words():
    """Bits 8 to 15 of the DHA status, 16 to 18 of the L2 status."""
    data = bytearray(2048)
    struct.pack_into("<Q", data, 512, 0x0A00)
    struct.pack_into("<Q", data, 768, 0x10000)
    dha, l2, _ = parse_record(bytes(data))
    assert status_words(dha) == "atomic addition: downwards"
    assert status_words(l2) == "atomic addition in L2: upwards"


def test_the_emulator_s_own_overflow_dump(trained, tmp_path):
    """float16 layers on the emulated device, whole: the forward layer comes first."""
    path = tmp_path / "over"
    trained.run(["--emulate", "--over_dump", "--over_dump_path=%s" % path], "float16_overflow")
    found = triage(path, write=False)
    first = found.suspects[0]
    assert (first.reason, first.op_type, first.step) == ("overflow-event", "MatMul", 3)
    assert "gradient" not in first.op and first.confidence == "high"
    # Gradients that a loss scale let overflow are told as what they are.
    assert all(one.confidence == "medium" for one in found.suspects[1:])
