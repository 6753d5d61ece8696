"""BasicLSTMCell, one step of an LSTM, and the three operators of its gradient (adapter,
tf_adapter/ops/npu_ops.cc and npu_ops.py). Gates stand in the order i, j, f, o, as in TensorFlow's
cell of that name."""
from __future__ import annotations

from typing import Any, List, Mapping

from keras_npu_dump.emulator.operators.npu_operators import NpuOperator
from keras_npu_dump.emulator.operators.operator_calls import Called
from keras_npu_dump.emulator.operators.recurrent.dynamic_rnn import wide


def _check(attrs: Mapping[str, Any]) -> None:
    for key, value in (("keep_prob", 1.0), ("activation", "tanh")):
        if attrs.get(key, value) != value:
            raise NotImplementedError("BasicLSTMCell: the emulator only has %s=%r. Received: %r"
                                      % (key, value, attrs[key]))


def _cell(attrs: Mapping[str, Any], x: Any, h: Any, c: Any, w: Any, b: Any) -> List[Any]:
    import tensorflow as tf
    _check(attrs)
    dtype = x.dtype
    x, h, c, w, b = wide(x, h, c, w, b)
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], axis=1), w) + b, 4, axis=1)
    i, j, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(o)
    f = tf.sigmoid(f + attrs["forget_bias"])
    ct = f * c + i * j
    tanhct = tf.tanh(ct)
    return [tf.cast(tensor, dtype) for tensor in (ct, o * tanhct, i, j, f, o, tanhct)]


def _c_state_grad(attrs: Mapping[str, Any], c: Any, dht: Any, dct: Any, it: Any, jt: Any,
                  ft: Any, ot: Any, tanhct: Any) -> List[Any]:
    import tensorflow as tf
    _check(attrs)
    dtype = c.dtype
    c, dht, dct, it, jt, ft, ot, tanhct = wide(c, dht, dct, it, jt, ft, ot, tanhct)
    dct = dct + dht * ot * (1.0 - tanhct * tanhct)
    dgate = tf.concat([dct * jt * it * (1.0 - it), dct * it * (1.0 - jt * jt),
                       dct * c * ft * (1.0 - ft), dht * tanhct * ot * (1.0 - ot)], axis=1)
    return [tf.cast(dgate, dtype), tf.cast(dct * ft, dtype)]


def _weight_grad(attrs: Mapping[str, Any], x: Any, h: Any, dgate: Any) -> List[Any]:
    import tensorflow as tf
    del attrs
    dtype = x.dtype
    x, h, dgate = wide(x, h, dgate)
    dw = tf.matmul(tf.concat([x, h], axis=1), dgate, transpose_a=True)
    return [tf.cast(dw, dtype), tf.cast(tf.reduce_sum(dgate, 0), dtype)]


def _input_grad(attrs: Mapping[str, Any], dgate: Any, w: Any) -> List[Any]:
    import tensorflow as tf
    _check(attrs)
    dtype = dgate.dtype
    dgate, w = wide(dgate, w)
    both = tf.matmul(dgate, w, transpose_b=True)
    size = tf.shape(w)[0] - tf.shape(w)[1] // 4
    return [tf.cast(both[:, :size], dtype), tf.cast(both[:, size:], dtype)]


BASIC_LSTM_CELL_C_STATE_GRAD = NpuOperator(
    "BasicLSTMCellCStateGrad", ("c", "dht", "dct", "it", "jt", "ft", "ot", "tanhct"),
    ("dgate", "dct_1"), _c_state_grad, {"forget_bias": 1.0, "activation": "tanh"})
BASIC_LSTM_CELL_WEIGHT_GRAD = NpuOperator(
    "BasicLSTMCellWeightGrad", ("x", "h", "dgate"), ("dw", "db"), _weight_grad)
BASIC_LSTM_CELL_INPUT_GRAD = NpuOperator(
    "BasicLSTMCellInputGrad", ("dgate", "w"), ("dxt", "dht"), _input_grad, {"keep_prob": 1.0})


def _gradient(op: Called, dct: Any, dht: Any, *rest: Any) -> List[Any]:
    del rest
    x, h, c, w, _ = op.inputs
    gates = BASIC_LSTM_CELL_C_STATE_GRAD(
        c, dht, dct, *op.outputs[2:], forget_bias=op.get_attr("forget_bias"),
        activation=op.get_attr("activation"))
    weights = BASIC_LSTM_CELL_WEIGHT_GRAD(x, h, gates.dgate)
    inputs = BASIC_LSTM_CELL_INPUT_GRAD(gates.dgate, w, keep_prob=op.get_attr("keep_prob"))
    return [inputs.dxt, inputs.dht, gates.dct_1, weights.dw, weights.db]


BASIC_LSTM_CELL = NpuOperator(
    "BasicLSTMCell", ("x", "h", "c", "w", "b"), ("ct", "ht", "it", "jt", "ft", "ot", "tanhct"),
    _cell, {"keep_prob": 1.0, "forget_bias": 1.0, "state_is_tuple": True, "activation": "tanh"},
    gradient=_gradient)
