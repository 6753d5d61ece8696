"""Does inspect answer what was asked, and say why where it cannot?"""
import json
import os
import tempfile

import numpy as np
import pytest

from keras_npu_dump.cli import main
from keras_npu_dump.formats.graph import ge_graph, graph_writer
from keras_npu_dump.formats.tensor import dump_file
from tests.analysis.synthetic import Job, op
from tests.cli.test_exporting import refused

OPS = [op("x", "Data"), op("net/d1/MatMul", "MatMul", ["x:0"], ["d1/MatMul"]),
       op("net/relu", "Relu", ["net/d1/MatMul:0"])]
VALUES = {"net/d1/MatMul": ([dump_file.TensorValue(b"", 22, shape=(0,)), np.arange(4.)],
                            [np.ones(4)]),
          "net/relu": ([np.ones(4)], [np.ones(1)])}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dump(here):
    job = Job(here / "d", OPS)
    for index in range(6):
        job.execution(index, VALUES, iteration=(1, 10 + index))
    return here / "d"


def shown(capsys, *arguments):
    assert main(["inspect"] + [str(one) for one in arguments]) == 0
    return capsys.readouterr().out


def described(capsys, *arguments):
    return json.loads(shown(capsys, "--json", *arguments))


def test_capitals_of_a_type_do_not_matter(dump, capsys):
    found, = described(capsys, dump, "--op", "d1/MatMul$", "--type", "matmul")["operators"]
    assert found["op"] == "net/d1/MatMul"


def test_it_is_said_which_filter_let_nothing_through(dump, capsys):
    message = refused(capsys, "inspect", dump, "--op", "d1/MatMul$", "--type", "Relu")
    assert message.startswith("keras-npu-dump: error: op_type: ") and "but of MatMul" in message
    message = refused(capsys, "inspect", dump, "--op", "conv", "--type", "Relu")
    assert message.startswith("keras-npu-dump: error: op: ")
    assert "there are MatMul" in refused(capsys, "inspect", dump, "--type", "MatMulV2")
    message = refused(capsys, "inspect", dump, "--type", "Relu", "--role", "eval")
    assert message.startswith("keras-npu-dump: error: role: ") and "train, or all" in message


@pytest.mark.parametrize("step, indices", [
    ("3", {3}), ("3-5", {3, 4, 5}), ("1|3-4", {1, 3, 4}), ("4-9", {4, 5}), ("all", set(range(6))),
    ("1:12", {2}), ("0:1:12", {2})])
def test_steps_are_written_as_in_dump_step(dump, capsys, step, indices):
    found, = described(capsys, dump, "--op", "relu", "--step", step)["operators"]
    assert {row["data_index"] for row in found["tensors"]} == indices
    assert {row["iteration"]["batch"] for row in found["tensors"]} == {10 + i for i in indices}


@pytest.mark.parametrize("step, part", [
    ("7-9", "there are the data_index 0, 1, 2"), ("5-3", "3-5 or 0|3-5"), ("0,3", "3-5 or 0|3-5"),
    ("0:1:2:3", "fit:epoch:batch"), ("", "3-5 or 0|3-5")])
def test_a_step_that_is_none(dump, capsys, step, part):
    assert part in refused(capsys, "inspect", dump, "--op", "relu", "--step", step)


def test_one_tensor_of_several_says_where_it_is_besides(dump, capsys):
    lines = shown(capsys, dump, "--tensor", "relu").splitlines()
    assert "net/relu" in lines[0] and "data_index 0 (fit 0, epoch 1, batch 10)" in lines[0]
    assert lines[1].split("also at")[1].strip() == "1, 2, 3, 4, 5 (--step)"
    assert "also at" not in shown(capsys, dump, "--tensor", "relu", "--step", "4")


