"""The stand-in for `npu_device.gen_npu_ops`: the operators by the names that scripts call.

The adapter's has a function for each operator that it registers (tf_adapter/ops); here are
those that have a form for the CPU. For any other the error says where the script asks.
"""
from __future__ import annotations

import os
import sys
from typing import Any

from keras_npu_dump.emulator.operators import (
    dropout_masks,
    float_status,
    gelu_forms,
    layer_norm,
    parametric,
)
from keras_npu_dump.emulator.operators.keras_tensors import in_layers
from keras_npu_dump.emulator.operators.npu_operators import NpuOperator
from keras_npu_dump.emulator.operators.recurrent import basic_lstm_cell as lstm
from keras_npu_dump.emulator.operators.recurrent import dynamic_gru
from keras_npu_dump.emulator.operators.recurrent import dynamic_rnn as rnn

__emulated__ = True


def _function(operator: NpuOperator, name: str) -> Any:
    function = in_layers(operator.__call__, name)
    function.__signature__ = operator.signature
    function.__doc__ = "The operator %s; see its class." % operator.name
    return function


drop_out_gen_mask = _function(dropout_masks.DROP_OUT_GEN_MASK, "drop_out_gen_mask")
drop_out_gen_mask_v3 = _function(dropout_masks.DROP_OUT_GEN_MASK_V3, "drop_out_gen_mask_v3")
drop_out_gen_mask_v4 = _function(dropout_masks.DROP_OUT_GEN_MASK_V4, "drop_out_gen_mask_v4")
drop_out_do_mask = _function(dropout_masks.DROP_OUT_DO_MASK, "drop_out_do_mask")
drop_out_do_mask_v3 = _function(dropout_masks.DROP_OUT_DO_MASK_V3, "drop_out_do_mask_v3")
fast_gelu = _function(gelu_forms.FAST_GELU, "fast_gelu")
fast_gelu_grad = _function(gelu_forms.FAST_GELU_GRAD, "fast_gelu_grad")
gelu = _function(gelu_forms.GELU, "gelu")
gelu_grad = _function(gelu_forms.GELU_GRAD, "gelu_grad")
fused_layer_norm = _function(layer_norm.FUSED_LAYER_NORM, "fused_layer_norm")
fused_layer_norm_grad = _function(layer_norm.FUSED_LAYER_NORM_GRAD, "fused_layer_norm_grad")
dynamic_rnn = _function(rnn.DYNAMIC_RNN, "dynamic_rnn")
dynamic_rnn_v2 = _function(rnn.DYNAMIC_RNN_V2, "dynamic_rnn_v2")
dynamic_rnn_grad = _function(rnn.DYNAMIC_RNN_GRAD, "dynamic_rnn_grad")
dynamic_gru_v2 = _function(dynamic_gru.DYNAMIC_GRU_V2, "dynamic_gru_v2")
dynamic_gru_v2_grad = _function(dynamic_gru.DYNAMIC_GRU_V2_GRAD, "dynamic_gru_v2_grad")
basic_lstm_cell = _function(lstm.BASIC_LSTM_CELL, "basic_lstm_cell")
basic_lstm_cell_c_state_grad = _function(
    lstm.BASIC_LSTM_CELL_C_STATE_GRAD, "basic_lstm_cell_c_state_grad")
basic_lstm_cell_weight_grad = _function(
    lstm.BASIC_LSTM_CELL_WEIGHT_GRAD, "basic_lstm_cell_weight_grad")
basic_lstm_cell_input_grad = _function(
    lstm.BASIC_LSTM_CELL_INPUT_GRAD, "basic_lstm_cell_input_grad")
p_relu = _function(parametric.P_RELU, "p_relu")
p_relu_grad = _function(parametric.P_RELU_GRAD, "p_relu_grad")
centralization = _function(parametric.CENTRALIZATION, "centralization")
npu_get_float_status_v2 = _function(float_status.GET_FLOAT_STATUS_V2, "npu_get_float_status_v2")
npu_clear_float_status_v2 = _function(
    float_status.CLEAR_FLOAT_STATUS_V2, "npu_clear_float_status_v2")


def __getattr__(name: str) -> Any:
    raise AttributeError("npu_device.gen_npu_ops.%s: the emulator does not have this operator%s."
                         % (name, _asked_by()))


def _asked_by() -> str:
    """The place in the script that asks for an operator, as a clause; "" if it is not found."""
    inside = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((inside, "<frozen")):
            return ", which %s uses in line %d" % (name, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return ""
