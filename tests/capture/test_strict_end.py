"""data_dump_strict at the end: raised by the fit or session, or one line when the process ends."""
import json
import sys

import pytest

from tests.conftest import run_command, run_python

FITS = """
import glob, json, os, resource
import numpy as np
import keras_npu_dump
from keras_npu_dump.errors import DumpError, IncompleteDumpError
keras_npu_dump.emulator.install()
import tensorflow as tf
dump = keras_npu_dump.NpuDumpCallback(config=keras_npu_dump.DumpConfig(
    dump_path="dump", dump_step="0|2|50", strict=True))
import npu_device
npu_device.open().as_default()
assert issubclass(IncompleteDumpError, DumpError)

def full(yes):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0 if yes else hard, hard))

class FullAt(tf.keras.callbacks.Callback):
    def __init__(self, batch, error=None):
        super().__init__()
        self.batch, self.error = batch, error

    def on_train_batch_begin(self, batch, logs=None):
        if batch == self.batch:
            full(True)

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            full(False)
            if self.error is not None:
                raise self.error

x = np.arange(24, dtype="float32").reshape(8, 3)
def fit(*callbacks, **options):
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    try:
        model.fit(x, x[:, :1], batch_size=2, verbose=0, callbacks=[dump, *callbacks])
        return None
    except Exception as error:
        return [type(error).__name__, str(error),
                [one.code for one in getattr(error, "problems", ())]]

answers = [fit(), fit(FullAt(2, KeyError("its own"))), fit(FullAt(2))]
print(json.dumps(answers))
"""


def test_a_fit_raises_for_what_it_executed_and_not_for_what_a_later_one_may_reach(tmp_path):
    done = run_python(FITS, tmp_path)
    whole, own, lost = json.loads(done.stdout.splitlines()[-1])
    assert whole is None  # step 50 was not reached
    assert own[:2] == ["KeyError", "'its own'"]
    assert lost[0] == "IncompleteDumpError" and "step-missing" in lost[2]
    assert "data_dump_strict" in lost[1] and "Traceback" not in done.stderr


PRELUDE = """
import sys
import keras_npu_dump
from keras_npu_dump import DumpConfig, DumpSession, apply
keras_npu_dump.emulator.install()
import npu_device
config = DumpConfig(dump_path="dump", dump_step="0|50", strict=True)
"""
SESSION = PRELUDE + """
dump = DumpSession(config)
npu_device.open()
with dump:
    with dump.step():
        pass  # nothing runs on the device
    {inside}
print("behind")
"""


@pytest.mark.usefixtures("no_tensorflow")
def test_a_session_raises_at_its_exit(tmp_path):
    done = run_python(SESSION.format(inside="pass"), tmp_path, check=False)
    assert done.returncode == 1 and "behind" not in done.stdout
    assert "IncompleteDumpError: data_dump_strict: " in done.stderr
    assert "[not-dumped]" in done.stderr
    assert done.stderr.count("data_dump_strict") == 1  # once is enough


@pytest.mark.usefixtures("no_tensorflow")
def test_a_session_keeps_the_exception_of_the_training(tmp_path):
    done = run_python(SESSION.format(inside="raise KeyError('its own')"), tmp_path, check=False)
    assert done.returncode == 1
    assert "KeyError: 'its own'" in done.stderr and "IncompleteDumpError" not in done.stderr
    assert done.stderr.count("data_dump_strict: ") == 1  # told at the end of the process


@pytest.mark.usefixtures("no_tensorflow")
def test_a_session_in_which_nothing_was_asked_for_yet_raises_nothing(tmp_path):
    code = SESSION.replace('"0|50"', '"50"').format(inside="pass")
    done = run_python(code, tmp_path)
    assert "behind" in done.stdout
    assert done.stderr.count("data_dump_strict: ") == 1  # step 50 was not reached


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("code", [
    "apply(config)\nnpu_device.open()\n",
    "dump = DumpSession(config)\nnpu_device.open()\n",
    "apply(config.replace(strict=False))\nDumpSession(config)\nnpu_device.open()\n"])
@pytest.mark.parametrize("collects", [True, False])
def test_where_nobody_counts_it_is_one_line_at_the_end(tmp_path, code, collects):
    code = PRELUDE + "config = config.replace(collect=%s)\n" % collects + code
    done = run_python(code + "print('behind')", tmp_path)
    assert done.returncode == 0 and "behind" in done.stdout
    lines = [line for line in done.stderr.splitlines() if "data_dump_strict: " in line]
    assert len(lines) == 1 and "Traceback" not in done.stderr


@pytest.mark.usefixtures("no_tensorflow")
def test_without_strict_nothing_of_it_is_said(tmp_path):
    code = SESSION.replace("strict=True", "strict=False").format(inside="pass")
    assert "data_dump_strict" not in run_python(code, tmp_path).stderr


def test_under_run_the_status_tells_it_and_nothing_is_raised(tmp_path):
    (tmp_path / "train.py").write_text(SESSION.format(inside="pass"))
    for options, status in ((["--data_dump_strict"], 1), ([], 1)):  # the script's own strict too
        done = run_command([sys.executable, "-m", "keras_npu_dump", "run", "--emulate"] + options
                           + ["train.py"], tmp_path, check=False)
        assert done.returncode == status and "behind" in done.stdout
        assert "the script's own is 0" in done.stderr and "Traceback" not in done.stderr
