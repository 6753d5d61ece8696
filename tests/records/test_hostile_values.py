"""Values that no record can have: is each told once, and is the rest of the answer as before?"""
import json
import os

import pytest

from keras_npu_dump import collect, open_run
from keras_npu_dump.cli import main
from keras_npu_dump.records.manifest import load_manifest
from tests.collect import making

DEEP = "[" * 900 + "]" * 900
# JSON texts that are none of: a number from 0 to 2**63-1, a text, true, a list, an object.
NUMBERS = ["1e999", "-1e999", "NaN", "9" * 5000, "9223372036854775808", "-1"]
OTHERS = ["0.5", '"7"', "true", '"\\ud800"', '"a\\u0000b"', "[]", "{}", "[[]]", '{"a": {}}', DEEP]
VALUES = NUMBERS + OTHERS
# What each field of a record takes of these.
TAKEN = {
    "pid": (), "rank": (), "device": (), "rank_size": (), "lost_lines": (),
    "host": ('"7"',), "version": ('"7"',), "cwd": ('"7"',), "graph_path": ('"7"',),
    "cause": ('"7"',), "status": ('"7"',),
    "started": (), "ended": (), "timezone": (),
    "emulated": ("true",), "opened": ("true",), "eager": ("true",),
    "options": ("{}",), "environment": ("{}",), "versions": ("{}",),
    "script": ("[]",), "models": ("[]",), "counts": ("[]",), "outages": ("[]",),
    "options.dump_layer": ('"7"', "[]"), "options.dump_step": ('"7"',),
    "options.enable_dump": ("true",), "options.dump_path": ('"7"',),
    "options.of_a_later_version": ("-1", '"7"', "true"),
    "environment.RANK_ID": ('"7"',),
}
EVENTS = {
    "execution": ("section", "data_index", "fit", "epoch", "batch"),
    "count": ("section", "count"), "withdraw": ("section", "data_index"), "fit": ("fit",),
    "correct": ("section", "from_section", "data_index", "to_index"), "graph": ("section", "name"),
}
EVENT = {"section": 7, "data_index": 5, "fit": 0, "epoch": 0, "batch": 0, "count": 3,
         "from_section": 7, "to_index": 0, "name": "f", "operators": []}


def put(path, dotted, value):
    """Sets a field of a JSON file to a JSON text that Python's json would not write."""
    with open(str(path)) as stream:
        document = json.load(stream)
    holder = document
    *above, last = dotted.split(".")
    for one in above:
        holder = holder[int(one) if isinstance(holder, list) else one]
    holder[int(last) if isinstance(holder, list) else last] = "HERE"
    with open(str(path), "w") as stream:
        stream.write(json.dumps(document).replace('"HERE"', value, 1))


def invalid(manifest):
    return [one for one in manifest.problems if one.code == "record-invalid"]


@pytest.mark.parametrize("value", VALUES, ids=lambda one: one[:20])
def test_a_field_of_a_run_record_is_told_and_counts_as_missing(tmp_path, value):
    making.plain_job(tmp_path)
    path = tmp_path / "runs/run/run.json"
    good = path.read_text()
    for field, taken in TAKEN.items():
        path.write_text(good)
        put(path, field, value)
        manifest = collect(str(tmp_path), write=False)
        found = invalid(manifest)
        assert len(found) == (0 if value in taken else 1), (field, found)
        for one in found:
            assert (one.severity, one.path) == ("warning", "runs/run/run.json")
            assert field in one.message and len(one.message) < 200
        assert [pair.steps[0].data_index for pair in manifest.pairs] == [0, 0]
        json.dumps(manifest.to_json()).encode("ascii")


@pytest.mark.parametrize("date", ["9999-99-99T00:00:00+00:00", "2030-02-30T00:00:00",
                                  "2030-01-01T25:00:00Z", "0000-01-01T00:00:00Z",
                                  "2030-01-01T00:00:00+99:00", "yesterday", ""])
def test_a_date_that_does_not_exist_is_none(tmp_path, date):
    making.plain_job(tmp_path)
    put(tmp_path / "runs/run/run.json", "started", json.dumps(date))
    manifest = collect(str(tmp_path))
    assert len(invalid(manifest)) == 1 and manifest.runs[0].started is None


@pytest.mark.parametrize("value", VALUES, ids=lambda one: one[:20])
@pytest.mark.parametrize("event", EVENTS)
def test_a_line_of_the_journal_is_told_and_the_others_are_read(tmp_path, event, value):
    making.plain_job(tmp_path)
    path = tmp_path / "runs/run/iterations.jsonl"
    good = path.read_text()
    before = collect(str(tmp_path), write=False)
    for field in EVENTS[event]:
        if field == "name" and value == '"7"':
            continue
        line = json.dumps(dict(EVENT, event=event, **{field: "HERE"})).replace('"HERE"', value)
        path.write_text(good + line + "\n")
        after = collect(str(tmp_path), write=False)
        assert [one.path for one in invalid(after)] == ["runs/run/iterations.jsonl"], field
        assert "line 7." + field in invalid(after)[0].message
        assert after.to_json()["pairs"] == before.to_json()["pairs"]


@pytest.mark.parametrize("line", ["[]", "null", "{}", '{"event": 5}', "{", "\0", "1e999",
                                  "[" * 100000, '{"a":' * 5000], ids=lambda one: one[:12])
def test_a_line_that_is_no_event_is_told(tmp_path, line):
    making.plain_job(tmp_path)
    path = tmp_path / "runs/run/iterations.jsonl"
    path.write_text(line + "\n" + path.read_text())
    problem, = collect(str(tmp_path)).problems
    assert problem.code == "record-invalid" and "line 1" in problem.message


