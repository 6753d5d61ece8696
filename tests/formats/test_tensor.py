"""Dump files: written and read back, and read from other writers."""
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.tensor import decode, dump_file

DTYPES = ["<f4", "<f2", "i1", "u1", "<i2", "<u2", "<i4", "<i8", "<u4", "<u8",
          "?", "<f8", "<c8", "<c16"]
ARRAYS = st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(
    dtype, hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)))
FAST = settings(max_examples=60, deadline=None,
                suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("dump") / "Add.a.1.2.1617161424189416")


@FAST
@given(name=st.text(max_size=40), time=st.integers(0, (1 << 64) - 1),
       inputs=st.lists(ARRAYS, max_size=3),
       outputs=st.lists(ARRAYS, max_size=3),
       legacy=st.booleans())
def test_what_is_written_reads_back(path, name, time, inputs, outputs,
                                    legacy):
    name = name.encode("utf-8", "replace").decode()
    size = dump_file.write_file(path, name, inputs, outputs, time,
                             version="1.0" if legacy else "2.0",
                             legacy=legacy)
    assert size == os.path.getsize(path)
    if legacy and not inputs and not outputs:
        return  # nothing tells such a message from another file
    header, arrays = dump_file.read_file(path)
    assert (header.op_name, header.dump_time, header.legacy) \
        == (name, time, legacy)
    assert len(header.inputs) == len(inputs)
    assert header.trailing == 0
    for entry, got, expected in zip(header.entries, arrays,
                                    inputs + outputs):
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape == entry.shape
        assert got.tobytes() == expected.tobytes()
        assert dump_file.read_array(path, entry).tobytes() == got.tobytes()
        mapped = dump_file.read_array(path, entry, mmap=True)
        assert mapped.tobytes() == got.tobytes()
        assert b"".join(block.tobytes() for block in dump_file.iter_blocks(
            path, entry, 16)) == got.tobytes()


def full_example(path, **options):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    dump_file.write_file(
        path, "toy/dense/MatMul",
        [dump_file.TensorValue(data, original_shape=(3, 4), format=29)],
        [dump_file.TensorValue(data * 2, original_shape=(4, 3), sub_format=2,
                      original_op=dump_file.OriginalOp("toy/BiasAdd", None, 1,
                                                    1))],
        1900000000123456, buffers=[b"abc"], spaces=[b"log"],
        attrs={"a": "1", "b": ""}, **options)
    return data


def test_every_field_reads_back(path):
    full_example(path)
    header = dump_file.read_header(path)
    assert [(e.kind, e.index, e.size) for e in header.entries] == [
        ("input", 0, 48), ("output", 0, 48), ("buffer", 0, 3),
        ("space", 0, 3)]
    source, result = header.inputs[0], header.outputs[0]
    assert (source.format_name, source.original_shape) == ("FRACTAL_NZ",
                                                           (3, 4))
    assert (result.sub_format, result.original_shape) == (2, (4, 3))
    assert result.original_op == dump_file.OriginalOp("toy/BiasAdd", None, 1, 1)
    assert source.original_op is None and source.address != 0
    assert header.attrs == {"a": "1", "b": ""}
    assert header.entry("space", 0).offset + 3 == header.file_size
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_google_protobuf_reads_the_same_header(path):
    from tests.formats import messages
    full_example(path)
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    message = messages.DUMP["DumpData"].FromString(data[8:8 + length])
    assert message.op_name == "toy/dense/MatMul"
    assert message.version == "2.0"
    assert list(message.output[0].shape.dim) == [3, 4]
    assert list(message.output[0].original_shape.dim) == [4, 3]
    assert message.output[0].original_op.output_index == 0xFFFFFFFF
    assert message.output[0].data == b"" and message.output[0].size == 48
    assert message.input[0].format == 29
    assert (message.buffer[0].size, message.space[0].size) == (3, 3)
    # unpacked again, nothing was lost and nothing is in another order
    assert message.SerializeToString(deterministic=True) \
        == data[8:8 + length]


