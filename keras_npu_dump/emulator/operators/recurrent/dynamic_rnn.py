"""DynamicRnn, an LSTM over a sequence, and its gradient; in GE DynamicRNN and DynamicRNNGrad.

Inputs, outputs and attributes are the adapter's (npu_aicore_ops.cc), the formula that of ops-nn
(dynamic_rnn). Time comes first; the gates stand in the order i, j, f, o; the weight has the
rows of the input before those of the state. The gradient takes of the states' gradients only the
last, and no lengths (adapter, npu_ops.py), so with lengths below the number of steps it is the
vendor's, not the true one. What is past the end of a sequence keeps the state and gives 0: that
the device does so, too, is not known.
"""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.operators.npu_operators import (
    REQUIRED,
    NpuOperator,
    OperatorInput,
)
from keras_npu_dump.emulator.operators.operator_calls import Called

_SHARED = {"cell_type": REQUIRED, "direction": REQUIRED, "cell_depth": 1, "use_peephole": False,
           "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "time_major": True}
_ATTRS = {**_SHARED, "activation": REQUIRED, "forget_bias": 0.0, "is_training": True}
_ONLY = {"cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1,
         "use_peephole": False, "keep_prob": 1.0, "num_proj": 0, "time_major": True,
         "activation": "tanh"}


def check(name: str, attrs: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Refuses what has no form for the CPU.

    Args:
      name: of the operator.
      attrs: its attributes.
      only: attribute -> the one value that there is a form for.

    Raises:
      NotImplementedError: an attribute is another.
    """
    for key, value in only.items():
        if key in attrs and attrs[key] != value:
            raise NotImplementedError("%s: the emulator only has %s=%r. Received: %r" % (
                name, key, value, attrs[key]))
    if attrs["cell_clip"] > 0:
        raise NotImplementedError("%s: the emulator does not clip. Received: cell_clip=%r" % (
            name, attrs["cell_clip"]))


def wide(*tensors: Any) -> List[Any]:
    """Tensors in the dtype in which a CPU calculates, float32.

    Args:
      tensors: float tensors.
    """
    import tensorflow as tf
    return [tf.cast(tensor, tf.float32) for tensor in tensors]


def in_sequence(x: Any, lengths: Any) -> Any:
    """[steps, batch, 1], true where a step is inside its sequence; lengths None are all of it.

    Args:
      x: [steps, batch, ...].
      lengths: int32 [batch], or None.
    """
    import tensorflow as tf
    steps, batch = tf.shape(x)[0], tf.shape(x)[1]
    if lengths is None:
        return tf.ones([steps, batch, 1], tf.bool)
    return (tf.range(steps)[:, None] < lengths[None, :])[:, :, None]


def _forward(attrs: Mapping[str, Any], x: Any, w: Any, b: Any, lengths: Any, init_h: Any,
             init_c: Any) -> List[Any]:
    import tensorflow as tf
    check("DynamicRnn", attrs, _ONLY)
    dtype = x.dtype
    x, w, b, init_h, init_c = wide(x, w, b, init_h, init_c)
    inside = in_sequence(x, lengths)

    def step(state: Sequence[Any], now: Tuple[Any, Any]) -> Tuple[Any, ...]:
        h, c = state[0], state[1]
        given, valid = now
        gates = tf.matmul(tf.concat([given, h], axis=1), w) + b
        i, j, f, o = tf.split(gates, 4, axis=1)
        i, j, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(o)
        f = tf.sigmoid(f + attrs["forget_bias"])
        fresh = f * c + i * j
        tanhc = tf.tanh(fresh)
        return (tf.where(valid, o * tanhc, h), tf.where(valid, fresh, c), i, j, f, o, tanhc)

    h0, c0 = init_h[-1], init_c[-1]
    h, c, i, j, f, o, tanhc = tf.scan(step, (x, inside), (h0, c0, *[tf.zeros_like(h0)] * 5))
    y = tf.where(inside, h, tf.zeros_like(h))
    return [tf.cast(tensor, dtype) for tensor in (y, h, c, i, j, f, o, tanhc)]


def _with_lengths(attrs: Mapping[str, Any], x: Any, w: Any, b: Any, seq_length: Any, init_h: Any,
                  init_c: Any) -> List[Any]:
    return _forward(attrs, x, w, b, seq_length, init_h, init_c)


def _without_lengths(attrs: Mapping[str, Any], x: Any, w: Any, b: Any, init_h: Any, init_c: Any
                     ) -> List[Any]:
    return _forward(attrs, x, w, b, None, init_h, init_c)


def _backward(attrs: Mapping[str, Any], x: Any, w: Any, b: Any, y: Any, init_h: Any, init_c: Any,
              h: Any, c: Any, dy: Any, dh: Any, dc: Any, i: Any, j: Any, f: Any, o: Any,
              tanhc: Any) -> List[Any]:
    import tensorflow as tf
    check("DynamicRnnGrad", attrs, _ONLY)
    del b, y
    dtype = x.dtype
    x, w, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc = wide(
        x, w, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc)
    size = tf.shape(x)[2]
    c_before = tf.concat([init_c[None], c[:-1]], axis=0)
    h_before = tf.concat([init_h[None], h[:-1]], axis=0)

    def step(state: Sequence[Any], now: Sequence[Any]) -> Tuple[Any, Any, Any, Any]:
        dh, dc = state[0], state[1]
        dy, c, i, j, f, o, tanhc = now
        dh = dh + dy
        dc = dc + dh * o * (1.0 - tanhc * tanhc)
        gates = tf.concat([dc * j * i * (1.0 - i), dc * i * (1.0 - j * j),
                           dc * c * f * (1.0 - f), dh * tanhc * o * (1.0 - o)], axis=1)
        both = tf.matmul(gates, w, transpose_b=True)
        # Slices of unknown sizes do not tell that the shapes stay the same.
        return (tf.ensure_shape(both[:, size:], dh.shape), dc * f, gates,
                tf.ensure_shape(both[:, :size], x.shape[1:]))

    start = (dh, dc, tf.zeros_like(tf.concat([dh] * 4, axis=1)), tf.zeros_like(x[0]))
    dh_prev, dc_prev, gates, dx = tf.scan(
        step, (dy, c_before, i, j, f, o, tanhc), start, reverse=True)
    dw = tf.einsum("tbi,tbg->ig", tf.concat([x, h_before], axis=2), gates)
    db = tf.reduce_sum(gates, [0, 1])
    return [tf.cast(tensor, dtype) for tensor in (dw, db, dx, dh_prev[:1], dc_prev[:1])]


_OUTPUTS = ("y", "output_h", "output_c", "i", "j", "f", "o", "tanhc")

DYNAMIC_RNN_GRAD = NpuOperator(
    "DynamicRnnGrad", ("x", "w", "b", "y", "init_h", "init_c", "h", "c", "dy", "dh", "dc", "i",
                       "j", "f", "o", "tanhc"),
    ("dw", "db", "dx", "dh_prev", "dc_prev"), _backward, {**_SHARED, "forget_bias": 0.0},
    ge_type="DynamicRNNGrad")


def _gradient(op: Called, dy: Any, dh: Any, dc: Any, *rest: Any) -> List[Optional[Any]]:
    del rest
    lengths = [None] if len(op.inputs) == 6 else []
    x, w, b = op.inputs[:3]
    init_h, init_c = op.inputs[-2:]
    attrs = {key: op.get_attr(key) for key in DYNAMIC_RNN_GRAD.attrs}
    found = DYNAMIC_RNN_GRAD(x, w, b, op.outputs[0], init_h[-1], init_c[-1], op.outputs[1],
                             op.outputs[2], dy, dh[-1], dc[-1], *op.outputs[3:], **attrs)
    return [found.dx, found.dw, found.db, *lengths, found.dh_prev, found.dc_prev]


DYNAMIC_RNN = NpuOperator(
    "DynamicRnn", ("x", "w", "b", OperatorInput("seq_length", "", ("int32",)), "init_h", "init_c"),
    _OUTPUTS, _with_lengths, _ATTRS, gradient=_gradient, ge_type="DynamicRNN")
DYNAMIC_RNN_V2 = NpuOperator(
    "DynamicRnnV2", ("x", "w", "b", "init_h", "init_c"), _OUTPUTS, _without_lengths, _ATTRS,
    gradient=_gradient, ge_type="DynamicRNN")
