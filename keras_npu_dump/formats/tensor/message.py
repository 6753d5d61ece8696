"""The message of a dump file's header: toolkit.dumpdata.DumpData.

Field numbers are those of runtime `dump_data.proto`, which is what devices
write. Unknown fields are skipped.
"""
from __future__ import annotations

import dataclasses
from typing import Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.tensor import wire

MAX_ENTRIES = 1 << 16
MAX_DIMS = 1 << 10
_MAX_TEXT = 64 << 20
_new = object.__new__


@dataclasses.dataclass
class OriginalOp:
    """The framework operator that a GE output stands for.

    `data_type` is a ge::DataType code (GE `data_dumper.cc` copies it
    unconverted), not an OutputDataType code. `output_index` is None where the
    graph did not tell (the file then holds 2**32 - 1).
    """
    name: str = ""
    output_index: Optional[int] = 0
    data_type: int = 0
    format: int = 0


@dataclasses.dataclass
class TensorEntry:
    """A tensor of a dump file.

    Attributes:
      kind: "input", "output", "buffer" or "space".
      index: position among the entries of its kind.
      data_type: OutputDataType code (see `dtypes.py`); 0 for buffers.
      format: ge::Format code of the layout of `shape`.
      shape: runtime shape in `format`; () is a scalar, -1 unknown.
      original_shape: shape in the framework's layout, None if not given.
      size: bytes of data that the header gives.
      offset: position of the first of them in the file.
      address: device address; 0 means that the device found none.
      original_op: see OriginalOp, None if not given.
      sub_format: for FRACTAL_Z the number of groups.
      stored: False for an entry whose data the device left out because it
        found no address; `size` is then what was meant to be there.
      buffer_type: type of a buffer (0 is L1) or workspace (0 is log).
    """
    kind: str = "output"
    index: int = 0
    data_type: int = 0
    format: int = 0
    shape: Tuple[int, ...] = ()
    original_shape: Optional[Tuple[int, ...]] = None
    size: int = 0
    offset: int = 0
    address: int = 0
    original_op: Optional[OriginalOp] = None
    sub_format: int = 0
    stored: bool = True
    buffer_type: int = 0

    @property
    def dtype_name(self) -> str:
        """Name of `data_type`, "DT_FLOAT" and so on."""
        return dtypes.dtype_name(self.data_type)

    @property
    def format_name(self) -> str:
        """Name of `format`, "NHWC" and so on."""
        return dtypes.format_name(self.format)

    @property
    def count(self) -> Optional[int]:
        """Elements by the shape; None where a dimension is unknown."""
        count = 1
        for dim in self.shape:
            if dim < 0:
                return None
            count *= dim
        return count


@dataclasses.dataclass
class DumpHeader:
    """What a dump file says about itself.

    Attributes:
      version: "2.0" from devices; "" if not given.
      dump_time: microseconds since 1970, clock of the device.
      op_name: the operator's name as in the graph, not sanitised.
      entries: all tensors, in the order of their data.
      attrs: OpAttr pairs; FFTS slices are described under `_sgt_json_info`.
      dfx_message: free text of newer devices.
      file_size: bytes.
      legacy: True for a whole-file message.
      trailing: bytes behind the last tensor that no entry accounts for; the
        host appends when a file name occurs twice.
    """
    version: str = ""
    dump_time: int = 0
    op_name: str = ""
    entries: List[TensorEntry] = dataclasses.field(default_factory=list)
    attrs: Dict[str, str] = dataclasses.field(default_factory=dict)
    dfx_message: str = ""
    file_size: int = 0
    legacy: bool = False
    trailing: int = 0

    @property
    def inputs(self) -> List[TensorEntry]:
        """Entries of the kind "input", in order."""
        return [entry for entry in self.entries if entry.kind == "input"]

    @property
    def outputs(self) -> List[TensorEntry]:
        """Entries of the kind "output", in order."""
        return [entry for entry in self.entries if entry.kind == "output"]

    def entry(self, kind: str, index: int) -> Optional[TensorEntry]:
        """The entry of a kind and index, or None.

        Args:
          kind: "input", "output", "buffer" or "space".
          index: position among the entries of its kind.
        """
        for entry in self.entries:
            if entry.index == index and entry.kind == kind:
                return entry
        return None


