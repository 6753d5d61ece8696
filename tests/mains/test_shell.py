"""Do the habits of the shell scripts around the mains work, or are told what to change?"""
import sys

import pytest

from tests.conftest import run_command
from tests.mains.running import MAINS, manifest, trained


def run_shell(folder, main, *arguments, run="", env=None):
    """Runs train.sh in `folder`; returns (status, what it has logged)."""
    variables = {"PYTHON": sys.executable, "MAIN": str(MAINS / main), "RUN": run}
    variables.update(env or {})
    done = run_command(["bash", str(MAINS / "train.sh")] + list(arguments), folder, variables,
                       check=False)
    log = folder / "test" / "output" / "train.log"
    assert done.stdout == ""
    return done.returncode, log.read_text(encoding="utf-8")


def test_a_folder_made_and_deleted_before_the_run(tmp_path):
    status, log = run_shell(tmp_path, "argparse_at_import.py", "--data_dump_flag=True",
                            "--data_dump_step=1", run="-m keras_npu_dump run --emulate")
    assert status == 0, log
    # What the script itself sets is used, as `run` was told nothing.
    document = manifest(tmp_path, "test/output/data_dump")
    assert trained(document) == [[(1, (0, 0, 1))]]
    assert document["runs"][0]["options"]["dump_step"] == "1"


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
