"""Which process left which folders: by device, time and names, and which were launched together?"""
import pytest

from keras_npu_dump import collect
from tests.collect import making
from tests.collect.making import EVAL, START, TRAIN, train_ops

EARLIER = "20300316174640"  # a day before making.TIME
SOON = "20300317174740"     # a minute after it


def run_of(manifest, device=0):
    """The run that the evidence of the device's pair names, or None."""
    pair, = [one for one in manifest.pairs if one.device == device]
    texts = [text for text in pair.evidence if text.startswith("run record ")]
    return texts[0].split(":")[0].split()[-1] if texts else None


def one_session(dump, name=TRAIN, **changes):
    making.graph(dump / "graphs", TRAIN, train_ops(), 3)
    making.steps(dump, train_ops(), (0, 5), name, **changes)


# --- the run of a session

@pytest.mark.parametrize("folder", [TRAIN, TRAIN + "_3"])
def test_of_two_runs_at_once_the_one_with_the_names_of_the_folders_is_it(tmp_path, folder):
    """The other one began later, which would speak for it. GE may append the graph's id."""
    one_session(tmp_path, folder)
    making.record(tmp_path, (0, 5), 8, run_id="mine", started=making.iso(START - 90))
    making.record(tmp_path, (0, 5), 8, name="__inference_train_function_9", run_id="others",
                  started=making.iso(START - 2))
    assert run_of(collect(str(tmp_path))) == "mine"


def test_of_two_runs_at_once_the_one_with_the_executions_of_the_folders_is_it(tmp_path):
    one_session(tmp_path)
    making.record(tmp_path, (0, 5), 8, run_id="mine", started=making.iso(START - 90))
    making.record(tmp_path, (0, 6), 8, run_id="others", started=making.iso(START - 2))
    assert run_of(collect(str(tmp_path))) == "mine"


@pytest.mark.parametrize("times", [
    {"started": START + 30}, {"started": START - 900, "ended": START - 60}])
@pytest.mark.parametrize("timezone", ["+0000", None])
def test_a_session_outside_the_time_of_a_run_is_not_its(tmp_path, times, timezone):
    """With a zone the name of the time folder tells; without one the times of the dumps."""
    one_session(tmp_path)
    times = {key: making.iso(value) for key, value in times.items()}
    making.record(tmp_path, (0, 5), 8, timezone=timezone, **times)
    assert "no-run" in making.codes(collect(str(tmp_path)))


@pytest.mark.parametrize("timezone", ["+0000", None])
def test_a_session_within_the_time_of_a_run_is_its(tmp_path, timezone):
    one_session(tmp_path)
    making.record(tmp_path, (0, 5), 8, timezone=timezone)
    manifest = collect(str(tmp_path))
    assert run_of(manifest) == "run" and manifest.problems == []


def test_a_run_of_another_device_is_not_the_sessions(tmp_path):
    one_session(tmp_path)
    making.record(tmp_path, (0, 5), 8, device=1)
    assert run_of(collect(str(tmp_path))) is None


def test_folders_without_a_time_are_told_by_the_times_of_their_dumps(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    making.step(tmp_path, "%s/5/0" % TRAIN, train_ops())
    making.record(tmp_path, (0,), 8)
    pair, = collect(str(tmp_path)).pairs
    assert (pair.time, pair.rank) == (None, 0)


# --- launches

def launches(dump):
    """The time folders that are of an earlier launch."""
    texts = [one.message for one in collect(str(dump)).problems if one.code == "run-older"]
    return [part for text in texts for part in text.split(" are of ")[0].split(", ")]


def session(dump, time, device, seconds, name=TRAIN):
    making.step(dump, "%s/%d/%s/5/0" % (time, device, name), train_ops(), seconds)


def test_another_device_a_day_before_was_another_launch(tmp_path):
    session(tmp_path, EARLIER, 0, START - 86400 + 2)
    session(tmp_path, making.TIME, 1, START + 2)
    assert launches(tmp_path) == [EARLIER + "/0"]


def test_another_device_a_minute_later_is_the_same_launch(tmp_path):
    session(tmp_path, making.TIME, 0, START + 2)
    session(tmp_path, SOON, 1, START + 62)
    assert launches(tmp_path) == []


def test_the_same_device_a_minute_later_is_the_next_launch(tmp_path):
    session(tmp_path, making.TIME, 0, START + 2)
    session(tmp_path, SOON, 0, START + 62)
    assert launches(tmp_path) == [making.TIME + "/0"]


def test_the_same_device_at_the_same_time_is_another_container(tmp_path):
    """Its dumps go on after the second one began."""
    session(tmp_path, making.TIME, 0, START + 2)
    session(tmp_path, making.TIME, 0, START + 100, EVAL)
    session(tmp_path, SOON, 0, START + 62)
    assert launches(tmp_path) == []


def test_a_process_that_began_while_another_ran_belongs_to_its_launch(tmp_path):
    """An hour later, and the first one's dumps go on."""
    session(tmp_path, making.TIME, 0, START + 2)
    session(tmp_path, making.TIME, 0, START + 4000, EVAL)
    session(tmp_path, "20300317184640", 1, START + 3602)
    assert launches(tmp_path) == []


@pytest.mark.parametrize("known", [{"timezone": None}, {"started": None}])
def test_a_graph_of_an_earlier_launch_is_not_this_ones(tmp_path, known):
    """The same name, the same device, written an hour before the process began, by the
    time in its record or by the time folder and the zone."""
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3, mtime=START - 3600)
    making.steps(tmp_path, train_ops(), (0, 5))
    making.record(tmp_path, (0, 5), 8, **known)
    manifest = collect(str(tmp_path))
    assert manifest.pairs == [] and making.codes(manifest, "error")[0] == "no-pair"
    message, = [one.message for one in manifest.problems if one.code == "no-pair"]
    assert "older than the session" in message