def test_a_header_of_google_protobuf_with_unknown_fields_is_read(path):
    from tests.formats import messages
    message = messages.DUMP["DumpData"](version="2.0", op_name="a/b",
                                        dump_time=7)
    output = message.output.add(data_type=7, format=2, size=8, address=16,
                                offset=(1 << 64) - 1)
    output.shape.dim.extend([2])
    output.dim_range.add(dim_start=1, dim_end=2)
    incoming = message.input.add(data_type=1, size=4, arg_index=3,
                                 input_type=1)
    incoming.original_shape.dim.extend([(1 << 64) - 1, 4])
    data = message.SerializeToString() + b"\xa2\x06\x03abc" + b"\xa8\x06\x05"
    with open(path, "wb") as file:
        file.write(len(data).to_bytes(8, "little") + data + b"\0\0\x80\x3f"
                   + (1).to_bytes(4, "little") + (2).to_bytes(4, "little"))
    header, (scalar, pair) = dump_file.read_file(path)
    assert scalar.shape == () and scalar == 1.0
    assert pair.tolist() == [1, 2]
    assert header.inputs[0].original_shape == (-1, 4)


def test_the_example_of_the_vendor_file_is_read_byte_for_byte(path):
    head = bytes.fromhex(
        "0a03322e30" "10c0c480c1c1c48203" "1a28" "0801" "1002" "1a030a0102"
        "2213" "0a11") + b"toy/dense/BiasAdd" + bytes.fromhex(
            "3008" "3a030a0102" "488020" "3210") + b"toy/dense/MatMul"
    data = len(head).to_bytes(8, "little") + head + bytes.fromhex(
        "0000c03f" "000000c0")
    assert len(data) == 90
    with open(path, "wb") as file:
        file.write(data)
    header, (values,) = dump_file.read_file(path)
    assert header.op_name == "toy/dense/MatMul"
    assert header.outputs[0].original_op.name == "toy/dense/BiasAdd"
    assert header.outputs[0].original_op.output_index == 0
    assert values.tolist() == [1.5, -2.0]


def test_an_entry_without_address_has_no_data_and_shifts_nothing(path):
    one = np.arange(4, dtype=np.float32)
    dump_file.write_file(path, "op", [one, dump_file.TensorValue(
        None, data_type=1, shape=(100,), size=400)], [one * 2])
    header, (first, missing, last) = dump_file.read_file(path)
    assert [entry.stored for entry in header.entries] == [True, False, True]
    assert header.inputs[1].size == 400
    assert missing.size == 0 and missing.dtype == np.float32
    assert first.tolist() == [0, 1, 2, 3] and last.tolist() == [0, 2, 4, 6]
    assert dump_file.read_bytes(path, header.inputs[1]).size == 0


@pytest.mark.parametrize("legacy", [False, True])
def test_any_prefix_of_a_file_is_an_error_with_its_place(path, legacy):
    full_example(path, legacy=legacy, version="1.0" if legacy else "2.0")
    with open(path, "rb") as file:
        data = file.read()
    whole = dump_file.read_header(path)
    for length in range(len(data)):
        with open(path, "wb") as file:
            file.write(data[:length])
        if legacy:
            # Fields of a message can end anywhere between two of them.
            try:
                assert len(dump_file.read_header(path).entries) \
                    <= len(whole.entries)
            except FormatError as error:
                assert 0 <= error.offset <= length
        else:
            with pytest.raises(FormatError) as caught:
                dump_file.read_file(path)
            assert 0 <= caught.value.offset <= length
            assert caught.value.path == path


def test_a_cut_file_says_what_is_missing(path):
    full_example(path)
    with open(path, "rb+") as file:
        file.truncate(os.path.getsize(path) - 30)
    with pytest.raises(FormatError, match=r"truncated: output 0 .* 30 "
                                          r"bytes are missing"):
        dump_file.read_header(path)


