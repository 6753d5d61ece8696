"""Device layouts: into the framework's and back, against plain loops."""
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_npu_dump.formats.dtypes import format_number
from keras_npu_dump.formats.tensor import layouts
from keras_npu_dump.formats.tensor.message import OriginalOp, TensorEntry

SIDE = st.integers(1, 5)
CHANNELS = st.integers(1, 40)


def numbered(shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64) \
        .reshape(shape)


def blocked_nhwc(values, c0):
    """NHWC as the device lays it out in NC1HWC0, element by element."""
    n, h, w, c = values.shape
    c1 = -(-c // c0)
    out = np.zeros((n, c1, h, w, c0), values.dtype)
    for a, b, d, e in itertools.product(range(n), range(h), range(w),
                                        range(c)):
        out[a, e // c0, b, d, e % c0] = values[a, b, d, e]
    return out


def nz(values, c0):
    """A matrix (..., N, C) in FRACTAL_NZ."""
    rows, columns = values.shape[-2:]
    batch = values.shape[:-2]
    out = np.zeros(batch + (-(-columns // c0), -(-rows // 16), 16, c0),
                   values.dtype)
    for r, c in itertools.product(range(rows), range(columns)):
        out[..., c // c0, r // 16, r % 16, c % c0] = values[..., r, c]
    return out


def fractal_z(filters, c0=16):
    """An HWCN filter in FRACTAL_Z."""
    h, w, c, n = filters.shape
    out = np.zeros((-(-c // c0) * h * w, -(-n // 16), 16, c0), filters.dtype)
    for a, b, d, e in itertools.product(range(h), range(w), range(c),
                                        range(n)):
        out[(d // c0) * h * w + a * w + b, e // 16, e % 16, d % c0] \
            = filters[a, b, d, e]
    return out


def permuted(values, source, target):
    return values.transpose([source.index(axis) for axis in target])


@settings(max_examples=40, deadline=None)
@given(SIDE, SIDE, SIDE, CHANNELS, st.sampled_from([16, 32]),
       st.sampled_from(["NHWC", "NCHW", "HWCN"]))
def test_nc1hwc0_becomes_every_plain_layout(n, h, w, c, c0, target):
    values = numbered((n, h, w, c))
    expected = permuted(values, "NHWC", target)
    got = layouts.convert(blocked_nhwc(values, c0), "NC1HWC0", target,
                          expected.shape)
    np.testing.assert_array_equal(got, expected)
    padded = layouts.convert(blocked_nhwc(values, c0), "NC1HWC0", target)
    assert padded.shape[target.index("C")] == -(-c // c0) * c0


@settings(max_examples=30, deadline=None)
@given(SIDE, SIDE, SIDE, SIDE, CHANNELS,
       st.sampled_from(["NDHWC", "NCDHW", "ND"]))
def test_ndc1hwc0_becomes_five_dimensions(n, d, h, w, c, target):
    values = numbered((n, d, h, w, c))
    blocks = np.stack([blocked_nhwc(values[:, i], 16) for i in range(d)], 1)
    expected = permuted(values, "NDHWC",
                        "NCDHW" if target == "ND" else target)
    np.testing.assert_array_equal(
        layouts.convert(blocks, "NDC1HWC0", target, expected.shape), expected)


@settings(max_examples=40, deadline=None)
@given(st.lists(SIDE, max_size=2), CHANNELS, CHANNELS,
       st.sampled_from([16, 32]), st.sampled_from(["ND", "NHWC", "NCHW"]))
def test_fractal_nz_becomes_a_matrix(batch, rows, columns, c0, target):
    values = numbered(tuple(batch) + (rows, columns))
    np.testing.assert_array_equal(
        layouts.convert(nz(values, c0), "FRACTAL_NZ", target, values.shape),
        values)


def test_fractal_nz_of_a_vector():
    values = numbered((7,))
    np.testing.assert_array_equal(
        layouts.convert(nz(values.reshape(1, 7), 16), "FRACTAL_NZ", "ND",
                        (7,)), values)


@settings(max_examples=40, deadline=None)
@given(SIDE, SIDE, CHANNELS, CHANNELS, st.sampled_from(["HWCN", "NCHW",
                                                        "NHWC"]))
def test_fractal_z_becomes_a_filter_and_back(h, w, c, n, target):
    values = numbered((h, w, c, n))
    expected = permuted(values, "HWCN", target)
    blocks = fractal_z(values)
    np.testing.assert_array_equal(
        layouts.convert(blocks, "FRACTAL_Z", target, expected.shape),
        expected)
    np.testing.assert_array_equal(
        layouts.convert(expected, target, "FRACTAL_Z"), blocks)


@settings(max_examples=40, deadline=None)
@given(SIDE, SIDE, st.integers(1, 20), st.integers(1, 20),
       st.integers(1, 12), st.sampled_from(["HWCN", "NCHW", "NHWC"]))
def test_grouped_filters_lose_nothing(h, w, c, n, groups, layout):
    values = permuted(numbered((h, w, c, n * groups)), "HWCN", layout)
    blocks = layouts.convert(values, layout, "FRACTAL_Z", groups=groups)
    assert np.count_nonzero(blocks) == values.size
    np.testing.assert_array_equal(
        layouts.convert(blocks, "FRACTAL_Z", layout, values.shape, groups),
        values)


@pytest.mark.parametrize("source", ["NCHW", "NHWC", "HWCN"])
@pytest.mark.parametrize("target", ["NCHW", "NHWC", "HWCN"])
def test_plain_layouts_are_transposed(source, target):
    values = numbered((2, 3, 4, 5))
    np.testing.assert_array_equal(layouts.convert(values, source, target),
                                  permuted(values, source, target))


@pytest.mark.parametrize("shape, source, target, to", [
    ((2, 3), "NC1HWC0", "NHWC", (2, 3)),
    ((1, 1, 2, 2, 16), "NC1HWC0", "NHWC", (1, 2, 2, 17)),
    ((1, 1, 2, 2, 16), "NC1HWC0", "NHWC", (1, 3, 2, 4)),
    ((1, 1, 16, 16), "FRACTAL_NZ", "ND", (17, 3)),
    ((1, 1, 16, 16), "FRACTAL_NZ", "ND", None),
    ((16, 16), "FRACTAL_NZ", "ND", (3, 3)),
    ((1, 1, 16, 16), "FRACTAL_Z", "HWCN", (3, 3, 1, 1)),
    ((1, 1, 16, 16), "FRACTAL_Z", "HWCN", (1, 1, 1, 40)),
    ((2, 3), "NCHW", "NHWC", None),
    ((2, 3), "C1HWNC0", "NCHW", None),
    ((1, 1, 2, 2, 16), "NC1HWC0", "NHWC", (1, 2, 2, -1)),
    ((1, 1, 1, 5), "HWCN", "FRACTAL_Z_3D", None)])
def test_shapes_that_do_not_belong_together_are_refused(shape, source, target,
                                                        to):
    with pytest.raises(layouts.LayoutError):
        layouts.convert(np.zeros(shape), source, target, to)
    with pytest.raises(layouts.LayoutError):
        layouts.convert(numbered((1, 1, 3, 5)), "HWCN", "FRACTAL_Z", groups=2)


def entry(layout, shape, original, **more):
    return TensorEntry(format=format_number(layout), shape=shape,
                       original_shape=original, **more)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW", "HWCN"])
def test_the_original_layout_is_told_from_the_shapes(layout):
    values = numbered((2, 5, 6, 20))
    blocks = blocked_nhwc(values, 16)
    expected = permuted(values, "NHWC", layout)
    got = layouts.to_original(blocks, entry("NC1HWC0", blocks.shape,
                                            expected.shape))
    assert (got.layout, got.reason) == (layout, None)
    np.testing.assert_array_equal(got.values, expected)


def test_where_both_fit_a_hint_decides_and_tensorflow_is_the_default():
    values = numbered((1, 16, 16, 16))
    blocks = blocked_nhwc(values, 16)
    described = entry("NC1HWC0", blocks.shape, values.shape)
    assert layouts.to_original(blocks, described).layout == "NHWC"
    assert layouts.to_original(blocks, described, "NCHW").layout == "NCHW"
    described.original_op = OriginalOp("conv", 0, 0, 0)  # format 0 is NCHW
    assert layouts.to_original(blocks, described).layout == "NCHW"
    assert layouts.to_original(blocks, described, "NHWC").layout == "NHWC"


def test_filters_and_matrices_find_home():
    filters = numbered((3, 3, 20, 40))
    got = layouts.to_original(fractal_z(filters), entry(
        "FRACTAL_Z", fractal_z(filters).shape, filters.shape))
    assert (got.layout, got.reason) == ("HWCN", None)
    np.testing.assert_array_equal(got.values, filters)
    matrix = numbered((20, 30))
    got = layouts.to_original(nz(matrix, 16), entry(
        "FRACTAL_NZ", nz(matrix, 16).shape, (20, 30)))
    np.testing.assert_array_equal(got.values, matrix)
    grouped = layouts.to_fractal_z(numbered((3, 3, 4, 24)), 6)
    got = layouts.to_original(grouped, entry(
        "FRACTAL_Z", grouped.shape, (3, 3, 4, 24), sub_format=6))
    np.testing.assert_array_equal(got.values, numbered((3, 3, 4, 24)))


def test_what_cannot_be_converted_stays_and_says_why():
    blocks = np.zeros((1, 1, 2, 2, 16))
    for described, why in [
            (entry("NC1HWC0", blocks.shape, None), "no original shape"),
            (entry("NC1HWC0", blocks.shape, (5, 5, 5, 5)), "no layout"),
            (entry("NC1HWC0", (1, 2, 2, 2, 16), (1, 2, 2, 20)), "fill")]:
        got = layouts.to_original(blocks, described)
        assert got.values is blocks and got.layout == "NC1HWC0"
        assert why in got.reason
    plain = layouts.to_original(blocks, entry("ND", blocks.shape, None))
    assert plain.reason is None and plain.layout == "ND"


@pytest.mark.parametrize("layout, shape, original", [
    ("FRACTAL_NZ", (1, 1, 16, 16), (1,) * 70),
    ("FRACTAL_Z", (0, 1, 16, 16), (0, 2 ** 40, 2 ** 40, 1)),
    ("NC1HWC0", (0, 1, 1, 1, 16), (0, 2 ** 62, 1, 1)),
    ("NDC1HWC0", (1, 1, 1, 1, 1, 16), (1,) * 70)])
def test_an_original_shape_that_no_array_can_have_stays_and_says_why(layout, shape, original):
    values = np.zeros(shape, np.float16)
    got = layouts.to_original(values, entry(layout, shape, original))
    assert got.layout == layout and got.reason and got.values is values
    with pytest.raises(layouts.LayoutError):
        layouts.convert(values, layout, "NHWC" if "C1" in layout else "ND", original)
