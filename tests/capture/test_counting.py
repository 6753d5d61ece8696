"""What the journal and the manifest say where counting is not plain, without a training."""
import json
import threading
import time

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.records.journal import Journal
from tests.conftest import run_python

ITERATION = {"fit": 0, "epoch": 0, "batch": 0}


def lines(path, event):
    return [one for one in map(json.loads, path.read_text().splitlines())
            if one["event"] == event]


def test_doubts_add_up_and_batches_are_a_fact_of_their_own(tmp_path):
    path = tmp_path / "iterations.jsonl"
    journal = Journal(str(path), StepSet.all())
    section = journal.start_section("net", "start")
    journal.execution(section, 0, ITERATION)
    section.batches = 4
    section.doubt("first")
    section.doubt("second")
    section.doubt("first")
    noted = journal.execution(section, 1, ITERATION)
    journal.doubt([noted], "third")
    journal.doubt([noted], "second")
    plain, one, again = lines(path, "execution")
    assert (plain["batches"], plain["uncertain"]) == (1, None)
    assert one["batches"] == 4
    assert one["uncertain"] == "steps_per_execution=4: that many batches from here; first; second"
    assert again["uncertain"] == one["uncertain"] + "; third"


def test_after_a_retrace_both_traces_are_in_doubt(tmp_path):
    path = tmp_path / "iterations.jsonl"
    journal = Journal(str(path), StepSet.all())
    old = journal.start_section("net", "start")
    old.index = 5
    new = journal.retraced(old, ITERATION)
    journal.close()
    first, last_old, last_new = lines(path, "count")
    assert first["section"] == last_old["section"] == old.number and last_old["count"] == 4
    assert "traced again" in first["uncertain"] and "traced again" in last_old["uncertain"]
    assert last_new["section"] == new.number and "traced again" in last_new["uncertain"]


PRELUDE = """
import json, os, sys
import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession
keras_npu_dump.emulator.install()
import npu_device
"""


def test_the_end_of_the_data_takes_its_call_and_its_batch_back(tmp_path):
    run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="0-9")
npu_device.open()
with dump:
    for epoch in range(2):
        dump.next_epoch()
        data = iter([1, 2])
        while True:
            try:
                with dump.step(batches=2):
                    next(data)
            except StopIteration:
                break
    with dump.step():
        pass
""", tmp_path)
    path, = tmp_path.glob("d/runs/*/iterations.jsonl")
    assert [one["data_index"] for one in lines(path, "withdraw")] == [2, 4]
    assert [(one["data_index"], one["epoch"], one["batch"], one["batches"])
            for one in lines(path, "execution")] == [
        (0, 0, 0, 2), (1, 0, 2, 2), (2, 0, 4, 2), (2, 1, 0, 2), (3, 1, 2, 2), (4, 1, 4, 2),
        (4, 1, 4, 1)]
    assert lines(path, "count")[-1]["count"] == 5


def test_forked_workers_have_runs_of_their_own(tmp_path):
    run_python(PRELUDE + """
keras_npu_dump.apply(DumpConfig(dump_path="d", dump_step="all", collect=False))
dump = DumpSession()
children = []
for rank in range(2):
    child = os.fork()
    if not child:
        os.environ.update(RANK_ID=str(rank), ASCEND_DEVICE_ID=str(rank))
        npu_device.open()
        with (dump if rank else DumpSession()) as one:
            for _ in range(rank + 1):
                with one.step():
                    pass
        sys.exit()
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""", tmp_path)
    runs = {}
    for path in tmp_path.glob("d/runs/*/run.json"):
        record = json.loads(path.read_text())
        if record["opened"]:
            journal = path.parent / "iterations.jsonl"
            runs[record["rank"]] = (record["device"], record["status"],
                                    len(lines(journal, "execution")))
    assert runs == {0: (0, "ended", 1), 1: (1, "ended", 2)}


def test_the_manifest_is_collected_once_for_one_count_and_is_final_at_the_end(tmp_path):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="0")
npu_device.open()
capture, asked = dump._capture, []
collect = capture.collect
capture.collect = lambda: asked.append(1) or collect()
with dump:
    with dump.step():
        pass
    first = dump.manifest
    assert dump.manifest is first and len(asked) == 1
    with dump.step():
        pass
    assert dump.manifest is not first and len(asked) == 2
capture.close()
assert len(asked) == 3 and dump.manifest is capture.final and len(asked) == 3
print("done")
""", tmp_path)
    assert "done" in done.stdout


def test_ends_of_batches_in_many_threads_describe_the_graph_once():
    from keras_npu_dump.capture.counting.fit import Fit

    class Section:
        graph_known = False

    class Capture:
        noted, watched = 0, 0

        def note_graph(self, section, function):
            time.sleep(0.05)
            self.noted += 1
            section.graph_known = True

        def watch(self, section, data_index, end):
            self.watched += 1

    fit = Fit.__new__(Fit)
    fit.capture, fit.section, fit.function = Capture(), Section(), None
    fit.lock, fit.describe_pending, fit.params = threading.Lock(), True, None
    fit.written = [{"data_index": 0}]
    threads = [threading.Thread(target=fit.describe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (fit.capture.noted, fit.capture.watched) == (1, 1)


def test_a_fit_that_starts_late_ends_where_it_will(tmp_path):
    done = run_python(PRELUDE + """
from keras_npu_dump import NpuDumpCallback
import numpy as np
dump = NpuDumpCallback(dump_path="d", dump_step="3|8|20")
import tensorflow as tf
npu_device.open().as_default()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile("sgd", "mse")
ends = []

class Look(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        ends.append(dump._now.fit.end_index)

X, Y = np.zeros((16, 3)), np.zeros((16, 1))
for first in (58, 59):
    model.fit(X, Y, batch_size=4, epochs=60, initial_epoch=first, verbose=0,
              callbacks=[dump, Look()])
print(ends)
model.fit(X, Y, batch_size=4, epochs=60, initial_epoch=59, verbose=0, callbacks=[dump])
""", tmp_path)
    assert str([8] * 8 + [12] * 4) in done.stdout
    assert "executions 12 to 15, and data_index 20 is the next" in done.stderr
