"""The other forms of a graph: ONNX text, JSON."""
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph import atc_json, graph_reader, graph_writer
from keras_npu_dump.formats.graph.ge_graph import AttrList, Desc, Graph, GraphOp, TensorAttr
from tests.formats import graphs
from tests.formats.test_graph import REAL

FAST = settings(max_examples=60, deadline=None,
                suppress_health_check=list(HealthCheck))

ONNX = b'''ir_version: 6
producer_name: "GE"
graph {
  node {
    input: ""
    output: "args0:0"
    name: "args0"
    op_type: "ge:Data"
    attribute {
      name: "OUTPUT_IS_VAR"
      ints: 0
      type: INTS
    }
    attribute {
      name: "input_desc_nums"
      type: INT
    }
    attribute {
      name: "output_desc_dtype:0"
      s: "DT_FLOAT"
      type: STRING
    }
    attribute {
      name: "output_desc_shape:0"
      ints: 4
      ints: -1
      type: INTS
    }
    attribute {
      name: "output_desc_layout:0"
      s: "ND"
      type: STRING
    }
    attribute {
      name: "output_desc_origin_shape:0"
      ints: 4
      ints: -1
      type: INTS
    }
    attribute {
      name: "output_desc_attr_placement:0"
      i: 1
      type: INT
    }
    attribute {
      name: "output_desc_dtype:1"
      s: "DT_INT32"
      type: STRING
    }
    attribute {
      name: "stream_id"
      i: 3
      type: INT
    }
    attribute {
      name: "id"
      type: INT
    }
%s  }
  node {
    input: "args0:0"
    input: "args0:-1"
    name: "relu"
    op_type: "ge:Relu"
  }
  node {
    name: "body"
    op_type: "subgraph"
    attribute {
      name: "graph"
      g {
        node {
          name: "inner"
          op_type: "ge:Add"
        }
        name: "body"
      }
      type: GRAPH
    }
  }
  name: "__inference_train_function_5"
  input {
    name: "args0"
    type {
      tensor_type {
        elem_type: 1
      }
    }
  }
}
'''
ORIGINS = b'''    attribute {
      name: "_datadump_original_op_names"
      strings: "tf/args0"
      type: STRINGS
    }
'''


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("twin")
               / "ge_onnx_00000001_graph_1_Build.pbtxt")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_an_onnx_twin_gives_what_it_has(path):
    write(path, ONNX % b"")
    assert graph_reader.read_head(path).name == "__inference_train_function_5"
    train, body = graph_reader.read_graphs(path)
    assert (train.name, body.name) == ("__inference_train_function_5", "body")
    data, relu = train.ops
    assert (data.name, data.type, data.inputs) == ("args0", "Data", [""])
    assert (data.id, data.stream_id) == (0, 3)
    assert data.attrs == {"OUTPUT_IS_VAR": [0]}
    first, second = data.output_descs
    assert (first.dtype, first.shape, first.layout) \
        == ("DT_FLOAT", (4, -1), "ND")
    assert first.origin_shape == (4, -1) and first.attr("placement") == 1
    assert second.dtype == "DT_INT32"
    assert (relu.type, relu.inputs) == ("Relu", ["args0:0", "args0:-1"])
    assert [op.name for op in body.ops] == ["inner"]
    assert [(name, op.name) for name, op in graph_reader.iter_ops(path)] == [
        (train.name, "args0"), (train.name, "relu"), ("body", "inner")]


def test_an_onnx_twin_says_what_it_lacks(path):
    write(path, ONNX % b"")
    assert any("original operator names" in text for text
               in next(graph_reader.read_graphs(path)).lacks)
    write(path, ONNX % ORIGINS)  # DUMP_GE_GRAPH=1 keeps texts
    train = next(graph_reader.read_graphs(path))
    assert train.lacks == ()
    assert train.ops[0].origins == ["tf/args0"]


def test_an_onnx_twin_has_no_json(path):
    write(path, ONNX % ORIGINS)
    with pytest.raises(FormatError, match="ge_proto file has"):
        graphs.json_of(path)


def test_the_name_of_a_large_onnx_file_is_found_at_its_end(path):
    node = b'  node {\n    name: "n"\n    op_type: "ge:Add"\n  }\n'
    write(path, b"graph {\n" + node * 20000 + b'  name: "late"\n'
          + b'  input {\n    name: "i"\n  }\n' * 5000 + b"}\n")
    assert graph_reader.read_head(path).name == "late"