def parse_message(buffer: wire.Buffer, pos: int, end: int) -> DumpHeader:
    """Reads a DumpData message; offsets of data are not yet placed.

    Where a message carries data itself (legacy files), `offset` and `size`
    are those of the data inside `buffer`.

    Args:
      buffer: bytes, or a map of the file.
      pos, end: the message is buffer[pos:end].

    Raises:
      WireError: not a message, or of absurd size.
    """
    header = _new(DumpHeader)
    header.entries, header.attrs = [], {}
    groups: Tuple[List[TensorEntry], ...] = ([], [], [], [])
    inputs, outputs, buffers, spaces = groups
    count = 0
    while pos < end:
        tag = buffer[pos]
        if tag in _SHORT and pos + 1 < end and buffer[pos + 1] < 0x80:
            a = pos + 2
            b = a + buffer[pos + 1]
            if b > end:
                raise wire.WireError("field %d reaches beyond its message"
                                     % (tag >> 3), pos)
        else:
            # long, or not any of the usual fields
            tag, a, b = next(wire.fields(buffer, pos, end))
        pos = b
        if tag == 0x1A or tag == 0x22:
            if tag == 0x1A:
                outputs.append(_tensor(buffer, a, b, "output", len(outputs),
                                       _OUTPUT))
            else:
                inputs.append(_tensor(buffer, a, b, "input", len(inputs),
                                      _INPUT))
            count += 1
        elif tag == 0x10:
            header.dump_time = a
        elif tag == 0x32:
            header.op_name = _text(buffer, a, b)
        elif tag == 0x0A:
            header.version = "2.0" if buffer[a:b] == b"2.0" \
                else _text(buffer, a, b)
        elif tag == 0x3A:
            key, value = _attr(buffer, a, b)
            if len(header.attrs) < MAX_ENTRIES:
                header.attrs[key] = value
        elif tag == 0x2A or tag == 0x42:
            group = buffers if tag == 0x2A else spaces
            group.append(_buffer(buffer, a, b, len(group), tag == 0x2A))
            count += 1
        elif tag == 0x4A:
            header.dfx_message = _text(buffer, a, b)
        if count > MAX_ENTRIES:
            raise wire.WireError("more than %d tensors" % MAX_ENTRIES, a)
    for group in groups:
        header.entries += group
    return header


# One-byte tags of numbers and of texts or messages.
_PLAIN = frozenset(tag for tag in range(8, 0x80) if tag & 7 in (0, 2))
_SHORT = frozenset((0x0A, 0x1A, 0x22, 0x2A, 0x32, 0x3A, 0x42, 0x4A))

# Fields of OpOutput and OpInput that are plain numbers: {tag: attribute}.
_OUTPUT_NUMBERS = {0x08: "data_type", 0x10: "format", 0x30: "size", 0x40: "sub_format",
                   0x48: "address"}
_INPUT_NUMBERS = {0x08: "data_type", 0x10: "format", 0x28: "size", 0x38: "sub_format",
                  0x40: "address"}


class _Tags(NamedTuple):
    """Tags of OpOutput or OpInput; -1 for a field that the message does not have."""
    shape: int
    original_op: int
    data: int
    original_shape: int
    numbers: Dict[int, str]


_OUTPUT = _Tags(0x1A, 0x22, 0x2A, 0x3A, _OUTPUT_NUMBERS)
_INPUT = _Tags(0x1A, -1, 0x22, 0x32, _INPUT_NUMBERS)


