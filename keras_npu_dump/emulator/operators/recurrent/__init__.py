"""Recurrent operators of the NPU: the LSTM and GRU over a sequence, and a cell."""