def test_any_prefix_of_an_onnx_file_is_an_error(path):
    data = ONNX % ORIGINS
    for length in range(0, len(data), 7):
        write(path, data[:length])
        with pytest.raises(FormatError):
            list(graph_reader.read_graphs(path))


@pytest.mark.parametrize("name", REAL)
def test_json_of_real_files_has_everything_but_what_atc_drops(
        shared_fixtures, name):
    from google.protobuf import json_format, text_format

    from tests.formats import messages
    real = shared_fixtures / "graphs" / name
    got = graphs.json_of(real)
    assert got == json.loads("".join(atc_json.iter_json(real)))
    model = text_format.Parse(real.read_text("latin-1"),
                              messages.GE["ModelDef"](),
                              allow_unknown_field=True)
    graph, = got["graph"]
    assert graph["name"] == model.graph[0].name
    assert len(graph["op"]) == len(model.graph[0].op)
    for op, proto in zip(graph["op"], model.graph[0].op):
        expected = json_format.MessageToDict(
            proto, preserving_proto_field_name=True)
        assert (op["name"], op["type"]) == (proto.name, proto.type)
        assert op.get("input", []) == list(proto.input)
        assert [item["key"] for item in op.get("attr", [])] \
            == sorted(proto.attr)
        for field in ("dst_name", "src_name", "input_name"):
            assert op.get(field) == expected.get(field)
        assert op.get("dst_index", []) == list(proto.dst_index)
        assert op.get("id", 0) == proto.id
        for field in ("input_desc", "output_desc"):
            assert [desc.get("dtype") for desc in op.get(field, [])] == [
                desc.get("dtype") for desc in expected.get(field, [])]
            assert [desc.get("shape", {}).get("dim", []) for desc
                    in op.get(field, [])] == [
                list(desc.shape.dim) for desc in getattr(proto, field)]

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                for found in keys(inner):
                    yield found
        elif isinstance(value, list):
            for inner in value:
                for found in keys(inner):
                    yield found
    assert not atc_json.DROPPED & set(keys(got))


def test_json_values_are_those_of_atc(path):
    op = GraphOp("n", "Op", attrs={
        "f": 0.1, "s": 'a"\n\xe9', "big": 1 << 60, "e": AttrList([], "INT"),
        "w": TensorAttr(Desc("DT_FLOAT", (1,), fields={"size": 4}), b"abcd"),
        "x": Desc()}, output_descs=[Desc()],
        fields={"workspace": [1], "is_input_const": [False, True]})
    graph_writer.write_graphs(path, [Graph("g", [op]), Graph("h")],
                              {"version": "1"})
    assert graphs.json_of(path) == {
        "graph": [{"name": "g", "op": [{
            "name": "n", "type": "Op", "attr": [
                {"key": "big", "value": {"i": 1 << 60}},
                {"key": "e", "value": {"list": {"val_type": "VT_LIST_INT"}}},
                {"key": "f", "value": {"f": "0.1"}},
                {"key": "s", "value": {"s": 'a\\"\\n\\303\\251'}},
                {"key": "w", "value": {"t": {"desc": {
                    "dtype": "DT_FLOAT", "shape": {"dim": [1]}}}}},
                {"key": "x"}],
            "is_input_const": [False, True]}]}, {"name": "h"}],
        "attr": [{"key": "version", "value": {"s": "1"}}]}


def test_fields_that_are_not_known_stay_in_the_json(path):
    write(path, b'graph {\n  op {\n    new: 1\n    new {\n      a: 2\n    }\n'
          b'    other {\n      b: "x"\n    }\n  }\n  more: 3\n  more: 4\n}\n')
    assert graphs.json_of(path) == {"graph": [{
        "op": [{"new": [1, {"a": 2}], "other": {"b": "x"}}], "more": 4}]}


def test_origins_of_another_kind_are_no_origins(path):
    write(path, ONNX % ORIGINS.replace(b'strings: "tf/args0"', b"i: 5")
          .replace(b"STRINGS", b"INT"))
    assert next(graph_reader.read_graphs(path)).ops[0].origins == []


@FAST
@given(st.lists(graphs.GRAPHS, min_size=1, max_size=3))
def test_any_graph_becomes_json(path, written):
    graph_writer.write_graphs(path, written)
    got = graphs.json_of(path)
    assert [graph.get("name", "") for graph in got["graph"]] \
        == [graph.name for graph in written]
    assert [[op.get("name", "") for op in graph.get("op", [])]
            for graph in got["graph"]] \
        == [[op.name for op in graph.ops] for graph in written]
