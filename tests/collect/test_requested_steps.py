"""Steps that were executed and left nothing: is the cause the one of that step?"""
import json

from keras_npu_dump import collect
from tests.collect import making
from tests.collect.making import TRAIN


def note(dump, event):
    with open(str(dump / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write(json.dumps(event) + "\n")


def job_with_gaps(dump, asked, there, count, **changes):
    making.graph(dump / "graphs/pid_7_deviceid_0", TRAIN, making.train_ops(), 3, 3)
    making.steps(dump, making.train_ops(), there)
    options = {"dump_step": "|".join(str(index) for index in asked)}
    making.record(dump, asked, count, options=options, **changes)


def missing(manifest):
    return {one.message.split()[1]: one for one in manifest.problems
            if one.code == "step-missing"}


def test_a_deleted_step_is_no_cause_for_those_after_it(tmp_path):
    """The folders of the first three executions were deleted; the seventh is another matter."""
    job_with_gaps(tmp_path, (1, 6, 7), (7,), 8)
    note(tmp_path, {"event": "lost", "what": "steps", "path": "somewhere", "of_section": 0,
                    "executions": 3})
    told = missing(collect(str(tmp_path)))
    assert sorted(told) == ["1", "6"]
    assert "deleted" in told["1"].message and told["1"].hint is None
    assert "deleted" not in told["6"].message and told["6"].hint is not None


def test_a_step_that_was_deleted_in_another_section_is_not_called_deleted(tmp_path):
    job_with_gaps(tmp_path, (1, 7), (7,), 8)
    note(tmp_path, {"event": "lost", "what": "steps", "path": "somewhere", "of_section": 1,
                    "executions": 3})
    told = missing(collect(str(tmp_path)))
    assert "deleted" not in told["1"].message
