"""The vendor's comparator in an environment of its own, for tests.

`mindstudio-probe` needs Python 3.11 and a newer numpy than TensorFlow 2.6.5
allows, so it gets a virtual environment, made once and kept: in the folder
that KERAS_NPU_DUMP_MSACCUCMP names, else below XDG_CACHE_HOME (or ~/.cache).
"""
import fcntl
import glob
import json
import os
import shutil
import subprocess
import sys

VERSION = "26.2.0"
# mindstudio-probe itself asks for much more; convert needs only these.
_PACKAGES = ["numpy", "pandas", "protobuf", "ml_dtypes", "psutil"]
_RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "msaccucmp_run.py")


class Unavailable(Exception):
    """Why the vendor's comparator cannot be had here."""


def python():
    """The interpreter of the environment, made if missing."""
    root = os.environ.get("KERAS_NPU_DUMP_MSACCUCMP")
    if not root:
        cache = os.environ.get("XDG_CACHE_HOME") \
            or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(cache, "keras_npu_dump", "msaccucmp-" + VERSION)
    made = os.path.join(root, "complete")
    interpreter = os.path.join(root, "bin", "python")
    if not os.path.exists(made):
        os.makedirs(os.path.dirname(root) or ".", exist_ok=True)
        with open(root + ".lock", "w") as lock:  # tests run in several processes
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(made):
                _make(root, interpreter)
                with open(made, "w"):
                    pass
    return interpreter


def _make(root, interpreter):
    base = _python_311()
    environment = {key: value for key, value in os.environ.items()
                   if key != "PYTHONPATH"}
    try:
        subprocess.run([base, "-m", "venv", "--clear", root], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pip = [interpreter, "-m", "pip", "install", "-q", "--retries", "1",
               "--timeout", "15", "--disable-pip-version-check"]
        for arguments in (["--no-deps", "mindstudio-probe==" + VERSION],
                          _PACKAGES):
            subprocess.run(pip + arguments, check=True, env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(root, ignore_errors=True)
        raise Unavailable("mindstudio-probe %s could not be installed: %s" % (
            VERSION, error.stderr.decode("utf-8", "replace")[-300:])) \
            from None


def _python_311():
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    pyenv = os.environ.get("PYENV_ROOT") \
        or os.path.join(os.path.expanduser("~"), ".pyenv")
    for found in sorted(glob.glob(os.path.join(
            pyenv, "versions", "3.11.*", "bin", "python"))):
        return found
    found = shutil.which("python3.11")
    if found:
        return found
    raise Unavailable("mindstudio-probe has a wheel for Python 3.11, which "
                      "is not on this machine")


def run(commands, folder):
    """Runs commands one after the other; returns their statuses and output.

    Args:
      commands: argument lists of msaccucmp.
      folder: a scratch folder.
    """
    interpreter = python()
    path = os.path.join(str(folder), "commands.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([[str(part) for part in command] for command in commands],
                  file)
    environment = {key: value for key, value in os.environ.items()
                   if key != "PYTHONPATH"}
    done = subprocess.run([interpreter, _RUN, path], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode("utf-8", "replace")
    statuses = [int(line.split()[1]) for line in output.splitlines()
                if line.startswith("STATUS ")]
    if done.returncode or len(statuses) != len(commands):
        raise AssertionError(output[-5000:])
    return statuses, output


def run_script(script, *arguments):
    """Runs an exported compare.sh over the real comparator; returns the CompletedProcess."""
    interpreter = python()
    environment = {key: value for key, value in os.environ.items()
                   if key != "PYTHONPATH"}
    environment["PATH"] = os.path.dirname(interpreter) + os.pathsep + environment["PATH"]
    environment["MSACCUCMP"] = _RUN
    return subprocess.run(
        ["bash", str(script)] + [str(one) for one in arguments], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
