"""Does a script under `run` see and show what it would under plain python?"""
import sys

import pytest

from tests.conftest import run_command

RUN = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate", "--data_dump_flag=False"]


def both(folder, code, *arguments, name="train.py", **kwargs):
    """Runs a script under plain python and under `run`: two completed processes."""
    (folder / name).write_text(code)
    (folder / "beside.py").write_text("VALUE = 5\n")
    return [run_command(start + [name] + list(arguments), folder, check=False, **kwargs)
            for start in ([sys.executable], RUN)]


ENDS = {
    "end": "pass",
    "exit 7": "sys.exit(7)",
    "exit with a text": "sys.exit('no data')",
    "exit with nothing": "sys.exit(None)",
    "exit true": "sys.exit(True)",
    "exit 256": "sys.exit(256)",
    "an error": "def f():\n    raise KeyError('x')\nf()",
    "an error from another": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
                             "    raise ValueError('y') from e",
    "an error while handling": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    int('z')",
    "a hook of its own": "sys.excepthook = lambda *what: print('hooked', what[0])\nraise KeyError",
    "an error in another module": "import json\njson.loads('{')",
}


@pytest.mark.parametrize("how", sorted(ENDS))
def test_status_and_traceback_are_the_same(tmp_path, how):
    plain, run = both(tmp_path, "import sys\nprint('started', flush=True)\n%s\n" % ENDS[how])
    assert (run.returncode, run.stdout, run.stderr) == (
        plain.returncode, plain.stdout, plain.stderr)


def test_a_syntax_error_is_shown_as_one(tmp_path):
    plain, run = both(tmp_path, "x = = 1\n")
    assert run.returncode == plain.returncode == 1
    assert run.stderr.strip().splitlines()[-1] == plain.stderr.strip().splitlines()[-1]
    assert "keras_npu_dump" not in run.stderr


SEEN = """
import sys, os, threading, atexit, time
print(__name__, __file__, sys.argv, sys.path[0], sys.modules["__main__"].__file__)
import beside
print(beside.VALUE, sorted(name for name in globals() if not name.startswith("__")))

def late():
    time.sleep(0.3)
    print("thread")
threading.Thread(target=late).start()
atexit.register(print, "exit handler")
print("main ends")
"""


def test_arguments_names_threads_and_exit_handlers(tmp_path):
    plain, run = both(tmp_path, SEEN, "--flag", "-x", "", "a b")
    assert plain.stdout.endswith("main ends\nthread\nexit handler\n")
    assert (run.stdout, run.stderr, run.returncode) == (plain.stdout, plain.stderr, 0)


def test_a_script_in_another_folder_finds_what_lies_beside_it(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "beside.py").write_text("VALUE = 6\n")
    plain, run = both(tmp_path, "import beside, os\nprint(beside.VALUE, os.getcwd())\n",
                      name="inner/train.py")
    assert run.stdout == plain.stdout and plain.stdout.startswith("6 ")


def test_processes_that_a_script_spawns(tmp_path):
    plain, run = both(tmp_path, """
import multiprocessing

def double(x):
    return 2 * x

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
""")
    assert (plain.stdout, run.stdout) == ("[2, 4]\n", "[2, 4]\n"), run.stderr


def test_what_comes_on_stdin(tmp_path):
    # Both see the same end of input; nothing of ours reads there.
    plain, run = both(tmp_path, "import sys\nprint(repr(sys.stdin.read()))\n")
    assert run.stdout == plain.stdout == "''\n"


@pytest.mark.parametrize("stop", ["SIGTERM", "SIGINT"])
def test_signals_give_the_status_that_a_shell_sees(tmp_path, stop):
    code = "import os, signal, time\nos.kill(os.getpid(), signal.%s)\ntime.sleep(9)\n" % stop
    plain, run = both(tmp_path, code)
    assert run.returncode == 128 - plain.returncode
