"""Two commands: statistics of everything, then the few tensors that decide. No editing."""
import os

import pytest

from tests.analysis.conftest import command, triage_command
from tests.analysis.test_failing_trainings import ANSWERS


def second_run(trained, document, name):
    """The command that triage's text says; returns the dump path of that run."""
    trained.run(["--flagfile=%s" % document["next"]["flagfile"]], name)
    with open(document["next"]["flagfile"]) as stream:
        flags = dict(line.strip().partition("=")[::2] for line in stream)
    return flags["--data_dump_path"]


def dump_files(path):
    """{operator: size of its file} of a run's training graph."""
    import keras_npu_dump
    steps = keras_npu_dump.open_run(path).steps()
    return {name: os.stat(os.path.join(folder, name)).st_size
            for step in steps for folder in step.folders for name in os.listdir(folder)}


@pytest.mark.parametrize("name", ["log_of_zero", "norm_at_zero", "float16_overflow"])
def test_the_second_run_confirms_the_operator(trained, name):
    op_type, _, data_index, _ = ANSWERS[name]
    first = triage_command(trained(name), 1)
    planned = first["next"]
    assert planned["dump_step"] == str(data_index)
    assert planned["dump_layer"][0] == first["suspects"][0]["op"]
    assert 1 < len(planned["dump_layer"]) <= 5  # the operator and what feeds it
    assert os.stat(planned["flagfile"]).st_mode & 0o777 == 0o600

    path = second_run(trained, first, name)
    files = dump_files(path)
    assert len(files) == len(planned["dump_layer"])
    size = sum(files.values())
    assert 0.7 * size < planned["estimated_bytes"] < 1.4 * size
    second = triage_command(path, 1)
    suspect = second["suspects"][0]
    assert (suspect["op"], suspect["op_type"], suspect["step"]) == (
        first["suspects"][0]["op"], op_type, data_index)
    assert suspect["confidence"] == "high"
    # With tensors at hand the place is known, too.
    assert "first at [" in suspect["message"]
    # And there is nothing more to dump.
    assert (second["next"]["dump_step"], second["next"]["flagfile"]) == (None, None)


def test_the_value_that_is_to_blame_is_shown(trained):
    """A logarithm of zero: the zero itself."""
    path = second_run(trained, triage_command(trained("log_of_zero"), 1), "log_of_zero")
    message = triage_command(path, 1)["suspects"][0]["message"]
    assert "where input 0 is 0" in message


def test_a_wrong_first_guess_moves_upstream(trained, tmp_path):
    """Somebody dumped the loss only; what it takes in is bad already."""
    path = tmp_path / "guess"
    full = triage_command(trained("log_of_zero"), 1)
    culprit = full["suspects"][0]["op"]
    late = _far_below(trained("log_of_zero"), culprit)
    trained.run(["--emulate", "--data_dump_path=%s" % path, "--data_dump_step=2",
                 "--data_dump_layer=%s" % late], "log_of_zero")
    document = triage_command(path, 1)
    assert document["suspects"][0]["reason"] == "arrives-bad"
    assert document["suspects"][0]["op"] == late
    assert document["next"]["dump_layer"][0] != late

    found = triage_command(second_run(trained, document, "log_of_zero"), 1)
    assert found["suspects"][0]["op"] == culprit
    assert found["suspects"][0]["confidence"] == "high"


def _far_below(path, culprit):
    """An operator that several others stand between it and the culprit."""
    import keras_npu_dump
    table = keras_npu_dump.open_run(path).operators()
    position = table.by_name(culprit)
    for _ in range(3):
        position = next(one for one in table.consumers[position] if table.consumers[one])
    return table.names[position]


def test_a_diverging_weight_is_watched_long_enough_to_see_it(trained):
    first = triage_command(trained("exploding_rate"), 1)
    begin, _, end = first["next"]["dump_step"].partition("-")
    assert int(begin) == first["suspects"][0]["step"] and int(end) > int(begin)
    second = triage_command(second_run(trained, first, "exploding_rate"), 1)
    assert second["suspects"][0]["op"] == first["suspects"][0]["op"]
    assert second["suspects"][0]["reason"] == "jump"


def test_another_place_for_the_flags(trained, tmp_path):
    flags = tmp_path / "mine.flags"
    command("triage", trained("norm_at_zero"), "--flagfile", flags, status=1)
    text = flags.read_text()
    assert text.startswith("# ")
    assert "--data_dump_mode=all\n" in text and "--data_dump_flag=True\n" in text
    assert "--emulate" not in text  # `run` learns it from the record of the first run
