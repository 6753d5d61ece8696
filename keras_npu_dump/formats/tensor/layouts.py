"""Device layouts to the framework's layout and back.

The Ascend cube unit wants blocks of 16 x C0 values (C0 is 16 for 16-bit
types, 32 for 8-bit types), so tensors are dumped cut into blocks and padded
with zeros. Everything here is a reshape, a transpose and a cut; padding is
removed and the original shape restored.

The conversions are those of msaccucmp (its `builtin_format_convert`), plus
NDC1HWC0 to NDHWC, and the way back out of a grouped FRACTAL_Z. Blocks are
described in GE's `format_transfer_*.cc`.

    NC1HWC0    (N, C1, H, W, C0)             C = C1 * C0 with padding
    NDC1HWC0   (N, D, C1, H, W, C0)
    FRACTAL_NZ (..., C1, N1, N0, C0)         of a matrix (..., N, C)
    FRACTAL_Z  (C1 * H * W, N1, N0, C0)      of a filter
"""
from __future__ import annotations

import math
from typing import Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.tensor import decode
from keras_npu_dump.formats.tensor.message import TensorEntry

CUBE = 16  # rows of a block, and C0 of 16-bit types

_PLAIN = ("NCHW", "NHWC", "HWCN")
_PLAIN5 = ("NCDHW", "NDHWC")
# Sources that are cut into blocks, and what they can become.
TARGETS: Dict[str, Tuple[str, ...]] = {
    "NC1HWC0": _PLAIN,
    "NDC1HWC0": _PLAIN5 + ("ND",),
    "FRACTAL_NZ": ("ND", "NCHW", "NHWC"),
    "FRACTAL_Z": _PLAIN,
    "NCHW": ("NHWC", "HWCN", "FRACTAL_Z"),
    "NHWC": ("NCHW", "HWCN", "FRACTAL_Z"),
    "HWCN": ("NCHW", "NHWC", "FRACTAL_Z"),
}
BLOCKED = ("NC1HWC0", "NDC1HWC0", "FRACTAL_NZ", "FRACTAL_Z")


class LayoutError(ValueError):
    """No such conversion, or shapes that do not belong together."""


class Original(NamedTuple):
    """A tensor in the framework's layout, or as it was.

    Attributes:
      values: in `layout`.
      layout: name of what they are in.
      reason: why they stayed as they were; None where they did not.
    """
    values: np.ndarray
    layout: str
    reason: Optional[str]


def convert(values: np.ndarray, source: str, target: str,
            shape: Optional[Sequence[int]] = None,
            groups: int = 1) -> np.ndarray:
    """Values in another layout; a view where possible.

    Args:
      values: in the shape of layout `source`.
      source, target: layout names, see TARGETS.
      shape: shape in `target`. Needed to know what is padding; without it
        NC1HWC0 and NDC1HWC0 keep theirs. FRACTAL_NZ and FRACTAL_Z need it.
        For a FRACTAL_Z target it is not used.
      groups: of a grouped convolution, for FRACTAL_Z.

    Raises:
      LayoutError: no such conversion, or the shapes do not fit.
    """
    if source == target:
        return values if shape is None else _reshape(values, shape)
    if target not in TARGETS.get(source, ()):
        raise LayoutError("no conversion from %s to %s" % (source, target))
    if shape is not None:
        shape = tuple(shape)
        if any(dim < 0 for dim in shape):
            raise LayoutError("unknown dimension in %s" % (shape,))
        if not decode.can_hold(shape):
            raise LayoutError("no array can have the shape %.200s" % (shape,))
    groups = max(1, groups)
    if source == "NC1HWC0":
        return _from_blocks_of_c(values, 5, target, shape)
    if source == "NDC1HWC0":
        return _from_blocks_of_c(values, 6, target, shape)
    if source == "FRACTAL_NZ":
        return _from_nz(values, shape)
    if source == "FRACTAL_Z":
        return _from_fractal_z(values, target, shape, groups)
    if values.ndim != 4:
        raise LayoutError("%s needs 4 dimensions, the shape is %s"
                          % (source, values.shape))
    if target == "FRACTAL_Z":
        return to_fractal_z(_permute(values, source, "HWCN"), groups)
    return _permute(values, source, target)


