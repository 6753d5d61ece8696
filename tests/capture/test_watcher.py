"""Does the look after the first dumped iteration find what is there, and say what is not?"""
import os
import threading
import time

import pytest

from keras_npu_dump.capture.process import first_dump, forecast
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import DumpError

NOW = time.time()
SESSION = time.strftime("%Y%m%d%H%M%S", time.localtime(NOW))
EARLIER = time.strftime("%Y%m%d%H%M%S", time.localtime(NOW - 3600))
TRAIN = "__inference_train_function_55"


def wanted(root, **changes):
    fields = dict(dump_path=str(root), data_index=5, since=NOW, device=0, graph_name=TRAIN,
                  operators=["net/dense/MatMul"])
    return first_dump.Wanted(**dict(fields, **changes))


def put(root, path, name="MatMul.net_dense_MatMul.1.2.1900000000123456", size=10):
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"x" * size)
    return folder


def test_the_training_graph_by_its_name(tmp_path):
    folder = put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=10)
    put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), "Add.x.1.2.1900000000123456", 30)
    put(tmp_path, "%s/0/__inference_test_function_9/4/5" % SESSION, "Add.y.1.2.3", 5000)
    assert first_dump.look(wanted(tmp_path)) == (str(folder), 2, 40)


def test_the_training_graph_by_its_operators_where_ge_names_it_its_own_way(tmp_path):
    folder = put(tmp_path, "%s/0/ge_default_%s_71/3/5" % (SESSION, SESSION))
    assert first_dump.look(wanted(tmp_path)).folder == str(folder)
    folder = put(tmp_path, "%s/0/%s_71/3/5" % (SESSION, TRAIN), "Add.y.1.2.3", 50)
    assert first_dump.look(wanted(tmp_path)).folder == str(folder)


@pytest.mark.parametrize("path, name, size", [
    ("%s/0/%s/3/5" % (EARLIER, TRAIN), None, 10),          # an earlier run
    ("%s/1/%s/3/5" % (SESSION, TRAIN), None, 10),          # another rank
    ("%s/0/%s/3/4" % (SESSION, TRAIN), None, 10),          # another iteration
    ("%s/0/%s/3/5" % (SESSION, TRAIN), None, 0),           # made, not written
    ("%s/0/AssignVariableOp_1/3/5" % SESSION, "Assign.AssignVariableOp.1.2.3", 10),
    ("%s/0/__inference_test_function_9/3/5" % SESSION, "Add.test.1.2.3", 10),
    ("%s/0/%s/3" % (SESSION, TRAIN), None, 10),            # no folder of an iteration
    ("graphs/0/%s/3/5" % TRAIN, None, 10),
], ids=["earlier", "rank", "iteration", "empty", "variable", "evaluation", "no-iteration",
        "graphs"])  # the paths hold the time: every worker would have names of its own
def test_what_is_not_it(tmp_path, path, name, size):
    put(tmp_path, path, name or "MatMul.net_dense_MatMul.1.2.1900000000123456", size)
    assert first_dump.look(wanted(tmp_path)) is None


def test_without_a_known_graph_the_largest_that_is_no_small_one(tmp_path):
    put(tmp_path, "%s/0/dp_init_Iterator/3/5" % SESSION, size=999)
    put(tmp_path, "%s/0/g1/4/5" % SESSION, size=10)
    folder = put(tmp_path, "%s/0/g2/5/5" % SESSION, size=20)
    found = first_dump.look(wanted(tmp_path, graph_name=None, operators=[], device=None))
    assert found.folder == str(folder)


def test_a_dump_path_that_is_gone(tmp_path):
    assert first_dump.look(wanted(tmp_path / "gone")) is None


@pytest.mark.parametrize("steps, index, end, more", [
    ("0|3-5|10", 0, None, 4), ("0|3-5|10", 4, None, 2), ("0|3-5|10", 0, 5, 2), ("0", 0, None, 0),
    ("all", 0, None, None), ("all", 0, 12, 11), ("all", 11, 12, 0)])
def test_how_many_are_still_to_come(steps, index, end, more):
    assert forecast.remaining(StepSet.of(steps), index, end) == more


class Watched:
    """A watcher with little patience, and what it has said."""

    def __init__(self, monkeypatch, caplog, target, more=0, strict=False, afterwards=None):
        for name, value in (("PATIENCE", 0.3), ("FIRST_LOOK", 0.02), ("LONGEST_PAUSE", 0.05)):
            monkeypatch.setattr(first_dump, name, value)
        self.executions = 6
        self.failures = []
        self.heard = 3
        self.caplog = caplog
        self.thread = first_dump.Watcher(target, more, lambda: self.executions,
                                      self.fail if strict else None, afterwards=afterwards)
        assert self.thread.daemon
        self.thread.start()

    def fail(self, error):
        self.failures.append(error)
        return len(self.failures) < self.heard

    def said(self):
        self.thread.join(5)
        assert not self.thread.is_alive()
        return self.caplog.text