def test_the_rows_of_two_fits_can_be_told_apart(here, capsys):
    job = Job(here / "d", OPS)
    job.execution(0, VALUES)
    second = Job(here / "d", OPS, rank=1)
    second.execution(0, VALUES, iteration=(3, 4))
    text = shown(capsys, "d", "--op", "relu")
    assert "fit:epoch:batch" in text and " 0:0:0 " in text and " 0:3:4 " in text
    text = shown(capsys, "d", "--tensor", "relu")
    assert "also at      0 (fit 0, epoch 3, batch 4, rank 1)" in text


def test_a_tensor_that_only_a_later_graph_has(here, capsys):
    Job(here / "d", [op("x", "Data"), op("a/old", "Relu", ["x:0"])]).execution(
        0, {"a/old": ([np.ones(2)], [np.ones(2)])})
    Job(here / "d", [op("x", "Data"), op("a/new", "Relu", ["x:0"]), op("b/new", "Relu", ["x:0"])],
        rank=1).execution(0, {"a/new": ([np.ones(2)], [np.ones(2)])})
    text = shown(capsys, "d", "--tensor", "a/new")
    assert "rank 1" in text.splitlines()[0] and "also at" not in text
    assert "no operator is called 'new'" in refused(capsys, "inspect", "d", "--tensor", "new")


def test_what_has_no_values_has_no_statistics(dump, capsys):
    lines = shown(capsys, dump, "--op", "MatMul", "--step", "0").splitlines()
    empty, = [line.split() for line in lines if "DT_RESOURCE" in line or " input 0" in line]
    assert empty[-4:] == ["-"] * 4
    assert "nan" not in "\n".join(lines)


def test_an_overview_begins_with_the_training_and_folds_what_sets_variables(here, capsys):
    Job(here / "d", OPS).execution(0, VALUES)
    names = ["AssignVariableOp_%d" % number for number in range(5)]
    source = next((here / "d").glob("graphs/*/*_Build.txt")).parent
    session = next((here / "d").glob("2*/0"))
    for number, name in enumerate(names, 10):
        graph_writer.write_graphs(
            source / ("ge_proto_%08d_graph_%d_Build.txt" % (number - 10, number)),
            [ge_graph.Graph(name, [op("a", "AssignVariableOp")])])
        folder = session / name / str(number) / "0"
        folder.mkdir(parents=True)
        dump_file.write_file(folder / "AssignVariableOp.a.1.2.1900000000123456", "a", [np.ones(3)])
    roles = [one["role"] for one in described(capsys, "d")["graphs"]]
    assert roles == ["train"] + ["init"] * 5
    text = shown(capsys, "d")
    assert text.index("train graph") < text.index("and 5 graphs of role init")
    assert "AssignVariableOp" not in text
    text = shown(capsys, "d", "--role", "init")
    assert all(name in text for name in names) and "train graph" not in text


def test_operators_of_a_graph_file(dump, capsys):
    path = next(dump.glob("graphs/*/*_Build.txt"))
    found, = described(capsys, path, "--op", "^d1/Mat")["operators"]
    assert (found["op"], found["op_type"], found["inputs"]) == ("net/d1/MatMul", "MatMul", ["x:0"])
    text = shown(capsys, path, "--type", "relu")
    assert "net/relu  Relu" in text and "MatMul  MatMul" not in text
    assert "none is of type 'Cast'" in refused(
        capsys, "inspect", path, "--op", "d1", "--type", "Cast")
    assert "regular expression" in refused(capsys, "inspect", path, "--op", "(")
    assert "--step" in refused(capsys, "inspect", path, "--op", "d1", "--step", "3")


def test_a_question_that_a_file_cannot_answer(dump, capsys):
    leaf = next(dump.glob("2*/0/*/*/0"))
    file = next(iter(leaf.iterdir()))
    assert "--op" in refused(capsys, "inspect", file, "--op", "relu")
    assert "--tensor" in refused(capsys, "inspect", file, "--tensor", "relu")
    # A folder of dump files is a part of a run.
    found, = described(capsys, leaf, "--op", "relu")["operators"]
    assert found["op"] == "net/relu"


