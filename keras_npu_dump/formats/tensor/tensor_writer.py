"""Writes dump files as the device and the host receiver do.

Header fields, their order and what is left out follow runtime
`dump_task.cpp`; the file mode is adump's.
"""
from __future__ import annotations

import dataclasses
import os
from typing import Any, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.files.regular import Path, create
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.tensor import wire
from keras_npu_dump.formats.tensor.message import OriginalOp

# Any non-zero address does; readers tell left-out tensors by address 0.
_BASE_ADDRESS = 0x124080000000
_IOV_MAX = 512


@dataclasses.dataclass
class TensorValue:
    """A tensor to write.

    Attributes:
      data: a numpy array, or the stored bytes; None writes an entry without
        data, as the device does where it finds no address.
      data_type: OutputDataType code; default: that of the array, 4 (DT_UINT8)
        for bytes. Give it for what numpy cannot hold, e.g. 27 with uint16.
      format: ge::Format code of the layout, default 2 (ND).
      shape: default: the array's; (number of bytes,) for bytes.
      original_shape: shape in the framework's layout; None leaves it out.
      original_op: None leaves it out.
      sub_format: number of groups for FRACTAL_Z, default 0.
      size: bytes by the header, default: those of the data.
      address: device address, default: made up.
    """
    data: Any
    data_type: Optional[int] = None
    format: int = 2
    shape: Optional[Sequence[int]] = None
    original_shape: Optional[Sequence[int]] = None
    original_op: Optional[OriginalOp] = None
    sub_format: int = 0
    size: Optional[int] = None
    address: Optional[int] = None


def as_value(value: Any) -> TensorValue:
    """A TensorValue of whatever `write_file` takes.

    Args:
      value: a TensorValue, returned as it is; or an array or bytes, which get all
        defaults.
    """
    return value if isinstance(value, TensorValue) else TensorValue(value)


def payload(value: TensorValue) -> Tuple[Any, int, Tuple[int, ...], int]:
    """What of a value goes into a file.

    Args:
      value: the tensor.

    Returns:
      (buffer of the stored bytes, OutputDataType code, shape, size in bytes by the
      header).

    Raises:
      ValueError: an array of a type that dumps do not have.
    """
    data = value.data
    if data is None:
        size = value.size or 0
        return b"", value.data_type or 0, tuple(value.shape or ()), size
    if isinstance(data, (bytes, bytearray, memoryview)):
        number = dtypes.DT_UINT8 if value.data_type is None else value.data_type
        length = memoryview(data).nbytes
        shape = (length,) if value.shape is None else tuple(value.shape)
        return data, number, shape, length if value.size is None else value.size
    array = np.asarray(data)
    if value.data_type is not None:
        number = value.data_type
    else:
        number = dtypes.dtype_of(array.dtype)
        if not number:
            raise ValueError(
                "no dump type for numpy's %s; pass the bytes and a data_type"
                % array.dtype)
    shape = array.shape if value.shape is None else tuple(value.shape)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    size = array.nbytes if value.size is None else value.size
    if not array.nbytes:
        return b"", number, shape, size
    array = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.kind == "V" or array.dtype.isbuiltin != 1:
        return array.tobytes(), number, shape, size  # no buffer protocol
    return array, number, shape, size


