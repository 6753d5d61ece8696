"""Does `next.flags` do on every surface what triage has planned, whatever the script asks for?"""
import re
import shutil
import sys

import pytest

from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.report.triage_text import triage_text
from tests.mains.running import MAINS, manifest, run_plain, run_script, trained

RUN = [sys.executable, "-m", "keras_npu_dump", "run"]
PLANNED = [(index, (0, 0, index)) for index in (1, 2, 3, 4)]
BLANK = ("warning: The vendor's comparator refuses paths with a blank, as this dump folder's"
         " has; every command of keras-npu-dump takes them.")
# On where this runs, and on whether the first dump comes before the last batch.
DEPENDS = ("The dump folder lies inside this container", "The first dump is there")
EMULATED = "emulator: npu_device is emulated; device 0 is this machine's CPU or GPU."


def said(done, folder):
    """All that we print to stderr, line by line; the folder is `.`, ids of runs are RUN_ID."""
    begin = "keras-npu-dump: "
    lines = [line[len(begin):] for line in done.stderr.splitlines() if line.startswith(begin)]
    return [re.sub(r"\d{14}_rank0_pid\d+", "RUN_ID", line.replace(str(folder), "."))
            for line in lines if not any(part in line for part in DEPENDS)]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A dump of two of six executions, as the script asks for, but for its folder."""
    folder = tmp_path_factory.mktemp("first")
    done = run_script(folder, RUN + ["--emulate", "--data_dump_path=my dump",
                                     str(MAINS / "callback_flags.py"), "apply"], 0, None)
    return folder, done, triage(folder / "my dump")


@pytest.fixture
def again(first_run, tmp_path):
    """The dump in a folder of its own, with the flags that triage writes there."""
    shutil.copytree(str(first_run[0] / "my dump"), str(tmp_path / "my dump"))
    flags = tmp_path / "my dump" / "next.flags"
    flags.write_text(flags.read_text().replace(str(first_run[0]), str(tmp_path)))
    return tmp_path


def run_again(folder, *script, status=0, dump="my dump"):
    """`keras-npu-dump run --flagfile=... SCRIPT`, as triage says it."""
    return run_script(folder, RUN + ["--flagfile=%s/next.flags" % dump, str(MAINS / script[0])]
                      + list(script[1:]), status, None)


def flags_of(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def test_run_and_apply(first_run):
    folder, done, _ = first_run
    assert said(done, folder) == [
        "Dump data, graphs and records go to ./my dump", BLANK,
        "The script's keras_npu_dump.apply asks for dump_path='own'. The command line of"
        " `keras-npu-dump run` holds: dump_path='./my dump'.", EMULATED]
    assert trained(manifest(folder, "my dump")) == [[(0, (0, 0, 0)), (5, (0, 0, 5))]]


def test_the_flags_are_those_of_any_main(first_run):
    folder, _, found = first_run
    assert flags_of(folder / "my dump" / "next.flags") == [
        "--data_dump_flag=True", "--data_dump_path=%s/my dump_next" % folder,
        "--data_dump_step=1-4", "--data_dump_mode=all", "--data_dump_data=stats",
        "--data_dump_layer=all"]
    text = triage_text(found)
    assert "keras-npu-dump run '--flagfile=%s/my dump/next.flags' SCRIPT" % folder in text
    assert ("NpuDumpCallback(dump_path='%s/my dump_next', dump_step='1-4', dump_mode='all',"
            " dump_data='stats')" % folder) in text


def test_run_and_a_callback_twice_in_a_row(again):
    done = run_again(again, "callback_flags.py", "callback")
    assert said(done, again) == [
        "my dump/next.flags continues a dump that was emulated (./my dump/runs/RUN_ID/run.json), so"
        " this run is emulated, too. --noemulate runs on the NPU.",
        "Dump data, graphs and records go to ./my dump_next", BLANK,
        "The script's NpuDumpCallback asks for dump_path='own', dump_step='0|5'. The command line"
        " of `keras-npu-dump run` holds: dump_path='./my dump_next', dump_step='1-4'.",
        EMULATED]
    assert trained(manifest(again, "my dump_next")) == [PLANNED]
    assert not (again / "own").exists()

    assert triage(again / "my dump_next").next.dump_step == "0|5"
    done = run_again(again, "callback_flags.py", "callback", dump="my dump_next")
    # Now both ask for the same executions.
    assert said(done, again)[3] == (
        "The script's NpuDumpCallback asks for dump_path='own'. The command line"
        " of `keras-npu-dump run` holds: dump_path='./my dump_next2'.")
    assert trained(manifest(again, "my dump_next2")) == [[(0, (0, 0, 0)), (5, (0, 0, 5))]]


def test_run_and_a_session_that_comes_after_open(again):
    done = run_again(again, "callback_flags.py", "session")
    assert said(done, again)[3:] == [
        EMULATED, "The script's DumpSession asks for dump_path='own', dump_step='0|5',"
        " dump_layer='MatMul'. The command line of `keras-npu-dump run` holds:"
        " dump_path='./my dump_next', dump_step='1-4', dump_layer='all'."]
    steps = [step for pair in manifest(again, "my dump_next")["pairs"] for step in pair["steps"]]
    assert [step["data_index"] for step in steps] == [1, 2, 3, 4]


def test_a_dump_of_what_overflows_stays_a_conflict(again):
    done = run_again(again, "callback_flags.py", "overflow", status=2)
    assert said(done, again)[1:] == [
        "error: one process has one dump, and two that differ are asked for: enable_dump is '1' in"
        " keras-npu-dump run, '0' in the script's NpuDumpCallback; enable_dump_debug is '0' in"
        " keras-npu-dump run, '1' in the script's NpuDumpCallback. Say it in one place only."]
    assert done.stdout == "" and not list(again.glob("my dump_next/2*"))


@pytest.mark.parametrize("main", ["absl_main.py", "argparse_added.py"])
def test_a_main_with_our_flags_under_plain_python(again, main):
    done = run_plain(again, main, "--flagfile=my dump/next.flags")
    assert said(done, again) == [
        "Dump data, graphs and records go to ./my dump_next", BLANK, EMULATED]
    assert trained(manifest(again, "my dump_next")) == [PLANNED]