def test_it_tells_what_has_come_and_what_will(tmp_path, monkeypatch, caplog):
    folder = put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=2000)
    watched = Watched(monkeypatch, caplog, wanted(tmp_path), more=3)
    text = watched.said()
    assert "data_index 5, 1 files, 2.0 KB, in %s" % folder in text
    assert "3 more to come, about 6.0 KB" in text


@pytest.fixture
def told_of_others(tmp_path, monkeypatch, caplog):
    """Starts a watcher for a training graph of 2 KB in steps 5 and 6 of which 6 is to come."""
    put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=2000)
    monkeypatch.setattr(first_dump, "_SHARE", 1.0)
    threads = []

    def start(more=1):
        target = wanted(tmp_path, steps=StepSet.of("5|6"))
        watched = Watched(monkeypatch, caplog, target, more=more, afterwards=lambda: None)
        threads.append(watched.thread)
        return watched

    yield start
    for thread in threads:
        thread.stop()


def wait_for(caplog, words):
    end = time.monotonic() + 20
    while words not in caplog.text and time.monotonic() < end:
        time.sleep(0.02)
    assert words in caplog.text


def test_the_estimate_counts_every_graph_that_dumps(tmp_path, caplog, told_of_others):
    put(tmp_path, "%s/0/__inference_d_step_7/4/5" % SESSION, "Add.y.1.2.3", size=5000)
    put(tmp_path, "%s/0/AssignVariableOp_3/5/5" % SESSION, "Add.y.1.2.3", size=9000)
    put(tmp_path, "%s/0/__inference_tiny_9/6/5" % SESSION, "Add.y.1.2.3", size=20)
    told_of_others()
    wait_for(caplog, "1 more to come, about 7.0 KB (with what __inference_d_step_7 will dump)")


def test_a_graph_that_begins_to_dump_later_is_told_once(tmp_path, caplog, told_of_others):
    told_of_others()
    wait_for(caplog, "1 more to come, about 2.0 KB, ")
    put(tmp_path, "%s/0/__inference_test_function_9/7/5" % SESSION, "Add.y.1.2.3", size=3000)
    wait_for(caplog, "up to 3.0 KB more to come of it")
    put(tmp_path, "%s/0/__inference_test_function_9/7/6" % SESSION, "Add.y.1.2.3", size=3000)
    time.sleep(0.3)
    assert caplog.text.count("dumps too") == 1


def test_a_file_that_still_grows_is_waited_for(tmp_path, monkeypatch, caplog):
    folder = put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=10)
    sizes = iter(range(11, 15))
    original = first_dump.look

    def growing(target):
        found = original(target)
        for size in sizes:
            put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=size)
            break
        return found
    monkeypatch.setattr(first_dump, "look", growing)
    assert "1 files, 14 B, in %s" % folder in Watched(monkeypatch, caplog, wanted(tmp_path)).said()


def test_more_than_the_disk_holds_is_told(tmp_path, monkeypatch, caplog):
    put(tmp_path, "%s/0/%s/3/5" % (SESSION, TRAIN), size=2000)
    monkeypatch.setattr(first_dump.disk_space, "free_bytes", lambda path: 5000)
    text = Watched(monkeypatch, caplog, wanted(tmp_path), more=3).said()
    assert "about 6.0 KB, and only 5.0 KB are free" in text and "dump_layer" in text


def test_nothing_there_is_told_after_patience_and_two_more_executions(
        tmp_path, monkeypatch, caplog):
    watched = Watched(monkeypatch, caplog, wanted(tmp_path))
    time.sleep(0.6)
    assert watched.thread.is_alive() and not caplog.records  # the batch may take an hour
    watched.executions += 2
    text = watched.said()
    assert "No dump of data_index 5 of %s has come" % TRAIN in text
    assert "keras-npu-dump collect" in text


def test_strict_it_knocks_until_training_has_heard(tmp_path, monkeypatch, caplog):
    watched = Watched(monkeypatch, caplog, wanted(tmp_path), strict=True)
    watched.executions += 2
    assert "No dump" not in watched.said()
    assert len(watched.failures) == 3 and len(set(map(id, watched.failures))) == 1
    assert isinstance(watched.failures[0], DumpError)


def test_it_ends_when_it_is_told_to(tmp_path, monkeypatch, caplog):
    watched = Watched(monkeypatch, caplog, wanted(tmp_path))
    before = time.monotonic()
    watched.thread.stop()
    assert not watched.thread.is_alive() and time.monotonic() - before < 1
    assert not caplog.records


def test_whatever_goes_wrong_in_it_training_goes_on(tmp_path, monkeypatch, caplog):
    def fail(target):
        raise RuntimeError("surprise")
    monkeypatch.setattr(first_dump, "look", fail)
    assert "surprise" in Watched(monkeypatch, caplog, wanted(tmp_path)).said()
    assert threading.active_count() < 20 and os.path.isdir(str(tmp_path))
