"""Operators of the NPU in dump and Build graph: one each, under GE's names, and what their files
hold is what numpy computes; training is the same with and without dump."""
import collections
import json

import numpy as np
import pytest

from keras_npu_dump.formats import tree
from keras_npu_dump.formats.graph import graph_reader
from tests.emulator import operator_forms, processes
from tests.emulator.conftest import HERE, inputs, operators, outputs

pytest.importorskip("tensorflow")
STEPS = ("rnn_step", "mixed_step")
TYPES = {
    "rnn_step": {"DynamicRNN": 1, "DynamicRNNGrad": 1, "DynamicGRUV2": 1, "DynamicGRUV2Grad": 1,
                 "BasicLSTMCell": 2, "BasicLSTMCellCStateGrad": 2, "BasicLSTMCellWeightGrad": 2,
                 "BasicLSTMCellInputGrad": 2, "Centralization": 8},
    "mixed_step": {"FastGelu": 2, "FastGeluGrad": 2, "DropOutGenMask": 1, "DropOutDoMask": 2,
                   "LayerNorm": 1, "LayerNormGrad": 1, "DropOutGenMaskV3": 2,
                   "DropOutDoMaskV3": 4, "Gelu": 2, "GeluGrad": 2, "PRelu": 1, "PReluGrad": 1,
                   "NPUGetFloatStatusV2": 1},
}
# What of it is drawn, or is checked where gradients are.
UNCHECKED = ("DropOutGenMask", "DropOutGenMaskV3", "NPUGetFloatStatusV2")
NUMPYLESS = UNCHECKED + ("DynamicRNNGrad", "DynamicGRUV2Grad", "BasicLSTMCellCStateGrad",
                         "BasicLSTMCellWeightGrad", "BasicLSTMCellInputGrad", "PReluGrad")


class Run:
    def __init__(self, folder, dump):
        self.dump = folder / "dump"
        self.dump.mkdir()
        processes.run_file(HERE / "operator_steps.py", folder, self.dump if dump else "none",
                           cwd=folder)
        self.names = json.loads((folder / "steps.json").read_text())
        with np.load(str(folder / "trained.npz")) as file:
            self.arrays = dict(file)

    def steps(self, name):
        return {step.data_index: self.dump / step.path for step in tree.walk_steps(str(self.dump))
                if step.model_name == self.names[name]}

    def graphs(self, name):
        for file in self.dump.glob("graphs/pid_*/ge_proto_*_Build.txt"):
            graphs = list(graph_reader.read_graphs(str(file)))
            if graphs[0].name == self.names[name]:
                return graphs
        raise AssertionError(name)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("dumped"), True)


@pytest.fixture(scope="module")
def undumped(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("undumped"), False)


def files(run, name, index):
    """[(type in the file's name, record)] of the operators of the NPU."""
    ops = {op.name: op for graph in run.graphs(name) for op in graph.ops}
    return [(ops[op_name], record)
            for op_name, records in operators(run.steps(name)[index]).items()
            for record in records if ops[op_name].type in TYPES[name]]


@pytest.mark.parametrize("name", STEPS)
def test_each_is_one_operator_under_ges_name(dumped, name):
    for index in (1, 3):
        found = collections.Counter(op.type for op, _ in files(dumped, name, index))
        assert dict(found) == TYPES[name]
        stems = {path.name.split(".")[0] for path in dumped.steps(name)[index].iterdir()}
        assert set(TYPES[name]) <= stems


@pytest.mark.parametrize("name", STEPS)
def test_files_hold_what_numpy_computes(dumped, name):
    checked = 0
    for index in (1, 3):
        for op, record in files(dumped, name, index):
            if op.type in NUMPYLESS:
                continue
            attrs = {key: op.attr(key) for key in (
                "begin_norm_axis", "epsilon", "forget_bias", "gate_order")}
            attrs["axes"] = list(op.attr("axes")) if op.type == "Centralization" else None
            given, made = inputs(record), outputs(record)
            wanted = operator_forms.compute(op.type, attrs, given)
            assert len(made) == len(wanted)
            for found, array in zip(made, wanted):
                rtol = 2e-3 if found.dtype == np.float16 else 1e-4
                np.testing.assert_allclose(found.astype("float64"), array, rtol=rtol,
                                           atol=rtol * max(1e-3, np.abs(array).max()),
                                           err_msg=op.name)
            checked += 1
    assert checked == 2 * sum(count for kind, count in TYPES[name].items()
                              if kind not in NUMPYLESS)


@pytest.mark.parametrize("name", STEPS)
def test_the_graph_says_of_them_what_the_files_hold(dumped, name):
    for op, record in files(dumped, name, 1):
        for descs, arrays in ((op.input_descs, inputs(record)),
                              (op.output_descs, outputs(record))):
            assert len(descs) == len(arrays), op.name
            for desc, array in zip(descs, arrays):
                assert len(desc.shape) == array.ndim or -2 in desc.shape, op.name
                assert all(dim in (-1, -2, size) for dim, size in zip(desc.shape, array.shape))


def test_the_graph_holds_attributes_and_no_functions(dumped):
    ops = [op for name in STEPS for graph in dumped.graphs(name) for op in graph.ops]
    assert not [op for op in ops if "PartitionedCall" in op.type]
    found = {op.type: op for op in ops}
    assert found["DropOutGenMask"].attr("seed") == 3
    assert found["DynamicGRUV2"].attr("gate_order") == "zrh"
    assert found["LayerNorm"].attr("begin_norm_axis") == 1
    for kind in ("DropOutGenMask", "DynamicGRUV2", "LayerNorm"):
        assert not [key for key in found[kind].attrs if key in ("f", "Tin", "config_proto")]
    # What it waits for is waited for, and is no input.
    status = found["NPUGetFloatStatusV2"]
    assert status.input_descs == [] and len(status.inputs) >= 4
    assert all(edge.endswith(":-1") for edge in status.inputs)


def test_the_mask_that_is_drawn_is_the_one_that_is_applied(dumped):
    drawn = collections.defaultdict(list)
    for op, record in files(dumped, "mixed_step", 1):
        if op.type.startswith("DropOutGenMask"):
            drawn[op.type[14:]].extend(array.tobytes() for array in outputs(record))
        elif op.type.startswith("DropOutDoMask"):
            drawn["do" + op.type[13:]].append(inputs(record)[1].tobytes())
    for version in ("", "V3"):
        assert drawn[version] and sorted(drawn["do" + version]) == sorted(drawn[version] * 2)


def test_training_is_bit_equal_with_and_without_dump(dumped, undumped):
    assert set(dumped.arrays) == set(undumped.arrays)
    for key, array in dumped.arrays.items():
        assert array.tobytes() == undumped.arrays[key].tobytes(), key