def test_what_a_later_version_adds_and_a_torn_last_line_are_no_faults(tmp_path):
    making.plain_job(tmp_path)
    put(tmp_path / "runs/run/run.json", "later", '{"deep": [[1e999]]}')
    with open(str(tmp_path / "runs/run/iterations.jsonl"), "a") as stream:
        stream.write('{"event": "of_later", "x": 1e999}\n{"event": "execution", "sect')
    assert collect(str(tmp_path)).problems == []


def test_many_faults_of_a_record_are_a_few_problems(tmp_path):
    making.plain_job(tmp_path)
    path = tmp_path / "runs/run/iterations.jsonl"
    path.write_text(path.read_text() + "noise\n" * 1000)
    found = invalid(collect(str(tmp_path)))
    assert len(found) == 5 and "995 more" in found[-1].message


def test_nested_beyond_all_a_record_is_unreadable(tmp_path):
    making.plain_job(tmp_path)
    put(tmp_path / "runs/run/run.json", "options", "[" * 10 ** 6 + "]" * 10 ** 6)
    assert "unreadable" in making.codes(collect(str(tmp_path)))


def test_an_id_that_two_runs_have_is_that_of_the_folder(tmp_path):
    making.plain_job(tmp_path)
    making.record(tmp_path, run_id="another", pid=8, device=1)
    put(tmp_path / "runs/another/run.json", "run_id", '"run"')
    manifest = collect(str(tmp_path))
    assert sorted(run.run_id for run in manifest.runs) == ["another", "run"]
    assert [one.path for one in invalid(manifest)] == ["runs/another/run.json"]


MANIFEST = {
    "dump_path": None, "pairs": (), "graphs": (), "runs": (), "training": (), "problems": (),
    "pairs.0": (), "pairs.0.rank": (), "pairs.0.device": (), "pairs.0.steps": ("[]",),
    "pairs.0.confidence": (), "pairs.0.model_names": ("[]",), "pairs.0.graph": ('"7"',),
    "pairs.0.steps.0.data_index": (), "pairs.0.steps.0.bytes": (), "pairs.0.steps.0.kinds": ("{}",),
    "pairs.0.steps.0.iteration": (), "pairs.0.steps.0.iteration.fit": (),
    "pairs.0.steps.0.path": ('"7"',), "training.0": ("[]",), "training.0.0": (),
    "runs.0.rank": (), "runs.0.run_id": ('"7"',), "runs.0.options": ("{}",), "runs.0.ended": (),
    "runs.0.executions": ("{}",), "graphs.0.bytes": (), "graphs.0.name": ('"7"',),
    "graphs.0.subgraphs": ("[]",),
}


@pytest.mark.parametrize("value", VALUES, ids=lambda one: one[:20])
def test_a_manifest_with_such_a_value_is_read_without_it(tmp_path, value, capsys):
    making.plain_job(tmp_path)
    collect(str(tmp_path))
    path = tmp_path / "manifest.json"
    good = path.read_text()
    for field, taken in MANIFEST.items():
        if taken is None or value in taken or (value, field) in (
                ("[]", "pairs"), ("[]", "graphs"), ("[]", "runs"), ("[]", "problems"),
                ("{}", "training")):
            continue
        path.write_text(good)
        put(path, field, value)
        manifest = load_manifest(str(path))
        assert invalid(manifest) and manifest.faulty, field
        str(manifest)
        json.dumps(manifest.to_json(), allow_nan=False).encode("ascii")
        # Who opens the folder gets an answer that is made anew.
        assert len(open_run(str(tmp_path)).pairs) == 2
        assert main(["inspect", str(path), "--json"]) in (0, 1, 2)
        json.loads(capsys.readouterr().out or "0")


def test_positions_that_are_none_are_left_out(tmp_path):
    making.plain_job(tmp_path)
    collect(str(tmp_path))
    put(tmp_path / "manifest.json", "training", '{"0": [0, 0, 99, -1, true], "x": [1]}')
    manifest = load_manifest(str(tmp_path / "manifest.json"))
    assert manifest.training == {"0": [0]} and len(invalid(manifest)) == 5


@pytest.mark.parametrize("field, value", [
    ("rank", "1e999"), ("pid", "-1"), ("options", "[]"), ("options.dump_layer", "5"),
    ("graph_path", '"\\ud800"'), ("started", '"9999-99-99T00:00:00"'), ("options", DEEP),
    ("environment.X", DEEP), ("script", "5"), ("device", '"\\ud800"')])
def test_every_command_answers(tmp_path, monkeypatch, capsys, field, value):
    making.plain_job(tmp_path / "d")
    put(tmp_path / "d/runs/run/run.json", field.split(".")[0], "{}")
    put(tmp_path / "d/runs/run/run.json", field, value)
    monkeypatch.chdir(tmp_path)
    for command in (["collect", "d"], ["inspect", "d"], ["triage", "d"],
                    ["export", "d", "--to", "npy", "--output", "out"],
                    ["doctor", "--emulate", "--data_dump_path=d"]):
        for json_too in ([], ["--json"]):
            assert main(command + json_too) in (0, 1, 2), command
            out = capsys.readouterr().out
            if json_too and out:
                json.loads(out)


@pytest.mark.parametrize("pid", [0, -1, 1 << 40, 1 << 70])
def test_a_pid_that_no_process_has_runs_nowhere(pid):
    from keras_npu_dump.liveness import began, is_running
    assert not is_running(pid)
    assert began(pid) is None and began(os.getpid()) > 1e9