def test_a_last_launch_without_dumps_is_the_one_that_is_checked(tmp_path):
    """It left a record alone: what lies there is of the launch before."""
    one_session(tmp_path)
    making.record(tmp_path, (0, 5), 8, run_id="first")
    making.record(tmp_path, (), None, run_id="second", started=making.iso(START + 7200),
                  ended=making.iso(START + 7300), name=None, operators=())
    assert launches(tmp_path) == [making.TIME + "/0"]


def test_an_answer_for_one_run_tells_nothing_of_the_others(tmp_path):
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3)
    for device, indices in ((0, (0, 5)), (1, (0,))):
        making.steps(tmp_path, train_ops(), indices, device=device)
        making.record(tmp_path, (0, 5), 8, run_id="run%d" % device, rank=device, device=device,
                      pid=7 + device)
    for run_id, codes in (("run0", []), ("run1", ["step-missing"])):
        manifest = collect(str(tmp_path), run_id=run_id)
        assert making.codes(manifest, "error") == codes
        assert {pair.device for pair in manifest.pairs} == {int(run_id[-1])}


# --- a run whose journal never learned a graph's name

def test_a_run_that_does_not_know_its_graphs_name_is_not_against_the_folders(tmp_path):
    """It began later: where names say nothing, that decides."""
    one_session(tmp_path)
    making.record(tmp_path, (0, 5), 8, run_id="others", started=making.iso(START - 90))
    making.record(tmp_path, (0, 5), 8, name="", run_id="mine", started=making.iso(START - 2))
    assert run_of(collect(str(tmp_path))) == "mine"


# --- the process of a graph

@pytest.mark.parametrize("of_another_run", [False, True])
def test_the_graph_of_another_process_is_a_guess_and_that_of_another_run_is_none(
        tmp_path, of_another_run):
    making.graph(tmp_path / "graphs/pid_8_deviceid_0", TRAIN, train_ops(), 3)
    making.steps(tmp_path, train_ops(), (0, 5))
    making.record(tmp_path, (0, 5), 8)
    if of_another_run:
        making.record(tmp_path, (0, 5), 8, run_id="later", pid=8, started=making.iso(START + 500))
    manifest = collect(str(tmp_path))
    if of_another_run:
        assert not manifest.pairs and "no-pair" in making.codes(manifest)
    else:
        pair, = manifest.pairs
        assert "contradicted: process: the graph is of pid 8, the run run of pid 7" in pair.evidence


def test_a_last_launch_that_has_dumped_does_not_own_what_was_copied_after_it(tmp_path):
    """A file written long after all dumps, as by a copy, says nothing of its launch."""
    session(tmp_path, EARLIER, 0, START - 86400 + 2)
    session(tmp_path, making.TIME, 0, START + 2)
    making.graph(tmp_path / "graphs", TRAIN, train_ops(), 3, mtime=START + 10 ** 6)
    pairs = collect(str(tmp_path)).pairs
    assert sorted(one.time for one in pairs) == [EARLIER, making.TIME]
    assert not any("during this launch" in text for pair in pairs for text in pair.evidence)
