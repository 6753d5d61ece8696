"""Build graphs as GE writes them (reference, formats 2)."""
import pytest

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.graph import ge_graph as graph_lib
from keras_npu_dump.formats.graph.edges import split_edge
from tests.emulator.conftest import operators


def main_graph(dumped, scenario):
    name = next(graph[0] for graph in dumped.graphs[scenario] if "train" in graph[0]
            or "step" in graph[0])
    return name, dumped.graph(name)


@pytest.mark.parametrize("scenario", ["conv", "lstm", "custom_loop", "two_steps", "mixed"])
def test_operators_stand_in_executable_order_and_edges_lead_to_operators(dumped, scenario):
    _, graphs = main_graph(dumped, scenario)
    for graph in graphs:
        seen = set()
        for op in graph.ops:
            for edge in op.inputs:
                source, _ = split_edge(edge)
                assert not source or source in seen, (op.name, edge)
            assert op.name not in seen
            seen.add(op.name)
        assert graph.ops[-1].type == "NetOutput"


@pytest.mark.parametrize("scenario", ["conv", "lstm", "two_steps"])
def test_names_are_unique_over_all_graphs_of_a_file(dumped, scenario):
    _, graphs = main_graph(dumped, scenario)
    names = [op.name for graph in graphs for op in graph.ops]
    assert len(set(names)) == len(names)
    assert len({graph.name for graph in graphs}) == len(graphs)


def test_control_edges_come_last_and_every_data_edge_has_a_description(dumped):
    for scenario in ("conv", "lstm"):
        for graph in main_graph(dumped, scenario)[1]:
            for op in graph.ops:
                controls = [edge.endswith(":-1") for edge in op.inputs]
                assert controls == sorted(controls)
                assert len(op.input_descs) == len(op.data_inputs)


def test_control_edges_lead_from_updates_that_nothing_reads(dumped):
    _, graphs = main_graph(dumped, "custom_loop")
    ops = {op.name: op for op in graphs[0].ops}
    updates = {"%s:-1" % name for name, op in ops.items() if op.type == "AssignSubVariableOp"}
    returned = ops[split_edge(ops["NetOutput"].inputs[0])[0]]
    assert len(updates) == 2
    assert updates <= set(returned.inputs) and updates <= set(ops["NetOutput"].inputs)


def test_what_is_a_variable_is_read_by_an_edge(dumped):
    _, graphs = main_graph(dumped, "conv")
    ops = {op.name: op for op in graphs[0].ops}
    assert not any(op.type in ("ReadVariableOp", "NoOp") for op in ops.values())
    convolution = next(op for op in ops.values() if op.type == "Conv2D")
    kernel = ops[split_edge(convolution.inputs[1])[0]]
    assert kernel.type == "Variable" and kernel.name.endswith("/kernel")
    assert kernel.output_descs[0].shape == (3, 3, 3, 4)
    optimizer = [op.name for op in ops.values() if op.type == "Variable"
                 and op.name.lower().startswith("adam/")]
    assert len(optimizer) > 10


def test_descriptions_have_dtype_shape_layout_and_origin(dumped):
    _, graphs = main_graph(dumped, "conv")
    convolution = next(op for op in graphs[0].ops if op.type == "Conv2D")
    image, kernel = convolution.input_descs
    assert (image.dtype, image.shape, image.layout) == ("DT_FLOAT", (8, 8, 8, 3), "NHWC")
    assert kernel.layout == "HWCN"
    output = convolution.output_descs[0]
    assert output.shape == (8, 6, 6, 4) and output.origin_shape == (8, 6, 6, 4)
    assert (output.origin_name, output.origin_index) == (convolution.name, 0)
    assert convolution.original_op_names == [convolution.name]


def test_mixed_precision_shows_in_the_descriptions(dumped):
    _, graphs = main_graph(dumped, "mixed")
    convolution = next(op for op in graphs[0].ops if op.type == "Conv2D")
    assert convolution.output_descs[0].dtype == "DT_FLOAT16"


@pytest.mark.parametrize("scenario", ["conv", "lstm", "two_steps", "dropout", "custom_loop"])
def test_shapes_of_the_graph_are_the_shapes_of_the_dump(dumped, scenario):
    name, graphs = main_graph(dumped, scenario)
    known = {op.name: op for graph in graphs for op in graph.ops}
    compared = 0
    for op_name, records in operators(dumped.steps(name)[0]).items():
        for header, _ in records:
            for entry in header.outputs:
                descs = known[op_name].output_descs
                if entry.index >= len(descs):
                    continue  # an update's variable is no output in TensorFlow
                shape = descs[entry.index].shape
                if entry.dtype_name in ("DT_VARIANT", "DT_RESOURCE", "DT_STRING") \
                        or -2 in shape:
                    continue
                assert len(shape) == len(entry.shape), op_name
                assert all(a in (-1, b) for a, b in zip(shape, entry.shape)), op_name
                assert entry.dtype_name == descs[entry.index].dtype
                compared += shape == entry.shape
    assert compared > 20


def test_nearly_all_shapes_are_known(dumped):
    for scenario in ("conv", "mixed", "residual"):
        _, graphs = main_graph(dumped, scenario)
        descs = [desc for op in graphs[0].ops for desc in op.output_descs
                 if op.type not in ("IteratorV2", "OptionalFromValue")]
        unknown = [desc for desc in descs if -1 in desc.shape or -2 in desc.shape]
        assert len(unknown) <= 0.02 * len(descs)


@pytest.mark.parametrize("scenario", ["lstm", "two_steps"])
def test_loop_bodies_are_further_graphs_that_their_operator_names(dumped, scenario):
    _, graphs = main_graph(dumped, scenario)
    by_name = {graph.name: graph for graph in graphs}
    loops = [op for graph in graphs for op in graph.ops if op.type.endswith(("While", "If"))]
    assert loops
    named = [name for op in loops for name in op.subgraph_names]
    assert sorted(named) == sorted(graph.name for graph in graphs[1:])
    for op in loops:
        for name in op.subgraph_names:
            arguments = [inner for inner in by_name[name].ops if inner.type == "Data"]
            for number, inner in enumerate(arguments):
                shift = 1 if op.type.endswith("If") else 0
                assert inner.attr("_parent_node_index") == number + shift


def test_attributes_speak_ge_s_language(dumped):
    _, graphs = main_graph(dumped, "dense")
    product = next(op for op in graphs[0].ops if op.type == "MatMul")
    assert product.attr("transpose_a") is False
    kind = product.attr("T")
    assert isinstance(kind, graph_lib.DataType)
    assert dtypes.ge_dtype_name(kind) == "DT_FLOAT"
    adam = [op for op in graphs[0].ops if op.type == "Const"]
    assert all("dtype" in op.attrs for op in adam)


def test_the_root_graph_says_its_session_and_graph(dumped):
    for graphs in dumped.graphs.values():
        for name, graph_id, _, _ in graphs:
            root = dumped.graph(name)[0]
            assert root.attrs["_session_graph_id"] == "0_%d" % graph_id


def test_inputs_of_a_custom_step_are_data_and_outputs_lead_to_netoutput(dumped):
    _, graphs = main_graph(dumped, "custom_loop")
    data = [op for op in graphs[0].ops if op.type == "Data"]
    assert [op.attr("index") for op in data] == [0, 1]
    assert [op.output_descs[0].shape for op in data] == [(8, 6), (8,)]
    assert len(graphs[0].ops[-1].data_inputs) == 1
