"""Does SIGTERM end a script under `run` as it ends it under plain python, with its records?"""
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.capture.test_script_run import RUN
from tests.conftest import python_path

pytestmark = pytest.mark.usefixtures("no_tensorflow")

DUMPING = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_path=d"]


def signalled(folder, code, numbers, start, pauses=0.0, timeout=120):
    """Runs a script, and sends it signals as soon as it says "ready".

    Returns:
      Its status, as a shell sees it, stdout without "ready", and stderr.
    """
    (folder / "train.py").write_text(code)
    env = dict(os.environ, PYTHONPATH=python_path(), TF_CPP_MIN_LOG_LEVEL="2",
               CUDA_VISIBLE_DEVICES="-1")
    process = subprocess.Popen(start + ["train.py"], cwd=str(folder), env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, universal_newlines=True)
    try:
        assert process.stdout.readline() == "ready\n"
        for number in numbers:
            process.send_signal(number)
            time.sleep(pauses)
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    status = process.returncode
    return 128 - status if status < 0 else status, out, err


OPENED = "import npu_device\nnpu_device.open()\n"
READY = "print('ready', flush=True)\n"
# What an exception out of a handler would run into.
SCRIPTS = {
    "bare except": READY + """
import time
while True:
    try:
        time.sleep(0.01)
    except:
        pass
""",
    "finally and exit handler": """
import atexit, time
atexit.register(print, "exit handler")
try:
    %s
    time.sleep(60)
finally:
    print("finally")
""" % READY.strip(),
    "finalizers": READY + """
class Tells:
    def __del__(self):
        for _ in range(100):
            pass
while True:
    Tells()
""",
    "a module being imported": """
import sys
open("slow.py", "w").write("print('ready', flush=True)\\nwhile True:\\n    pass\\n")
while True:
    try:
        import slow
    except BaseException:
        pass
""",
    "a thread that trains on": READY + """
import threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
""",
    "waiting for a child": """
import subprocess
child = subprocess.Popen(["sleep", "5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("ready", flush=True)
child.wait()
""",
    "forking all the time": """
import os
print("ready", flush=True)
while True:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
""",
}


@pytest.mark.parametrize("what", sorted(SCRIPTS))
def test_it_ends_at_once_whatever_the_script_does(tmp_path, what):
    plain = signalled(tmp_path, SCRIPTS[what], [signal.SIGTERM], [sys.executable])
    run = signalled(tmp_path, SCRIPTS[what], [signal.SIGTERM] * 2, RUN)
    assert run == plain == (143, "", "")


def test_journal_record_manifest_and_table_come_all_the_same(tmp_path):
    code = OPENED + """
from keras_npu_dump import DumpSession
with DumpSession(dump_path="d") as dump, dump.step():
    pass
""" + SCRIPTS["bare except"]
    status, out, err = signalled(tmp_path, code, [signal.SIGTERM], DUMPING)
    assert (status, "Traceback" in err) == (143, False)
    folder, = tmp_path.glob("d/runs/*")
    record = json.loads((folder / "run.json").read_text())
    assert (record["status"], record["cause"]) == ("failed", "interrupted by SIGTERM")
    journal = [json.loads(line) for line in (folder / "iterations.jsonl").read_text().splitlines()]
    assert [one["count"] for one in journal if one.get("final")] == [1]
    assert json.loads((folder / "manifest.json").read_text())["runs"][0]["ended"]
    assert out  # the table


