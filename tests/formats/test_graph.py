"""Graph text: written and read back, read in any state, real files."""
import os
import subprocess
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph import (
    graph_reader,
    graph_writer,
    long_lines,
    protobuf_text,
)
from keras_npu_dump.formats.graph.edges import connect, split_edge
from keras_npu_dump.formats.graph.ge_graph import (
    AttrList,
    Desc,
    Graph,
    GraphOp,
)
from tests.formats import graphs

FAST = settings(max_examples=80, deadline=None,
                suppress_health_check=list(HealthCheck))
REAL = ["offline_resnet50.ge_proto_00000062_Build.txt",
        "small_train_2020.ge_proto_00056_Build.txt",
        "variable_init.ge_proto_00000000_Build.txt"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("graph")
               / "ge_proto_00000001_graph_1_Build.txt")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_the_documented_example_is_written_byte_for_byte(path):
    size = graph_writer.write_graphs(path, graphs.toy())
    assert open(path, "rb").read() == graphs.TOY_TEXT
    assert size == len(graphs.TOY_TEXT)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_the_documented_example_is_read(path):
    write(path, graphs.TOY_TEXT)
    train, body = graph_reader.read_graphs(path)
    assert [train, body] == graphs.toy()
    op = train.ops[0]
    assert op.origins == ["toy/dense/MatMul", "toy/dense/BiasAdd"]
    assert op.data_inputs == ["toy/x:0", "toy/dense/kernel:0", ""]
    output = op.output_descs[0]
    assert (output.origin_name, output.origin_index, output.origin_shape) \
        == ("toy/dense/BiasAdd", 0, (4, 32))
    assert op.attr("_fe_imply_type") == 6
    assert op.attr("no such key", "default") == "default"
    assert graph_reader.read_head(path).name == train.name


@FAST
@given(st.lists(graphs.GRAPHS, min_size=1, max_size=3))
def test_what_is_written_reads_back(path, written):
    graph_writer.write_graphs(path, written)
    read = list(graph_reader.read_graphs(path))
    assert read == written
    # every attribute by itself gives the same as all together
    for graph in graph_reader.read_graphs(path):
        for op in graph.ops:
            for key in op.attrs:
                assert op.attr(key) == op.attrs[key]
            for desc in op.input_descs + op.output_descs:
                for key in desc.attrs:
                    assert desc.attr(key) == desc.attrs[key]
        break
    # and a second print is the same text
    assert graph_writer.format_graphs(read) \
        == graph_writer.format_graphs(written)


@FAST
@given(st.lists(graphs.GRAPHS, min_size=1, max_size=2))
def test_google_protobuf_reads_what_is_written(written):
    from google.protobuf import text_format

    from tests.formats import messages
    printed = graph_writer.format_graphs(written)
    model = text_format.Parse(printed.decode("ascii"),
                              messages.GE["ModelDef"]())
    assert [graph.name for graph in model.graph] \
        == [graph.name for graph in written]
    for graph, expected in zip(model.graph, written):
        for op, mine in zip(graph.op, expected.ops):
            assert list(op.input) == mine.inputs
            assert sorted(op.attr) == sorted(mine.attrs)
            assert [tuple(desc.shape.dim) for desc in op.output_desc] \
                == [desc.shape for desc in mine.output_descs]


@FAST
@given(st.binary(max_size=60))
def test_escapes_are_protobufs_and_go_back(data):
    from google.protobuf import text_format

    from tests.formats import messages
    quoted = protobuf_text.escape(data)
    assert protobuf_text.unescape(quoted) == data
    attr = messages.GE["AttrDef"](bt=data)
    assert text_format.MessageToString(attr) \
        == 'bt: "%s"\n' % quoted.decode("ascii")
    assert text_format.Parse('bt: "%s"' % quoted.decode("ascii"),
                             messages.GE["AttrDef"]()).bt == data


