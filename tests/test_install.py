"""Does the package leave a training environment as it is?"""
import os
import pathlib
import subprocess
import sys

import pytest

from tests.conftest import fresh_clone

NEWEST_ONLY = sys.version_info[:2] != (3, 9)


def interpreter(version):
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(pathlib.Path(root).glob("versions/%s.*/bin/python" % version))
    if not found:
        message = "no Python %s in %s" % (version, root)
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return str(found[-1])


def pip(folder, *arguments):
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(folder / "bin" / "python"), "-m", "pip"] + list(arguments),
                          env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, timeout=600)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.skipif(NEWEST_ONLY, reason="runs once, in the suite under Python 3.9")
@pytest.mark.parametrize("version", ["3.7", "3.9"])
def test_nothing_moves_beside_tensorflow_2_6_5(tmp_path, version):
    folder = tmp_path / "venv"
    subprocess.run([interpreter(version), "-m", "venv", str(folder)], check=True)
    pip(folder, "install", "-q", "tensorflow-cpu==2.6.5")
    before = set(pip(folder, "freeze").split())
    pip(folder, "install", "-q", str(fresh_clone(tmp_path)))
    after = set(pip(folder, "freeze", "--exclude", "keras-npu-dump").split())
    assert before <= after, "moved: %s" % sorted(before - after)
    assert after - before == set()  # absl-py and numpy are TensorFlow's, too
    pip(folder, "check")
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-c",
         "import keras_npu_dump as k; k.NpuDumpCallback; k.collect; print(k.__version__)"],
        cwd=str(tmp_path), env={"PATH": os.environ["PATH"]}, check=True,
        stdout=subprocess.PIPE, universal_newlines=True)
    assert done.stdout.strip()
