"""DynamicGruV2, a GRU over a sequence, and its gradient; in GE DynamicGRUV2 and DynamicGRUV2Grad.

Inputs, outputs and attributes are the adapter's (npu_aicore_ops.cc), the formula that of the
operator's public description (MindSpore, DynamicGRUV2). Lengths are taken as in
`dynamic_rnn.py`: what is past the end keeps the state and gives 0, and the gradient does not
know of it.
"""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from keras_npu_dump.emulator.operators.npu_operators import (
    REQUIRED,
    NpuOperator,
    OperatorInput,
)
from keras_npu_dump.emulator.operators.operator_calls import Called
from keras_npu_dump.emulator.operators.recurrent.dynamic_rnn import check, in_sequence, wide

_SHARED = {"direction": REQUIRED, "cell_depth": 1, "keep_prob": 1.0, "cell_clip": -1.0,
           "num_proj": 0, "time_major": True}
_ATTRS = {**_SHARED, "activation": REQUIRED, "gate_order": REQUIRED, "reset_after": True,
          "is_training": True}
_ONLY = {"direction": "UNIDIRECTIONAL", "cell_depth": 1, "keep_prob": 1.0, "num_proj": 0,
         "time_major": True, "activation": "tanh", "reset_after": True}
_ORDERS = ("zrh", "rzh")


def _gates(attrs: Mapping[str, Any], three: Any) -> Tuple[Any, Any, Any]:
    """(z, r, h) of a tensor that holds the three side by side."""
    import tensorflow as tf
    if attrs["gate_order"] not in _ORDERS:
        raise ValueError("DynamicGruV2: gate_order must be 'zrh' or 'rzh'. Received: %r"
                         % (attrs["gate_order"],))
    first, second, h = tf.split(three, 3, axis=-1)
    return (first, second, h) if attrs["gate_order"] == "zrh" else (second, first, h)


def _joined(attrs: Mapping[str, Any], z: Any, r: Any, h: Any) -> Any:
    import tensorflow as tf
    return tf.concat([z, r, h] if attrs["gate_order"] == "zrh" else [r, z, h], axis=-1)


def _forward(attrs: Mapping[str, Any], x: Any, weight_input: Any, weight_hidden: Any,
             bias_input: Any, bias_hidden: Any, seq_length: Any, init_h: Any) -> List[Any]:
    import tensorflow as tf
    check("DynamicGruV2", attrs, _ONLY)
    dtype = x.dtype
    x, weight_input, weight_hidden, bias_input, bias_hidden, init_h = wide(
        x, weight_input, weight_hidden, bias_input, bias_hidden, init_h)
    inside = in_sequence(x, seq_length)

    def step(state: Sequence[Any], now: Tuple[Any, Any]) -> Tuple[Any, ...]:
        h = state[0]
        given, valid = now
        zx, rx, hx = _gates(attrs, tf.matmul(given, weight_input) + bias_input)
        zh, rh, hidden_new = _gates(attrs, tf.matmul(h, weight_hidden) + bias_hidden)
        z, r = tf.sigmoid(zx + zh), tf.sigmoid(rx + rh)
        new = tf.tanh(hx + r * hidden_new)
        return tf.where(valid, (1.0 - z) * new + z * h, h), z, r, new, hidden_new

    h, z, r, new, hidden_new = tf.scan(
        step, (x, inside), (init_h, *[tf.zeros_like(init_h)] * 4))
    y = tf.where(inside, h, tf.zeros_like(h))
    return [tf.cast(tensor, dtype) for tensor in (y, h, z, r, new, hidden_new)]


def _backward(attrs: Mapping[str, Any], x: Any, weight_input: Any, weight_hidden: Any, y: Any,
              init_h: Any, h: Any, dy: Any, dh: Any, update: Any, reset: Any, new: Any,
              hidden_new: Any, seq_length: Any = None) -> List[Any]:
    import tensorflow as tf
    check("DynamicGruV2Grad", attrs, _ONLY)
    del y, seq_length
    dtype = x.dtype
    x, weight_input, weight_hidden, init_h, h, dy, dh, update, reset, new, hidden_new = wide(
        x, weight_input, weight_hidden, init_h, h, dy, dh, update, reset, new, hidden_new)
    before = tf.concat([init_h[None], h[:-1]], axis=0)
    last = tf.zeros_like(init_h)
    if dh.shape.rank == 3:
        dy = dy + dh  # of every step
    else:
        last = last + dh

    def step(state: Sequence[Any], now: Sequence[Any]) -> Tuple[Any, Any, Any]:
        dy, before, z, r, new, hidden_new = now
        grad = state[0] + dy
        dnew = grad * (1.0 - z) * (1.0 - new * new)
        dz = grad * (before - new) * z * (1.0 - z)
        dr = dnew * hidden_new * r * (1.0 - r)
        of_hidden = _joined(attrs, dz, dr, dnew * r)
        through = tf.matmul(of_hidden, weight_hidden, transpose_b=True)
        return grad * z + through, _joined(attrs, dz, dr, dnew), of_hidden

    three = tf.zeros_like(tf.concat([init_h] * 3, axis=1))
    dh_prev, of_input, of_hidden = tf.scan(
        step, (dy, before, update, reset, new, hidden_new), (last, three, three), reverse=True)
    dw_input = tf.einsum("tbi,tbg->ig", x, of_input)
    dw_hidden = tf.einsum("tbi,tbg->ig", before, of_hidden)
    dx = tf.einsum("tbg,ig->tbi", of_input, weight_input)
    return [tf.cast(tensor, dtype) for tensor in (
        dw_input, dw_hidden, tf.reduce_sum(of_input, [0, 1]), tf.reduce_sum(of_hidden, [0, 1]),
        dx, dh_prev[0])]


DYNAMIC_GRU_V2_GRAD = NpuOperator(
    "DynamicGruV2Grad", ("x", "weight_input", "weight_hidden", "y", "init_h", "h", "dy", "dh",
                         "update", "reset", "new", "hidden_new",
                         # Older releases do not have it, nor do helpers that were written for them.
                         OperatorInput("seq_length", "", ("int32",), optional=True)),
    ("dw_input", "dw_hidden", "db_input", "db_hidden", "dx", "dh_prev"), _backward,
    {**_SHARED, "gate_order": REQUIRED, "reset_after": True}, ge_type="DynamicGRUV2Grad")


def _gradient(op: Called, dy: Any, dh: Any, *rest: Any) -> List[Optional[Any]]:
    del rest
    x, weight_input, weight_hidden, _, _, seq_length, init_h = op.inputs
    y, h, *gates = op.outputs
    attrs = {key: op.get_attr(key) for key in DYNAMIC_GRU_V2_GRAD.attrs}
    found = DYNAMIC_GRU_V2_GRAD(x, weight_input, weight_hidden, y, init_h, h, dy, dh, *gates,
                                seq_length=seq_length, **attrs)
    return [found.dx, found.dw_input, found.dw_hidden, found.db_input, found.db_hidden, None,
            found.dh_prev]


DYNAMIC_GRU_V2 = NpuOperator(
    "DynamicGruV2", ("x", "weight_input", "weight_hidden", "bias_input", "bias_hidden",
                     OperatorInput("seq_length", "", ("int32",)), "init_h"),
    ("y", "output_h", "update", "reset", "new", "hidden_new"), _forward, _ATTRS,
    gradient=_gradient, ge_type="DynamicGRUV2")
