"""Is it said truly why a step that was asked for never came?"""
import json

import pytest

from keras_npu_dump.collector.checks import run_ending
from keras_npu_dump.records.journal_lines import RecordedSection
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import RecordedRun
from tests.capture.test_session import PRELUDE
from tests.conftest import run_python

NORMAL = {"opened": True, "ended": "2026-01-01T00:00:00+00:00", "status": "ended"}
FAILED = dict(NORMAL, status="failed")


@pytest.mark.parametrize("changes, counts, text, hint", [
    ({}, [4], ", 4 executions ran", "below 4"),
    ({}, [4, 6], ", 4 and 6 executions ran in 2 training graphs", "below 6"),
    ({}, [], ", 0 executions ran", "nothing was trained"),
    ({"eager": True}, [], ", 0 executions ran", "run_eagerly=True, which"),
    ({"ended": None, "status": "running"}, [4], ", 4 executions or more ran; the process ended"
     " before", None),
    (dict(FAILED, cause="interrupted by SIGINT"), [4],
     ": interrupted by SIGINT after 4 executions", None),
    (dict(FAILED, cause="ended by an exception (KeyError)"), [],
     ": ended by an exception (KeyError) before the first execution", None),
    (FAILED, [4], ", 4 executions ran; the training failed before", None),
    (dict(FAILED, opened=False, cause="ended by an exception (ValueError)"), [],
     ", npu_device was never opened: ended by an exception (ValueError)", None),
    ({"opened": False}, [], ", npu_device was never opened", None),
])
def test_what_follows_not_reached(changes, counts, text, hint):
    found = run_ending.of(RecordedRun("", "run", dict(NORMAL, **changes), []), counts,
                          Problems())
    assert found.text == text
    assert (found.hint is None) if hint is None else (hint in found.hint)


def test_a_loop_that_was_entered_and_counted_nothing():
    def is_one(*sections):
        return run_ending.is_uncounted_loop(RecordedRun("", "run", NORMAL, list(sections)))
    assert is_one(RecordedSection(0, "loop", ran=0)) and not is_one()
    assert not is_one(RecordedSection(0, "loop", ran=2))
    assert not is_one(RecordedSection(0, "model", ran=0))


@pytest.mark.parametrize("code, cause, said", [
    ("raise KeyError('on purpose')", "ended by an exception (KeyError)",
     ": 'on purpose') after 1 executions"),
    ("raise KeyboardInterrupt", "interrupted by SIGINT", "after 1 executions"),
    ("pass", None, "1 executions ran"),
])
@pytest.mark.usefixtures("no_tensorflow")
def test_plain_python_that_ends_with_a_traceback_has_failed(tmp_path, code, cause, said):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="9")
npu_device.open()
with dump:
    with dump.step():
        pass
""" + code, tmp_path, check=False)
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["cause"]) == ("failed" if cause else "ended", cause)
    manifest = json.loads(next(tmp_path.glob("d/runs/*/manifest.json")).read_text())
    problem, = [one for one in manifest["problems"] if one["code"] == "step-not-reached"]
    for text in (problem["message"], done.stderr):
        assert said in text and (cause or "").rstrip(")") in text


def test_a_dump_that_is_there_was_reached_whatever_was_counted(tmp_path):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="1|5")
npu_device.open().as_default()
import tensorflow as tf
double = tf.function(lambda x: 2 * x)
with dump:
    for _ in range(3):
        double(tf.ones(2))
print(json.dumps([one.message for one in dump.manifest.problems]))
""", tmp_path)
    found = json.loads(done.stdout.splitlines()[-1])
    assert [one.startswith("step 5 has no folder") for one in found if "step" in one] == [True]
    assert "`with dump.step():` never" in done.stderr