def test_types_that_are_not_shown_are_counted(here, capsys):
    path = here / "ge_proto_00000003_graph_3_Build.txt"
    graph_writer.write_graphs(path, [ge_graph.Graph("g", [
        op("o%d" % number, "Type%02d" % number) for number in range(11)])])
    assert "1 Type07 and 3 more types" in shown(capsys, path)
    graph_writer.write_graphs(path, [ge_graph.Graph("g", [op("o", "Relu")])])
    text = shown(capsys, path)
    assert "graph g: 1 operator, " in text and "more type" not in text


def test_one_is_singular(here, capsys):
    dump_file.write_file(here / "Add.a.1.2.1900000000123456", "a", [np.zeros(1, np.int8)])
    text = shown(capsys, "Add.a.1.2.1900000000123456")
    assert "1 byte\n" in text and "1 element\n" in text


def test_an_empty_folder_and_nothing(here, capsys):
    (here / "empty").mkdir()
    assert "nothing was dumped here" in refused(capsys, "inspect", "empty")
    message = refused(capsys, "inspect", "nosuch")
    assert "Expected a file or folder" in message and "does not exist" in message


@pytest.mark.parametrize("name", ["notes", "Add.a.1.2.1900000000123456"])
@pytest.mark.parametrize("content, part", [
    (b"the loss was 0.3\n", "a text file"), ("füße\n".encode(), "a text file"),
    (b'{"schema": 1}\n', "JSON"), (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
    (b"\x93NUMPY\x01\0v\0{'descr'", "a numpy file"), (b"\x01" * 99, "no length of a header"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "a gzip archive")])
def test_a_foreign_file_is_called_what_it_looks_like(here, capsys, name, content, part):
    (here / name).write_bytes(content)
    message = refused(capsys, "inspect", name)
    assert name in message and part in message and "is said to have" not in message


@pytest.mark.parametrize("name", ["cut.txt", "ge_proto_00000003_graph_3_Build.txt"])
def test_a_graph_that_is_cut_off_is_called_so(here, capsys, name):
    whole = here / "whole.txt"
    graph_writer.write_graphs(whole, [ge_graph.Graph("g", OPS)])
    (here / name).write_bytes(whole.read_bytes()[:-30])
    message = refused(capsys, "inspect", name)
    assert "truncated" in message and "header" not in message


def test_lines_of_a_mapping_that_are_skipped_are_counted(here, capsys):
    lines = ["123,Add.a.1.2.1900000000123456", "not a line", "x,y", "1,", "", "4,a,b"]
    (here / "mapping.csv").write_text("\n".join(lines) + "\n")
    assert "skipped: 4 lines that are not DIGITS,NAME" in shown(capsys, "mapping.csv")
    description = described(capsys, "mapping.csv")
    assert description["skipped_lines"] == 4 and list(description["rows"]) == ["123"]
    (here / "mapping.csv").write_text(lines[0])
    assert "skipped" not in shown(capsys, "mapping.csv")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="a file whose reading fails")
@pytest.mark.parametrize("name", ["notes", "Add.a.1.2.1900000000123456", "mapping.csv",
                                  "ge_proto_00000003_graph_3_Build.txt"])
def test_a_file_that_fails_while_it_is_read(here, capsys, name):
    (here / name).symlink_to("/proc/self/mem")
    assert "cannot read %s" % name in refused(capsys, "inspect", name)


def test_a_link_to_itself_changes_nothing(dump, capsys):
    before = described(capsys, dump)
    (dump / "Add.a.1.2.1900000000123456").symlink_to("Add.a.1.2.1900000000123456")
    assert described(capsys, dump) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user to try it")
def test_what_may_not_be_read(capsys):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        file = os.path.join(folder, "Add.a.1.2.1900000000123456")
        dump_file.write_file(file, "a", [np.zeros(1)])
        os.mkdir(os.path.join(folder, "closed"), 0o700)
        shown(capsys, file)  # the interpreter has read what it needs
        os.chmod(file, 0o600)
        os.seteuid(65534)
        try:
            for path in (file, os.path.join(folder, "closed")):
                assert "cannot read %s" % path in refused(capsys, "inspect", path)
        finally:
            os.seteuid(0)
