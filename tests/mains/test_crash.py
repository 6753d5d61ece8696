"""Is an exception that ended a training told in its own words, with the execution it ended?"""
import json

import pytest

from tests.mains.running import manifest, run_main, run_plain
from tests.mains.said import check_kept

STEPS = ["--data_dump_step=0|3|5"]


def record(folder):
    path, = folder.glob("d/runs/*/run.json")
    return json.loads(path.read_text())


def messages(document):
    return {one["code"]: one["message"] for one in document["problems"]}


@pytest.mark.parametrize("arguments", [["execution"], ["execution", "--session"]])
def test_execution_3_raised_and_the_operator_is_named(tmp_path, arguments):
    done = run_main(tmp_path, "crash.py", *arguments, options=STEPS, status=1)
    check_kept(done, tmp_path, "crash_in_step_3" + "_of_session" * (len(arguments) - 1))
    failure = record(tmp_path)["failure"]
    assert (failure["type"], failure["data_index"], failure["tracing"]) == (
        "InvalidArgumentError", 3, False)
    assert failure["message"].startswith("indices[1,0] = 99 is not in [0, 10)")
    assert "embedding" in failure["operator"]
    assert record(tmp_path)["raised"] == [failure]
    said = messages(manifest(tmp_path))
    for code in ("step-missing", "step-not-reached", "run-crashed"):
        assert "execution 3 raised InvalidArgumentError" in said[code]
        assert "at operator " + failure["operator"] in said[code]
    # Its words once.
    assert [code for code in said if "indices[1,0] = 99" in said[code]] == ["step-not-reached"]
    assert "cause unknown" not in done.stderr and "after 4 executions" not in done.stderr
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert "function_calls.py" not in done.stderr


def test_an_exception_while_tracing_comes_before_the_first_execution(tmp_path):
    # Without the launcher the end says it, in a line.
    done = run_plain(tmp_path, "crash.py", "tracing", "--emulate", "--dump", status=1)
    check_kept(done, tmp_path, "crash_while_tracing")
    found, said = record(tmp_path), json.dumps(messages(manifest(tmp_path)))
    assert found["failure"]["data_index"] is None and found["raised"] == []
    if found["counts"]:
        assert found["counts"] == [0] and found["failure"]["tracing"]
        assert ("step 0 not reached: ended by an exception while a function was traced"
                " (ValueError: on purpose) before the first execution") in done.stderr
    else:  # Keras 3 has tried the loss before the fit began
        assert ("No training function was executed, so nothing of it was dumped: ended by an"
                " exception (ValueError: on purpose).") in done.stderr
    assert "executed" not in said and "before the first execution" in said


def test_an_exception_of_a_callback_ends_no_execution(tmp_path):
    run_main(tmp_path, "crash.py", "callback", "--text=token=hunter2 \x1b[31m", options=STEPS,
             status=1)
    found = record(tmp_path)
    assert found["raised"] == [] and found["failure"]["type"] == "KeyError"
    assert "hunter2" not in json.dumps(found) and found["counts"] == [4]
    said = messages(manifest(tmp_path))
    assert "step-missing" not in said and "\x1b" not in said["step-not-reached"]
    assert "(KeyError: 'token=***" in said["step-not-reached"]
    assert said["run-crashed"].endswith(": ended by an exception (KeyError)")
    assert said["step-not-reached"].endswith(" after 4 executions")


def test_an_exception_that_is_caught_ends_its_execution_and_nothing_else(tmp_path):
    run_main(tmp_path, "crash.py", "execution", "--loop", "--retry", options=STEPS)
    found = record(tmp_path)
    assert found["failure"] is None and found["cause"] is None and found["counts"] == [6]
    assert [one["data_index"] for one in found["raised"]] == [3]
    said = messages(manifest(tmp_path))
    assert "execution 3 raised InvalidArgumentError" in said["step-missing"]
    assert "run-crashed" not in said


def test_an_exception_in_another_thread(tmp_path):
    run_main(tmp_path, "crash.py", "thread", options=STEPS)
    found = record(tmp_path)
    assert found["failure"] is None and found["raised"][0]["data_index"] == 3
    assert "execution 3 raised" in messages(manifest(tmp_path))["step-missing"]