def to_original(values: np.ndarray, entry: TensorEntry,
                origin_format: Optional[str] = None) -> Original:
    """A dumped tensor in the framework's layout and shape.

    Args:
      values: of `tensor.read_array`.
      entry: its description.
      origin_format: framework's layout from the graph (`Desc.origin_format`)
        if at hand. Headers hold the original shape but not its layout (only
        some name it in `original_op.format`); otherwise it is told from the
        two shapes, and where both NHWC and NCHW fit, NHWC is taken, as
        TensorFlow has it.

    Returns:
      Original; `reason` says why the values stayed in the device's layout.
      Plain layouts stay as they are, in their dumped shape.
    """
    source = dtypes.format_name(entry.format)
    if source not in BLOCKED:
        return Original(values, source, None)
    shape = entry.original_shape
    if shape is None:
        return Original(values, source, "the dump has no original shape")
    if values.shape != tuple(entry.shape):
        return Original(values, source,
                        "the data does not fill the shape %s" % (entry.shape,))
    hint = origin_format
    if hint is None and entry.original_op is not None:
        hint = dtypes.format_name(entry.original_op.format)
    reason = "no layout of shape %s fits %s%s" % (list(shape), source,
                                                  list(entry.shape))
    for target in _candidates(source, hint):
        if source in ("NC1HWC0", "FRACTAL_Z") and not _fits(
                source, entry.shape, target, shape, entry.sub_format):
            continue
        try:
            result = convert(values, source, target, shape, entry.sub_format)
            return Original(result, target, None)
        except LayoutError as error:
            reason = str(error)
    return Original(values, source, reason)


def _candidates(source: str, hint: Optional[str]) -> Tuple[str, ...]:
    order = {"NC1HWC0": ("NHWC", "NCHW", "HWCN"),
             "NDC1HWC0": ("NDHWC", "NCDHW"), "FRACTAL_NZ": ("ND",),
             "FRACTAL_Z": ("HWCN", "NCHW", "NHWC")}[source]
    if hint in order:
        return (hint,) + tuple(name for name in order if name != hint)
    return order


def _fits(source: str, dims: Sequence[int], target: str,
          shape: Sequence[int], groups: int) -> bool:
    if len(shape) != 4:
        return False
    size = dict(zip(target, shape))
    if source == "NC1HWC0":
        return len(dims) == 5 and (
            size["N"], size["H"], size["W"]) == (dims[0], dims[2], dims[3]) \
            and _ceil(size["C"], dims[4] or 1) == dims[1]
    if len(dims) != 4:
        return False
    if groups > 1:
        return True
    return _ceil(size["C"], dims[3] or 1) * size["H"] * size["W"] == dims[0] \
        and _ceil(size["N"], dims[2] or 1) == dims[1]