def write_file(path: Path, op_name: str, inputs: Sequence[Any] = (),
               outputs: Sequence[Any] = (), dump_time: int = 0,
               buffers: Sequence[bytes] = (), spaces: Sequence[bytes] = (),
               attrs: Optional[Mapping[str, str]] = None,
               version: str = "2.0", legacy: bool = False,
               dfx_message: str = "") -> int:
    """Writes one dump file, mode 0600, and returns its size in bytes.

    Args:
      path: replaced if it exists; deleted again if writing fails.
      op_name: raw GE operator name.
      inputs, outputs: TensorValue objects, or arrays and bytes to be written with
        TensorValue's defaults.
      dump_time: microseconds since 1970.
      buffers, spaces: contents of L1 buffers and workspaces.
      attrs: OpAttr pairs.
      version: "2.0" is what devices write.
      legacy: write the old form, one message with the data inside.
      dfx_message: free text of newer devices, which the vendor's comparator does not look at
        (msaccucmp `dump_data_object.py` of mindstudio-probe 26.2); "" leaves it out.

    Raises:
      ValueError: an array of a type that dumps do not have.
      OSError: the file cannot be written.
    """
    header = bytearray()
    data: List[Any] = []
    address = [_BASE_ADDRESS]
    wire.put_text(header, 1, version)
    wire.put_varint(header, 2, dump_time)
    entries: Any = {"input": [], "output": []}
    for kind, values in (("input", inputs), ("output", outputs)):
        for value in values:
            entry, stored = _entry(as_value(value), kind == "output", address,
                                   legacy)
            entries[kind].append(entry)
            data.append(stored)
    for entry in entries["output"]:
        wire.put_bytes(header, 3, entry)
    for entry in entries["input"]:
        wire.put_bytes(header, 4, entry)
    for content in buffers:
        wire.put_bytes(header, 5, _buffer(content, legacy))
    wire.put_text(header, 6, op_name)
    for key, text in (attrs or {}).items():
        pair = bytearray()
        wire.put_text(pair, 1, key)
        wire.put_text(pair, 2, text)
        wire.put_bytes(header, 7, bytes(pair))
    for content in spaces:
        wire.put_bytes(header, 8, _buffer(content, legacy))
    if dfx_message:
        wire.put_text(header, 9, dfx_message)
    if legacy:
        return write_parts(path, [bytes(header)])
    parts = [wire.LENGTH.pack(len(header)) + bytes(header)]
    parts.extend(data)
    parts.extend(buffers)
    parts.extend(spaces)
    return write_parts(path, parts)


def _entry(value: TensorValue, is_output: bool, address: List[int],
           legacy: bool) -> Tuple[bytes, Any]:
    stored, number, shape, size = payload(value)
    out = bytearray()
    wire.put_varint(out, 1, number)
    wire.put_varint(out, 2, value.format)
    wire.put_bytes(out, 3, _shape(shape))
    original_shape = None if value.original_shape is None \
        else _shape(value.original_shape)
    where = value.address
    if where is None:
        where = 0 if value.data is None else address[0]
    address[0] += (size + 511) // 512 * 512 + 512
    if is_output:
        if value.original_op is not None:
            wire.put_bytes(out, 4, _original_op(value.original_op))
        if legacy:
            wire.put_bytes(out, 5, _as_bytes(stored))
        wire.put_varint(out, 6, size)
        if original_shape is not None:
            wire.put_bytes(out, 7, original_shape)
        wire.put_varint(out, 8, value.sub_format)
        wire.put_varint(out, 9, where)
    else:
        if legacy:
            wire.put_bytes(out, 4, _as_bytes(stored))
        wire.put_varint(out, 5, size)
        if original_shape is not None:
            wire.put_bytes(out, 6, original_shape)
        wire.put_varint(out, 7, value.sub_format)
        wire.put_varint(out, 8, where)
    return bytes(out), stored


def _shape(dims: Sequence[int]) -> bytes:
    out = bytearray()
    if len(dims):
        packed = b"".join(wire.varint(int(dim)) for dim in dims)
        wire.put_bytes(out, 1, packed)
    return bytes(out)


def _original_op(op: OriginalOp) -> bytes:
    out = bytearray()
    wire.put_text(out, 1, op.name)
    wire.put_varint(out, 2, 0xFFFFFFFF if op.output_index is None
                    else op.output_index)
    wire.put_varint(out, 3, op.data_type)
    wire.put_varint(out, 4, op.format)
    return bytes(out)


def _buffer(content: bytes, legacy: bool) -> bytes:
    out = bytearray()
    if legacy:
        wire.put_bytes(out, 2, content)
    wire.put_varint(out, 3, len(content))
    return bytes(out)


def _as_bytes(stored: Any) -> bytes:
    return stored.tobytes() if isinstance(stored, np.ndarray) else bytes(stored)


def write_parts(path: Path, parts: Sequence[Any]) -> int:
    """Writes buffers behind each other into a file of mode 0600.

    Args:
      path: replaced if it exists.
      parts: objects with the buffer protocol.

    Returns:
      Bytes written.

    Raises:
      FileExistsError: something that is no file has the name.
      OSError: what could be written is deleted again, as the host does.
    """
    fd = create(path)
    try:
        total = 0
        views = [memoryview(part).cast("B") if len(part) else memoryview(b"")
                 for part in parts]
        views = [view for view in views if view.nbytes]
        while views:
            count = os.writev(fd, views[:_IOV_MAX])
            total += count
            while views and count >= views[0].nbytes:
                count -= views.pop(0).nbytes
            if count:
                views[0] = views[0][count:]
    except BaseException:
        os.close(fd)
        os.unlink(path)
        raise
    os.close(fd)
    return total
