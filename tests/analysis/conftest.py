"""Trainings on the emulator, each run once for all tests that look at it."""
import json
import sys

import pytest

from tests.conftest import ROOT, run_command

NETS = ROOT / "tests" / "analysis" / "nets.py"


class Trained:
    """Runs `nets.py` below a folder and remembers where its dumps lie."""

    def __init__(self, folder):
        self._folder = folder
        self._known = {}

    def __call__(self, name, data="stats", mode="all", step="all"):
        """The dump path of a training, made if it was not."""
        key = (name, data, mode, step)
        if key not in self._known:
            path = self._folder / "_".join(key).replace("|", "-")
            self.run(["--emulate", "--data_dump_path=%s" % path, "--data_dump_step=%s" % step,
                      "--data_dump_data=%s" % data, "--data_dump_mode=%s" % mode], name)
            self._known[key] = path
        return self._known[key]

    def run(self, options, *script, env=None):
        """`keras-npu-dump run OPTIONS nets.py SCRIPT...`"""
        command("run", *(list(options) + [str(NETS)] + list(script)), folder=self._folder,
                env=env)


def command(*arguments, folder=ROOT, status=0, env=None):
    """Runs `keras-npu-dump`; returns its stdout."""
    done = run_command([sys.executable, "-m", "keras_npu_dump"] + list(map(str, arguments)),
                       folder, env=env, check=False)
    assert done.returncode == status, "%s\n%s" % (done.stdout, done.stderr)
    return done.stdout


def triage_command(path, status):
    """`keras-npu-dump triage --json`, as the document."""
    return json.loads(command("triage", path, "--json", status=status))


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("trained"))
