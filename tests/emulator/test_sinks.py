"""Values that go out of an execution as they come: the same files, and nothing is held."""
import json
import os
import pathlib

import numpy as np
import pytest

from keras_npu_dump.formats import tree
from keras_npu_dump.formats.stats import stats_writer
from keras_npu_dump.formats.tensor import dump_file
from tests.emulator import conftest, processes

SCRIPT = pathlib.Path(__file__).resolve().parent / "sink_nets.py"
# Updates, dropout (a twin in every step on Keras 2), loops, loops of updates, branches, float16.
# The short form has dropout and loops of updates; docs/proofs.md.
LONG = os.environ.get("KERAS_NPU_DUMP_SINKS") == "long"
SCENARIOS = ("conv", "dropout", "lstm", "two_steps", "custom_loop", "mixed") if LONG else (
    "dropout", "two_steps")


@pytest.fixture(scope="module")
def by_sinks(tmp_path_factory):
    """by_sinks(data) trains as `dumped` did, with nearly every value on its own."""
    known = {}

    def run(data):
        if data not in known:
            folder = tmp_path_factory.mktemp("sinks")
            (folder / "dump").mkdir()
            done = processes.run_file(
                SCRIPT, "nets", folder, folder / "dump", data, *SCENARIOS, cwd=folder,
                env={"DUMP_GRAPH_PATH": str(folder / "dump" / "graphs")})
            known[data] = conftest.Trained(folder, done.stderr)
        return known[data]

    return run


def executions(trained, scenario):
    """[(data_index, folder)] of a scenario, graph by graph in the order of loading."""
    return [item for name, _, _, _ in trained.graphs[scenario]
            for item in sorted(trained.steps(name).items())]


def in_order(folder):
    files = [file for file in tree.list_files(str(folder)) if file.dump]  # not mapping.csv
    return sorted(files, key=lambda file: file.dump.timestamp)


def named(file):
    return (file.dump.op_type, file.dump.op_name, file.dump.task_id)


def pairs(one, other):
    """(file of one, file of the other) as paths, of two executions that must be alike."""
    files = in_order(one), in_order(other)
    assert [named(file) for file in files[0]] == [named(file) for file in files[1]]
    return [(str(one / mine.name), str(other / its.name)) for mine, its in zip(*files)]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_tensors_are_the_same_whichever_way_they_go_out(dumped, by_sinks, scenario):
    seen = 0
    for (index, folder), (same, other) in zip(executions(dumped, scenario),
                                              executions(by_sinks("tensor"), scenario)):
        assert index == same
        for mine, its in pairs(folder, other):
            (head, arrays), (other_head, others) = map(dump_file.read_file, (mine, its))
            assert [(e.kind, e.data_type, e.shape, e.size) for e in head.entries] == [
                (e.kind, e.data_type, e.shape, e.size) for e in other_head.entries]
            for array, same_array in zip(arrays, others):
                np.testing.assert_array_equal(array, same_array, err_msg=mine)
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_statistics_are_those_of_the_tensors(dumped, by_sinks, scenario, tmp_path):
    seen = 0
    for (_, folder), (_, other) in zip(executions(dumped, scenario),
                                       executions(by_sinks("stats"), scenario)):
        for mine, its in pairs(folder, other):
            header, arrays = dump_file.read_file(mine)
            values = {"input": [], "output": []}
            for entry, array in zip(header.entries, arrays):
                values[entry.kind].append(dump_file.TensorValue(
                    array if entry.size else b"", entry.data_type, entry.format,
                    array.shape if entry.size else entry.shape))
            stats_writer.write_stats(tmp_path / "s.csv", values["input"], values["output"])
            assert pathlib.Path(its).read_bytes() == (tmp_path / "s.csv").read_bytes(), mine
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("data", ["tensor", "stats"])
def test_training_is_bit_equal(undumped, by_sinks, scenario, data):
    for name, array in undumped.arrays(scenario).items():
        np.testing.assert_array_equal(by_sinks(data).arrays(scenario)[name], array, err_msg=name)


@pytest.mark.parametrize("data", ["tensor", "stats"] if LONG else ["tensor"])
def test_large_values_are_let_go_before_the_execution_has_ended(tmp_path, data):
    # Of glibc's own accord each thread keeps what it has had for the next tensors.
    done = processes.run_file(SCRIPT, "chain", tmp_path, data, cwd=tmp_path,
                              env={"MALLOC_MMAP_THRESHOLD_": "1000000"})
    before, after, most, left, equal = json.loads(done.stdout.strip().splitlines()[-1])
    # 60 values of 8 MB; a block has 16 MB or more, and two of them may wait.
    assert most <= 6 * (8 << 20) and left == 0 and equal
    assert after - before < 120
    assert sum(1 for _ in tmp_path.rglob("Sin.*")) == 30