def test_it_waits_for_a_line_of_the_journal(tmp_path):
    # The handler needs the journal's lock, which the line that it comes into holds.
    code = OPENED + """
import os, signal
from keras_npu_dump import DumpSession
from keras_npu_dump.records import journal_file
dump = DumpSession(dump_path="d")
write = os.write
def slow(descriptor, data):
    if descriptor > 2:
        os.kill(os.getpid(), signal.SIGTERM)
    return write(descriptor, data)
print("ready", flush=True)
journal_file.os = type("os", (), dict(vars(os), write=staticmethod(slow)))
with dump, dump.step():
    pass
"""
    status, _, _ = signalled(tmp_path, code, [], DUMPING)
    assert status == 143
    folder, = tmp_path.glob("d/runs/*")
    lines = (folder / "iterations.jsonl").read_text().splitlines()
    assert len(lines) == len(set(lines)) and all(json.loads(line) for line in lines)
    assert json.loads((folder / "run.json").read_text())["cause"] == "interrupted by SIGTERM"


@pytest.mark.parametrize("numbers, statuses", [
    ([signal.SIGTERM, signal.SIGINT], [143]), ([signal.SIGINT, signal.SIGTERM], [143, 130]),
    ([signal.SIGINT] * 2, [130]), ([signal.SIGTERM, signal.SIGINT, signal.SIGTERM], [143])])
@pytest.mark.parametrize("imports", [
    "import slow", "import npu_device\nnpu_device.open()\nimport slow"])
def test_both_signals_while_the_script_imports(tmp_path, numbers, statuses, imports):
    (tmp_path / "slow.py").write_text(
        "import decimal, json, email.message\nprint('ready', flush=True)\n"
        "import time\nend = time.time() + 60\n"
        "while time.time() < end:\n    open(__file__).close()\n")
    for start in (RUN, DUMPING):
        status, _, _ = signalled(tmp_path, imports, numbers, start)
        assert status in statuses
        if start is DUMPING and "open" in imports:
            for path in tmp_path.glob("d/runs/*/run.json"):
                record = json.loads(path.read_text())
                assert record["status"] == "failed"
                assert record["cause"] in ("interrupted by SIGTERM", "interrupted by SIGINT")


# A script that catches it in the first two goes on, see docs/process.md.
@pytest.mark.parametrize("function, caught", [
    ("_handle", False), ("_end", False), ("_act", True), ("_ignore_sigint", True)])
def test_ctrl_c_as_the_handler_enters_a_function(tmp_path, function, caught):
    code = OPENED + """
import os, signal, sys
from keras_npu_dump import sigterm
def enters(frame, event, argument):
    code = frame.f_code
    if event == "call" and (code.co_filename, code.co_name) == (sigterm.__file__, %r):
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
print("ready", flush=True)
sys.setprofile(enters)
try:
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
except KeyboardInterrupt:
    if not %r:
        raise
""" % (function, caught)
    status, _, err = signalled(tmp_path, code, [], DUMPING)
    folder, = tmp_path.glob("d/runs/*")
    record = json.loads((folder / "run.json").read_text())
    assert (status, record["status"], record["cause"]) == (
        143, "failed", "interrupted by SIGTERM"), err


@pytest.mark.parametrize("function", [
    "run_as_main", "cause_of", "note", "finish", "_wait_for_threads", "close", "uninterrupted",
    "write_records", "cut_short", "end", "_write", "tell_and_collect", "leave", "collect"])
def test_a_second_ctrl_c_cuts_off_no_records(tmp_path, function):
    code = OPENED + """
import os, signal, sys, keras_npu_dump
ours, place = os.path.dirname(keras_npu_dump.__file__), %r
def enters(frame, event, argument):
    code = frame.f_code
    if event == ("return" if place == "run_as_main" else "call") and (
            code.co_name == place and code.co_filename.startswith(ours)):
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
print("ready", flush=True)
sys.setprofile(enters)
os.kill(os.getpid(), signal.SIGINT)
signal.pause()
""" % function
    status, _, err = signalled(tmp_path, code, [], DUMPING)
    folder, = tmp_path.glob("d/runs/*")
    record = json.loads((folder / "run.json").read_text())
    assert (status, record["status"], record["cause"]) == (
        130, "failed", "interrupted by SIGINT"), err


