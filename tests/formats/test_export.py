"""export --to npy, bin, json: names, values, resuming, what goes wrong."""
import json
import os

import numpy as np
import pytest

from keras_npu_dump.errors import InputError
from keras_npu_dump.export.bin import export_bin
from keras_npu_dump.export.graph_json import export_graph_json
from keras_npu_dump.export.npy import export_npy
from keras_npu_dump.export.tensor_files import origin_formats_of
from keras_npu_dump.formats import mapping, npy_bytes
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.graph.ge_graph import Desc, Graph, GraphOp
from keras_npu_dump.formats.stats import stats_writer
from keras_npu_dump.formats.tensor import dump_file, opdebug
from tests.formats.test_layouts import blocked_nhwc, numbered

STEP = os.path.join("20310102030405", "0", "train", "6", "0")
CONV = "Conv2D.conv.1.2.1617161424189416"


@pytest.fixture
def run(tmp_path):
    """A dump with one step: a convolution in blocks, and its company."""
    folder = tmp_path / "dump" / STEP
    folder.mkdir(parents=True)
    plain = numbered((2, 4, 4, 20)).astype(np.float16)
    dump_file.write_file(folder / CONV, "net/conv", [
        dump_file.TensorValue(blocked_nhwc(plain, 16), format=3,
                     original_shape=plain.shape)],
        [np.arange(6, dtype=np.float32).reshape(2, 3)], buffers=[b"l1"],
        spaces=[b"log"])
    dump_file.write_file(folder / "Cast.c.2.2.1617161424189417", "c", [],
                      [dump_file.TensorValue(b"\x80\x3f", 27, shape=()),
                       dump_file.TensorValue(b"text", 13, shape=(1,))])
    stats_writer.write_stats(folder / (CONV + ".csv"), [plain])
    (folder / "notes.txt").write_text("x")
    return tmp_path / "dump"


def tree_of(folder):
    return {os.path.relpath(os.path.join(path, name), folder)
            for path, _, names in os.walk(folder) for name in names}


def test_npy_files_have_the_vendors_names_and_original_layouts(run, tmp_path):
    out = tmp_path / "npy"
    result = export_npy(run, out)
    assert tree_of(out) == {os.path.join(STEP, name) for name in (
        CONV + ".input.0.npy", CONV + ".output.0.npy",
        CONV + ".l1buffer.0.bin", CONV + ".space.0.bin",
        "Cast.c.2.2.1617161424189417.output.0.npy",
        "Cast.c.2.2.1617161424189417.output.1.4.DT_STRING.NCHW.bin"
        .replace("NCHW", "ND"))}
    np.testing.assert_array_equal(
        np.load(out / STEP / (CONV + ".input.0.npy")),
        numbered((2, 4, 4, 20)))
    assert np.load(out / STEP / "Cast.c.2.2.1617161424189417.output.0.npy") \
        == 1.0
    assert (out / STEP / (CONV + ".space.0.bin")).read_bytes() == b"log"
    assert (result.files, result.written, result.skipped, result.passed) \
        == (2, 6, 0, 2)
    assert [(label, name) for _, label, name in result.raw] \
        == [("output:1", "DT_STRING")]
    assert not result.problems and not result.kept_layout
    assert result.bytes == sum(os.path.getsize(out / name)
                               for name in tree_of(out))


def test_files_and_folders_are_private(run, tmp_path):
    out = tmp_path / "npy"
    export_npy(run, out)
    for path, folders, names in os.walk(out):
        for name in folders:
            assert os.stat(os.path.join(path, name)).st_mode & 0o77 == 0
        for name in names:
            assert os.stat(os.path.join(path, name)).st_mode & 0o777 == 0o600


def test_bin_files_say_shape_type_and_layout_in_their_names(run, tmp_path):
    out = tmp_path / "bin"
    export_bin(run / STEP / CONV, out)
    assert tree_of(out) == {
        CONV + ".input.0.2_4_4_20.float16.NHWC.bin",
        CONV + ".output.0.2_3.float32.ND.bin",
        CONV + ".l1buffer.0.bin", CONV + ".space.0.bin"}
    np.testing.assert_array_equal(np.fromfile(
        out / (CONV + ".input.0.2_4_4_20.float16.NHWC.bin"), np.float16),
        numbered((2, 4, 4, 20)).reshape(-1))


def test_a_second_run_writes_nothing_and_a_broken_one_is_resumed(run,
                                                                 tmp_path):
    out = tmp_path / "npy"
    export_npy(run, out)
    broken = out / STEP / (CONV + ".input.0.npy")
    missing = out / STEP / (CONV + ".output.0.npy")
    whole = broken.read_bytes()
    times = {name: os.stat(out / name).st_mtime_ns for name in tree_of(out)}
    assert export_npy(run, out).written == 0
    os.truncate(broken, 200)
    missing.unlink()
    result = export_npy(run, out)
    assert (result.written, result.skipped) == (2, 4)
    assert broken.read_bytes() == whole and missing.exists()
    untouched = set(times) - {str(broken.relative_to(out)),
                              str(missing.relative_to(out))}
    assert all(os.stat(out / name).st_mtime_ns == times[name]
               for name in untouched)


