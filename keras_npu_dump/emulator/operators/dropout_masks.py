"""DropOutGenMask and DropOutDoMask with their later versions (adapter, tf_adapter/ops/npu_ops.cc).

A mask is drawn by one operator and applied by another, forward and backward. The first
version packs a bit for each element into bytes, rounded up to 128 bits; the third has a byte
for each, in tiles of 16 by 16 where the last two dimensions are multiples of 16. Kept elements
are multiplied by 1 / keep_prob, the others become 0 (canndev, drop_out_do_mask.py).

Which bit of a byte is the first element's is not known of every chip; here it is the lowest.
Which numbers are drawn differs from a device in any case. Here they are those of TensorFlow's
RandomUniform for the same two seeds, and 0 and 0 are none, as in the vendor's kernel.
"""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.operators.npu_operators import NpuOperator, OperatorInput
from keras_npu_dump.emulator.operators.operator_calls import Called

_BITS = 128
_TILE = 16
_SEEDS = {"seed": 0, "seed2": 0}
_SHAPE_AND_PROB = (OperatorInput("shape", "T", ("int32", "int64")),
                   OperatorInput("prob", "S", ("float32", "float16")))


def _static(shape: Any, prob: Any) -> Optional[Tuple[int, ...]]:
    """The shape that is to be masked, where it is known while the graph is made."""
    del prob
    from tensorflow.python.framework import tensor_util
    value = tensor_util.constant_value(shape)
    return None if value is None else tuple(int(dim) for dim in value)


def _draw(attrs: Mapping[str, Any], count: Any, prob: Any) -> Any:
    """A bool for each of `count` elements: true with a probability of `prob`."""
    import tensorflow as tf
    drawn = tf.raw_ops.RandomUniform(
        shape=tf.reshape(count, [1]), dtype=tf.float32, seed=attrs["seed"], seed2=attrs["seed2"])
    return drawn >= 1.0 - tf.cast(prob, tf.float32)


def _count(attrs: Mapping[str, Any], shape: Any) -> Any:
    import tensorflow as tf
    known = attrs["known"]
    if known is None:
        return tf.reduce_prod(tf.cast(shape, tf.int64))
    count = 1
    for dim in known:
        count *= dim
    return tf.constant(count, tf.int64)


def _rounded(count: Any, unit: int) -> Any:
    return (count + (unit - 1)) // unit * unit


def _bit_mask(attrs: Mapping[str, Any], shape: Any, prob: Any) -> List[Any]:
    import tensorflow as tf
    kept = _draw(attrs, _rounded(_count(attrs, shape), _BITS), prob)
    weights = tf.constant([1 << bit for bit in range(8)], tf.int32)
    bits = tf.reshape(tf.cast(kept, tf.int32), [-1, 8]) * weights
    return [tf.cast(tf.reduce_sum(bits, axis=1), tf.uint8)]


