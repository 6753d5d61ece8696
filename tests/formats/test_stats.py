"""Statistics: both dialects, and the same numbers computed."""
import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.stats import compute_stats, stats_file, stats_folder, stats_writer
from keras_npu_dump.formats.tensor import dump_file
from tests.formats.test_names import real_names

FAST = settings(max_examples=80, deadline=None,
                suppress_health_check=list(HealthCheck))
NUMBERS = ["<f4", "<f2", "i1", "u1", "<i2", "<u2", "<i4", "<i8", "<u4",
           "<u8", "?", "<f8"]
ARRAYS = st.sampled_from(NUMBERS).flatmap(lambda dtype: hnp.arrays(
    dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=5)))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("stats")
               / "Add.a.1.2.1617161424189416.csv")


def by_the_device(values):
    """The loop of the device, one element at a time (dump_task.cpp)."""
    flat = values.reshape(-1)
    convert = float if flat.dtype.kind == "f" else int
    top = bottom = convert(flat[0])
    average = 0.0
    nan = negative = positive = 0
    with np.errstate(all="ignore"):
        for number, element in enumerate(flat):
            value = convert(element)
            nan += value != value
            top = value if value > top else top
            bottom = value if value < bottom else bottom
            positive += value == math.inf
            negative += value == -math.inf
            average += float((np.float64(value) - average) / (number + 1))
    if positive and not negative:
        average = math.inf
    if negative and not positive:
        average = -math.inf
    return top, bottom, average, flat.size, nan, negative, positive


def same(got, expected, relative=1e-6):
    if expected != expected:
        return got != got
    return got == expected or math.isclose(got, expected, rel_tol=relative,
                                           abs_tol=1e-9)


@FAST
@given(ARRAYS)
def test_statistics_are_those_of_the_device(values):
    got = compute_stats.compute_stats(values)
    expected = by_the_device(values)
    assert got[:2] == expected[:2] or got[0] != got[0]
    scale = max(abs(float(v)) for v in expected[:2])
    if math.isfinite(scale) and scale > 1e300:
        assert math.isnan(got.avg) == math.isnan(expected[2])
    else:
        assert same(got.avg, expected[2]) or abs(got.avg - expected[2]) \
            <= 1e-12 * scale
    assert got[3:] == expected[3:]


@FAST
@given(hnp.arrays("<f4", st.integers(1, 40)), st.integers(1, 10))
def test_statistics_do_not_depend_on_blocks(values, step):
    blocks = (values[at:at + step] for at in range(0, values.size, step))
    got = compute_stats.stats_of_blocks(blocks)
    expected = compute_stats.compute_stats(values)
    for one, other in zip(got, expected):
        assert same(one, other) or abs(one - other) <= 1e-9 * max(
            abs(float(expected.max)), abs(float(expected.min)))


@pytest.mark.parametrize("values, expected", [
    ([np.nan, 1, 2], (np.nan, np.nan, np.nan, 3, 1, 0, 0)),
    ([1, np.nan, 2], (2, 1, np.nan, 3, 1, 0, 0)),
    ([1, np.inf, np.nan], (np.inf, 1, np.inf, 3, 1, 0, 1)),
    ([1, -np.inf], (1, -np.inf, -np.inf, 2, 0, 1, 0)),
    ([-np.inf, np.inf], (np.inf, -np.inf, np.nan, 2, 0, 1, 1))])
def test_what_is_not_finite_follows_the_devices_rules(values, expected):
    got = compute_stats.compute_stats(np.array(values, np.float32))
    assert all(same(one, other) for one, other in zip(got, expected))


def test_values_without_statistics_are_refused():
    with pytest.raises(TypeError, match="complex64"):
        compute_stats.compute_stats(np.zeros(2, np.complex64))
    assert compute_stats.compute_stats(np.zeros(0, np.float32)).count == 0


@FAST
@given(st.lists(ARRAYS, max_size=3), st.lists(ARRAYS, max_size=3))
def test_what_is_written_reads_back(path, inputs, outputs):
    size = stats_writer.write_stats(path, inputs, outputs)
    assert size == os.path.getsize(path)
    rows = stats_file.read_stats(path)
    assert [row["io"] for row in rows] == ["Input"] * len(inputs) \
        + ["Output"] * len(outputs)
    for row, values in zip(rows, inputs + outputs):
        expected = compute_stats.compute_stats(values)
        assert row["shape"] == values.shape
        assert row["data_size"] == values.nbytes
        assert row["count"] == values.size
        for key in ("max", "min", "avg"):
            assert same(row[key], float(getattr(expected, key)), 1e-5)
        assert (row["nan"], row["neg_inf"], row["pos_inf"]) == expected[4:]