def test_a_name_written_twice_leaves_bytes_behind(path):
    full_example(path)
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "ab") as file:
        file.write(data)
    header = dump_file.read_header(path)
    assert header.trailing == len(data)
    assert dump_file.read_array(path, header.inputs[0]).shape == (3, 4)


@pytest.mark.parametrize("size, shape, expected", [
    (24, (2, 2), [[0, 1], [2, 3]]),      # more bytes than the shape needs
    (16, (100,), [0, 1, 2, 3]),          # fewer: flat, with what is there
    (16, (-1, 2), [0, 1, 2, 3]),         # unknown dimension
    (16, (2, 0), np.zeros((2, 0)).tolist()),
    (16, (), 0.0),
    (18, (100,), [0, 1, 2, 3])])         # half an element is left out
def test_sizes_that_differ_from_the_shape(path, size, shape, expected):
    data = np.arange(6, dtype=np.float32).tobytes()[:size]
    dump_file.write_file(path, "op", [], [dump_file.TensorValue(data, 1, shape=shape)])
    entry, = dump_file.read_header(path).entries
    assert entry.size == size
    assert dump_file.read_array(path, entry).tolist() == expected


@pytest.mark.parametrize("number", range(43))
def test_every_type_gives_values_or_its_bytes(path, number):
    raw = bytes(range(48))
    dump_file.write_file(path, "op", [], [dump_file.TensorValue(raw, number,
                                                    shape=(3,))])
    entry, = dump_file.read_header(path).entries
    values = dump_file.read_array(path, entry)
    assert entry.dtype_name.startswith("DT_")
    if decode.is_decoded(number) and number != 0:
        assert values.shape == (3,)
        assert values.dtype == decode.value_dtype(number)
    else:
        assert values.tobytes() == raw
    assert dump_file.read_bytes(path, entry).tobytes() == raw


def test_bfloat16_comes_as_float(path):
    words = decode.to_bfloat16(np.array([[1.5, -2], [np.inf, 0]]))
    dump_file.write_file(path, "op", [], [dump_file.TensorValue(words, 27)])
    values = dump_file.read_file(path)[1][0]
    assert values.dtype == np.float32
    assert values.tolist() == [[1.5, -2], [np.inf, 0]]


def test_big_endian_and_strided_arrays_are_written_as_values(path):
    big = np.arange(6, dtype=">f4").reshape(2, 3)
    dump_file.write_file(path, "op", [big], [big.T[::-1]])
    _, (one, two) = dump_file.read_file(path)
    np.testing.assert_array_equal(one, big)
    np.testing.assert_array_equal(two, big.T[::-1])


def test_an_array_without_a_dump_type_is_refused(path):
    with pytest.raises(ValueError, match="datetime64"):
        dump_file.write_file(path, "op", [np.zeros(2, "datetime64[s]")])


@pytest.mark.parametrize("content", [
    b"", b"1234567", b"\0" * 64, b"graph {\n  name: \"x\"\n}\n",
    b"Input/Output,Index\n", b"\x93NUMPY\x01\0" + b" " * 120,
    b"\x7fELF" + bytes(range(200)), b"\x0a\x01x" * 10])
def test_foreign_files_are_one_error(path, content):
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(FormatError):
        dump_file.read_header(path)


def peak_of(action):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_header_that_claims_everything_allocates_nothing(path):
    from tests.formats import messages
    message = messages.DUMP["DumpData"](version="2.0", op_name="op")
    for kind in (message.input, message.output):
        entry = kind.add(data_type=1, format=2, size=1 << 60, address=1)
        entry.shape.dim.extend([1 << 29, 1 << 29])
    data = message.SerializeToString()
    with open(path, "wb") as file:
        file.write(len(data).to_bytes(8, "little") + data + b"\0" * 8)
    assert peak_of(lambda: dump_file.read_file(path)) < 1 << 18
    for claimed in (1 << 60, (1 << 64) - 1, 1 << 31):
        with open(path, "wb") as file:
            file.write(claimed.to_bytes(8, "little") + data)
        assert peak_of(lambda: dump_file.read_file(path)) < 1 << 18


