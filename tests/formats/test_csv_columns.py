"""Statistics parsed by columns say what reading cell by cell says, to the bit, or one error."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.stats import stats_file, stats_folder, stats_writer
from keras_npu_dump.formats.stats.stats_file import HEADER, parse_stats, parse_texts

TITLES = HEADER.split(",")
FLOATS = ("max", "min", "avg")

_NUMBERS = st.one_of(
    st.floats(width=32).map(lambda value: "%g" % value), st.floats().map(repr),
    st.integers(-2 ** 63, 2 ** 63 - 1).map(str),
    st.sampled_from(["", "NA", "nan", "-nan", "inf", "-inf", "-0", "0", "1e-45", "3.40282e+38",
                     "1.5e+300", "-", "123456789012345678", "1e22", "1e-22", "9.99999e-05"]))
_COUNTS = st.one_of(st.integers(0, 2 ** 62).map(str), st.sampled_from(["", "NA", "0", "1"]))
_TYPES = st.sampled_from(["DT_FLOAT", "DT_FLOAT16", "DT_BF16", "DT_INT8", "DT_UINT8", "DT_QINT8",
                          "DT_COMPLEX64", "-", "UNKNOW", "DT_HIFLOAT8", "DT_FLOAT8_E4M3FN",
                          "DT_FLOAT8_E4M3FNUZ", "DT_FLOAT8_E4M3FNUX"])
_ROW = st.tuples(
    st.sampled_from(["Input", "Output"]), st.integers(0, 99999).map(str), _COUNTS, _TYPES,
    st.sampled_from(["ND", "NC1HWC0", "-"]), st.sampled_from(["4x5", "-", "NA", "1x2x3x4x5"]),
    _NUMBERS, _NUMBERS, _NUMBERS, _COUNTS, _COUNTS, _COUNTS, _COUNTS)
# Few rows go through Python's numbers, many through numpy's: both must be drawn.
_ROWS = st.one_of(st.lists(_ROW, max_size=3), st.lists(_ROW, min_size=4, max_size=4).map(
    lambda rows: rows * 11))


def by_cells(row):
    """What a row says, by Python's own numbers; ValueError where a cell says nothing."""
    if len(row) == 12 and "NA" in row:  # the kernel path can leave Count out
        row = (*row[:9], "NA", *row[9:])
    io, index, size, dtype, layout, shape = row[:6]
    if len(row) != 13 or io not in ("Input", "Output") or not 0 <= whole(index) < 2 ** 31:
        raise ValueError(row)
    dims = () if shape in ("-", "") else None if shape == "NA" else tuple(
        whole(dim) for dim in shape.split("x"))
    return (io, int(index), whole(size, -1), dtype, layout, dims) + tuple(
        real(cell) for cell in row[6:9]) + tuple(whole(cell, -1) for cell in row[9:])


def whole(cell, missing=None):
    if missing is not None and cell in ("", "-", "NA", "N/A"):
        return missing
    if "_" in cell or cell != cell.strip() or cell[:1] == "+":
        raise ValueError(cell)
    return max(-2 ** 63 + 1, min(int(cell), 2 ** 63 - 1))


def real(cell):
    if "_" in cell:
        raise ValueError(cell)
    return math.nan if cell in ("", "-", "NA", "N/A") else float(cell)


def bits(row):
    """Numbers that compare to the bit: the sign of zero, and NaN where NaN."""
    return [("nan" if value != value else value.hex()) if isinstance(value, float) else value
            for value in row]


def text_of(rows, titles=tuple(TITLES), end="\n"):
    return (end.join(",".join(row) for row in [titles] + rows) + end).encode()


@settings(max_examples=60, deadline=None)
@given(_ROWS)
def test_columns_are_what_the_cells_say(rows):
    expected = [bits(by_cells(row)) for row in rows]
    assert [bits(row) for row in parse_stats(text_of(rows)).tolist()] == expected
    columns = parse_texts([text_of(rows)], str, stats_file.numeric_columns).columns
    assert columns["output"].tolist() == [row[0] == "Output" for row in rows]
    assert columns["dtype"].tolist() == [dtypes.dtype_number(row[3]) or 0 for row in rows]
    for name in ("index", "count", "nan", "neg_inf", "pos_inf", *FLOATS):
        place = stats_file.STATS_FIELDS.index(name)
        assert bits(columns[name].tolist()) == [row[place] for row in expected], name


