"""Does the journal count executions as the device does?

The emulator counts what is really executed and names its folders by it; the journal
only sees Keras's events. Both have to agree.
"""
import collections
import json
import pathlib
import sys
from importlib import metadata

import pytest

from tests.conftest import run_command

SCRIPT = pathlib.Path(__file__).with_name("fit_scenarios.py")


_DONE = {}


@pytest.fixture
def train(tmp_path_factory):
    """Runs a scenario, each once: (journal by event, data_index of each training graph,
    stderr, folder)."""
    def run(scenario, steps="all", check=True):
        if (scenario, steps) not in _DONE:
            folder = tmp_path_factory.mktemp(scenario)
            done = run_command([sys.executable, str(SCRIPT), scenario, steps], folder, check=check)
            _DONE[scenario, steps] = read(folder) + (done.stderr, folder)
        return _DONE[scenario, steps]
    return run


def read(folder):
    journal = collections.defaultdict(list)
    for path in folder.glob("d/runs/*/iterations.jsonl"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            journal[entry["event"]].append(entry)
    folders = {}
    for path in sorted(folder.glob("d/2*/0/*train_function*/*")):
        folders[(path.parent.name, int(path.name))] = sorted(
            int(child.name) for child in path.iterdir() if child.name.isdigit())
    by_trace = [folders[key] for key in sorted(
        folders, key=lambda key: int(key[0].rpartition("_")[2]))]
    return journal, by_trace


def indices(journal, section=0):
    return [entry["data_index"] for entry in journal["execution"] if entry["section"] == section]


def iteration(journal, data_index, section=0):
    return [(entry["fit"], entry["epoch"], entry["batch"]) for entry in journal["execution"]
            if entry["data_index"] == data_index and entry["section"] == section]


def test_counting_goes_on_across_epochs_and_fits_and_validation(train):
    journal, folders, stderr, _ = train("two_fits_with_validation", "0|5|8|13|23|30")
    assert folders == [[0, 5, 8, 13, 23]]
    assert indices(journal) == [0, 5, 8, 13, 23]
    assert iteration(journal, 8) == [(0, 1, 2)]
    assert iteration(journal, 13) == [(1, 0, 1)]
    assert iteration(journal, 23) == [(2, 0, 5)]
    assert all(entry["uncertain"] is None for entry in journal["execution"])
    assert journal["count"][-1] == {"event": "count", "section": 0, "count": 24, "final": True}
    assert "step 30 not reached, 24 executions ran" in stderr
    assert "data_index 23" not in stderr


def test_the_journal_knows_the_name_and_operators_of_the_graph(train):
    journal, _, _, folder = train("two_callbacks", "0")
    graph, = journal["graph"]
    names = [path.name for path in folder.glob("d/2*/0/*train_function*")]
    assert names == [graph["name"]]
    assert any(name.endswith("MatMul") for name in graph["operators"])
    record = json.loads(next(folder.glob("d/runs/*/run.json")).read_text())
    assert record["models"][0]["layers"] == ["dense"]
    assert (record["status"], record["emulated"]) == ("ended", True)


def test_compile_starts_again(train):
    journal, folders, _, _ = train("compile_again")
    assert folders == [list(range(6)), list(range(6))]
    assert indices(journal, 0) == indices(journal, 1) == list(range(6))
    assert [entry["reason"] for entry in journal["section"]] == ["start", "compile"]


def test_every_model_has_its_own_count(train):
    journal, folders, _, _ = train("two_models")
    assert sorted(map(len, folders)) == [6, 12]
    assert (len(indices(journal, 0)), len(indices(journal, 1))) == (12, 6)
    assert iteration(journal, 6) == [(2, 0, 0)]


def test_two_callbacks_in_one_fit_count_once(train):
    journal, folders, _, _ = train("two_callbacks")
    assert folders == [list(range(6))] and indices(journal) == list(range(6))
    assert len(journal["fit"]) == 1


def test_a_retraced_function_is_a_graph_of_its_own(train):
    journal, folders, _, _ = train("retrace")
    assert folders == [list(range(4)), list(range(3))]
    corrected = journal["correct"][0]
    assert (corrected["from_section"], corrected["data_index"]) == (0, 4)
    assert [index for index in indices(journal, 0) if index != 4] == list(range(4))
    assert indices(journal, 1) == list(range(3))
    assert iteration(journal, 0, section=1) == [(1, 0, 0)]
    names = [entry["name"] for entry in journal["graph"]]
    assert len(set(names)) == 2


def test_steps_per_execution_counts_executions_and_says_so(train):
    journal, folders, _, _ = train("steps_per_execution")
    assert folders == [list(range(6))] and indices(journal) == list(range(6))
    assert iteration(journal, 4) == [(0, 1, 2)]
    assert all("steps_per_execution=2" in entry["uncertain"] for entry in journal["execution"])


def test_the_end_of_a_dataset_of_unknown_size_is_noted_and_no_batch(train):
    journal, _, _, _ = train("dataset_of_unknown_size")
    # On Keras 3 each epoch finds the end of the data anew, on Keras 2 the first.
    assert [entry["data_index"] for entry in journal["end-of-data"]] in ([3], [3, 6])
    assert iteration(journal, 3)[-1] == (0, 1, 0) and iteration(journal, 2)[-1] == (0, 0, 2)
    assert {entry["data_index"] for entry in journal["withdraw"]} in ({3}, {3, 6})
    assert {entry.get("ends") for entry in journal["execution"]} <= {None, 1}
    assert journal["count"][-1]["count"] == 6
    assert not any(entry["uncertain"] for entry in journal["execution"])


@pytest.mark.skipif(metadata.version("keras").startswith("2."),
                    reason="Keras 2 wants to know how many steps there are")
def test_an_execution_that_found_no_step_is_counted_and_is_no_batch(train):
    """Several steps in one execution: Keras 3 asks in the graph for more data, and ends well."""
    journal, folders, _, _ = train("steps_of_unknown_size")
    assert folders == [list(range(6))] and "end-of-data" not in journal
    assert [entry["data_index"] for entry in journal["withdraw"]] == [2, 5]
    assert iteration(journal, 3) == [(0, 1, 0)] and iteration(journal, 4) == [(0, 1, 2)]
    assert journal["count"][-1]["count"] == 6


def test_an_interruption_inside_another_callback_is_marked(train):
    journal, folders, _, _ = train("interrupted")
    assert folders == [list(range(8))]
    marks = {entry["data_index"]: entry["uncertain"] for entry in journal["execution"]}
    assert marks[1] is None and "interrupted" in marks[5]


def test_an_interruption_before_the_batch_ran_is_seen_by_the_optimizers_count(train):
    journal, _, _, _ = train("interrupted")
    # The batch that another callback stopped at its begin, the third, never ran.
    assert iteration(journal, 2)[-1] == (1, 0, 0)
    assert journal["count"][-1]["count"] == 8


def test_interrupted_after_the_batch_ran_it_counts(train):
    journal, folders, _, _ = train("interrupted_at_end")
    assert folders == [list(range(9))]
    assert iteration(journal, 3)[-1] == (1, 0, 0)
    assert journal["count"][-1]["count"] == 9


def test_run_eagerly_is_told_and_counts_nothing(train):
    journal, folders, stderr, _ = train("run_eagerly")
    assert folders == [] and not journal["execution"]
    assert stderr.count("run_eagerly=True: ") == 2  # of the model, and of all functions
    assert stderr.count("tf.config.run_functions_eagerly(True) is as run_eagerly=True: ") == 1


def test_a_fit_that_ends_before_the_wanted_iteration_is_told_when_it_begins(train):
    _, folders, stderr, _ = train("two_models", "10")
    assert [10] in folders
    # Both first fits are too short; the second of the first model is not.
    assert stderr.count("executions 0 to 5, and data_index 10 is the next") == 2


def test_a_killed_process_leaves_whole_lines(train):
    journal, _, _, folder = train("killed", check=False)
    assert indices(journal) == [0, 1, 2, 3]
    assert not journal["count"]
    record = json.loads(next(folder.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["ended"]) == ("running", None)


@pytest.mark.parametrize("path", ["run.json", "iterations.jsonl"])
def test_records_are_readable_by_their_owner_only(train, path):
    folder = train("two_callbacks", "0")[-1]
    file = next(folder.glob("d/runs/*/" + path))
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
