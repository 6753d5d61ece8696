"""A Keras training with validation leaves the folders, graphs and values of a device."""
import os
import re
import stat

import numpy as np

from keras_npu_dump.formats import tree
from tests.emulator import nets
from tests.emulator.conftest import inputs, operators, outputs


def train_graph(trained, scenario):
    return next(graph for graph in trained.graphs[scenario] if "train_function" in graph[0])


def test_each_concrete_function_is_a_graph_with_its_own_counter(dumped):
    graphs = {graph[0].rsplit("_", 1)[0]: graph for graph in dumped.graphs["validation"]}
    assert graphs["__inference_train_function"][3] == 6  # 2 epochs of 3 batches
    assert graphs["__inference_test_function"][3] == 7  # 2 validations of 2, evaluate of 3
    assert graphs["__inference_predict_function"][3] == 3


def test_a_dump_folder_has_every_level_of_the_vendor_s_tree(dumped):
    name, _, model_id, _ = train_graph(dumped, "validation")
    steps = [step for step in tree.walk_steps(str(dumped.dump_path)) if step.model_name == name]
    assert [step.data_index for step in steps] == [0, 5]
    for step in steps:
        assert len(step.time) == 14 and step.time.isdigit()
        assert (step.device, step.model_id) == (0, model_id)
    times = {step.time for step in tree.walk_steps(str(dumped.dump_path))}
    assert len(times) == 1  # one session


def test_files_and_folders_are_private(dumped):
    name = train_graph(dumped, "dense")[0]
    folder = dumped.steps(name)[0]
    assert stat.S_IMODE(os.stat(str(folder)).st_mode) == 0o700
    files = tree.list_files(str(folder))
    assert files
    for path in [str(folder / file.name) for file in files] + [
            str(path) for path in dumped.build_files().values()]:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_every_graph_has_its_build_file(dumped):
    names = [graph[0] for graphs in dumped.graphs.values() for graph in graphs]
    files = dumped.build_files()
    for graphs in dumped.graphs.values():
        for name, graph_id, _, _ in graphs:
            assert files[name].name.endswith("_graph_%d_Build.txt" % graph_id)
    assert len(set(names)) == len(names)


def test_without_dump_and_variables_no_graph_is_written(undumped):
    assert not list(undumped.dump_path.rglob("*"))


def test_operators_in_the_dump_are_operators_of_the_graph(dumped):
    for scenario in ("conv", "lstm", "two_steps", "mixed"):
        name = train_graph(dumped, scenario)[0]
        known = {op.name: op.type for graph in dumped.graph(name) for op in graph.ops}
        for file in tree.list_files(str(dumped.steps(name)[5])):
            assert file.kind == "dump"
        for op_name in operators(dumped.steps(name)[5]):
            assert op_name in known, op_name


def test_a_dense_layer_s_matmul_is_numpy_s_product_of_its_inputs(dumped):
    name = train_graph(dumped, "dense")[0]
    for data_index, folder in dumped.steps(name).items():
        found = operators(folder)
        layer = [op for op in found if re.search(r"dense(_\d+)?/MatMul$", op)
                 and "gradient" not in op]
        record = found[layer[0]][0]
        x, kernel = inputs(record)
        assert x.shape == (8, 6) and kernel.shape == (6, 5)
        batch = slice(8 * (data_index % 3), 8 * (data_index % 3) + 8)
        np.testing.assert_array_equal(x, nets.arrays(24, 6)[batch])
        np.testing.assert_allclose(outputs(record)[0], x @ kernel, rtol=1e-5, atol=1e-6)