@FAST
@given(st.floats(width=32))
def test_floats_read_back_as_the_same_float(value):
    from google.protobuf import text_format

    from tests.formats import messages
    back = text_format.Parse("f: " + protobuf_text.float_text(value),
                             messages.GE["AttrDef"]()).f
    assert back == value or back != back and value != value


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_whole(shared_fixtures, name):
    real = shared_fixtures / "graphs" / name
    counted = int(subprocess.run(
        ["grep", "-c", "^  op {", str(real)], stdout=subprocess.PIPE,
        check=True).stdout)
    read = list(graph_reader.read_graphs(real))
    assert sum(len(graph.ops) for graph in read) == counted > 0
    assert sum(1 for _ in graph_reader.iter_ops(real)) == counted
    assert graph_reader.read_head(real) == (read[0].name,
                                            real.stat().st_size)


@pytest.mark.parametrize("name", REAL)
def test_real_files_say_what_google_protobuf_says(shared_fixtures, name):
    from google.protobuf import text_format

    from tests.formats import messages
    real = shared_fixtures / "graphs" / name
    # Unknown fields are allowed: GE has more than any description of it.
    model = text_format.Parse(real.read_text("latin-1"),
                              messages.GE["ModelDef"](),
                              allow_unknown_field=True)
    read = list(graph_reader.read_graphs(real))
    assert [graph.name for graph in read] \
        == [graph.name for graph in model.graph]
    types = messages.GE["TensorDescriptor"].DESCRIPTOR.fields_by_name[
        "dtype"].enum_type.values_by_number
    for mine, graph in zip(read, model.graph):
        assert sorted(mine.attrs) == sorted(graph.attr)
        for op, expected in zip(mine.ops, graph.op):
            assert (op.name, op.type, op.id, op.stream_id) == (
                expected.name, expected.type, expected.id,
                expected.stream_id)
            assert op.inputs == list(expected.input)
            assert op.subgraph_names == list(expected.subgraph_name)
            for field in ("src_name", "src_index", "dst_name", "dst_index",
                          "input_i", "output_i", "workspace",
                          "workspace_bytes", "is_input_const", "input_name"):
                assert op.fields.get(field, []) \
                    == list(getattr(expected, field)), field
            names = None
            if "_datadump_original_op_names" in expected.attr:
                names = [item.decode() for item in expected.attr[
                    "_datadump_original_op_names"].list.s if item]
            assert op.original_op_names == names
            for descs, protos in ((op.input_descs, expected.input_desc),
                                  (op.output_descs, expected.output_desc)):
                assert len(descs) == len(protos)
                for desc, proto in zip(descs, protos):
                    assert desc.dtype == types[proto.dtype].name
                    assert desc.shape == tuple(proto.shape.dim)
                    assert desc.layout == proto.layout
                    assert desc.size == proto.size
                    assert sorted(desc.attrs) == sorted(proto.attr)
                    if "origin_shape" in proto.attr:
                        assert list(desc.origin_shape) == list(
                            proto.attr["origin_shape"].list.i)
            for key, proto in expected.attr.items():
                same_attribute(op.attr(key), proto)


def same_attribute(value, proto):
    kind = proto.WhichOneof("value")
    if kind == "s":
        assert value == protobuf_text.to_str(proto.s)
    elif kind in ("i", "b", "bt", "dt"):
        assert value == getattr(proto, kind)
    elif kind == "f":
        assert value == pytest.approx(proto.f, rel=1e-6)
    elif kind == "list":
        items = [item for field in ("s", "i", "f", "b", "bt", "dt")
                 for item in getattr(proto.list, field)]
        items = [protobuf_text.to_str(item) if proto.list.s else item
                 for item in items]
        if not (proto.list.td or proto.list.t or proto.list.na):
            assert list(value) == items
    elif kind == "func":
        assert value.name == proto.func.name
        assert sorted(value.attrs) == sorted(proto.func.attr)
    elif kind == "t":
        assert value.data == proto.t.data
    elif kind == "list_list_int":
        assert value == [list(item.list_i)
                         for item in proto.list_list_int.list_list_i]


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_printed_again_byte_for_byte(shared_fixtures, name):
    data = (shared_fixtures / "graphs" / name).read_bytes()
    printed = graph_writer.format_graphs(graph_reader.read_graphs(
        shared_fixtures / "graphs" / name))
    # behind the graphs stand attributes of the model, which no one reads
    behind = data[len(printed):]
    assert data.startswith(printed)
    assert behind.startswith(b"attr {\n") and b"\ngraph {" not in behind


