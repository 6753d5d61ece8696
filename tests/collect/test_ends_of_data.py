"""Data of unknown size: was the execution in which it ended counted by the device?

Three epochs of four batches, as Keras 2 trains them: the data ends in the fifth execution.
"""
import json

import pytest

from keras_npu_dump import collect, triage
from keras_npu_dump.records.manifest import load_manifest
from keras_npu_dump.report.triage_text import triage_text
from tests.collect import making

EPOCHS = {index: (index // 4, index % 4) for index in range(12)}
COUNTED = {index + (index > 3): batch for index, batch in EPOCHS.items()}


def job(folder, steps, folders, extra=()):
    """A dump of `steps`; `folders` are there, and of the `extra` ones only the first operator."""
    making.graph(folder / "graphs/pid_7_deviceid_0", making.TRAIN, making.train_ops(), 3, 3)
    making.steps(folder, making.train_ops(), folders)
    making.steps(folder, making.train_ops(), extra, only=("net/dense/MatMul",))
    making.record(folder, (), 12, options={"dump_step": steps})
    journal = folder / "runs/run/iterations.jsonl"
    lines = journal.read_text().splitlines(True)
    asked = range(13) if steps == "all" else [int(one) for one in steps.split("|")]
    noted = [{"event": "execution", "section": 0, "data_index": number, "fit": 0, "epoch": epoch,
              "batch": batch, "uncertain": None, "ends": int(number > 3)}
             for number, (epoch, batch) in EPOCHS.items()
             if number in asked or number + (number > 3) in asked]
    noted.append({"event": "end-of-data", "section": 0, "data_index": 4})
    journal.write_text("".join(lines[:2] + [json.dumps(one) + "\n" for one in noted] + lines[2:]))
    return collect(str(folder))


def batches(manifest):
    pair, = manifest.pairs
    return {step.data_index: step.iteration and (step.iteration["epoch"], step.iteration["batch"])
            for step in pair.steps}


@pytest.mark.parametrize("steps, folders, truth", [
    ("all", range(12), EPOCHS), ("all", [0, 1, 2, 3, *range(5, 13)], COUNTED),
    ("0|4", [0, 4], EPOCHS), ("0|12", [0, 12], COUNTED), ("3|4|12", [3, 12], COUNTED)])
def test_whole_folders_prove_it(tmp_path, steps, folders, truth):
    manifest = job(tmp_path, steps, folders)
    assert batches(manifest) == {index: truth[index] for index in folders}
    assert making.codes(manifest) == (["end-of-data"] if steps == "3|4|12" else [])
    assert "data ended at data_index 4" in manifest.pairs[0].evidence[-1]


def test_a_step_beyond_the_last_batch_is_not_reached_where_the_end_was_not_counted(tmp_path):
    manifest = job(tmp_path, "4|12", [4])
    # One folder alone: nothing says whether it is whole.
    assert batches(manifest) == {4: (1, 0)}
    assert making.codes(manifest, "warning") == ["index-uncertain"]
    manifest = job(tmp_path / "both", "0|4|12", [0, 4])
    assert batches(manifest)[4] == (1, 0)
    assert making.codes(manifest) == ["step-not-reached"]


@pytest.mark.parametrize("steps, folders", [
    ("5", [5]),                                  # both ways leave just this
    ("0|4|5", [0, 5]),                           # counted, or step 4 was lost
    ("all", [*range(4), *range(5, 12)]),         # neither 4 nor 12
])
def test_what_no_folder_proves_is_uncertain(tmp_path, steps, folders):
    manifest = job(tmp_path, steps, folders)
    assert batches(manifest)[5] == (1, 0)
    told, = [one for one in manifest.problems if one.code == "index-uncertain"]
    assert told.severity == "warning" and " later batch" in told.message
    assert manifest.errors == []


def test_what_the_aborted_execution_left_proves_nothing_and_owes_nothing(tmp_path):
    """The operators before the one that reads the data have run on a device."""
    manifest = job(tmp_path, "all", [0, 1, 2, 3, *range(5, 13)], extra=[4])
    assert batches(manifest) == {**COUNTED, 4: None}
    assert making.codes(manifest) == []


def test_a_folder_that_is_not_whole_does_not_speak_for_a_batch(tmp_path):
    manifest = job(tmp_path, "0|4|5", [0, 5], extra=[4])
    assert batches(manifest) == {0: (0, 0), 4: None, 5: (1, 0)}
    told, = [one for one in manifest.problems if one.code == "index-uncertain"]
    assert "data_index 4 has no whole folder" in told.message and manifest.errors == []


def test_nobody_asks_for_the_aborted_execution_again(tmp_path):
    manifest = job(tmp_path, "all", [0, 1, 2, 3, *range(5, 13)])
    for one in (manifest, load_manifest(manifest.path)):
        assert one.runs[0].executions[making.TRAIN] == {
            "count": 13, "last": 12, "dumped": sorted(COUNTED), "aborted": [4]}
    text = triage_text(triage(str(tmp_path), write=False))
    assert "in 12 dumped executions\n" in text and "not dumped" not in text


def test_a_lost_step_is_missing_all_the_same(tmp_path):
    manifest = job(tmp_path, "all", [one for one in range(12) if one != 7])
    assert batches(manifest)[8] == EPOCHS[8]
    assert [one.code for one in manifest.errors] == ["step-missing"]
    assert "step 7" in manifest.errors[0].message


def test_nothing_dumped_is_told(tmp_path):
    making.graph(tmp_path / "graphs/pid_7_deviceid_0", making.TRAIN, making.train_ops(), 3, 3)
    manifest = job(tmp_path, "4", [])
    assert [one.code for one in manifest.errors] == ["not-dumped"]
    assert making.codes(manifest, "warning") == ["end-of-data"]