def test_an_interrupted_run_is_resumed(run, tmp_path):
    out = tmp_path / "npy"

    class Stop(Exception):
        pass

    def stop(stage, done, total):
        assert (stage, total) == ("export", 4)
        if done == 1:
            raise Stop
    with pytest.raises(Stop):
        export_npy(run, out, progress=stop)
    first = len(tree_of(out))
    result = export_npy(run, out)
    assert 0 < first < 6 and result.written == 6 - first


def test_progress_counts_every_file(run, tmp_path):
    seen = []
    export_npy(run, tmp_path / "o", progress=lambda *args: seen.append(args))
    assert seen == [("export", number, 4) for number in (1, 2, 3, 4)]


def test_a_bad_file_is_a_problem_and_the_rest_is_written(run, tmp_path):
    bad = run / STEP / "Add.cut.1.2.1617161424189419"
    bad.write_bytes((run / STEP / CONV).read_bytes()[:200])
    (run / STEP / "123").write_bytes(b"x")
    result = export_npy(run, tmp_path / "o")
    assert result.files == 2
    problems = dict(result.problems)
    assert "truncated" in problems[str(bad)]
    assert "mapping.csv" in problems[str(run / STEP / "123")]


def test_the_graph_decides_between_layouts_that_both_fit(tmp_path):
    plain = numbered((1, 16, 16, 16)).astype(np.float32)
    name = "Conv2D.c.1.2.1617161424189416"
    dump_file.write_file(tmp_path / name, "net/c", [], [dump_file.TensorValue(
        blocked_nhwc(plain, 16), format=3, original_shape=plain.shape)])
    origins = origin_formats_of([Graph("g", [GraphOp(
        "net/c", "Conv2D", output_descs=[Desc(origin_format="NCHW")])])])
    assert origins == {("net/c", "output", 0): "NCHW"}
    export_npy(tmp_path / name, tmp_path / "a")
    export_npy(tmp_path / name, tmp_path / "b", origins)
    one = np.load(tmp_path / "a" / (name + ".output.0.npy"))
    two = np.load(tmp_path / "b" / (name + ".output.0.npy"))
    np.testing.assert_array_equal(one, plain)
    np.testing.assert_array_equal(two, plain.transpose(0, 3, 1, 2))


def test_a_layout_that_cannot_be_undone_is_kept_and_told(tmp_path):
    name = "Conv2D.c.1.2.1617161424189416"
    values = numbered((1, 1, 2, 2, 16))
    dump_file.write_file(tmp_path / name, "c", [], [dump_file.TensorValue(values,
                                                              format=3)])
    result = export_npy(tmp_path / name, tmp_path / "o")
    (source, label, why), = result.kept_layout
    assert source.endswith(name) and label == "output:0" and "shape" in why
    np.testing.assert_array_equal(
        np.load(tmp_path / "o" / (name + ".output.0.npy")), values)


def test_overflow_records_become_json(tmp_path):
    name = "Opdebug.Node_OpDebug.5.3.1673383728094391"
    dump_file.write_file(tmp_path / name, "Node_OpDebug", [], [
        opdebug.pack_record("AIC", {"task_id": 5, "pc_start": 16})])
    export_npy(tmp_path / name, tmp_path / "o")
    record = json.loads((tmp_path / "o" / (name + ".output.0.json"))
                        .read_text())
    assert record["magic"] == "0x5a5a5a5a"
    assert record["acc_list"]["acc_type"] == "AIC"
    assert record["acc_list"]["data"]["task_id"] == 5
    assert record["acc_list"]["data"]["pc_start"] == "0x10"


def test_long_names_are_mapped_like_the_vendors(tmp_path):
    long = "Add." + "a" * 290 + ".1.2.1617161424189416"
    folder = tmp_path / "in"
    folder.mkdir()
    path = mapping.create_dump_file(folder, long)
    for target in (path, folder / ("Add." + "b" * 225
                                   + ".1.2.1617161424189416")):
        dump_file.write_file(target, "a", [], [np.zeros(2)])
    assert export_npy(folder, tmp_path / "o").written == 2
    rows = mapping.read_mapping(tmp_path / "o")
    digits = os.path.basename(path)
    assert rows[digits] == long
    assert (tmp_path / "o" / (digits + ".output.0.npy")).exists()
    short = [name for name in os.listdir(tmp_path / "o")
             if len(name) == 32 + len(".npy")]
    assert len(short) == 1
    lines = (tmp_path / "o" / "mapping.csv").read_text().splitlines()
    assert any(line.startswith(short[0] + ",Add.bbb") for line in lines)
    export_npy(folder, tmp_path / "o")
    assert (tmp_path / "o" / "mapping.csv").read_text().splitlines() == lines


