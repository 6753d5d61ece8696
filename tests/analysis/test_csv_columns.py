"""The fast reader of statistics says what the careful one says, or nothing."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.stats.csv_columns import parse_bodies
from keras_npu_dump.formats.stats.stats_file import HEADER, parse_stats

FLOATS = ("max", "min", "avg")
INTEGERS = ("index", "count", "nan", "neg_inf", "pos_inf")

_NUMBERS = st.one_of(
    st.floats(width=32).map(lambda value: "%g" % value), st.floats().map(repr),
    st.integers(-2 ** 63, 2 ** 63 - 1).map(str),
    st.sampled_from(["", "NA", "nan", "-nan", "inf", "-inf", "-0", "0", "1e-45", "3.40282e+38",
                     "1.5e+300", "-", "123456789012345678", "1e22", "1e-22", "9.99999e-05"]))
_COUNTS = st.one_of(st.integers(0, 2 ** 62).map(str), st.sampled_from(["", "NA", "0", "1"]))
_TYPES = st.sampled_from(["DT_FLOAT", "DT_FLOAT16", "DT_BF16", "DT_INT8", "DT_UINT8", "DT_QINT8",
                          "DT_COMPLEX64", "-", "UNKNOW", "DT_HIFLOAT8", "DT_FLOAT8_E4M3FN"])
_ROWS = st.lists(st.tuples(
    st.sampled_from(["Input", "Output"]), st.integers(0, 99999).map(str), _COUNTS, _TYPES,
    st.sampled_from(["ND", "NC1HWC0", "-"]), st.sampled_from(["4x5", "-", "NA", "1x2x3x4x5"]),
    _NUMBERS, _NUMBERS, _NUMBERS, _COUNTS, _COUNTS, _COUNTS, _COUNTS).map(",".join), max_size=12)


def text_of(rows):
    return "".join(row + "\n" for row in rows).encode()


@settings(max_examples=300, deadline=None)
@given(_ROWS)
def test_both_readers_agree_on_every_number(rows):
    slow = parse_stats((HEADER + "\n").encode() + text_of(rows))
    fast = parse_bodies(text_of(rows))
    assert fast is not None
    assert fast.output.tolist() == [io == "Output" for io in slow["io"]]
    for name in INTEGERS:
        assert getattr(fast, name).tolist() == slow[name].tolist(), name
    for name in FLOATS:
        # To the bit: the sign of zero, and NaN where NaN.
        np.testing.assert_array_equal(getattr(fast, name), slow[name])
        assert np.signbit(getattr(fast, name)).tolist() == np.signbit(slow[name]).tolist() or \
            np.isnan(slow[name]).any()
    assert fast.dtype.tolist() == [dtypes.dtype_number(name) or 0 for name in slow["data_type"]]


@settings(max_examples=300, deadline=None)
@given(_ROWS.filter(bool), st.data())
def test_what_is_broken_is_left_to_the_careful_reader(rows, data):
    """One byte changed: the fast reader gives up, or both still agree.

    Size and shape it does not read, so what is wrong there it cannot know.
    """
    text = bytearray(text_of(rows))
    place = data.draw(st.integers(0, len(text) - 1).filter(
        lambda place: _cell(text, place) not in (2, 5)))
    text[place] = data.draw(st.sampled_from(list(b",\n;x_ I-.e9")))
    fast = parse_bodies(bytes(text))
    if fast is None:
        return
    try:
        slow = parse_stats((HEADER + "\n").encode() + bytes(text))
    except FormatError:
        pytest.fail("the careful reader refuses what the fast one took: %r" % bytes(text))
    assert len(slow) == len(fast.output)
    for name in FLOATS:
        np.testing.assert_array_equal(getattr(fast, name), slow[name])


def _cell(text, place):
    """Number of the cell that a byte lies in."""
    return text[text.rfind(b"\n", 0, place) + 1:place].count(b",")


def test_nothing_at_all():
    assert len(parse_bodies(b"").output) == 0
    assert parse_bodies(b"Input,0") is None
