"""Numbers, names and bits: what the tables say."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.tensor import decode, wire
from tests.formats import messages


def test_dump_types_and_attribute_types_are_two_enums():
    assert dtypes.dtype_name(1) == "DT_FLOAT"
    assert dtypes.ge_dtype_name(1) == "DT_FLOAT16"
    assert dtypes.dtype_number("DT_BF16") == 27
    assert dtypes.ge_dtype_number("DT_BOOL") == 12


def test_type_names_are_those_of_the_enum_in_graph_files():
    for number, name in enumerate(messages.DATA_TYPES):
        assert dtypes.dtype_name(number) == "DT_" + name


@given(st.integers(0, 1 << 31))
def test_a_number_without_a_name_survives_its_text(number):
    assert dtypes.dtype_number(dtypes.dtype_name(number)) == number
    assert dtypes.format_number(dtypes.format_name(number)) == number


def test_second_spellings_of_layouts_are_understood():
    assert dtypes.format_number("DHWCH") == dtypes.format_number("DHWCN") == 31
    assert dtypes.format_number("FORMAT_NHWC") == 1
    assert dtypes.format_number("no such layout") is None


@pytest.mark.parametrize("dtype", [
    "float32", "float16", "int8", "uint8", "int16", "uint16", "int32",
    "int64", "uint32", "uint64", "bool", "float64", "complex64",
    "complex128"])
def test_every_numpy_type_of_a_dump_goes_there_and_back(dtype):
    assert dtypes.numpy_dtype(dtypes.dtype_of(np.dtype(dtype))) == dtype


def test_types_of_other_libraries_are_known_by_name():
    class Fake:
        name = "bfloat16"
    assert dtypes.dtype_of(Fake()) == 27
    assert dtypes.dtype_of(np.dtype("datetime64[s]")) == 0


@given(st.lists(st.floats(width=32), min_size=1))
def test_bfloat16_is_the_upper_half_of_a_float(values):
    array = np.array(values, np.float32)
    with np.errstate(over="ignore"):
        words = decode.to_bfloat16(array)
    back = decode.decode(words.tobytes(), 27)
    finite = np.isfinite(array) & np.isfinite(back)
    assert np.all(np.isnan(back) == np.isnan(array))
    assert np.all(np.abs(back[finite] - array[finite])
                  <= np.abs(array[finite]) / 256 + 1e-38)


def test_eight_bit_floats_agree_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    codes = np.arange(256, dtype=np.uint8)
    for number, name in ((34, "float8_e5m2"), (35, "float8_e4m3fn")):
        expected = codes.view(getattr(ml_dtypes, name)).astype(np.float32)
        np.testing.assert_array_equal(
            decode.decode(codes.tobytes(), number), expected)


def test_hifloat8_has_the_values_of_its_definition():
    values = decode.decode(bytes([0x00, 0x80, 0x6F, 0xEF, 0x08, 0x88, 0x01,
                                  0x07, 0x10, 0x18, 0x6E]), 33)
    np.testing.assert_array_equal(values, np.array([
        0, np.nan, np.inf, -np.inf, 1, -1, 2.0 ** -22, 2.0 ** -16, 2, 0.5,
        2.0 ** 15], np.float32))


def test_single_bits_come_most_significant_first():
    assert decode.decode(b"\x80\x01", 29).tolist() == [1] + [0] * 14 + [1]


@pytest.mark.parametrize("number", [13, 24, 25, 26, 28, 30, 31, 32, 36, 37,
                                    38, 39, 40, 41, 42, 77])
def test_types_without_documented_values_stay_bytes(number):
    assert not decode.is_decoded(number)
    assert decode.decode(b"\x01\xff\x03", number).tolist() == [1, 255, 3]


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_varints_are_what_protobuf_writes(value):
    data = wire.varint(value)
    assert wire.read_varint(data, 0, len(data)) == (value % (1 << 64),
                                                    len(data))


@given(st.binary(max_size=200))
def test_any_bytes_are_fields_or_one_error(data):
    try:
        for _, _, behind in wire.fields(data, 0, len(data)):
            assert 0 < behind <= len(data)
    except wire.WireError as error:
        assert 0 <= error.offset <= len(data)
