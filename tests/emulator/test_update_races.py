"""Does every dumped update show the variable right before and right after it, always?

Each value is computed again from the one before it, and the states of a variable are a chain:
what one update leaves is what exactly one other begins with.

Short form; KERAS_NPU_DUMP_UPDATES=400 calls each function that often (docs/proofs.md).
"""
import collections
import os
import pathlib
import shutil

import numpy as np
import pytest

from tests.emulator import processes
from tests.emulator.conftest import inputs, operators, outputs
from tests.emulator.update_storm import GROWN, MIXED, SIZES

CALLS = int(os.environ.get("KERAS_NPU_DUMP_UPDATES", "2"))
AT_ONCE = 50  # calls in one process: what it has dumped is checked and deleted
ROUNDS = 8
SCRIPT = pathlib.Path(__file__).resolve().parent / "update_storm.py"
UNMIXED = 16133697096952638549  # times MIXED it is 1, in 64 bits
# Updates in a call, at least: two in each call of `bump`, and those that stand alone.
FEWEST = {"loops": 2 * (ROUNDS * (3 + 2 * (3 + 2)) + 3 * len(range(1, ROUNDS, 3)) + 3),
          "branches": 2 * (ROUNDS * 3 * 2 + 3 * len(range(0, ROUNDS, 4)) + 2),
          "conditions": 2 * (ROUNDS * 3 + (ROUNDS + 1) * 3 + ROUNDS * 3 + 3) + ROUNDS,
          "lists": 2 * (ROUNDS * 3 + 3) + 2 * ROUNDS}


class Checks:
    """What was computed again, and what came out otherwise."""

    def __init__(self):
        self.count = collections.Counter()
        self.wrong = collections.Counter()
        self.states = {}

    def equal(self, kind, name, made, expected):
        self.count[kind] += 1
        self.wrong[name] += not np.array_equal(made, expected)

    def chain(self, name, before, after):
        """The states of a variable in one execution, in any order: they make one chain, which
        begins where that of the execution before has ended."""
        begins = collections.Counter(one.tobytes() for one in before)
        ends = collections.Counter(one.tobytes() for one in after)
        first, last = list((begins - ends).elements()), list((ends - begins).elements())
        whole = len(first) == 1 == len(last) and first[0] == self.states.get(name, first[0])
        self.wrong["chain of " + name] += not whole
        self.states[name] = last[0] if last else None


def base(name):
    """"while/round_1/AssignVariableOp_2" -> "AssignVariableOp"."""
    last = name.rpartition("/")[2]
    return last.rpartition("_")[0] if last.rpartition("_")[2].isdigit() else last


def steps(path, function):
    return sorted(path.glob("*/*/__inference_%s_*/*/*" % function), key=lambda one: int(one.name))


@pytest.mark.timeout(300 + 60 * CALLS)
def test_no_update_shows_a_value_of_another_moment(tmp_path):
    checks = Checks()
    for first in range(0, CALLS, AT_ONCE):
        checks = storm(tmp_path, "ints", min(AT_ONCE, CALLS - first), checks)
        for kind in FEWEST:
            for folder in steps(tmp_path / "d", kind + "_step"):
                check_call(kind, operators(folder), checks)
    print(dict(checks.count))
    assert +checks.wrong == {}
    assert {kind: fewest for kind, fewest in FEWEST.items()
            if checks.count[kind] < CALLS * fewest} == {}


def storm(folder, kind, calls, checks):
    """Runs the script anew; variables begin anew, counts go on."""
    if (folder / "d").exists():
        shutil.rmtree(str(folder / "d"))
    (folder / "d").mkdir()
    processes.run_file(SCRIPT, kind, calls, ROUNDS, cwd=folder,
                       env={"TF_ENABLE_ONEDNN_OPTS": "0"})
    checks.states = {}
    return checks