@pytest.mark.parametrize("number, dtype", [(1, "<f4"), (27, "<f4"),
                                           (7, "<i4")])
def test_large_tensors_are_copied_in_blocks(tmp_path, monkeypatch, number,
                                            dtype):
    from keras_npu_dump.export import folder_writer
    monkeypatch.setattr(folder_writer, "_LARGE", 1000)
    monkeypatch.setattr(folder_writer, "_BLOCK", 64)
    raw = np.arange(600, dtype=np.uint16).tobytes() * 2
    name = "Add.a.1.2.1617161424189416"
    count = len(raw) // (2 if number == 27 else 4)
    dump_file.write_file(tmp_path / name, "a", [
        dump_file.TensorValue(np.zeros((1, 1, 2, 2, 16), np.float16), format=3,
                     original_shape=(1, 2, 2, 3))],
        [dump_file.TensorValue(raw + b"tail", number, shape=(count // 2, 2))])
    result = export_npy(tmp_path / name, tmp_path / "o")
    values = np.load(tmp_path / "o" / (name + ".output.0.npy"))
    header = dump_file.read_header(tmp_path / name)
    expected = dump_file.read_array(tmp_path / name, header.outputs[0])
    assert values.dtype == dtype and values.shape == (count // 2, 2)
    np.testing.assert_array_equal(values, expected)
    assert np.load(tmp_path / "o" / (name + ".input.0.npy")).shape \
        == (1, 2, 2, 3)
    assert export_npy(tmp_path / name, tmp_path / "o").written == 0
    assert result.written == 2


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 4), (1,) * 30])
@pytest.mark.parametrize("dtype", ["<f4", "|b1", "<c16", "|u1"])
def test_heads_are_those_of_numpy(tmp_path, shape, dtype):
    values = np.ones(shape, dtype)
    data = npy_bytes.head(values.dtype, shape)
    assert len(data) % 64 == 0
    (tmp_path / "a.npy").write_bytes(data + values.tobytes())
    back = np.load(tmp_path / "a.npy")
    assert back.dtype == values.dtype and back.shape == shape
    np.testing.assert_array_equal(back, values)


def test_a_missing_source_is_an_input_error(tmp_path):
    for export in (export_npy, export_bin, export_graph_json):
        with pytest.raises(InputError, match="does not exist"):
            export(tmp_path / "no", tmp_path / "o")


def test_graphs_become_json_beside_each_other(shared_fixtures, tmp_path):
    source = tmp_path / "graphs" / "pid_1_deviceid_0"
    source.mkdir(parents=True)
    real = (shared_fixtures / "graphs"
            / "small_train_2020.ge_proto_00056_Build.txt").read_bytes()
    (source / "ge_proto_00056_Build.txt").write_bytes(real)
    (source / "ge_proto_00055_PreRunBegin.txt").write_bytes(real)
    (source / "ge_proto_00057_Build.txt").write_bytes(real[:9000])
    out = tmp_path / "json"
    result = export_graph_json(tmp_path / "graphs", out)
    name = os.path.join("pid_1_deviceid_0", "ge_proto_00056_Build.json")
    assert tree_of(out) == {name}
    assert (result.written, len(result.problems)) == (1, 1)
    assert "truncated" in result.problems[0][1]
    document = json.loads((out / name).read_text())
    graph, = graph_reader.read_graphs(source / "ge_proto_00056_Build.txt")
    assert [op["name"] for op in document["graph"][0]["op"]] \
        == [op.name for op in graph.ops]
    assert export_graph_json(tmp_path / "graphs", out).skipped == 1
    everything = export_graph_json(tmp_path / "graphs", tmp_path / "all",
                                   only_build=False)
    assert everything.written == 2


@pytest.mark.parametrize("form", [export_npy, export_bin])
@pytest.mark.parametrize("shape", [
    (1,) * 70, (2 ** 40, 2 ** 40), (0, 2 ** 40, 2 ** 40), (2 ** 62,)])
def test_shapes_that_no_array_has_are_told_and_the_rest_is_written(run, tmp_path, form, shape):
    expected = form(run, tmp_path / "before")
    blocks = np.zeros((1, 1, 16, 16), np.float32)
    dump_file.write_file(run / STEP / "Add.absurd.1.2.1617161424189419", "a", [
        dump_file.TensorValue(blocks, format=29, original_shape=shape)])
    dump_file.write_file(run / STEP / "Add.odd.1.2.1617161424189420", "a", [
        dump_file.TensorValue(b"\0" * 64, 1, shape=shape)])
    result = form(run, tmp_path / "out")
    told = [one[0] for one in result.problems] + [one[0] for one in result.kept_layout]
    assert [path for path in told if path.endswith("Add.absurd.1.2.1617161424189419")]
    assert tree_of(tmp_path / "before") <= tree_of(tmp_path / "out")
    assert result.written + len(result.problems) == expected.written + 2