@pytest.mark.parametrize("numbers, status", [([signal.SIGINT], 130), ([signal.SIGTERM], 143)])
def test_ctrl_c_while_a_program_is_started_is_ctrl_c(tmp_path, numbers, status):
    # Before Python 3.10 a function of ours stands around the fork.
    code = OPENED + """
import os, signal, subprocess, sys, _posixsubprocess
from keras_npu_dump import sigterm
original = _posixsubprocess.fork_exec
def enters(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name in ("fork_exec", "_execute_child"):
        sys.setprofile(None)
        os.kill(os.getpid(), %d)
print("ready", flush=True)
sys.setprofile(enters)
subprocess.call(["true"])
""" % numbers[0]
    assert signalled(tmp_path, code, [], DUMPING)[0] == status


def test_a_handler_of_the_scripts_own_stays(tmp_path):
    code = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *what: sys.exit(9))
if not os.fork():
    print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, file=sys.stderr, flush=True)
    os._exit(0)
os.wait()
print("ready", flush=True)
signal.pause()
"""
    plain = signalled(tmp_path, code, [signal.SIGTERM], [sys.executable], 0.5)
    assert signalled(tmp_path, code, [signal.SIGTERM], RUN, 0.5) == plain
    assert plain == (9, "", "False\n")


def test_a_mask_and_nested_forks_stay_as_they_were(tmp_path):
    code = """
import os, signal, threading
print("ready", flush=True)
masks = []
def look():
    masks.append(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
def fork():
    child = os.fork()
    if not child:
        look()
        os._exit(len(masks[-1]))
    masks.append(os.waitpid(child, 0)[1] >> 8)
    look()
os.register_at_fork(before=lambda: nested and (nested.pop(), fork()))
nested = []
fork()
nested = [1]
fork()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
fork()
threads = [threading.Thread(target=fork) for _ in range(3)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(masks == [0, [], 0, [], 0, []] + [2, [10, 15]] * 1 + masks[8:], masks[8:].count(2))
"""
    plain = signalled(tmp_path, code, [], [sys.executable])
    assert signalled(tmp_path, code, [], RUN) == plain
    assert plain[1] == "True 3\n"


CODES = ["10**30", "-10**30", "2**63 - 1", "2**63", "-2**63", "-2**63 - 1", "2**31", "-1", "-256",
         "256 + 7", "True", "False", "None", "'text'", "''", "'\\udcff'", "b'x'", "1.5", "(1, 2)",
         "[]", "object.__new__(Bad)", "Loud(5)", "SystemExit(3)", "Code()", "Nine()"]
CLASSES = """
import sys
class Bad:
    def __str__(self): raise ValueError("no")
class Loud(int):
    def __and__(self, other): return 99
    def __int__(self): return 98
    def __str__(self): raise ValueError("no")
class Code(SystemExit):
    code = property(lambda self: 1 / 0)
    def __str__(self): return "told"
class Nine(SystemExit):
    code = 9
"""
# All in one process: each child forks, and comes to the end of the script by itself.
EXITS = CLASSES + """
import os
for number in range(%d):
    if not os.fork():
        break
    status = os.wait()[1]
    print(number, os.WIFEXITED(status) and os.WEXITSTATUS(status), flush=True)
    sys.stderr.write("--\\n")
else:
    sys.exit(10**30)
e = eval(%r[number])
%s
raise (e if isinstance(e, SystemExit) else SystemExit(e))
"""


@pytest.mark.parametrize("stderr", ["", "sys.stderr = None", "sys.stderr.close()"])
def test_every_exit_code_is_what_python_makes_of_it(tmp_path, stderr):
    code = READY + EXITS % (len(CODES), CODES, stderr)
    plain = signalled(tmp_path, code, [], [sys.executable])
    assert signalled(tmp_path, code, [], RUN) == plain
    assert plain[0] == 255 and plain[1].startswith("0 255\n") and len(plain[1].splitlines()) == 25
