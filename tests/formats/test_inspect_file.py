"""inspect FILE: what is this, in a dict and in words."""
import json
import os

import numpy as np
import pytest

from keras_npu_dump.analysis.inspect.file import inspect_file, inspect_folder
from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.formats import mapping
from keras_npu_dump.formats.graph import graph_writer
from keras_npu_dump.formats.stats import stats_writer
from keras_npu_dump.formats.tensor import dump_file, opdebug
from keras_npu_dump.report.inspect_text import as_text
from tests.formats import graphs
from tests.formats.test_graph_twins import ONNX


def told(path):
    """The dict, checked to be JSON, and its text."""
    description = inspect_file(path)
    json.dumps(description, allow_nan=False)
    return description, as_text(description)


def test_a_dump_file(tmp_path):
    path = tmp_path / "MatMulV2.net_MatMul.7.3.1900000000123456"
    values = np.array([[1, np.nan], [np.inf, -2]], np.float32)
    dump_file.write_file(
        path, "net/MatMul", [values, dump_file.TensorValue(None, 1, shape=(9,),
                                                  size=36)],
        [dump_file.TensorValue(values, original_shape=(2, 2),
                      original_op=dump_file.OriginalOp("net/MatMul", None, 1, 1),
                      sub_format=3),
         dump_file.TensorValue(b"abc", 13), np.zeros(3, np.complex64),
         np.arange(5)], 1900000000123456)
    description, text = told(path)
    assert description["kind"] == "dump"
    assert description["op_name"] == "net/MatMul"
    assert description["name"]["task_id"] == 7
    first, missing = description["tensors"][:2]
    assert (first["dtype"], first["format"], first["shape"]) \
        == ("DT_FLOAT", "ND", [2, 2])
    assert first["statistics"] == {
        "max": "inf", "min": -2.0, "avg": "inf", "count": 4, "nan": 1,
        "neg_inf": 0, "pos_inf": 1}
    assert first["first_values"] == [1.0, "nan", "inf", -2.0]
    assert not missing["stored"] and "statistics" not in missing
    output = description["tensors"][2]
    assert output["original_op"] == {
        "name": "net/MatMul", "output_index": None, "dtype": "DT_FLOAT16",
        "format": "NHWC"}
    string = description["tensors"][3]
    assert "DT_STRING" in string["note"] and "statistics" not in string
    assert "statistics" not in description["tensors"][4]
    assert description["tensors"][5]["statistics"]["max"] == 4
    for word in ("net/MatMul", "MatMulV2", "DT_FLOAT ND [2, 2]",
                 "1 NaN, 1 +inf", "the device found no address", "DT_STRING"):
        assert word in text


def test_a_file_with_bytes_behind_and_attributes(tmp_path):
    path = tmp_path / "Add.a.1.2.1900000000123456"
    dump_file.write_file(path, "a", [np.zeros(2)], attrs={"k": "v"},
                      legacy=False)
    with open(path, "ab") as file:
        file.write(b"behind")
    description, text = told(path)
    assert description["trailing_bytes"] == 6 and "6 bytes" in text
    assert description["attrs"] == {"k": "v"}
    dump_file.write_file(path, "a", [np.zeros(2)], legacy=True, version="1.0")
    description, text = told(path)
    assert description["legacy"] and "old" in text


def test_a_statistics_file(tmp_path):
    path = tmp_path / "Add.a.1.2.1900000000123456.csv"
    stats_writer.write_stats(path, [np.array([np.nan, 1])],
                      [dump_file.TensorValue(b"\0\0", 27), np.float32(2)])
    description, text = told(path)
    assert [row["io"] for row in description["rows"]] == ["Input", "Output",
                                                          "Output"]
    assert description["rows"][0]["max"] == "nan"
    assert description["rows"][1]["max"] is None
    assert description["rows"][2]["avg"] == 2.0
    assert "not given by the device" in text and "1 NaN" in text