CPU = """\
Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,\
Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count
Input,0,16,DT_FLOAT,ND,4,2.5,-1,0.333333,4,0,0,0
Input,1,8,DT_INT64,ND,-,7,7,7,1,0,0,0
Output,0,8,DT_FLOAT16,ND,4,inf,-1,inf,4,0,0,1
Output,1,8,-,ND,4,,,,,,,
Output,2,8,DT_BF16,ND,2x2,NA,NA,NA,4,NA,NA,NA
Output,3,8,UNKNOW,UNKNOW,NA,-nan,nan,-nan,4,4,0,0
"""


def test_both_dialects_in_one_table(path):
    with open(path, "w") as file:
        file.write(CPU)
    rows = stats_file.read_stats(path)
    assert rows["io"].tolist() == ["Input"] * 2 + ["Output"] * 4
    assert rows["data_type"].tolist() == [
        "DT_FLOAT", "DT_INT64", "DT_FLOAT16", "-", "DT_BF16", "UNKNOW"]
    assert rows["shape"].tolist() == [(4,), (), (4,), (4,), (2, 2), None]
    assert rows["max"][:3].tolist() == [2.5, 7, math.inf]
    assert np.isnan(rows["max"][3:]).all()
    # what tells "not given" from a real NaN
    assert rows["nan"].tolist() == [0, 0, 0, -1, -1, 4]
    assert rows["count"].tolist() == [4, 1, 4, -1, 4, 4]


def test_the_writer_prints_what_the_device_prints(path):
    values = np.array([2.5, -1, 1e-7, 123456789], np.float32)
    stats_writer.write_stats(path, [values, np.int8(-3), np.zeros((2, 0), "f4")],
                      [np.array([True, False]),
                       dump_file.TensorValue(np.array([16256], np.uint16), 27),
                       np.array([-2 ** 63, 2 ** 63 - 1])])
    assert open(path).read().splitlines()[1:] == [
        "Input,0,16,DT_FLOAT,ND,4,1.23457e+08,-1,3.08642e+07,4,0,0,0",
        "Input,1,1,DT_INT8,ND,-,-3,-3,-3,1,0,0,0",
        "Input,2,0,DT_FLOAT,ND,2x0,0,0,0,0,0,0,0",
        "Output,0,2,DT_BOOL,ND,2,1,0,0.5,2,0,0,0",
        "Output,1,2,-,ND,1,,,,,,,",
        "Output,2,16,DT_INT64,ND,2,9223372036854775807,"
        "-9223372036854775808,0,2,0,0,0"]
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_the_kernel_dialect_differs_where_the_kernel_does(path):
    stats_writer.write_stats(
        path, [dump_file.TensorValue(np.array([16256], np.uint16), 27),
               dump_file.TensorValue(b"abc", 13, shape=())],
        [np.array([2 ** 32 - 1], np.uint32),
         dump_file.TensorValue(np.zeros((1,) * 26, np.float32), format=31),
         dump_file.TensorValue(np.array([1e300]), format=77)], dialect="kernel")
    assert open(path).read().splitlines()[1:] == [
        "Input,0,2,DT_BF16,ND,1,1,1,1,1,0,0,0",
        "Input,1,3,DT_STRING,ND,-,NA,NA,NA,1,NA,NA,NA",
        "Output,0,4,DT_UINT32,ND,1,-1,-1,4.29497e+09,1,0,0,0",
        "Output,1,4,DT_FLOAT,DHWCH,NA,0,0,0,1,0,0,0",
        "Output,2,8,DT_DOUBLE,UNKNOW,1,inf,inf,inf,1,0,0,0"]
    with pytest.raises(ValueError, match="Received: 'gpu'"):
        stats_writer.write_stats(path, dialect="gpu")


def test_other_columns_and_orders_go_by_the_headers_names(path):
    with open(path, "w") as file:
        file.write("Input/Output,Index,Data Size,Data Type,Format,Shape,Count,"
                   "Max Value,Min Value,l2norm\n"
                   "Output,0,16,DT_FLOAT,ND,2x2,4,3,1,5.5\n"
                   # a failed row of a chosen layout lacks its Count cell
                   "Output,1,16,DT_FLOAT,ND,2x2,NA,NA,NA\n")
    rows = stats_file.read_stats(path)
    assert rows["count"].tolist() == [4, -1]
    assert (rows["max"][0], rows["min"][0], rows["nan"][0]) == (3, 1, -1)
    assert np.isnan(rows["avg"]).all()


def test_a_header_repeated_in_the_file_is_no_row(path):
    with open(path, "w") as file:
        file.write(CPU + CPU)
    assert len(stats_file.read_stats(path)) == 12