def test_a_head_costs_one_read_whatever_the_size(path, monkeypatch):
    write(path, graphs.TOY_TEXT)
    os.truncate(path, 1 << 30)
    reads = []
    real_read = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: reads.append(size)
                        or real_read(fd, size))
    head = graph_reader.read_head(path)
    assert head == ("__inference_train_function_55", 1 << 30)
    assert len(reads) == 1 and reads[0] <= 4096


@pytest.mark.parametrize("data, name", [
    (b'graph {\n}\n', ""),
    (b'graph {\n  op {\n  }\n}\n', ""),
    (b'custom_version: "1.2"\ngraph {\n  name: "x"\n}\n', "x"),
    (b'name: "model"\nversion: 3\ngraph {\n  name: "\\303\\251\\""\n}\n',
     'é"'),
    (b"# a comment\ngraph <name: 'loose'>", "loose")])
def test_heads_of_all_kinds(path, data, name):
    write(path, data)
    assert graph_reader.read_head(path).name == name
    graph, = graph_reader.read_graphs(path)
    assert graph.name == name


@pytest.mark.parametrize("data", [
    b"", b"not a graph", b"\0" * 100, b"Input/Output,Index\n",
    b'graph {\n  name: "' + b"x" * 8192])
def test_what_is_no_graph_is_one_error(path, data):
    write(path, data)
    with pytest.raises(FormatError):
        graph_reader.read_head(path)
    with pytest.raises(FormatError):
        list(graph_reader.read_graphs(path))


def test_a_hostile_head_is_decided_at_once(path):
    write(path, b"a:b" * 1300)
    with pytest.raises(FormatError):
        graph_reader.read_head(path)
    write(path, b"#" * 4000)
    with pytest.raises(FormatError):
        graph_reader.read_head(path)


def test_any_prefix_is_an_error_or_ends_between_graphs(path):
    end = len(graphs.TOY_TEXT.split(b"graph {\n  name: \"toy/while")[0])
    # With the line end of a graph's last brace or without, as editors leave it.
    whole = {end - 1: 1, end: 1, len(graphs.TOY_TEXT) - 1: 2}
    for length in range(len(graphs.TOY_TEXT)):
        write(path, graphs.TOY_TEXT[:length])
        if length in whole:
            assert len(list(graph_reader.read_graphs(path))) == whole[length]
            continue
        with pytest.raises(FormatError) as caught:
            for graph in graph_reader.read_graphs(path):
                assert graph == graphs.toy()[0]
        assert 0 <= caught.value.offset <= length


def test_unknown_fields_and_attr_groups_are_passed_over(path):
    groups = b'''    attr_groups {
      groups {
        key: "tensor"
        value {
          [type.googleapis.com/x.Y] {
            a: 1
          }
        }
      }
    }
    new_field: 7
'''
    data = graphs.TOY_TEXT.replace(b"    id: 12\n", groups + b"    id: 12\n")
    data = data.replace(b"  attr {\n    key: \"_session", b"  new_block {\n"
                        b"    op {\n    }\n  }\n  attr {\n"
                        b"    key: \"_session")
    write(path, b"new_top {\n  graph {\n  }\n}\n" + data + b"attr_groups {\n}\n")
    train, body = graph_reader.read_graphs(path)
    assert (len(train.ops), len(body.ops)) == (1, 1)
    op = train.ops[0]
    assert op.id == 12 and op.fields["new_field"] == 7
    assert sorted(op.attrs) == sorted(graphs.toy()[0].ops[0].attrs)
    assert op.origins == ["toy/dense/MatMul", "toy/dense/BiasAdd"]