def test_an_overflow_file(tmp_path):
    path = tmp_path / "Opdebug.Node_OpDebug.5.3.1673383728094391"
    dump_file.write_file(path, "Node_OpDebug", [], [
        opdebug.pack_record("AIC", {"task_id": 5}, (1, 0, 0, 2), 1)])
    description, text = told(path)
    record, = description["records"]
    assert (record["source"], record["task_id"], record["status"]) \
        == ("AIC", 5, [1, 0, 0, 2])
    assert "task 5" in text and "0x2" in text


def test_graph_files(tmp_path, shared_fixtures):
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    graph_writer.write_graphs(path, graphs.toy())
    description, text = told(path)
    assert [graph["operators"] for graph in description["graphs"]] == [1, 1]
    assert description["name"]["stage"] == "Build"
    assert "__inference_train_function_55: 1 operator," in text
    twin = tmp_path / "ge_onnx_00000001_graph_1_Build.pbtxt"
    twin.write_bytes(ONNX % b"")
    description, text = told(twin)
    assert "no original operator names" in text
    real = shared_fixtures / "graphs" \
        / "offline_resnet50.ge_proto_00000062_Build.txt"
    description, text = told(real)  # its name is not GE's: content decides
    assert description["graphs"][0]["operators"] == 170
    assert not description["graphs"][0]["has_iterator"]


def test_a_mapping_and_the_files_behind_it(tmp_path):
    name = "ReduceSum." + "a" * 260 + ".88.4.1900000000777777"
    path = mapping.create_dump_file(tmp_path, name)
    dump_file.write_file(path, "a/b", [np.zeros(3)])
    with open(tmp_path / "mapping.csv", "a") as file:
        file.write("77,Add.gone.1.2.1900000000777777\n")
    description, text = told(tmp_path / "mapping.csv")
    assert description["rows"] == {os.path.basename(path): name,
                                   "77": "Add.gone.1.2.1900000000777777"}
    assert description["missing_files"] == ["77"]
    assert "no such file" in text
    description, text = told(path)
    assert description["full_name"] == name and name in text
    assert description["name"]["op_type"] == "ReduceSum"


def test_content_decides_where_the_name_says_nothing(tmp_path):
    path = tmp_path / "renamed"
    dump_file.write_file(path, "a", [np.zeros(3)])
    assert told(path)[0]["kind"] == "dump"
    stats_writer.write_stats(path, [np.zeros(3)])
    assert told(path)[0]["kind"] == "stats"


def test_what_is_nothing_of_these_is_one_error(tmp_path):
    path = tmp_path / "Add.a.1.2.1900000000123456"
    path.write_bytes(b"nothing of these")
    with pytest.raises(FormatError, match="not a dump file"):
        inspect_file(path)
    with pytest.raises(InputError):
        inspect_file(tmp_path / "no")
    with pytest.raises(InputError):
        inspect_file(tmp_path)


def test_a_folder_of_tensors_and_statistics(tmp_path):
    step = tmp_path / "20310102030405" / "0" / "m" / "1" / "0"
    step.mkdir(parents=True)
    name = "Add.a.1.2.1900000000123456"
    dump_file.write_file(step / name, "a", [np.array([1, np.nan])],
                      [np.zeros(2, np.complex64)])
    stats_writer.write_stats(step / (name + ".csv"), [np.arange(3)])
    (step / "Cut.a.1.2.1900000000123456").write_bytes(b"123")
    description = inspect_folder(tmp_path)
    json.dumps(description, allow_nan=False)
    assert description["files"] == 3 and len(description["tensors"]) == 3
    first, second, third = description["tensors"]
    assert (first["nan"], first["max"], first["avg"]) == (1, 1.0, "nan")
    assert second["max"] is None and second["dtype"] == "DT_COMPLEX64"
    assert third["file"].endswith(".csv") and third["max"] == 2.0
    problem, = description["problems"]
    assert problem["path"] == str(step / "Cut.a.1.2.1900000000123456")
    text = as_text(description)
    assert "3 files, 3 tensors" in text and "cannot be read" in text
    with pytest.raises(InputError):
        inspect_folder(step / name)
