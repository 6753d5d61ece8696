"""Binary dump files: everything about them under one name.

`header.py` says what is in a file, `tensor_data.py` reads its values,
`tensor_writer.py` writes files.
"""
from keras_npu_dump.formats.tensor.header import read_header
from keras_npu_dump.formats.tensor.message import DumpHeader, OriginalOp, TensorEntry
from keras_npu_dump.formats.tensor.tensor_data import iter_blocks, read_array, read_bytes, read_file
from keras_npu_dump.formats.tensor.tensor_writer import TensorValue, write_file

__all__ = [
    "DumpHeader", "OriginalOp", "TensorEntry", "TensorValue",
    "iter_blocks", "read_array", "read_bytes", "read_file", "read_header",
    "write_file",
]