def test_weights_in_the_text_are_passed_over_in_bounded_memory(path):
    weights = graph_writer.format_graphs([Graph("g", [
        GraphOp("w", "Const", attrs={"a": 1, "z": 2}, id=4,
                output_descs=[Desc("DT_FLOAT", (8,))])])])
    head, tail = weights.split(b"    attr {\n      key: \"z\"")
    with open(path, "wb") as file:
        file.write(head + b'    attr {\n      key: "value"\n      value {\n'
                   b'        t {\n          desc {\n            dtype: '
                   b'DT_FLOAT\n          }\n          data: "')
        for _ in range(48):
            file.write(b"\\000\\001a" * (1 << 17))
        file.write(b'"\n        }\n      }\n    }\n'
                   b'    attr {\n      key: "z"' + tail)
    assert os.path.getsize(path) > 48 << 20
    tracemalloc.start()
    graph, = graph_reader.read_graphs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    op, = graph.ops
    assert peak < 24 << 20
    assert (op.name, op.id, op.attr("a"), op.attr("z")) == ("w", 4, 1, 2)
    value = op.attr("value")
    assert value.data is None and value.desc.dtype == "DT_FLOAT"


def test_long_texts_below_the_limit_are_kept(path):
    size = long_lines.MAX_LINE - 100
    op = GraphOp("w", "Const", attrs={"kernel": b"x" * size})
    graph_writer.write_graphs(path, [Graph("g", [op] * 3 + [GraphOp("z")])])
    graph, = graph_reader.read_graphs(path)
    assert [len(op.attrs.get("kernel", b"")) for op in graph.ops] \
        == [size] * 3 + [0]


def test_a_long_operator_is_read_across_pieces(path):
    shapes = AttrList(range(400000), "INT")
    op = GraphOp("many", "Op", attrs={"list": shapes})
    graph_writer.write_graphs(path, [Graph("g", [op, GraphOp("z")])])
    assert os.path.getsize(path) > 5 << 20
    graph, = graph_reader.read_graphs(path)
    assert graph.ops[0].attr("list") == shapes
    assert graph.ops[1].name == "z"


@FAST
@given(st.lists(st.tuples(st.sampled_from(["    a: ", "x", ""]),
                          st.integers(0, 200)), max_size=12),
       st.booleans(), st.integers(1, 100))
def test_exactly_the_long_lines_are_left_out(path, lines, ended, chunk):
    texts = [(start + "y" * length).encode() for start, length in lines]
    data = b"\n".join(texts) + (b"\n" if ended else b"")
    write(path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "MAX_LINE", 50)
        patch.setattr(long_lines, "_CHUNK", chunk)
        with open(path, "rb") as file:
            pieces = long_lines.Pieces(file.fileno(), os.path.getsize(path))
            while pieces.more(0):
                pass
    expected = []
    for line in data.split(b"\n"):
        if len(line) > 50:
            colon = line.find(b":", 0, 200)
            expected.append(line[:max(colon, 0)] + b": ELIDED_TEXT")
        else:
            expected.append(line)
    assert pieces.data == b"\n".join(expected)


@FAST
@given(st.lists(graphs.GRAPHS, min_size=1, max_size=3), st.integers(1, 300))
def test_the_size_of_pieces_changes_nothing(path, written, chunk):
    graph_writer.write_graphs(path, written)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_lines, "_CHUNK", chunk)
        assert list(graph_reader.read_graphs(path)) == written


def test_deep_nesting_is_an_error_not_a_crash(path):
    write(path, b"graph {\n  attr {\n" + b"    value {\n" * 100000
          + b"    }\n" * 100000 + b"  }\n}\n")
    with pytest.raises(FormatError, match="nested deeper"):
        list(graph_reader.read_graphs(path))