def test_real_rows_are_read(path, shared_fixtures):
    texts = [text for _, text in real_names(shared_fixtures, "stats_row")]
    with open(path, "w") as file:
        file.write("\n".join([stats_file.HEADER] + texts))  # no last line end
    rows = stats_file.read_stats(path)
    assert rows["data_type"].tolist() == ["DT_FLOAT", "DT_BF16", "DT_INT32"]
    assert rows["shape"][0] == (4, 50, 50, 16)
    assert rows["pos_inf"].tolist() == [0, 600, -1]
    header, = [text for _, text in real_names(shared_fixtures,
                                              "stats_header")]
    with open(path, "w") as file:
        file.write(header + "\n")
    assert len(stats_file.read_stats(path)) == 0


@pytest.mark.parametrize("text, message", [
    ("", "empty"),
    ("a,b,c\n1,2,3\n", "not the header"),
    (CPU + "Input,0,16\n", "expected 13 cells, found 3"),
    (CPU.replace("2.5", "two"), "could not convert|no number"),
    (CPU.replace("Output,0", "Outpud,0"), "expected Input or Output"),
    (CPU.replace(",4,0,0,0", ",4_0,0,0,0"), "no whole number")])
def test_what_is_no_statistics_file_is_one_error(path, text, message):
    with open(path, "w") as file:
        file.write(text)
    with pytest.raises(FormatError, match=message):
        stats_file.read_stats(path)


def test_a_huge_file_is_not_read(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FormatError, match="too many"):
        stats_file.read_stats(path)
    os.truncate(path, 0)


def test_a_whole_folder_reads_as_its_files_do(tmp_path):
    rng = np.random.RandomState(0)
    listed = []
    for number in range(30):
        name = "Add.a%d.1.2.1617161424189416.csv" % number
        target = tmp_path / name
        listed.append(name)
        if number % 7 == 3:
            target.write_text(CPU)
        elif number % 7 == 5:
            target.write_text("broken")
        elif number % 7 == 6:
            target.write_text("Index,Input/Output,l2norm\n1,Output,2.0\n")
        else:
            stats_writer.write_stats(target, [rng.rand(3, 4)],
                              [rng.randint(0, 9, 5), np.float16(1)])
    listed.append("missing.csv")
    result = stats_folder.read_folder_stats(tmp_path, listed)
    position = 0
    bad = []
    for number, name in enumerate(listed):
        try:
            expected = stats_file.read_stats(tmp_path / name)
        except (FormatError, OSError):
            bad.append(number)
            continue
        got = result.rows[position:position + len(expected)]
        assert result.file_of[position:position + len(expected)].tolist() \
            == [number] * len(expected)
        assert repr(got) == repr(expected)
        position += len(expected)
    assert position == len(result.rows)
    assert [number for number, _ in result.problems] == bad
    assert all(error.path.startswith(str(tmp_path))
               for _, error in result.problems)


def test_one_odd_cell_does_not_cost_the_folder(tmp_path):
    for name, text in (("a", CPU), ("b", CPU.replace("2.5", "zwei")),
                       ("c", CPU.replace("Input,1", "Input"))):
        (tmp_path / name).write_text(text)
    result = stats_folder.read_folder_stats(tmp_path, ["a", "b", "c"])
    assert len(result.rows) == 6 and set(result.file_of) == {0}
    assert [number for number, _ in result.problems] == [1, 2]


def test_a_folder_of_tensors_computes_to_the_same_table(tmp_path):
    rng = np.random.RandomState(0)
    values = [rng.rand(3, 4).astype(np.float32), rng.randint(0, 9, 5),
              np.array([np.nan, np.inf, 2], np.float32), np.array(True),
              np.zeros(3, np.complex64), rng.rand(300000)]
    names = []
    for number, value in enumerate(values):
        names.append("Add.a%d.1.2.1617161424189416" % number)
        dump_file.write_file(tmp_path / names[-1], "a", [value], [value[..., :1]
                          if value.ndim else value], buffers=[b"x"])
        stats_writer.write_stats(tmp_path / (names[-1] + ".csv"), [value],
                          [value[..., :1] if value.ndim else value])
    (tmp_path / "cut").write_bytes(b"123")
    computed = stats_folder.compute_folder_stats(tmp_path, names + ["cut",
                                                                    "none"])
    read = stats_folder.read_folder_stats(
        tmp_path, [name + ".csv" for name in names])
    assert [number for number, _ in computed.problems] == [6, 7]
    assert computed.file_of.tolist() == read.file_of.tolist()
    for field in stats_file.STATS_DTYPE.names:
        if field in ("max", "min", "avg"):
            np.testing.assert_allclose(computed.rows[field],
                                       read.rows[field], rtol=1e-5)
        else:
            assert computed.rows[field].tolist() == read.rows[field].tolist()


def test_an_empty_list_of_files_is_an_empty_table(tmp_path):
    for read in (stats_folder.read_folder_stats,
                 stats_folder.compute_folder_stats):
        assert len(read(tmp_path, []).rows) == 0
