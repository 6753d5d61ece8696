"""Are the indices of loops on the device predicted as the adapter counts them?"""
import types

import pytest

from keras_npu_dump.capture.device import loop_size


def size(value, changed=False):
    found = loop_size.LoopSize({"NPU_LOOP_SIZE": str(value)})
    found.changed = changed
    return found


@pytest.mark.parametrize("text, value", [
    ("", 1), ("100", 100), ("0", 1), ("-3", 1), ("many", 1), (" 4 ", 4)])
def test_the_variable(text, value):
    assert loop_size.LoopSize({"NPU_LOOP_SIZE": text}).value == value
    assert loop_size.LoopSize({}).value == 1


def test_a_call_of_one_batch_counts_once_whatever_the_size():
    assert loop_size.predict(4, 4, size(1), 1) == (4, 1, 1, None)
    assert loop_size.predict(4, 4, size(100), 1) == (4, 1, 1, None)


def test_a_loop_that_stays_in_the_graph_counts_once():
    found = loop_size.predict(4, 4, size(1), 10)
    assert (found.first, found.rounds, found.batches) == (4, 1, 10)
    assert "10 batches" in found.uncertain


def test_a_sunk_loop_counts_every_round():
    found = loop_size.predict(4, 40, size(10), 10)
    assert (found.first, found.rounds, found.batches) == (40, 10, 1)
    assert "NPU_LOOP_SIZE=10" in found.uncertain


def test_where_it_cannot_be_told_the_reason_says_so():
    partial = loop_size.predict(4, 40, size(10), 7).uncertain
    assert "trains 7 batches" in partial and "10 rounds" in partial
    changed = loop_size.predict(4, 40, size(5, changed=True), 5)
    assert changed.first == 20  # call * NEW size
    assert "may come again" in changed.uncertain


def test_set_npu_loop_size_is_followed_and_nonsense_is_not(monkeypatch):
    monkeypatch.delenv("NPU_LOOP_SIZE", raising=False)
    seen = []
    module = types.SimpleNamespace(__name__="a_device", set_npu_loop_size=seen.append)
    found = loop_size.watch_loop_size(module)
    assert loop_size.watch_loop_size(module) is found
    for value in (4, 0, -1, 4):
        module.set_npu_loop_size(value)
    assert seen == [4, 0, -1, 4]  # the device hears everything
    assert (found.value, found.changed) == (4, True)


@pytest.mark.parametrize("inner, value, warned", [(1, 100, False), (4, 4, False), (4, 1, True)])
def test_steps_per_execution_wants_the_same_size(inner, value, warned, caplog):
    loop_size.check_steps_per_execution(inner, size(value))
    assert ("set_npu_loop_size(%d)" % inner in caplog.text) is warned
