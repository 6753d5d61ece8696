"""Does a script under `run` come to its end as under plain python, whatever it leaves open?"""
import sys

import pytest

from tests.capture.test_script_run import both
from tests.conftest import run_command

pytestmark = pytest.mark.usefixtures("no_tensorflow")

POOL = """
from concurrent.futures import ThreadPoolExecutor
import atexit, time
pool = ThreadPoolExecutor(2)
print(pool.submit(pow, 2, 5).result(), flush=True)
pool.submit(lambda: (time.sleep(0.3), print("late work", flush=True)))
atexit.register(print, "exit handler")
"""


def test_a_pool_of_threads_that_was_left_open(tmp_path):
    plain, run = both(tmp_path, POOL, timeout=60)
    assert plain.stdout == "32\nlate work\nexit handler\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr)


REFUSED = """
import os
import npu_device

def inner():
    %s
inner()
"""


@pytest.mark.parametrize("call", [
    "os.environ.update(RANK_SIZE='2', CM_WORKER_SIZE='2'); npu_device.open()",
    "npu_device.set_npu_loop_size([])",
])
def test_no_line_of_ours_in_the_traceback_of_a_call_that_we_watch(tmp_path, call):
    (tmp_path / "train.py").write_text(REFUSED % call)
    done = run_command(
        [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=d",
         "train.py"], tmp_path, check=False)
    assert done.returncode == 1
    assert "in inner" in done.stderr and "keras_npu_dump/emulator" in done.stderr
    assert "keras_npu_dump/capture" not in done.stderr
    assert "nothing was trained" not in done.stderr and "never called" not in done.stderr