def _ceil(value: int, step: int) -> int:
    return -(-value // step)


def _permute(values: np.ndarray, source: str, target: str) -> np.ndarray:
    permuted: np.ndarray = values.transpose([source.index(axis) for axis in target])
    return permuted


def _reshape(values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    try:
        return values.reshape(shape)
    except ValueError:
        raise LayoutError("%s does not fill the shape %s"
                          % (values.shape, tuple(shape))) from None


def _from_blocks_of_c(values: np.ndarray, rank: int, target: str,
                      shape: Optional[Tuple[int, ...]]) -> np.ndarray:
    """(N, [D,] C1, H, W, C0): joins C1 and C0, cuts the padding of C."""
    if values.ndim != rank:
        raise LayoutError("expected %d dimensions, the shape is %s"
                          % (rank, values.shape))
    if rank == 5:
        n, c1, h, w, c0 = values.shape
        joined = values.transpose(0, 2, 3, 1, 4).reshape(n, h, w, c1 * c0)
        plain = "NHWC"
    else:
        n, d, c1, h, w, c0 = values.shape
        joined = values.transpose(0, 1, 3, 4, 2, 5).reshape(n, d, h, w,
                                                            c1 * c0)
        plain = "NDHWC"
        if target == "ND":
            target = "NCDHW"  # what the vendor's comparator takes ND for
    result = _permute(joined, plain, target)
    if shape is None:
        return result
    return _cut(result, shape, target.index("C"))


def _cut(values: np.ndarray, shape: Tuple[int, ...], axis: int) -> np.ndarray:
    """Removes padding along one axis; every other dimension must agree."""
    if len(shape) != values.ndim or any(
            have != want for number, (have, want)
            in enumerate(zip(values.shape, shape)) if number != axis) \
            or shape[axis] > values.shape[axis]:
        raise LayoutError("%s cannot be cut out of %s"
                          % (shape, values.shape))
    index = [slice(None)] * values.ndim
    index[axis] = slice(0, shape[axis])
    cut: np.ndarray = values[tuple(index)]
    return cut


def _from_nz(values: np.ndarray,
             shape: Optional[Tuple[int, ...]]) -> np.ndarray:
    """(..., C1, N1, N0, C0) to a matrix (..., N, C)."""
    if shape is None:
        raise LayoutError("FRACTAL_NZ needs the original shape")
    if values.ndim < 4:
        raise LayoutError("FRACTAL_NZ needs 4 dimensions, the shape is %s"
                          % (values.shape,))
    c1, n1, n0, c0 = values.shape[-4:]
    rows = shape[-2] if len(shape) > 1 else 1
    columns = shape[-1] if shape else 1
    batch = 1
    for dim in shape[:-2]:
        batch *= dim
    have = 1
    for dim in values.shape[:-4]:
        have *= dim
    if batch != have or rows > n1 * n0 or columns > c1 * c0:
        raise LayoutError("%s cannot be cut out of FRACTAL_NZ %s"
                          % (shape, values.shape))
    blocks = values.reshape(batch, c1, n1, n0, c0).transpose(0, 2, 3, 1, 4)
    matrix = blocks.reshape(batch, n1 * n0, c1 * c0)
    cut: np.ndarray = matrix[:, :rows, :columns].reshape(shape)
    return cut


def _from_fractal_z(values: np.ndarray, target: str,
                    shape: Optional[Tuple[int, ...]],
                    groups: int) -> np.ndarray:
    if shape is None or len(shape) != 4 or values.ndim != 4:
        raise LayoutError("FRACTAL_Z needs 4 dimensions and an original "
                          "shape of 4, these are %s and %s"
                          % (values.shape, shape))
    size = dict(zip(target, shape))
    h, w, c, n = size["H"], size["W"], size["C"], size["N"]
    _, n1, n0, c0 = values.shape
    if groups > 1:
        filters = _ungroup(values, h, w, c, n, groups)
    else:
        c1 = _ceil(c, c0) if c0 else 0
        if c1 * h * w != values.shape[0] or n > n1 * n0:
            raise LayoutError("%s %s cannot be cut out of FRACTAL_Z %s"
                              % (target, shape, values.shape))
        filters = values.reshape(c1, h, w, n1, n0, c0) \
            .transpose(1, 2, 0, 5, 3, 4).reshape(h, w, c1 * c0, n1 * n0)
        filters = filters[:, :, :c, :n]
    return _permute(filters, "HWCN", target)


class _Groups(NamedTuple):
    """How groups share blocks: `merged` groups lie side by side in a block."""
    merged: int
    blocks: int
    c1: int
    n1: int


def _grouping(c: int, n: int, groups: int, c0: int) -> _Groups:
    """c: channels per group; n: outputs per group."""
    merged = min(_lcm(_lcm(c, c0) // c, _lcm(n, CUBE) // n), groups)
    return _Groups(merged, _ceil(groups, merged), _ceil(merged * c, c0),
                   _ceil(merged * n, CUBE))


def _lcm(a: int, b: int) -> int:
    return a * b // math.gcd(a, b)


def to_fractal_z(filters: np.ndarray, groups: int = 1,
                 c0: int = CUBE) -> np.ndarray:
    """An HWCN filter as (blocks * C1 * H * W, N1, 16, C0), zero padded.

    Args:
      filters: (H, W, C per group, N over all groups).
      groups: of a grouped convolution.

    Raises:
      LayoutError: N is no multiple of `groups`, or an empty filter.
    """
    h, w, c, total = filters.shape
    if not filters.size or total % groups:
        raise LayoutError("a filter of shape %s in %d groups"
                          % (filters.shape, groups))
    n = total // groups
    grid = _grouping(c, n, groups, c0)
    padded = np.zeros((grid.blocks, grid.c1 * c0, h, w, grid.n1 * CUBE),
                      filters.dtype)
    parts = filters.reshape(h, w, c, groups, n)
    for group in range(groups):
        block, place = divmod(group, grid.merged)
        padded[block, place * c:(place + 1) * c, :, :,
               place * n:(place + 1) * n] \
            = parts[:, :, :, group].transpose(2, 0, 1, 3)
    cut = padded.reshape(grid.blocks, grid.c1, c0, h, w, grid.n1, CUBE)
    blocked: np.ndarray = cut.transpose(0, 1, 3, 4, 5, 6, 2).reshape(
        grid.blocks * grid.c1 * h * w, grid.n1, CUBE, c0)
    return blocked


def _ungroup(values: np.ndarray, h: int, w: int, c: int, total: int,
             groups: int) -> np.ndarray:
    """Inverse of `to_fractal_z`: HWCN."""
    n = total // groups
    c0 = values.shape[3]
    if not c or not n or total % groups or not c0:
        raise LayoutError("a filter of %d outputs in %d groups"
                          % (total, groups))
    grid = _grouping(c, n, groups, c0)
    if values.shape != (grid.blocks * grid.c1 * h * w, grid.n1, CUBE, c0):
        raise LayoutError("%d groups of %d x %d cannot be cut out of "
                          "FRACTAL_Z %s" % (groups, c, n, values.shape))
    wide = values.reshape(grid.blocks, grid.c1, h, w, grid.n1 * CUBE, c0) \
        .transpose(0, 2, 3, 1, 5, 4).reshape(
            grid.blocks, h, w, grid.c1 * c0, grid.n1 * CUBE)
    result = np.empty((h, w, c, groups, n), values.dtype)
    for group in range(groups):
        block, place = divmod(group, grid.merged)
        result[:, :, :, group] = wide[
            block, :, :, place * c:(place + 1) * c,
            place * n:(place + 1) * n]
    return result.reshape(h, w, c, total)