@settings(max_examples=60, deadline=None)
@given(_ROWS, st.permutations(range(13)), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_columns_go_by_the_headers_names_in_any_order(rows, order, end, repeated):
    moved = [tuple(row[place] for place in order) + ("5.5",) for row in rows]
    titles = tuple(TITLES[place] for place in order) + ("l2norm",)
    if repeated and order[0] == 0:
        moved = moved + [titles]
    text = text_of(moved, titles, end)
    expected = [bits(by_cells(row)) for row in rows]
    assert [bits(row) for row in parse_stats(text).tolist()] == expected
    assert len(parse_stats(text.rstrip(b"\r\n"))) == len(rows)


@settings(max_examples=100, deadline=None)
@given(_ROWS.filter(bool), st.data())
def test_one_byte_changed_is_an_error_or_read_as_it_stands(rows, data):
    text = bytearray(text_of(rows))
    place = data.draw(st.integers(len(HEADER) + 1, len(text) - 2))
    text[place] = data.draw(st.sampled_from(list(b",\n;x_ I-.e9\0")))
    lines = bytes(text).decode().split("\n")
    cells = [tuple(line.split(",")) for line in lines[1:] if line]
    try:
        expected = [bits(by_cells(row)) for row in cells]
    except ValueError:
        with pytest.raises(FormatError) as error:
            parse_stats(bytes(text), "a.csv")
        # A new line end makes two lines, and the second may be the wrong one.
        assert error.value.path == "a.csv" and error.value.offset in (
            text.rfind(b"\n", 0, place) + 1, place + 1)
        return
    assert [bits(row) for row in parse_stats(bytes(text)).tolist()] == expected


ROW = ("Output", "0", "4", "DT_FLOAT", "ND", "1", "1.5", "-2", "0", "7", "0", "0", "0")


@pytest.mark.parametrize("others", [0, 50])
@pytest.mark.parametrize("place, cell", [
    (0, "Output\0"), (0, "Input\0"), (0, "Outputs"), (1, "1\x002"), (6, "1.2.3"), (6, "1\x005"),
    (6, "1e5e2"), (6, "1e"), (6, "e5"), (6, "1e5.5"), (6, "1-"), (6, "--1"), (6, "1e+-5"), (7, "."),
    (9, "1\x002"), (9, "1.0"), (9, "1e3")])
def test_a_cell_that_is_none_is_a_fault_alone_and_among_many(others, place, cell):
    wrong = (*ROW[:place], cell, *ROW[place + 1:])
    with pytest.raises(FormatError, match="^p at byte [0-9]+: line %d: " % (others + 2)):
        parse_stats(text_of([ROW] * others + [wrong] + [ROW] * others), "p")


@pytest.mark.parametrize("cell", ["1.", ".5", "1e5", "1E5", "1e-05", "+1", "1e22", "1e23", "-0.0",
                                  "123456789012345", "1234567890123456", "1e999", " 7"])
def test_numbers_are_pythons_alone_and_among_many(cell):
    row = (*ROW[:6], cell, *ROW[7:])
    for rows in ([row], [row] * 50):
        assert {value.hex() for value in parse_stats(text_of(rows))["max"].tolist()} \
            == {float(cell).hex()}


def test_names_of_types_that_begin_alike_are_not_mixed_up():
    names = ["DT_FLOAT8_E4M3FN", "DT_FLOAT8_E4M3FN2", "DT_FLOAT8_E4M3FN3", "DT_FLOAT"]
    rows = [(*ROW[:3], name, *ROW[4:]) for name in names * 15]
    columns = parse_texts([text_of(rows)], str, stats_file.numeric_columns).columns
    assert columns["dtype"].tolist() == [dtypes.DT_FLOAT8_E4M3FN, 0, 0, dtypes.DT_FLOAT] * 15


def test_a_broken_file_costs_no_other_file_of_any_header():
    good = text_of([("Input", "0", "4", "DT_FLOAT", "ND", "1") + ("1",) * 7])
    other = b"Index,Input/Output,Max Value\n0,Output,2.5\n"
    texts = [good, other, good.replace(b"Input,0", b"Input,x"), b"", other + b"1,Output,zwei\n",
             b"no,header\n", good]
    parsed = parse_texts(texts, "{}.csv".format, stats_file.numeric_columns)
    assert parsed.file_of.tolist() == [0, 1, 6]
    assert parsed.columns["max"].tolist() == [1, 2.5, 1]
    assert [(place, error.path, error.offset) for place, error in parsed.problems] == [
        (2, "2.csv", len(HEADER) + 1), (3, "3.csv", 0), (4, "4.csv", len(other)),
        (5, "5.csv", 0)]


@pytest.mark.parametrize("index", ["-1", "NA", "", str(2 ** 31), "9" * 20])
def test_what_is_no_index_is_a_fault(index):
    with pytest.raises(FormatError, match=r"line 2: .* is no (index|whole)"):
        parse_stats(text_of([("Input", index, "4", "DT_FLOAT", "ND", "1") + ("1",) * 7]))


def test_a_file_that_became_a_folder_is_a_problem_of_its_own(tmp_path):
    stats_writer.write_stats(tmp_path / "a.csv", [np.arange(3.0)])
    (tmp_path / "b.csv").mkdir()
    names = ["a.csv", "b.csv"]
    for table in (stats_folder.read_folder_stats(tmp_path, names),
                  stats_folder.read_folder_columns(tmp_path, names)):
        assert table.file_of.tolist() == [0]
        (place, error), = table.problems
        assert place == 1 and error.path == str(tmp_path / "b.csv")
    with pytest.raises(FormatError, match="folder"):
        stats_file.read_stats(tmp_path / "b.csv")


def test_nothing_at_all():
    for text in (HEADER.encode(), HEADER.encode() + b"\n", HEADER.encode() + b"\r\n\r\n\n"):
        assert len(parse_stats(text)) == 0
    for text in (b"", b"\n", b"Input,0\n", b"\r"):
        with pytest.raises(FormatError):
            parse_stats(text)
