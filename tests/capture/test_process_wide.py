"""Is everything that we change in a process what docs/process.md says, in every kind of child?

One probe looks at itself everywhere, under plain python and under `run`; each cell of the
table is one case.
"""
import json
import os
import pathlib
import re
import sys

import pytest

from tests.conftest import ROOT, run_command, without_tensorflow

pytestmark = pytest.mark.usefixtures("no_tensorflow")

PROBE = pathlib.Path(__file__).resolve().parent / "process_probe.py"
COLUMNS = ("fork", "forkserver", "spawn", "thread", "exec")
OURS = ["DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_PATH", "KERAS_NPU_DUMP_GRAPH_PATH_SET_BY"]


class Probed:
    """What the probe has found: `plain[column]`, `run[column]`, and the processes."""

    def __init__(self, folder):
        env = {"PROBE_BEFORE": json.dumps(sorted(
            set(os.environ) | {"PYTHONPATH", "TF_CPP_MIN_LOG_LEVEL", "CUDA_VISIBLE_DEVICES",
                               "TF_ENABLE_ONEDNN_OPTS", "PYTHONWARNINGS"}))}
        self.folder = folder
        self.plain_process = run_command([sys.executable, str(PROBE)], folder, env, timeout=300)
        self.plain = json.loads((folder / "found.json").read_text())
        self.process = run_command(
            [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--json",
             "--data_dump_path=d", str(PROBE), "dump"], folder, env, check=False, timeout=300)
        assert (folder / "found.json").exists(), self.process.stderr
        self.run = json.loads((folder / "found.json").read_text())

    def records(self):
        """What every run.json says, and its journal."""
        return [(json.loads(path.read_text()),
                 (path.parent / "iterations.jsonl").read_text().splitlines())
                for path in sorted(self.folder.glob("d/runs/*/run.json"))]


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    with without_tensorflow():
        return Probed(tmp_path_factory.mktemp("probe"))


def as_plain(row):
    def check(probed, column):
        assert probed.run[column][row] == probed.plain[column][row]
    return check


def finds(row, value):
    def check(probed, column):
        assert probed.run[column][row] == value
    return check


def ended_at_once(probed, column):
    assert probed.run[column]["terminate"] == probed.plain[column]["terminate"] == -15
    handlers = probed.run[column]["signals"]
    # The thread is of the process that has the handler.
    assert handlers == [column != "thread", True, []]
    assert probed.plain[column]["signals"] == [True, True, []]


def python_interrupts(probed, column):
    assert probed.run[column]["signals"][1] is True


def exits_as_plain(probed, column):
    assert probed.run[column]["exits"] == probed.plain[column]["exits"]
    said = [line for line in probed.process.stderr.splitlines()
            if line.startswith(("exit handler", "late thread"))]
    assert said == [line for line in probed.plain_process.stdout.splitlines()
                    if line.startswith(("exit handler", "late thread"))]
    assert said == ["exit handler False", "late thread", "exit handler True"]


def one_run(probed, column):
    (record, journal), = probed.records()
    assert (record["status"], record["cause"]) == ("ended", None)
    final = [json.loads(line) for line in journal if '"final": true' in line]
    assert [one["count"] for one in final] == [1]
    assert record["pid"] == json.loads(probed.process.stdout)["runs"][0]["pid"]


def prints_aside(probed, column):
    assert json.loads(probed.process.stdout)["schema"].startswith("keras_npu_dump.manifest/")
    # Of the four kinds of children; a thread has the stdout of its process.
    assert probed.process.stderr.count("seen on stdout") == 4
    assert probed.plain_process.stdout.count("seen on stdout") == 4


def main_as_plain(probed, column):
    name, arguments, path = probed.run[column]["main"]
    assert [name, path] == [probed.plain[column]["main"][0], probed.plain[column]["main"][2]]
    assert arguments == (["look"] if column == "exec" else ["dump"])