def check_call(kind, found, checks):
    before, after = collections.defaultdict(list), collections.defaultdict(list)
    for name, records in found.items():
        for record in records:
            given, made = [one.view(np.uint64) if one.dtype == np.int64 else one
                           for one in inputs(record)], outputs(record)
            size = made[0].size if made else 0
            if base(name) == "AssignAddVariableOp" and size == 1:
                checks.equal(kind, name, made[0], inputs(record)[0] + 1)
            elif base(name) == "AssignAddVariableOp":
                if "taken" not in name:
                    checks.equal(kind + " values", name, given[1], given[0] * np.uint64(GROWN))
                checks.equal(kind, name, made[0].view(np.uint64), given[0] + given[1])
                before[size].append(given[0])
                after[size].append(made[0])
            elif base(name) == "AssignVariableOp" and size > 1:
                checks.equal(kind, name, made[0].view(np.uint64), given[1])
                before[size].append(~(given[1] * np.uint64(UNMIXED)))
                after[size].append(made[0])
            elif base(name) == "ResourceScatterAdd":
                expected = inputs(record)[0].copy()
                expected[inputs(record)[1]] += inputs(record)[2]
                checks.equal(kind, name, made[0], expected)
                checks.equal(kind + " values", name, given[2],
                             given[0][inputs(record)[1]] * np.uint64(GROWN))
                before[size].append(given[0])
                after[size].append(made[0])
    for size in SIZES:
        checks.chain("%s %d" % (kind, size), before[size], after[size])
    if kind == "conditions":
        check_condition(found, checks)
    elif kind == "lists":
        check_lists(found, checks)


def check_condition(found, checks):
    """The first loop goes by a variable that its rounds count up."""
    sums = [record for name, records in found.items() if base(name) == "Sum" for record in records]
    counted = [inputs(record)[0].item() for record in sums]
    checks.equal("conditions values", "Sum", counted, list(range(ROUNDS + 1)))


def check_lists(found, checks):
    """What a round has written is what its updates left, and is taken from the list again."""
    left, = [[outputs(one)[0] for one in records] for name, records in found.items()
             if base(name) == "AssignVariableOp" and "round" in name
             and outputs(records[0])[0].size == SIZES[1]]
    written, = [[inputs(one)[2] for one in records] for name, records in found.items()
                if base(name) == "TensorListSetItem"]
    taken, = [[inputs(one)[1] for one in records] for name, records in found.items()
              if "taken" in name and base(name) == "AssignAddVariableOp"]
    for number in range(ROUNDS):
        checks.equal("lists values", "written", written[number], left[number])
        checks.equal("lists values", "taken", taken[number].view(np.uint64),
                     left[number].view(np.uint64) * np.uint64(MIXED))
    gathered, = [[inputs(one)[0] for one in records] for name, records in found.items()
                 if "Gather" in base(name)]
    scattered, = [[inputs(one)[0] for one in records] for name, records in found.items()
                  if base(name) == "ResourceScatterAdd"]
    for number in range(ROUNDS):
        checks.equal("lists values", "gathered", gathered[number], scattered[number])


@pytest.mark.timeout(300 + 60 * CALLS)
def test_no_update_of_two_steps_in_one_execution_shows_a_value_of_another_moment(tmp_path):
    """steps_per_execution=2: the weights that a step multiplies with are those that its update
    begins with, and what that leaves is what the next step takes."""
    checks = Checks()
    for first in range(0, 5 * CALLS, AT_ONCE):
        checks = storm(tmp_path, "fit", min(AT_ONCE, 5 * CALLS - first), checks)
        for folder in steps(tmp_path / "d", "train_function"):
            check_fit(operators(folder), checks)
    print(dict(checks.count))
    assert +checks.wrong == {}
    assert checks.count["updates"] == 5 * CALLS * 2 * 6


def check_fit(found, checks):
    multiplied = {inputs(records[0])[1].shape: [inputs(one)[1] for one in records]
                  for name, records in found.items() if base(name) == "MatMul"
                  and not {"gradient_tape", "gradients"} & set(name.split("/"))}
    for name, records in found.items():
        kind = base(name)
        if kind not in ("AssignSubVariableOp", "ResourceApplyGradientDescent"):
            continue
        assert len(records) == 2
        before = [inputs(one)[0] for one in records]
        after = [outputs(one)[0] for one in records]
        for number, record in enumerate(records):
            given = inputs(record)
            value = given[1] if kind == "AssignSubVariableOp" else given[1] * given[2]
            checks.equal("updates", name, after[number], before[number] - value)
            if before[number].shape in multiplied:
                checks.equal("weights", name, before[number],
                             multiplied[before[number].shape][number])
        checks.chain(name, before, after)
