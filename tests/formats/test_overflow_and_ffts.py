"""Overflow records, and operators that were cut into slices."""
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.tensor import dump_file, ffts, opdebug

WORD = st.integers(0, (1 << 64) - 1)


def written(tmp_path, record):
    path = tmp_path / "Opdebug.Node_OpDebug.5.3.1673383728094391"
    dump_file.write_file(path, "Node_OpDebug", [], [dump_file.TensorValue(
        record, 4, original_op=dump_file.OriginalOp("Node_OpDebug"))])
    return path


@pytest.mark.parametrize("source, version, words", [
    ("AIC", 0, 1), ("AIC", 1, 4), ("AIV", 1, 4), ("AICPU", 1, 1),
    ("SDMA", 0, 1)])
def test_a_record_of_the_new_layout_is_typed(tmp_path, source, version,
                                             words):
    fields = {"model_id": 7, "stream_id": 3, "task_id": 5, "thread_id": 2}
    record = opdebug.pack_record(source, fields, tuple(range(1, words + 1)),
                                  version)
    assert len(record) == 2048
    got, = opdebug.read_overflow(written(tmp_path, record))
    assert (got.source, got.version, got.valid) == (source, version, True)
    assert (got.model_id, got.stream_id, got.task_id) == (7, 3, 5)
    assert got.status == tuple(range(1, words + 1))
    assert got.fields["thread_id"] == 2
    assert got.fields["task_type"] == 65535


def test_an_id_of_65535_is_none():
    got, = opdebug.parse_record(opdebug.pack_record("AIC", {}))
    assert (got.model_id, got.stream_id, got.task_id) == (None, None, None)


def test_the_old_layout_has_three_blocks(tmp_path):
    record = bytearray(2048)
    struct.pack_into("<6Q", record, 128, 1, 2, 3, 4, 0x1000, 0x2000)
    struct.pack_into("<Q", record, 768, 9)
    struct.pack_into("<6Q", record, 256, 65535, 12, 13, 0, 0x3000, 0x4000)
    struct.pack_into("<3Q", record, 1024, 0xAB, 6, 0x20)
    dha, l2, core = opdebug.read_overflow(written(tmp_path, bytes(record)))
    assert (dha.source, dha.valid, dha.status) == ("DHA Atomic Add", False,
                                                   (0,))
    assert (l2.source, l2.valid, l2.status) == ("L2 Atomic Add", True, (9,))
    assert (l2.model_id, l2.stream_id, l2.task_id) == (1, 2, 3)
    assert l2.fields == {"task_type": 4, "pc_start": 0x1000,
                         "para_base": 0x2000}
    assert (core.model_id, core.stream_id, core.status) == (None, 12, (0x20,))
    assert (core.fields["kernel_code"], core.fields["block_idx"]) == (0xAB, 6)
    assert core.version is None


@given(st.sampled_from(["AIC", "AIV", "AICPU", "SDMA"]), WORD, WORD,
       st.sampled_from([0, 1]))
def test_a_written_record_reads_back(source, stream, status, version):
    words = (status,) * (4 if version and source.startswith("AI")
                         and source != "AICPU" else 1)
    got, = opdebug.parse_record(opdebug.pack_record(
        source, {"stream_id": stream}, words, version))
    assert got.stream_id == (None if stream == 65535 else stream)
    assert got.status == words


def test_any_prefix_of_a_record_is_an_error():
    record = opdebug.pack_record("AIC", {"task_id": 1}, (1, 2, 3, 4), 1)
    needed = 24 + 14 * 8
    for length in range(needed):
        with pytest.raises(ValueError):
            opdebug.parse_record(record[:length])
    assert opdebug.parse_record(record[:needed])[0].task_id == 1


@given(st.binary(max_size=2048))
def test_any_bytes_are_records_or_one_error(data):
    for candidate in (data, struct.pack("<I", 0x5A5A5A5A) + data,
                      data.ljust(2048, b"\1")):
        try:
            assert opdebug.parse_record(candidate)
            json.dumps(opdebug.vendor_json(candidate))
        except ValueError:
            pass


def test_a_file_without_a_record_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="5a5a5a5a"):
        opdebug.read_overflow(written(tmp_path, b"\1" * 100))
    path = tmp_path / "none"
    dump_file.write_file(path, "Node_OpDebug", [np.zeros(3)])
    with pytest.raises(FormatError, match="no output"):
        opdebug.read_overflow(path)


