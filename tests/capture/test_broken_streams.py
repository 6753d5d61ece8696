"""Does a stdout or stderr that is closed, full or read by nobody change a training?"""
import json
import re
import sys

import pytest

from tests.broken_streams import run_with

RUN = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate"]
OFF = RUN + ["--data_dump_flag=False"]
DUMP = RUN + ["--data_dump_path=d"]
TEE = "class Tee:\n    def write(self, text): %s\n"

ENDS = {
    "prints": "print('x')",
    "prints much": "print('x' * 100000)",
    "prints on stderr": "sys.stderr.write('x\\n')",
    "exits": "print('x')\nsys.exit(3)",
    "fails": "print('x')\nraise KeyError('y')",
    "closes stdout": "print('x')\nsys.stdout.close()",
    "has no stderr": "sys.stderr = None\nraise KeyError('y')",
    "has no stdout": "print('x')\nsys.stdout = None",
    "takes stdout": TEE % "pass" + "sys.stdout = Tee()\nprint('x')",
    "takes stderr": TEE % "raise RuntimeError('no')" + "sys.stderr = Tee()",
    "leaves a rest": "print('x')\nos.close(1)",
    "closes stderr": "os.close(2)\nkept = open('kept', 'w')\nkept.write('x')\nkept.flush()",
    "closes all": "os.closerange(0, 64)\nkept = [open('kept%d' % i, 'w') for i in range(12)]",
    "leads them away": "kept = os.open('kept', os.O_WRONLY | os.O_CREAT)\n"
                       "os.dup2(kept, 1)\nos.dup2(kept, 2)\nprint('x')",
    "has a hook": "def hook(*what): sys.exit(9)\nsys.excepthook = hook\nraise KeyError('y')",
    "has a hook that fails": "def hook(*what): raise OSError('no')\nsys.excepthook = hook\n"
                             "raise KeyError('y')",
    "has late words": "import atexit\natexit.register(print, 'late')",
    "asks for SIGPIPE": "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "starts a child": "import subprocess\ncode = subprocess.call([sys.executable, '-c',"
                      " 'print(1)'])\nopen('kept', 'w').write(str(code))",
    "writes by number": "os.write(1, b'x')",
}
OK = ("null", "ok", "ok")
FULL, GONE, CLOSED = ("null", "full", "ok"), ("null", "gone", "ok"), ("null", "closed", "ok")
FULL_ERROR, GONE_ERROR = ("null", "ok", "full"), ("null", "ok", "gone")
CLOSED_ERROR, NONE = ("null", "ok", "closed"), ("closed", "closed", "closed")


def end_of(folder, command, end, states, before=""):
    """How a script ends: status, stdout, stderr, and what is in the files it has kept."""
    (folder / "train.py").write_text("import os, sys\n" + before + ENDS[end] + "\n")
    done = run_with(command + ["train.py"], folder, *states, env={"PYTHONUNBUFFERED": ""})
    kept = {path.name: path.read_text() for path in folder.glob("kept*")}
    for path in folder.glob("kept*"):
        path.unlink()
    return done.returncode, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr), kept


@pytest.mark.parametrize("end, states", [
    ("prints much", FULL), ("prints on stderr", FULL_ERROR), ("exits", FULL), ("fails", NONE),
    ("has no stderr", OK), ("takes stdout", OK), ("takes stderr", OK), ("leaves a rest", OK),
    ("has a hook", OK), ("has a hook that fails", OK), ("has late words", FULL),
    ("starts a child", NONE), ("writes by number", CLOSED)])
def test_a_script_ends_as_without_us(tmp_path, end, states):
    plain = end_of(tmp_path, [sys.executable], end, states)
    assert end_of(tmp_path, OFF, end, states) == plain


OPENS = "import npu_device\nnpu_device.open()\n"
INSTALLS = "from keras_npu_dump import emulator\nemulator.install()\n"


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("end, states", [
    ("prints", FULL), ("exits", FULL_ERROR), ("prints", NONE), ("closes stdout", OK),
    ("takes stdout", OK), ("leaves a rest", OK), ("closes stderr", OK), ("closes all", OK),
    ("leads them away", FULL), ("has no stdout", CLOSED_ERROR), ("asks for SIGPIPE", GONE_ERROR),
    ("asks for SIGPIPE", GONE)])
def test_a_dump_changes_neither_the_end_of_a_script_nor_its_files(tmp_path, end, states):
    status, _, _, kept = end_of(tmp_path, [sys.executable], end, states, INSTALLS + OPENS)
    found = end_of(tmp_path, DUMP, end, states, OPENS)
    assert found[0] == status
    if end == "leads them away":
        # Where a script leads its stderr, our words go.
        assert "\nx\n" in found[3]["kept"] and "nothing was dumped" in found[3]["kept"]
    else:
        assert found[3] == kept
    # The table comes where stdout was, whatever the script has made of its own.
    if states[1] == "ok" and end != "closes all":
        assert "Dump folder" in found[1]
    elif states[2] == "ok" and end == "prints":
        assert ("cannot be printed" in found[2]) == (states == FULL)
    assert "Traceback" not in found[2] and "Logging error" not in found[2]
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert record["ended"] and next(tmp_path.glob("d/runs/*/manifest.json"))


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("states", [FULL_ERROR, CLOSED_ERROR])
def test_with_json_the_script_does_not_depend_on_stderr_where_its_words_go(tmp_path, states):
    status, stdout, _, _ = end_of(tmp_path, DUMP + ["--json"], "prints much", states, OPENS)
    assert status == 0
    assert json.loads(stdout)["schema"] == "keras_npu_dump.manifest/1"


LIBRARY = """
from keras_npu_dump import DumpSession, emulator
emulator.install()
import npu_device
with DumpSession(dump_path="d", dump_step="0|7") as dump:
    npu_device.open()
    for _ in range(3):
        with dump.step():
            pass
"""


@pytest.mark.usefixtures("no_tensorflow")
@pytest.mark.parametrize("states", [FULL_ERROR, GONE_ERROR, NONE, ("null", "ok", "limited")])
def test_words_of_ours_leave_no_status_behind(tmp_path, states):
    # A rest in the buffer of stderr makes Python end with 120.
    (tmp_path / "train.py").write_text(LIBRARY)
    done = run_with([sys.executable, "train.py"], tmp_path, *states,
                    env={"PYTHONUNBUFFERED": ""})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for path in tmp_path.glob("d/runs/*/iterations.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[-1]["count"] == 3


TRAINING = """
import hashlib, io, json, os, sys
import numpy as np
import tensorflow as tf
from keras_npu_dump import NpuDumpCallback, emulator, messages
%s
import npu_device

def trained():
    tf.random.set_seed(1)
    np.random.seed(1)
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(3, kernel_initializer="ones", input_shape=(4,)),
        tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    x = np.arange(64, dtype="float32").reshape(16, 4) / 64
    history = model.fit(x, x.sum(1), batch_size=4, epochs=2, shuffle=False, verbose=0,
                        callbacks=[Says()] + made())
    weights = b"".join(one.tobytes() for one in model.get_weights())
    return hashlib.sha256(weights).hexdigest(), history.history["loss"]

class Says(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        messages.warning("batch %%d", batch)
"""
BREAKS = """
class Broken:
    def __init__(self, *names):
        for name in names:
            setattr(self, name, self.fails)
    def fails(self, *values):
        raise RuntimeError("no")

def closed():
    stream = open(os.devnull, "w")
    stream.close()
    return stream

def led_to(path, flags=os.O_WRONLY):
    os.dup2(os.open(path, flags), 2)
    return sys.__stderr__

def unread():
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    os.close(read)
    return sys.__stderr__

def stuck():
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, bytes(1 << 16))
    except BlockingIOError:
        pass
    os.dup2(write, 2)
    return sys.__stderr__

def no_descriptor():
    global kept
    os.close(2)
    kept = os.open("kept", os.O_RDWR | os.O_CREAT)  # 2 by now
    os.close(1)
    return sys.__stderr__

WAYS = {
    "in order": lambda: sys.__stderr__, "None": lambda: None, "closed": closed,
    "nothing but write": lambda: type("Tee", (), {"write": lambda *values: None})(),
    "an object": object, "write fails": lambda: Broken("write", "flush", "fileno", "isatty"),
    "flush fails": lambda: Broken("flush", "write"), "ascii": lambda: io.TextIOWrapper(
        io.BytesIO(), encoding="ascii"),
    "full": lambda: led_to("/dev/full"), "read only": lambda: led_to(os.devnull, os.O_RDONLY),
    "unread": unread, "stuck": stuck, "no descriptor": no_descriptor}
made = list
"""
IN_TURN = TRAINING % ("emulator.install()\n" + BREAKS) + """
plain = trained()
dump = NpuDumpCallback(dump_path="d", dump_step="1")
npu_device.open().as_default()
made = lambda: [dump]
found = {}
for name, way in WAYS.items():
    sys.stderr = way()
    found[name] = trained() == plain
with open("found.json", "w") as file:
    json.dump([plain, found, kept], file)
"""


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory):
    """A process that has broken its stderr in many ways: its folder, its end, what it found."""
    folder = tmp_path_factory.mktemp("in_turn")
    (folder / "train.py").write_text(IN_TURN)
    done = run_with([sys.executable, "train.py"], folder)
    return folder, done, json.loads((folder / "found.json").read_text())


def test_weights_and_losses_are_the_same_however_stderr_is_broken(in_turn):
    folder, done, (_, found, kept) = in_turn
    assert "Traceback" not in done.stderr and "Logging error" not in done.stderr
    assert done.stderr.count("batch 3") == 4  # of two epochs, twice: before the first breaks
    assert len(found) == 13 and all(found.values()), found
    # A file that got the number of stderr is not written to.
    assert kept == 2 and (folder / "kept").read_bytes() == b""
    assert (done.returncode, done.stdout) == (0, "")
    manifest = json.loads(next(folder.glob("d/runs/*/manifest.json")).read_text())
    steps = [manifest["pairs"][one]["steps"] for one in manifest["training"]["0"]]
    assert [step["data_index"] for one in steps for step in one] == [1] * 13


def test_a_training_without_any_stream(tmp_path, in_turn):
    (tmp_path / "train.py").write_text(TRAINING % "made = list" + """
npu_device.open().as_default()
with open("found.json", "w") as file:
    json.dump(trained(), file)
print("done")
""")
    assert run_with(DUMP + ["--data_dump_step=1", "train.py"], tmp_path, *NONE).returncode == 0
    assert json.loads((tmp_path / "found.json").read_text()) == in_turn[2][0]
    for path in tmp_path.glob("d/**/*"):
        assert path.is_dir() or b"done\n" not in path.read_bytes()
    manifests = [json.loads(next(folder.glob("d/runs/*/manifest.json")).read_text())
                 for folder in (tmp_path, in_turn[0])]
    here, there = [one["pairs"][one["training"]["0"][0]] for one in manifests]
    assert here["confidence"] == there["confidence"] == "exact"
    assert [(step["data_index"], step["files"]) for step in here["steps"]] == [
        (step["data_index"], step["files"]) for step in there["steps"]]
