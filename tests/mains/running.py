"""Starts mains as processes and reads what they have left."""
import json
import pathlib
import re
import sys

from tests.conftest import run_command

MAINS = pathlib.Path(__file__).resolve().parent
RUN = [sys.executable, "-m", "keras_npu_dump", "run", "--emulate"]
# What users grep from the logs of their trainings.
GREPPED = re.compile(r"\b(loss|step|time|fps|accuracy|imgs/s)\b", re.IGNORECASE)


def run_main(folder, main, *arguments, options=(), status=0, env=None):
    """Runs tests/mains/`main` under `keras-npu-dump run`, with the dump in `folder`/d.

    Args:
      main: file name, and with it where its own arguments begin.
      options: of `run`, before the script; --data_dump_path=d where none is given.
      status: how it has to end.
    """
    options = list(options)
    if not any(one.startswith(("--data_dump_path", "--over_dump_path")) for one in options):
        options.append("--data_dump_path=d")
    return run_script(folder, RUN + options + [str(MAINS / main)] + list(arguments), status, env)


def run_plain(folder, main, *arguments, status=0, env=None):
    """Runs a main that uses the package itself, with plain python."""
    return run_script(folder, [sys.executable, str(MAINS / main)] + list(arguments), status, env)


def run_script(folder, command, status, env):
    done = run_command(command, folder, env, check=False)
    assert done.returncode == status, "status %d\n%s\n%s" % (
        done.returncode, done.stdout, done.stderr)
    return done


def speaks_alike(done):
    """Whether all of its stderr is ours, each message begun as all are."""
    lines = done.stderr.splitlines()
    return lines != [] and all(line.startswith(("keras-npu-dump: ", "  ")) for line in lines)


def manifest(folder, dump_path="d"):
    """The only manifest that a process has left in `folder`."""
    path, = pathlib.Path(folder, dump_path).glob("runs/*/manifest.json")
    return json.loads(path.read_text(encoding="utf-8"))


def trained(document, rank="0"):
    """For each training pair in order: [(data_index, (fit, epoch, batch) or None), ...]."""
    found = []
    for position in document["training"].get(rank, []):
        pair = document["pairs"][position]
        assert pair["role"] == "train"
        assert pair["confidence"] == "exact", pair["evidence"]
        found.append([(step["data_index"], step["iteration"] and tuple(
            step["iteration"][name] for name in ("fit", "epoch", "batch")))
            for step in pair["steps"]])
    return found


def codes(document, severity="error"):
    return sorted({one["code"] for one in document["problems"] if one["severity"] == severity})


def journal(folder, dump_path="d"):
    """The lines of the only journal; every one has to be whole."""
    path, = pathlib.Path(folder, dump_path).glob("runs/*/iterations.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
