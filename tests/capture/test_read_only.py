"""Does training go on where its disk becomes read-only, or takes nothing more?"""
import json
import os
import subprocess
import sys

import pytest

from tests.capture import mounting
from tests.capture.disturbed_fit import train
from tests.capture.test_full_disk import PRELUDE
from tests.capture.test_lost_output import missing, weights  # noqa: F401 (a fixture)
from tests.conftest import run_command, run_python

ALL = list(range(12))
COLLECT = [sys.executable, "-m", "keras_npu_dump", "collect", "--json", "d"]


def own_answer(tmp_path, done):
    """What `run --json` printed, behind the lines of the script."""
    return json.loads(done.stdout[done.stdout.index("{\n"):])


def test_a_disk_becomes_read_only_under_the_training(tmp_path, weights):  # noqa: F811
    mounted = mounting.ext4(tmp_path)
    done = train(tmp_path, "import os\nassert not os.system('mount -o remount,abort d')",
                 before=mounted, options=["--json"])
    assert "weights " + weights in done.stderr and done.status == 3
    during, last = done.said
    assert "Read-only file system" in during and "training goes on" in during
    assert "Read-only file system" in last and last.startswith("Failed")
    manifest = own_answer(tmp_path, done)
    run, = manifest["runs"]
    assert run["ended"] and [one["count"] for one in run["executions"].values()] == [12]
    assert missing(manifest) == ALL[6:]
    assert {step["data_index"] for pair in manifest["pairs"] if pair["role"] == "train"
            for step in pair["steps"]} == set(ALL[:6])
    # Later and elsewhere nobody knows of an end, but that the process is not there any more.
    later = run_command(mounted + COLLECT, tmp_path, check=False)
    assert later.returncode == 1
    problems = json.loads(later.stdout)["problems"]
    assert "the process ended before" in next(
        one["message"] for one in problems if one["code"] == "step-not-reached")


@pytest.mark.parametrize("options", ["size=60k", "nr_inodes=60"])
def test_a_disk_that_is_full_before_the_first_step(tmp_path, weights, options):  # noqa: F811
    mounted = mounting.tmpfs(tmp_path, options)
    # Both answers come from the namespace in which the disk is.
    then = ('"$@"; echo $? >status; cat d/runs/*/run.json >record; %s >later 2>/dev/null; true'
            % " ".join(COLLECT))
    done = train(tmp_path, before=mounted[:-2] + [mounted[-2].replace('exec "$@"', then), "sh"],
                 options=["--json"])
    assert (tmp_path / "status").read_text() == "3\n" and "weights " + weights in done.stderr
    during, last = done.said
    assert "No space left on device" in during and "No space left on device" in last
    record = json.loads((tmp_path / "record").read_text())
    assert (record["status"], record["counts"]) == ("failed", [12])
    assert record["outages"] == ["No space left on device"]
    for manifest in (own_answer(tmp_path, done), json.loads((tmp_path / "later").read_text())):
        assert manifest["runs"][0]["ended"]
        assert [one["count"] for one in manifest["runs"][0]["executions"].values()] == [12]
        assert not {"still-growing", "step-not-reached"} & {
            one["code"] for one in manifest["problems"]}
        assert "still" not in json.dumps(manifest["problems"])


@pytest.mark.usefixtures("no_tensorflow")
def test_the_end_of_a_run_needs_no_more_room_than_its_record_has(tmp_path):
    done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="0-99")
npu_device.open()
with dump:
    for index in range(100):
        with dump.step():
            pass
        if index == 20:
            path = dump._capture.record.path
            size = os.path.getsize(path)
            with open(path, "a") as file:  # the room that a block of a disk has more
                file.write(" " * 600)
            size += 600
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            os.mkdir(path + ".part")  # no new file
""", tmp_path)
    record = json.loads(next(tmp_path.glob("d/runs/*/run.json")).read_text())
    assert (record["status"], record["counts"]) == ("ended", [100]) and record["lost_lines"]
    assert "File too large" in "".join(record["outages"])
    assert done.stderr.count("training goes on") == 1 and "Traceback" not in done.stderr
    later = run_command(COLLECT, tmp_path, check=False)
    run, = json.loads(later.stdout)["runs"]
    assert run["executions"]["section 0"] == {"count": 100, "last": 99, "dumped": list(range(100))}


@pytest.mark.usefixtures("no_tensorflow")
def test_a_folder_that_takes_no_more_files(tmp_path):
    if os.getuid() == 0 and subprocess.run(
            ["chattr", "+i", str(tmp_path)], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("root may write everywhere here, and there is no chattr +i")
    subprocess.run(["chattr", "-i", str(tmp_path)], stderr=subprocess.DEVNULL)
    command = "chmod -R u-w" if os.getuid() else "chattr -R +i"
    try:
        done = run_python(PRELUDE + """
dump = DumpSession(dump_path="d", dump_step="0-11")
npu_device.open()
with dump:
    for index in range(12):
        with dump.step():
            pass
        if index == 5:
            assert not os.system(%r)
print(json.dumps(record(dump)["status"]))
""" % (command + " d/runs/*"), tmp_path)
    finally:
        subprocess.run("chattr -R -i d; chmod -R u+w d", shell=True, cwd=str(tmp_path),
                       stderr=subprocess.DEVNULL)
    assert done.stdout.splitlines()[-1] == '"running"'
    assert done.stderr.count("training goes on") == 1 and done.stderr.count("Failed, and") == 1
    assert "Traceback" not in done.stderr
