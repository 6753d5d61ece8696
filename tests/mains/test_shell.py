"""Do the habits of the shell scripts around the mains work, or are told what to change?"""
import json
import subprocess
import sys

import pytest

from tests.conftest import run_command
from tests.mains.running import MAINS, codes, manifest, trained

FIRST = (0, (0, 0, 0))


def run_shell(folder, main, *arguments, run="", env=None):
    """Runs train.sh in `folder`; returns (status, what it has logged)."""
    variables = {"PYTHON": sys.executable, "MAIN": str(MAINS / main), "RUN": run}
    variables.update(env or {})
    done = run_command(["bash", str(MAINS / "train.sh")] + list(arguments), folder, variables,
                       check=False)
    log = folder / "test" / "output" / "train.log"
    assert done.stdout == ""
    return done.returncode, log.read_text(encoding="utf-8")


def test_empty_arguments_are_not_given(tmp_path):
    status, log = run_shell(tmp_path, "argparse_at_import.py",
                            run="-m keras_npu_dump run --emulate --data_dump_path=d"
                                " --data_dump_step=0|5 --data_dump_layer= --data_dump_ranks=")
    assert status == 0, log
    assert trained(manifest(tmp_path)) == [[FIRST, (5, (0, 0, 5))]]


def test_a_folder_made_and_deleted_before_the_run(tmp_path):
    status, log = run_shell(tmp_path, "argparse_at_import.py", "--data_dump_flag=True",
                            "--data_dump_step=1", run="-m keras_npu_dump run --emulate")
    assert status == 0, log
    assert trained(manifest(tmp_path, "test/output/data_dump")) == [[(1, (0, 0, 1))]]


@pytest.mark.parametrize("argument", ["--over_dump_path=/some/folder", "--over_dump"])
def test_over_dump_that_swallows_another_argument(tmp_path, argument):
    # The shell's prefix glob hands the folder, or the flag's own name, to --over_dump.
    status, log = run_shell(tmp_path, "argparse_added.py", argument)
    assert status == 2
    last = log.strip().splitlines()[-1]
    assert "over_dump: expected true or false. Received: " in last
    assert ("over_dump_path" in last) == ("folder" in argument)


def test_overflow_detection_with_its_own_folder(tmp_path):
    status, log = run_shell(tmp_path, "argparse_added.py", "--over_dump=True")
    assert status == 0, log
    document = manifest(tmp_path, "output/overflow_dump")
    assert document["runs"][0]["options"]["enable_dump_debug"] is True
    assert "no operator overflowed" in str(document["problems"])


def test_ranks_in_the_background_on_one_path(tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}")
    loop = """
    for RANK_ID in 0 1; do
        export RANK_ID ASCEND_DEVICE_ID=$RANK_ID RANK_SIZE=2 RANK_TABLE_FILE=%s
        $PYTHON -m keras_npu_dump run --emulate --data_dump_path=d $MAIN > $RANK_ID.log 2>&1 &
    done
    wait
    """ % table
    run_command(["bash", "-c", loop], tmp_path,
                {"PYTHON": sys.executable, "MAIN": str(MAINS / "plain_keras.py")})
    done = run_command([sys.executable, "-m", "keras_npu_dump", "collect", "d", "--json"], tmp_path,
                       check=False)
    assert done.returncode == 0, done.stdout
    document = json.loads(done.stdout)
    assert sorted(one["rank"] for one in document["runs"]) == [0, 1]
    assert trained(document, "0") == trained(document, "1") == [[FIRST]]
    assert not codes(document)
    # In the current folder, where GE would let them overwrite each other, there is none.
    assert not list(tmp_path.glob("*.txt"))


def test_the_shell_sees_the_status_of_a_signal(tmp_path):
    loop = "$PYTHON -m keras_npu_dump run --emulate --data_dump_path=d $MAIN SIGTERM; echo $?"
    done = run_command(["bash", "-c", loop], tmp_path, {
        "PYTHON": sys.executable, "MAIN": str(MAINS / "interrupted.py")})
    assert done.stdout.splitlines()[-1] == str(128 + 15)
    assert subprocess.call(["test", "-d", str(tmp_path / "d" / "runs")]) == 0
