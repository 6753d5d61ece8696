"""Do mains run as they do without us, whenever they import and however they open their device?"""
import importlib.util
import json
import re
import sys

import pytest

from tests.conftest import python_path
from tests.mains.running import MAINS, manifest, run_main, run_plain, run_script, trained

FIRST = (0, (0, 0, 0))
VENDOR = {"PYTHONPATH": python_path(str(MAINS / "vendor"))}


def losses(done):
    return [line for line in done.stdout.splitlines() if line.startswith("loss")]


def said(done):
    """What is ours on stderr, without where and when."""
    lines = [re.sub(r"^[WI]\d{4} .*?\] |^keras-npu-dump: ", "", line)
             for line in done.stderr.splitlines() if re.match(r"[WI]\d{4} .*\.py:|keras-npu", line)]
    return [line.split(" in /")[0].split(" to /")[0] for line in lines
            # Where the tests run, and how fast, decides about these.
            if "inside this container" not in line and not line.startswith("The first dump is")]


QUIET = ["Dump data, graphs and records go",
         "emulator: npu_device is emulated; device 0 is this machine's CPU or GPU."]


@pytest.fixture(scope="module")
def keras_alone(tmp_path_factory):
    """The losses of a script that imports Keras first, in plain Python."""
    return losses(run_plain(tmp_path_factory.mktemp("plain"), "keras_first.py"))


def test_keras_first(tmp_path, keras_alone):
    done = run_main(tmp_path, "keras_first.py")
    assert losses(done) == keras_alone != [] and said(done) == QUIET
    assert trained(manifest(tmp_path)) == [[FIRST]]


def test_keras_first_on_a_device_that_has_a_context_of_its_own(tmp_path, keras_alone):
    done = run_script(tmp_path, [sys.executable, "-m", "keras_npu_dump", "run",
                                 "--data_dump_path=d", str(MAINS / "keras_first.py")], 0, VENDOR)
    assert done.stdout.splitlines().count("opened") == 1 and losses(done) == keras_alone


@pytest.fixture(scope="module")
def opened_first(tmp_path_factory):
    """The losses of a script that opens its device itself, before everything, in plain Python."""
    folder = tmp_path_factory.mktemp("plain")
    return losses(run_plain(folder, "npu_first.py", "--open", env=VENDOR))


@pytest.mark.parametrize("arguments, options", [
    ([], ["--open_device"]), (["--after"], ["--open_device"]), (["--open"], [])])
def test_npu_device_first_and_after_tensorflow(tmp_path, opened_first, arguments, options):
    done = run_main(tmp_path, "npu_first.py", *arguments, options=options)
    assert losses(done) == opened_first != [] and said(done) == QUIET
    assert trained(manifest(tmp_path)) == [[FIRST]]


def test_npu_device_first_where_it_is_laid_out_as_the_vendors(tmp_path, opened_first):
    done = run_script(tmp_path, [sys.executable, "-m", "keras_npu_dump", "run", "--open_device",
                                 "--data_dump_path=d", str(MAINS / "npu_first.py")], 0, VENDOR)
    assert done.stdout.splitlines().count("opened") == 1 and losses(done) == opened_first


def test_an_open_of_another_name_before_the_callback(tmp_path, opened_first):
    done = run_plain(tmp_path, "aliased_open.py")
    assert losses(done) == opened_first and said(done) == QUIET
    assert trained(manifest(tmp_path)) == [[FIRST]]
    record, = tmp_path.glob("d/runs/*/run.json")
    assert json.loads(record.read_text())["opened"] is True


@pytest.mark.skipif(importlib.util.find_spec("keras_tuner") is None,
                    reason="keras-tuner is not installed")
def test_a_search_of_kerastuner_with_the_callback(tmp_path):
    plain = run_plain(tmp_path, "tuner.py")
    done = run_plain(tmp_path, "tuner.py", "--callback")
    assert losses(done) == losses(plain) != []
    assert said(done) == QUIET and "Traceback" not in done.stderr
    # One training for each trial, each counted from 0.
    assert trained(manifest(tmp_path)) == [[FIRST], [(0, (1, 0, 0))]]