def slices_of(tmp_path, whole, parts, automatic, axis=0):
    """Files of one operator, cut into parts along an axis."""
    pieces = np.array_split(whole, parts, axis)
    starts = np.cumsum([0] + [piece.shape[axis] for piece in pieces])
    bounds = [[[{"lower": int(starts[p]) if a == axis else 0,
                 "higher": int(starts[p + 1]) if a == axis else size}
                for a, size in enumerate(whole.shape)]]
              for p in range(parts)]
    cuts = [parts if a == axis else 1 for a in range(whole.ndim)]
    info = json.dumps({
        "threadMode": int(automatic), "slice_instance_num": parts,
        "outputCutList": [cuts], "input_tensor_slice": bounds,
        "output_tensor_slice": bounds})
    paths = []
    for part, piece in enumerate(pieces):
        name = "Conv2D.%s.2.9.%d.4.330.%d.0" % (
            "conv" if automatic else "pre_sgt_graph_0_conv_lxslice%d" % part,
            1670205069987340 - part, part if automatic else 0)
        # in automatic mode the header has the whole tensor's shape
        shape = whole.shape if automatic else piece.shape
        path = tmp_path / name
        dump_file.write_file(path, "conv", [],
                          [dump_file.TensorValue(piece.tobytes(), 1, shape=shape)],
                          attrs={"_sgt_json_info": info})
        paths.append(path)
    return paths


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_of_one_operator_are_joined(tmp_path, automatic, axis):
    whole = np.arange(60, dtype=np.float32).reshape(5, 12)
    paths = slices_of(tmp_path, whole, 4, automatic, axis)
    groups = ffts.group_slices(reversed([path.name for path in paths]))
    (key, names), = groups.items()
    assert key[0] == "Conv2D"
    assert names == [path.name for path in paths]
    joined = ffts.join_slices([tmp_path / name for name in names])
    assert joined.complete and joined.axes == [axis]
    assert joined.op_name == "conv"
    np.testing.assert_array_equal(joined.outputs[0], whole)


def test_a_missing_slice_is_seen(tmp_path):
    whole = np.arange(60, dtype=np.float32).reshape(5, 12)
    paths = slices_of(tmp_path, whole, 3, True)
    joined = ffts.join_slices([paths[0], paths[2]])
    assert not joined.complete
    assert joined.outputs[0].shape == (3, 12)


def test_the_last_of_two_executions_counts():
    names = ["Conv2D.conv.2.9.100.4.330.0.0", "Conv2D.conv.2.9.300.4.330.1.0",
             "Conv2D.conv.2.9.200.4.330.0.0", "Relu.relu.2.9.300.4.331.0.0",
             "Conv2D.conv.2.9.300.4.330.0.0.csv", "Relu.x.1.2.3"]
    (_, group), = ffts.group_slices(names).items()
    assert group == ["Conv2D.conv.2.9.200.4.330.0.0",
                     "Conv2D.conv.2.9.300.4.330.1.0"]


def test_slices_that_do_not_fit_are_one_error(tmp_path):
    whole = np.arange(60, dtype=np.float32).reshape(5, 12)
    paths = slices_of(tmp_path, whole, 2, False)
    dump_file.write_file(paths[1], "conv", [], [np.zeros((2, 3), np.float32)],
                      attrs={})
    with pytest.raises(FormatError, match="do not fit along axis 0"):
        ffts.join_slices(paths)
    dump_file.write_file(paths[1], "conv", [], [])
    with pytest.raises(FormatError, match="different numbers of outputs"):
        ffts.join_slices(paths)
    with pytest.raises(FormatError, match="how the operator was cut"):
        ffts.join_slices([paths[1], paths[1]])


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from([
                        "threadMode", "slice_instance_num", "outputCutList",
                        "output_tensor_slice", "lower", "higher"]), inner)))
def test_any_slice_attribute_is_read_or_ignored(value):
    header = dump_file.DumpHeader(attrs={"_sgt_json_info": json.dumps(value)})
    info = ffts.slice_info(header)
    assert info is None or info.count >= 0
    assert ffts.slice_info(dump_file.DumpHeader(
        attrs={"x": "[" * 100000})) is None


@pytest.mark.parametrize("shape", [(0, 2 ** 40, 2 ** 40), (1,) * 70, (2 ** 70,)])
def test_a_slice_of_a_shape_that_no_array_can_have_stays_as_it_is(shape):
    values = np.arange(3.0)
    assert ffts.shaped_slice(values, shape) is values
