"""The vendor's converter and comparator read what an emulated training leaves."""
import csv
import glob
import os
import re

import numpy as np
import pytest

from keras_npu_dump.export.msaccucmp import export_msaccucmp
from keras_npu_dump.export.npy import export_npy
from keras_npu_dump.formats.tensor import dump_file
from tests.formats import msaccucmp


def conv(dumped, observe):
    name = next(graph[0] for graph in dumped.graphs["conv"] if "train" in graph[0])
    return dumped.steps(name)[0]


def overflow(dumped, observe):
    seen = observe("overflow")
    return seen.steps(seen.result[0][0])[1]


def names_of_the_a2(dumped, observe):
    seen = observe("layers", KERAS_NPU_DUMP_EMULATE_CANN="new,files=a2")
    return next(iter(seen.steps(seen.result[0][0]).values()))


def with_values(folder):
    """{file name: array}; of a handle there are no bytes, and its file may have no type."""
    arrays = {path.name: np.load(str(path)) for path in folder.glob("*.npy")}
    return {name: array for name, array in arrays.items() if array.size}


@pytest.mark.parametrize("which", [conv, overflow, names_of_the_a2])
def test_the_converter_writes_what_we_write(dumped, observe, vendor, tmp_path, which):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    folder = which(dumped, observe)
    statuses, output = vendor([["convert", "-d", folder, "-out", theirs]])
    assert statuses == [0], output
    export_npy(str(folder), str(ours))
    expected, arrays = with_values(theirs), with_values(ours)
    assert len(arrays) > 1 and sorted(arrays) == sorted(expected)
    for name, array in arrays.items():
        # A number without a shape is one of [1] over there.
        np.testing.assert_array_equal(array, expected[name].reshape(array.shape), name)


def golden(leaf, folder):
    """Writes what the comparator takes for a run on a CPU or GPU: outputs by TensorFlow's names."""
    folder.mkdir()
    count = 0
    for name in os.listdir(leaf):
        header, arrays = dump_file.read_file(os.path.join(leaf, name))
        for entry, array in zip(header.entries, arrays):
            if entry.kind == "output" and array.size:
                np.save(str(folder / ("%s.%d.1700000000000000.npy" % (
                    header.op_name.replace("/", "_"), entry.index))), array)
                count += 1
    return count


def test_the_comparator_finds_a_dump_equal_to_itself(dumped, vendor, tmp_path):
    """With the script of the export, which goes by the comparator's own statuses."""
    export_msaccucmp(str(dumped.dump_path), str(tmp_path / "out"))
    name = next(graph[0] for graph in dumped.graphs["conv"] if "train" in graph[0])
    script = tmp_path / "out" / "compare.sh"
    lines = script.read_text().splitlines()
    script.write_text("\n".join(line for line in lines if not re.match(r"compare \S", line)
                                or name + "/0 " in line))
    leaf, = glob.glob(str(tmp_path / "out" / "*" / name / "0"))
    count = golden(leaf, tmp_path / "golden")
    spoilt = next(op.name for op in dumped.graph(name)[0].ops if op.type == "MatMul")
    path, = (tmp_path / "golden").glob(spoilt.replace("/", "_") + ".0.*.npy")
    array = np.load(str(path))
    array[0, 0] += 0.5
    np.save(str(path), array)
    done = msaccucmp.run_script(script, tmp_path / "golden")
    assert done.returncode == 0, done.stdout
    assert done.stderr.startswith("compare.sh: 1 of 1 steps compared")
    path, = glob.glob(str(tmp_path / "out" / "results" / "*" / name / "0" / "*.csv"))
    with open(path) as stream:
        rows = list(csv.DictReader(stream))
    compared = {row["TensorIndex"]: float(row["MaxAbsoluteError"]) for row in rows
                if ":output:" in row["TensorIndex"] and row["MaxAbsoluteError"] != "NaN"}
    assert len(compared) > 0.9 * count
    assert {index for index, error in compared.items() if error} == {spoilt + ":output:0"}
    assert abs(compared[spoilt + ":output:0"] - 0.5) < 1e-3
