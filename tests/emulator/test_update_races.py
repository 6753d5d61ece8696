"""Does every dumped update show the variable right before and right after it, always?

Short form; KERAS_NPU_DUMP_UPDATES=400 calls the function that often, each call makes some 250
records (docs/proofs.md).
"""
import collections
import os
import pathlib

import numpy as np
import pytest

from tests.emulator import processes
from tests.emulator.conftest import inputs, operators, outputs

CALLS = int(os.environ.get("KERAS_NPU_DUMP_UPDATES", "4"))
ROUNDS = 8
SCRIPT = pathlib.Path(__file__).resolve().parent / "update_storm.py"
MADE = {"AssignSubVariableOp": lambda before, value: before - value,
        "AssignAddVariableOp": lambda before, value: before + value,
        "AssignVariableOp": lambda before, value: value}


@pytest.mark.timeout(300 + 60 * CALLS)
def test_no_update_shows_a_value_of_another_moment(tmp_path):
    (tmp_path / "d").mkdir()
    processes.run_file(SCRIPT, CALLS, ROUNDS, cwd=tmp_path, env={"TF_ENABLE_ONEDNN_OPTS": "0"})
    checked, wrong = 0, collections.Counter()
    for folder in sorted((tmp_path / "d").glob("*/*/__inference_train_step_*/*/*")):
        for name, records in operators(folder).items():
            made = MADE.get(name.rpartition("/")[2].rpartition("_")[0]) or MADE.get(
                name.rpartition("/")[2])
            for record in records if made else ():
                before, value = inputs(record)
                after, = outputs(record)
                checked += 1
                wrong[name] += not np.array_equal(after, made(before, value))
    # In each round three variables are updated three times, twice more in the inner loop, and
    # again in the branch that is taken in every third round; and once more at the end.
    assert checked == CALLS * 9 * (ROUNDS * 3 + len(range(1, ROUNDS, 3)) + 1)
    assert +wrong == {}
