"""Graph files that editors and other programs have printed: what protobuf takes is read whole."""
import codecs
import re

import pytest

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph import graph_reader, protobuf_text
from tests.formats import graphs

TEXT = graphs.TOY_TEXT.decode()
BLOCK = re.compile(r"( *)(\w+) \{\n([^{}]*)\1\}\n")


def on_one_line(text, *names, top=False):
    """The innermost blocks of these names in a line each; `top`: of the upper levels, too."""
    def joined(match):
        indent, name, inside = match.groups()
        if name not in names:
            return match.group().replace("{", "\1").replace("}", "\2")
        return "%s%s \1 %s \2\n" % (indent, name, " ".join(inside.split("\n")).strip())
    before = None
    while before != text:
        before, text = text, BLOCK.sub(joined, text)
    return text.replace("\1", "{").replace("\2", "}")


def moved(text, line, before):
    """A line put in front of another."""
    assert line in text and before in text
    return text.replace(line, "", 1).replace(before, line + before, 1)


INPUTS = "".join('    input: "%s"\n' % name for name in (
    "toy/x:0", "toy/dense/kernel:0", "", "toy/init:-1"))
CASES = {
    "no line end": TEXT[:-1],
    "byte order mark": codecs.BOM_UTF8.decode() + TEXT,
    "both": codecs.BOM_UTF8.decode() + TEXT[:-1],
    "inputs in a list": TEXT.replace(
        INPUTS, '    input: ["toy/x:0", "toy/dense/kernel:0","" , "toy/init:-1"]\n'),
    "dims in a list": TEXT.replace("        dim: 4\n        dim: 16\n", "        dim: [4, 16]\n"),
    "texts in a list": TEXT.replace(
        '          s: "toy/dense/MatMul"\n          s: "toy/dense/BiasAdd"\n',
        '          s: ["toy/dense/MatMul","toy/dense/BiasAdd"]\n'),
    "values on one line": on_one_line(TEXT, "value"),
    "attributes on one line": on_one_line(TEXT, "value", "list", "attr"),
    "shapes on one line": on_one_line(TEXT, "shape"),
    "descriptions on one line": on_one_line(
        TEXT, "value", "list", "attr", "shape", "input_desc", "output_desc"),
    "operators on one line": on_one_line(
        TEXT, "value", "list", "attr", "shape", "input_desc", "output_desc", "op"),
    "type in front of the name": moved(
        TEXT, '    type: "MatMulV2"\n', '    name: "toy/dense/MatMulBiasAdd"\n'),
    "inputs behind the attributes": moved(TEXT, INPUTS, "    id: 12\n"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_it_says_what_the_file_of_ge_says(tmp_path, case):
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    path.write_bytes(CASES[case].encode())
    assert CASES[case] != TEXT
    found = list(graph_reader.read_graphs(str(path)))
    assert found == graphs.toy()
    train = found[0].ops[0]
    assert train.origins == ["toy/dense/MatMul", "toy/dense/BiasAdd"]
    assert train.data_inputs == ["toy/x:0", "toy/dense/kernel:0", ""]
    assert train.output_descs[0].origin_shape == (4, 32)
    assert graph_reader.read_head(str(path)).name == "__inference_train_function_55"
    assert [op.name for _, op in graph_reader.iter_ops(str(path))] == [
        op.name for graph in graphs.toy() for op in graph.ops]


@pytest.mark.parametrize("case", list(CASES))
def test_where_it_is_cut_off_it_is_said(tmp_path, case):
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    data = CASES[case].encode()
    for lost in (5, 40, 400):
        path.write_bytes(data[:-lost])
        with pytest.raises(FormatError):
            list(graph_reader.read_graphs(str(path)))


def test_braces_in_texts_are_no_blocks(tmp_path):
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    text = '{\\"a\\": [1, {b: 2}]} name: \\"x\\"'
    path.write_bytes(TEXT.replace("ToyMatMulBiasPass", text).encode())
    op = next(graph_reader.read_graphs(str(path))).ops[0]
    assert op._source is not None  # read as GE prints it
    assert op.attr("pass_name")[0] == '{"a": [1, {b: 2}]} name: "x"'


@pytest.mark.parametrize("text", [
    "a: [1, 2", "a: [1 }", "a: [[1]]", "[1]", "a { b: [1, 2 }", "a: 1 ]"])
def test_a_list_that_is_none_is_an_error(text):
    with pytest.raises(protobuf_text.TextError):
        protobuf_text.parse(text.encode())


def test_lists_of_all_kinds():
    text = b'e: [ONE, TWO] n: [-1,2.5] m: [{a: 1}, < b: [] >] s: ["x" , \'y\'] z: []'
    assert protobuf_text.parse(text) == [
        ("e", "ONE"), ("e", "TWO"), ("n", "-1"), ("n", "2.5"), ("m", [("a", "1")]), ("m", []),
        ("s", b"x"), ("s", b"y")]