def _byte_mask(attrs: Mapping[str, Any], shape: Any, prob: Any) -> List[Any]:
    import tensorflow as tf
    kept = tf.cast(_draw(attrs, _rounded(_count(attrs, shape), _TILE), prob), tf.uint8)
    known = attrs["known"]
    if known is not None:
        return [tf.reshape(kept, _tiled(known)) if _has_tiles(known) else kept]
    if shape.shape.rank is None or (shape.shape[0] is not None and shape.shape[0] < 2):
        return [kept]

    def tiled() -> Any:
        last = tf.stack([shape[-1] // _TILE, shape[-2] // _TILE, _TILE, _TILE])
        return tf.concat([shape[:-2], last], axis=0)

    in_tiles = tf.reduce_all(tf.equal(shape[-2:] % _TILE, 0))
    return [tf.reshape(kept, tf.cond(in_tiles, tiled, lambda: tf.constant([-1], shape.dtype)))]


def _plain_byte_mask(attrs: Mapping[str, Any], shape: Any, prob: Any) -> List[Any]:
    import tensorflow as tf
    kept = tf.cast(_draw(attrs, _count(attrs, shape), prob), tf.uint8)
    return [tf.reshape(kept, shape if attrs["known"] is None else attrs["known"])]


def _has_tiles(shape: Sequence[int]) -> bool:
    return len(shape) >= 2 and not shape[-1] % _TILE and not shape[-2] % _TILE


def _tiled(shape: Sequence[int]) -> List[int]:
    return [*shape[:-2], shape[-1] // _TILE, shape[-2] // _TILE, _TILE, _TILE]


def _apply(x: Any, kept: Any, keep_prob: Any) -> List[Any]:
    """x / keep_prob where it is kept, else 0; `kept` has an entry for each element of x."""
    import tensorflow as tf
    scaled = x * tf.math.reciprocal(keep_prob)
    return [tf.where(tf.reshape(kept, tf.shape(x)), scaled, tf.zeros_like(scaled))]


def _apply_bits(attrs: Mapping[str, Any], x: Any, mask: Any, keep_prob: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    shifts = tf.constant(list(range(8)), tf.uint8)
    bits = tf.bitwise.right_shift(tf.reshape(mask, [-1, 1]), tf.reshape(shifts, [1, 8]))
    bits = tf.bitwise.bitwise_and(bits, tf.constant(1, tf.uint8))
    kept = tf.reshape(tf.cast(bits, tf.bool), [-1])[:tf.size(x)]
    return _apply(x, kept, keep_prob)


def _apply_bytes(attrs: Mapping[str, Any], x: Any, mask: Any, keep_prob: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    kept = tf.cast(mask, tf.bool)
    rank = mask.shape.rank
    if rank is not None and x.shape.rank is not None:
        if rank == x.shape.rank + 2:
            kept = _untiled(kept)
    elif rank is None or rank >= 4:
        # A shape that was not known when the mask was drawn: it is tiled, or it is not.
        kept = tf.cond(tf.equal(tf.rank(mask), tf.rank(x) + 2),
                       lambda: tf.reshape(_untiled(kept), [-1]), lambda: tf.reshape(kept, [-1]))
    return _apply(x, tf.reshape(kept, [-1])[:tf.size(x)], keep_prob)


def _untiled(kept: Any) -> Any:
    """[*batch, N/16, M/16, 16, 16] in the order of [*batch, M, N]."""
    import tensorflow as tf
    shape = tf.shape(kept)
    flat = tf.reshape(kept, tf.concat([[-1], shape[-4:]], axis=0))
    return tf.transpose(flat, [0, 2, 3, 1, 4])


def _do_mask_gradient(call: NpuOperator) -> Any:
    def gradient(op: Called, grad: Any) -> List[Any]:
        return [call(grad, op.inputs[1], op.inputs[2]), None, None]
    return gradient


DROP_OUT_GEN_MASK = NpuOperator(
    "DropOutGenMask", _SHAPE_AND_PROB, ("output",), _bit_mask, _SEEDS, own_function=True,
    known=_static)
DROP_OUT_GEN_MASK_V3 = NpuOperator(
    "DropOutGenMaskV3", _SHAPE_AND_PROB, ("output",), _byte_mask, _SEEDS, own_function=True,
    known=_static)
DROP_OUT_GEN_MASK_V4 = NpuOperator(
    "DropOutGenMaskV4", _SHAPE_AND_PROB, ("output",), _plain_byte_mask,
    {**_SEEDS, "dtype": "bool"}, own_function=True, known=_static)

_MASKED = ("x", OperatorInput("mask", "", ("uint8",)), "keep_prob")
DROP_OUT_DO_MASK = NpuOperator("DropOutDoMask", _MASKED, ("y",), _apply_bits)
DROP_OUT_DO_MASK.gradient = _do_mask_gradient(DROP_OUT_DO_MASK)
DROP_OUT_DO_MASK_V3 = NpuOperator("DropOutDoMaskV3", _MASKED, ("y",), _apply_bytes)
DROP_OUT_DO_MASK_V3.gradient = _do_mask_gradient(DROP_OUT_DO_MASK_V3)
