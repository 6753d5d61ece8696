"""What doctor foresees of a dump, from what an earlier run in the same folder has shown."""
import json

import pytest

from keras_npu_dump.capture.device import disk_space
from keras_npu_dump.config.dump_config import DumpConfig
from keras_npu_dump.doctor.diagnosis import examine
from keras_npu_dump.doctor.volume import foresee
from keras_npu_dump.report.doctor_text import doctor_text
from tests.collect import making


def bytes_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def rehearsed(tmp_path):
    """A training of eight executions and an evaluation, of which step 0 was dumped."""
    making.plain_job(tmp_path, indices=(0,), count=8)
    return tmp_path


def taken(folder, **options):
    found = foresee(DumpConfig(**dict({"min_free_gb": 0}, **options)), str(folder))
    return {one.name: (one.steps, one.bytes) for one in found.graphs}, found


def test_steps_are_those_that_the_graph_reaches(rehearsed):
    size = bytes_of(rehearsed / making.TIME / "0" / making.TRAIN)
    others = bytes_of(rehearsed / making.TIME / "0" / making.EVAL)
    graphs, found = taken(rehearsed, dump_step="0|5|7-20")
    # Nobody has counted the evaluation: it may reach all that are asked.
    assert graphs == {making.TRAIN: (3, size), making.EVAL: (16, others)}
    assert found.bytes == 3 * size + 16 * others and found.complete
    assert found.seconds is not None and found.emulated
    # The real training may be longer than its rehearsal.
    assert found.bytes_if_longer == 16 * size + 16 * others
    assert "did not reach all that is asked" in found.words()
    assert "did not reach" not in taken(rehearsed, dump_step="0|5")[1].words()
    graphs, found = taken(rehearsed, dump_step="all")
    assert graphs[making.TRAIN] == (8, size) and not found.complete
    assert found.words().startswith("at least ")


@pytest.mark.parametrize("options, made", [
    ({"dump_data": "stats"}, {"data": "stats"}),
    ({"dump_layer": ["net/dense/MatMul"]}, {"only": ("net/dense/MatMul",)})])
def test_other_options_are_reckoned_from_the_shapes_in_the_graph(rehearsed, options, made):
    making.steps(rehearsed / "truth", making.train_ops(), (0,), **made)
    truth = bytes_of(rehearsed / "truth")
    graphs, _ = taken(rehearsed, **options)
    assert 0.5 * truth < graphs[making.TRAIN][1] < 2 * truth


def without_shapes(folder):
    graph, = (folder / "graphs/pid_7_deviceid_0").glob("*_graph_3_Build.txt")
    graph.write_text(graph.read_text().replace("dim: 8", "dim: -1"))


@pytest.mark.parametrize("before, after", [("tensor", "stats"), ("stats", "tensor")])
@pytest.mark.parametrize("mode", ["all", "output", "input"])
def test_shapes_that_the_graph_lacks_are_those_of_what_was_dumped(tmp_path, before, after, mode):
    making.plain_job(tmp_path, indices=(0,), count=8)
    for path in (tmp_path / making.TIME).rglob("*"):
        if path.is_file():
            path.unlink()
    making.steps(tmp_path, making.train_ops(), (0,), data=before)
    record, = tmp_path.glob("runs/*/run.json")
    document = json.loads(record.read_text())
    document["options"].update(dump_mode="all", dump_data=before)
    record.write_text(json.dumps(document))
    without_shapes(tmp_path)
    making.steps(tmp_path / "truth", making.train_ops(), (0,), data=after)
    truth = bytes_of(tmp_path / "truth")
    graphs, found = taken(tmp_path, dump_data=after, dump_mode=mode, dump_step="0-7")
    steps, size = graphs[making.TRAIN]
    assert steps == 8 and all(not one.unknown for one in found.graphs)
    if mode == "all":
        assert 0.5 * truth < size < 2 * truth
    else:
        assert 0 < size < taken(tmp_path, dump_data=after, dump_mode="all")[0][making.TRAIN][1]


def test_what_nothing_shows_is_told_in_words(tmp_path):
    """One operator was dumped, and the shapes of all others are known only when they run."""
    making.plain_job(tmp_path, indices=(0,), count=8)
    for path in (tmp_path / making.TIME).rglob("*"):
        if path.is_file() and path.name.count("MatMul") == 0:
            path.unlink()
    record, = tmp_path.glob("runs/*/run.json")
    document = json.loads(record.read_text())
    document["options"]["dump_layer"] = "net/dense/MatMul"
    record.write_text(json.dumps(document))
    without_shapes(tmp_path)
    _, found = taken(tmp_path, dump_step="0")
    first = next(one for one in found.graphs if one.name == making.TRAIN)
    assert first.unknown > 0 and first.bytes > 0 and not found.complete
    assert found.words().startswith("at least ") and "?" not in found.words()
    assert "whose shapes are known only when they run" in first.words()


def test_doctor_says_it_and_whether_it_fits(rehearsed, monkeypatch):
    config = DumpConfig(dump_path=str(rehearsed), dump_step="0-7", min_free_gb=0)
    found = examine(config, emulate=True)
    assert "will take   about " in doctor_text(found)
    document = json.loads(json.dumps(found.to_json()))
    assert document["path"]["volume"]["bytes"] == found.volume.bytes > 0
    monkeypatch.setattr(disk_space, "free_bytes", lambda path: 1000)
    found = examine(config, emulate=True)
    told, = [one for one in found.problems if one.code == "disk-low"]
    assert told.severity == "warning" and "1.0 KB are free" in told.message


def test_nothing_is_known_where_nothing_was_dumped(tmp_path):
    config = DumpConfig(dump_path=str(tmp_path), min_free_gb=0)
    found = examine(config, emulate=True)
    assert found.volume is None and found.to_json()["path"]["volume"] is None
    assert "A rehearsal of one iteration" in doctor_text(found)
    making.plain_job(tmp_path)
    assert examine(config.replace(enable_dump=False, enable_dump_debug=True)).volume is None