def _inner_run(probed, column):
    """Another `run`, as a script's subprocess would start it: with its parent's environment."""
    script = probed.folder / "outer.py"
    script.write_text(
        "import subprocess, sys, npu_device\nnpu_device.open()\n"
        "if sys.argv[1:] == ['outer']:\n"
        "    subprocess.check_call([sys.executable, '-m', 'keras_npu_dump', 'run', '--emulate',\n"
        "                           '--data_dump_path=inner', sys.argv[0], 'inner'])\n")
    run_command([sys.executable, "-m", "keras_npu_dump", "run", "--emulate",
                 "--data_dump_path=outer", str(script), "outer"], probed.folder)
    for name in ("outer", "inner"):
        path, = probed.folder.glob(name + "/runs/*/run.json")
        record = json.loads(path.read_text())
        assert (record["status"], record["graph_path"]) == ("ended", "graphs")
        assert record["environment"]["DUMP_GRAPH_PATH"] == str(probed.folder / name / "graphs")


THREADS = """
import importlib.util, sys, threading
begin, done = threading.Event(), []

def look():
    begin.wait()
    for _ in range(2000):
        importlib.util.find_spec("npu_device")

def take():
    begin.wait()
    import npu_device
    done.append(npu_device)

threads = [threading.Thread(target=one) for one in [look] * 4 + [take] * 2]
for one in threads:
    one.start()
begin.set()
for one in threads:
    one.join()
print(hasattr(done[0].open, "_keras_npu_dump_hooks"))
"""


def _hooked_in_threads(probed, column):
    script = probed.folder / "threads.py"
    script.write_text("import sys\nsys.setswitchinterval(1e-5)\n" + THREADS)
    for _ in range(3):
        done = run_command([sys.executable, "-m", "keras_npu_dump", "run", "--emulate",
                            "--data_dump_flag=False", str(script)], probed.folder)
        assert done.stdout == "True\n", done.stderr


def _environment(probed, column):
    assert probed.plain[column]["environment"] == []
    assert probed.run[column]["environment"] == OURS


CELLS = {
    "SIGTERM": dict.fromkeys(COLUMNS, ended_at_once),
    "SIGINT": dict.fromkeys(COLUMNS, python_interrupts),
    "exit handlers": dict.fromkeys(COLUMNS, exits_as_plain),
    "sys.excepthook": dict.fromkeys(COLUMNS, finds("excepthook", True)),
    "records": dict(dict.fromkeys(COLUMNS, one_run), exec=_inner_run),
    "import hooks": dict(dict.fromkeys(COLUMNS, finds("import hooks", True)),
                         thread=_hooked_in_threads, exec=as_plain("import hooks")),
    "patched functions": {
        "fork": finds("patched functions", True), "thread": finds("patched functions", True),
        "forkserver": finds("patched functions", False), "spawn": finds("patched functions", False),
        "exec": as_plain("patched functions")},
    "watcher": dict(dict.fromkeys(COLUMNS, finds("threads", [])),
                    thread=finds("threads", ["keras_npu_dump watcher"])),
    "environment": dict.fromkeys(COLUMNS, _environment),
    "stdout of --json": dict.fromkeys(COLUMNS, prints_aside),
    "`__main__`, argv, path": dict.fromkeys(COLUMNS, main_as_plain),
}


@pytest.mark.parametrize("row, column", [(row, column) for row in CELLS for column in COLUMNS])
def test_the_cell(probed, row, column):
    CELLS[row][column](probed, column)


def test_every_cell_of_the_table_has_a_case_and_says_something():
    lines = [line for line in (ROOT / "docs" / "process.md").read_text().splitlines()
             if line.startswith("|")]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert table[0] == ["thing"] + list(COLUMNS)
    assert [line[0] for line in table[2:]] == list(CELLS)
    assert all(set(CELLS[line[0]]) == set(COLUMNS) for line in table[2:])
    assert all(len(line) == 1 + len(COLUMNS) and all(re.search(r"\w", cell) for cell in line)
               for line in table[2:])