def test_an_attribute_that_cannot_be_read_says_where(path):
    write(path, graphs.TOY_TEXT.replace(b"i: 6\n", b"i: six\n"))
    op = next(graph_reader.read_graphs(path)).ops[0]
    assert op.name == "toy/dense/MatMulBiasAdd"
    with pytest.raises(FormatError, match="whole number") as caught:
        op.attr("_fe_imply_type")
    assert caught.value.path == path
    at = caught.value.offset
    assert b"_fe_imply_type" in graphs.TOY_TEXT[at - 60:at + 60]


def test_files_laid_out_by_hand_are_read_all_the_same(path):
    write(path, b"""
        graph: { name: 'x', op { name: "a" type: "Add" input: "b:0"
          output_desc { dtype: DT_FLOAT shape { dim: 3 } layout: "ND" }
          id: 4 dst_index: 5 dst_index: 6 } }  # the end
        graph < name: "y" >
    """)
    one, two = graph_reader.read_graphs(path)
    op, = one.ops
    assert (one.name, two.name, op.name, op.id) == ("x", "y", "a", 4)
    assert op.output_descs == [Desc("DT_FLOAT", (3,), "ND")]
    assert op.fields["dst_index"] == [5, 6]
    assert list(graph_reader.iter_ops(path)) == [("x", op)]
    assert graphs.json_of(path) == {"graph": [
        {"name": "x", "op": [{"name": "a", "type": "Add", "input": ["b:0"],
                              "output_desc": [{"dtype": "DT_FLOAT", "layout":
                                               "ND", "shape": {"dim": [3]}}],
                              "id": 4, "dst_index": [5, 6]}]},
        {"name": "y"}]}


def test_equal_descriptions_are_shared(path):
    desc = Desc("DT_FLOAT", (4, 4), "ND")
    graph_writer.write_graphs(path, [Graph("g", [
        GraphOp(str(n), "Op", output_descs=[desc]) for n in range(9)])])
    graph, = graph_reader.read_graphs(path)
    assert len({id(op.output_descs[0]) for op in graph.ops}) == 1


def test_input_descriptions_go_with_inputs_in_old_files_too():
    one, two = Desc("DT_FLOAT", (1,)), Desc("DT_FLOAT", (2,))
    current = GraphOp("a", "A", ["x:0", "", "y:1", "c:-1"],
                      [one, Desc(), two])
    old = GraphOp("a", "A", ["x:0", "", "y:1", "c:-1"], [one, two])
    assert current.input_desc_of(2) is two
    assert old.input_desc_of(2) is two
    assert old.input_desc_of(0) is one
    assert old.input_desc_of(1) is None


def test_an_operator_inserted_by_ge_has_no_origin(path):
    graph_writer.write_graphs(path, [Graph("g", [
        GraphOp("t", "TransData", original_op_names=[]),
        GraphOp("u", "TransData", original_op_names=[""]),
        GraphOp("v", "Relu")])])
    inserted, empty, own = next(graph_reader.read_graphs(path)).ops
    assert inserted.original_op_names == empty.original_op_names == []
    assert own.original_op_names is None and own.origins == ["v"]


def test_edges_are_split_at_the_last_colon():
    assert split_edge("a:b/c:12") == ("a:b/c", 12)
    assert split_edge("a:-1") == ("a", -1)
    assert split_edge("") == ("", 0)
    with pytest.raises(FormatError):
        split_edge("a:b")


def test_connections_are_filled_in_as_ge_does():
    ops = [GraphOp("a", "Data"), GraphOp("b", "Data"),
           GraphOp("c", "Add", ["a:0", "b:0", "a:-1"])]
    connect(ops)
    assert ops[2].fields == {"id": 2, "src_name": ["a", "b", "a"],
                             "src_index": [0, 0, -1], "dst_name": [],
                             "dst_index": []}
    assert ops[0].fields["dst_name"] == ["c", "c"]
    assert ops[0].fields["dst_index"] == [0, -1]