def _tensor(buffer: wire.Buffer, pos: int, end: int, kind: str, index: int,
            tags: _Tags) -> TensorEntry:
    """OpOutput or OpInput of dump_data.proto."""
    # A dataclass keeps its defaults on the class: only what a file holds is set.
    entry = _new(TensorEntry)
    values = entry.__dict__
    values["kind"] = kind
    values["index"] = index
    shape, original_op, data, original_shape, numbers = tags
    while pos < end:
        tag = buffer[pos]
        if tag in _PLAIN and pos + 1 < end:
            # What nearly every field is, without the general reader: halves the
            # time of a header.
            a = buffer[pos + 1]
            pos += 2
            if a >= 0x80:
                a, pos = wire.read_varint(buffer, pos - 1, end)
            if not tag & 7:
                if tag in numbers:
                    values[numbers[tag]] = a
                continue
            a, b = pos, pos + a
            if b > end:
                raise wire.WireError("field %d claims %d bytes, %d are left"
                                     % (tag >> 3, b - a, end - a), a)
        else:
            tag, a, b = next(wire.fields(buffer, pos, end))
        pos = b
        if tag == shape:
            dims = _shape(buffer, a, b)
            entry.shape = entry.shape + dims if entry.shape else dims
        elif tag == original_shape:
            entry.original_shape = _shape(buffer, a, b) or None
        elif tag == original_op:
            entry.original_op = _original_op(buffer, a, b)
        elif tag == data and b > a:
            entry.offset, entry.size = a, b - a
    if entry.sub_format >> 63:
        entry.sub_format = wire.signed(entry.sub_format)
    return entry


# Shapes by their bytes: a network has few, a dump repeats them endlessly.
_SHAPES: Dict[bytes, Tuple[int, ...]] = {}


def _shape(buffer: wire.Buffer, pos: int, end: int) -> Tuple[int, ...]:
    known = None
    if end - pos < 64:
        known = bytes(buffer[pos:end])
        shape = _SHAPES.get(known)
        if shape is not None:
            return shape
    dims: List[int] = []
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x0A:
            dims.extend(wire.packed_varints(buffer, a, b, MAX_DIMS))
        elif tag == 0x08:
            dims.append(a)
        if len(dims) > MAX_DIMS:
            raise wire.WireError("a shape of %d dimensions" % len(dims), a)
    shape = tuple([wire.signed(dim) if dim >> 63 else dim for dim in dims])
    if known is not None:
        if len(_SHAPES) > 4096:
            _SHAPES.clear()
        _SHAPES[known] = shape
    return shape


def _original_op(buffer: wire.Buffer, pos: int, end: int) -> OriginalOp:
    op = OriginalOp()
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x0A:
            op.name = _text(buffer, a, b)
        elif tag == 0x10:
            # -1 of an attribute that the graph lacks, stored as uint32
            op.output_index = None if a & 0xFFFFFFFF == 0xFFFFFFFF else a
        elif tag == 0x18:
            op.data_type = a
        elif tag == 0x20:
            op.format = a
    return op


def _buffer(buffer: wire.Buffer, pos: int, end: int, index: int,
            is_l1: bool) -> TensorEntry:
    """OpBuffer or Workspace of dump_data.proto; both have the same fields."""
    entry = TensorEntry("buffer" if is_l1 else "space", index)
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x08:
            entry.buffer_type = a
        elif tag == 0x18:
            entry.size = a
        elif tag == 0x12 and b > a:
            entry.offset, entry.size = a, b - a
    return entry


def _attr(buffer: wire.Buffer, pos: int, end: int) -> Tuple[str, str]:
    key = value = ""
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x0A:
            key = _text(buffer, a, b)
        elif tag == 0x12:
            value = _text(buffer, a, b)
    return key, value


def _text(buffer: wire.Buffer, pos: int, end: int) -> str:
    if end - pos > _MAX_TEXT:
        raise wire.WireError("a text of %d bytes" % (end - pos), pos)
    return bytes(buffer[pos:end]).decode("utf-8", "backslashreplace")

