"""Mains that use operators of the NPU: dropout, gelu, an LSTM. Do they train the same with and
without dump, and does the dump have their operators?"""
import collections
import pathlib

import pytest

from keras_npu_dump.formats import tree
from tests.conftest import run_command
from tests.mains.running import MAINS, RUN, codes, manifest, run_main, trained
from tests.mains.said import check_kept

STEP = ("--data_dump_flag=True", "--data_dump_step=1")


def types(folder, index=1):
    """How many files of each operator type an execution of the training left."""
    document = manifest(folder)
    position, = document["training"]["0"]
    model, = {step["path"].split("/")[-3] for step in document["pairs"][position]["steps"]}
    path, = [step.path for step in tree.walk_steps(str(folder / "d"))
             if step.model_name == model and step.data_index == index]
    return collections.Counter(
        file.dump.op_type for file in tree.list_files(str(pathlib.Path(folder, "d", path))))


def numbers(done):
    """What the main has printed of losses and weights."""
    return [line for line in done.stdout.splitlines() if line.startswith("[")]


@pytest.mark.parametrize("main, name, wanted", [
    ("transformer.py", "transformer", {
        "DropOutGenMask": 3, "DropOutDoMask": 6, "FastGelu": 2, "FastGeluGrad": 2}),
    ("npu_lstm.py", "npu_lstm", {"DynamicRNN": 1, "DynamicRNNGrad": 1})])
def test_it_trains_the_same_and_leaves_its_operators(tmp_path, main, name, wanted):
    done = run_main(tmp_path, main, options=STEP)
    check_kept(done, tmp_path, name)
    document = manifest(tmp_path)
    assert codes(document) == []
    assert [one[0] for one in trained(document)[0]] == [1]
    found = types(tmp_path)
    assert {key: found[key] for key in wanted} == wanted
    plain = run_command([*RUN, "--data_dump_flag=False", str(MAINS / main)], tmp_path)
    assert numbers(plain) == numbers(done) != []