def test_an_entry_of_another_file_is_an_error_not_an_allocation(path):
    full_example(path)
    entry = dump_file.read_header(path).inputs[0]
    entry.size, entry.shape = 1 << 60, (1 << 58,)
    for read in (dump_file.read_array, dump_file.read_bytes,
                 lambda path, entry: list(dump_file.iter_blocks(path, entry)),
                 lambda path, entry: dump_file.read_array(path, entry, True)):
        assert peak_of(lambda: read(path, entry)) < 1 << 18  # noqa: B023


def test_a_sparse_file_of_claims_is_bounded(path):
    # 512 MB of zeros behind a length that the file could hold
    with open(path, "wb") as file:
        file.write((1 << 28).to_bytes(8, "little"))
        file.truncate(1 << 29)
    assert peak_of(lambda: dump_file.read_header(path)) < 1 << 18


def test_a_message_of_endless_entries_is_bounded(path):
    data = b"\x0a\x032.0" + b"\x1a\x00" * (1 << 20)
    with open(path, "wb") as file:
        file.write(len(data).to_bytes(8, "little") + data)
    assert peak_of(lambda: dump_file.read_header(path)) < 64 << 20


def test_headers_are_read_through_a_folder_descriptor(path):
    full_example(path)
    folder, name = os.path.split(path)
    fd = os.open(folder, os.O_RDONLY)
    try:
        assert dump_file.read_header(name, dir_fd=fd).op_name \
            == "toy/dense/MatMul"
        _, arrays = dump_file.read_file(name, dir_fd=fd)
        assert arrays[0].shape == (3, 4)
    finally:
        os.close(fd)
    with pytest.raises(FileNotFoundError):
        dump_file.read_header(path + "x")


def test_a_header_larger_than_the_first_read_is_read(path):
    outputs = [np.full(3, number, np.int32) for number in range(500)]
    dump_file.write_file(path, "op" * 5000, [], outputs)
    header, arrays = dump_file.read_file(path)
    assert len(header.outputs) == 500 and arrays[499].tolist() == [499] * 3
    assert dump_file.read_header(path).op_name == "op" * 5000


def test_large_files_are_not_read_whole(path):
    block = np.zeros(1 << 18, np.float32)
    dump_file.write_file(path, "op", [np.concatenate([block] * 64)], [block])
    header = dump_file.read_header(path)
    tracemalloc.start()
    values = dump_file.read_array(path, header.inputs[0], mmap=True)
    total = sum(int(part.size) for part in dump_file.iter_blocks(
        path, header.inputs[0], 1 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values.size == total == 64 << 18
    assert peak < 4 << 20
    assert not values.flags.writeable


def test_a_failed_write_leaves_no_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(OSError, match="No space"):
        dump_file.write_file(tmp_path / "x", "op", [np.zeros(3)])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("shape", [(0, 2 ** 40, 2 ** 40), (2 ** 62, 0), (0,) * 40, (1,) * 40])
def test_a_shape_that_no_array_can_have_gives_flat_values(path, shape):
    """The shape stays in the header for who wants to know; other tensors are read all the same."""
    raw = np.float32(2).tobytes() if shape[0] else b""
    dump_file.write_file(path, "op", [np.arange(3)],
                         [dump_file.TensorValue(raw, 1, shape=shape)])
    header, (first, second) = dump_file.read_file(path)
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == ([2.0] if raw else []) and second.ndim == 1
    assert header.outputs[0].shape == shape
    assert dump_file.read_array(path, header.outputs[0]).tolist() == second.tolist()
