"""Runs a Python file in a process of its own: `as_default()` has no undo."""
import json
import os
import subprocess
import sys

from tests.conftest import python_path

_CLEARED = ("DUMP_GE_GRAPH", "DUMP_GRAPH_PATH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_FORMAT",
            "NPU_COLLECT_PATH", "ASCEND_WORK_PATH", "ASCEND_DEVICE_ID", "RANK_ID", "RANK_SIZE",
            "KERAS_NPU_DUMP_EMULATE_CANN", "TF_ENABLE_ONEDNN_OPTS")


def environment(extra=None):
    """This process's environment, quiet, on the CPU and without dump settings."""
    env = {key: value for key, value in os.environ.items() if key not in _CLEARED}
    env.update({"PYTHONPATH": python_path(), "TF_CPP_MIN_LOG_LEVEL": "2",
                "CUDA_VISIBLE_DEVICES": "-1"})
    env.update(extra or {})
    return env


def run_file(path, *args, cwd, env=None, check=True):
    """Runs `path`; returns the CompletedProcess, whose stderr names what failed."""
    done = subprocess.run([sys.executable, str(path)] + [str(arg) for arg in args],
                          cwd=str(cwd), env=environment(env), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if check and done.returncode:
        raise AssertionError("%s ended with %d:\n%s" % (path, done.returncode,
                                                        done.stderr[-4000:]))
    return done


def run_code(code, folder, env=None, check=True):
    """Runs source text in `folder`; what it prints as its last line is read as JSON."""
    path = folder / "script.py"
    path.write_text(code)
    done = run_file(path, cwd=folder, env=env, check=check)
    if not check:
        return done
    return json.loads(done.stdout.strip().splitlines()[-1])
