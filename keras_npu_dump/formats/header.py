"""Binary dump files: what is in them, read without touching the data.

Layout (runtime `dump_task.cpp`; msaccucmp `big_dump_data.py`):

    8 bytes   little-endian length L of the header
    L bytes   message toolkit.dumpdata.DumpData, its `data` fields empty
    ...       data of every input, output, buffer and workspace, in this
              order, without padding

Older files ("version 1") are one DumpData message whose `data` fields hold
the tensors. Both give the same `DumpHeader`; `TensorEntry.offset` says where
in the file the bytes of one tensor lie.

Field numbers are those of runtime `dump_data.proto`. Values are read by
`tensor_data.py`, files are written by `tensor_writer.py`.
"""
from __future__ import annotations

import dataclasses
import mmap
import os
from typing import Dict, List, Optional, Tuple, Union

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats import wire

Path = Union[str, "os.PathLike[str]"]

# The order in which the device writes the data behind the header.
KINDS = ("input", "output", "buffer", "space")

_FIRST_READ = 4096
# A header holds names and shapes only. The device writer allows 2 GiB; what
# is larger than this has never been seen and is not worth believing.
MAX_HEADER = 64 << 20
MAX_ENTRIES = 1 << 16
MAX_DIMS = 1 << 10
_MAX_MESSAGE = 1 << 31  # protobuf's own limit


@dataclasses.dataclass
class OriginalOp:
    """The framework operator that a GE output stands for.

    `data_type` is a ge::DataType number (GE `data_dumper.cc` copies it
    unconverted), not an OutputDataType one. `output_index` is None where the
    graph did not say (the file then holds 2**32 - 1).
    """
    name: str = ""
    output_index: Optional[int] = 0
    data_type: int = 0
    format: int = 0


@dataclasses.dataclass
class TensorEntry:
    """One tensor of a dump file.

    Attributes:
      kind: "input", "output", "buffer" or "space".
      index: position among the entries of its kind.
      data_type: OutputDataType number (see `dtypes.py`); 0 for buffers.
      format: ge::Format number of the layout of `shape`.
      shape: runtime shape in `format`; () is a scalar, -1 unknown.
      original_shape: shape in the framework's layout, None if not given.
      size: bytes of data that the header gives.
      offset: position of the first of them in the file.
      address: device address; 0 means that the device found none.
      original_op: see OriginalOp, None if not given.
      sub_format: for FRACTAL_Z the number of groups.
      stored: False for an entry whose data the device left out because it
        found no address; `size` then says what was meant to be there.
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
        return dtypes.dtype_name(self.data_type)

    @property
    def format_name(self) -> str:
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
        return [entry for entry in self.entries if entry.kind == "input"]

    @property
    def outputs(self) -> List[TensorEntry]:
        return [entry for entry in self.entries if entry.kind == "output"]

    def entry(self, kind: str, index: int) -> Optional[TensorEntry]:
        """The entry, or None."""
        for entry in self.entries:
            if entry.index == index and entry.kind == kind:
                return entry
        return None


def read_header(path: Path, dir_fd: Optional[int] = None) -> DumpHeader:
    """Reads the header of a dump file; one read for all but huge headers.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: an open folder, which saves path resolution in large trees.

    Raises:
      FormatError: empty, truncated, or not a dump file; `offset` says where.
      OSError: the file cannot be opened or read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return header_of(fd, os.fstat(fd).st_size, os.fspath(path))
    finally:
        os.close(fd)


def header_of(fd: int, size: int, path: Path) -> DumpHeader:
    """`read_header` of an open file of `size` bytes."""
    head = os.pread(fd, _FIRST_READ, 0)
    if len(head) >= 8:
        length, = wire.LENGTH.unpack_from(head)
        if len(head) < length + 8 <= size and length <= MAX_HEADER:
            head += read_exactly(fd, length + 8 - len(head), len(head))
    problem = []  # type: List[Tuple[str, int]]
    header = parse_header(head, size, path, problem)
    if header is None:
        header = _read_legacy(fd, size)
    if header is None:
        reason, where = problem[0]
        raise FormatError(path, "not a dump file, or cut off: %s" % reason,
                          where)
    return header


def read_exactly(fd: int, count: int, offset: int) -> bytes:
    """`count` bytes at `offset`; fewer where the file ends before."""
    parts = []
    while count > 0:
        # Piecewise, so that memory follows what is there, not what is asked.
        part = os.pread(fd, min(count, 1 << 20), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def parse_header(head: bytes, size: int, path: Path,
                 problem: Optional[List[Tuple[str, int]]] = None
                 ) -> Optional[DumpHeader]:
    """The header at the start of a file of which `head` is at hand.

    Returns:
      None if this is no file with a length and a header behind it; why, and
      at which byte, is then appended to `problem`.

    Raises:
      FormatError: it is one, but tensor data is missing.
    """
    reason, where = "%d bytes are too few" % size, size
    if not size:
        reason = "the file is empty"
    if len(head) >= 8:
        length, = wire.LENGTH.unpack_from(head)
        if not 0 < length <= size - 8:
            reason = ("the header is said to have %d bytes, %d are behind "
                      "its length" % (length, size - 8))
            where = 0
        elif length > MAX_HEADER or len(head) < length + 8:
            reason = "a header of %d bytes is not to be believed" % length
            where = 0
        else:
            try:
                header = parse_message(head, 8, length + 8)
                if header.entries or header.version or header.op_name:
                    _place(header, 8 + length, size, path)
                    return header
                reason, where = "the header names no operator or tensor", 8
            except wire.WireError as error:
                reason, where = error.reason, error.offset
    if problem is not None:
        problem.append((reason, where))
    return None


def _read_legacy(fd: int, size: int) -> Optional[DumpHeader]:
    """A whole-file message, or None; its data is mapped, never read."""
    if not 0 < size < _MAX_MESSAGE:
        return None
    with mmap.mmap(fd, size, access=mmap.ACCESS_READ) as view:
        # Every known writer starts with field 1 (version), and the message
        # must describe at least one tensor: otherwise any text file that
        # happens to look like fields would pass.
        if view[0] != 0x0A:
            return None
        try:
            header = parse_message(view, 0, size)
        except wire.WireError:
            return None
    if not header.entries or header.version == "2.0":
        return None
    header.legacy = True
    header.file_size = size
    return header


def _place(header: DumpHeader, start: int, size: int, path: Path) -> None:
    """Gives every entry its offset, and checks the file's size."""
    header.file_size = size
    left = size - start
    total = 0
    for entry in header.entries:
        total += entry.size
    if total > left:
        # The device writes nothing for an entry whose address it could not
        # resolve, but leaves its size in the header (dump_task.cpp).
        stored = sum(entry.size for entry in header.entries if entry.address)
        if stored == left and any(e.address for e in header.entries):
            for entry in header.entries:
                entry.stored = bool(entry.address) or not entry.size
            total = stored
    pos = start
    for entry in header.entries:
        entry.offset = pos
        if entry.stored:
            pos += entry.size
            if pos > size:
                raise FormatError(
                    path, "truncated: %s %d should end at byte %d, %d bytes "
                    "are missing in all" % (entry.kind, entry.index, pos,
                                            total - left), size)
    header.trailing = left - total


def parse_message(buffer, pos: int, end: int) -> DumpHeader:
    """DumpData in buffer[pos:end]; offsets of data are not yet placed.

    Where a message carries data itself (legacy files), `offset` and `size`
    are those of the data inside `buffer`.

    Raises:
      WireError: not a message, or one of absurd size.
    """
    header = DumpHeader()
    groups = ([], [], [], [])  # type: Tuple[List[TensorEntry], ...]
    inputs, outputs, buffers, spaces = groups
    count = 0
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x1A or tag == 0x22:
            if tag == 0x1A:
                outputs.append(_output(buffer, a, b, len(outputs)))
            else:
                inputs.append(_input(buffer, a, b, len(inputs)))
            count += 1
        elif tag == 0x10:
            header.dump_time = a
        elif tag == 0x32:
            header.op_name = _text(buffer, a, b)
        elif tag == 0x0A:
            header.version = _text(buffer, a, b)
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


def _output(buffer, pos: int, end: int, index: int) -> TensorEntry:
    """OpOutput of dump_data.proto."""
    entry = TensorEntry("output", index)
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x08:
            entry.data_type = a
        elif tag == 0x10:
            entry.format = a
        elif tag == 0x1A:
            entry.shape += _shape(buffer, a, b)
        elif tag == 0x22:
            entry.original_op = _original_op(buffer, a, b)
        elif tag == 0x30:
            entry.size = a
        elif tag == 0x3A:
            entry.original_shape = _shape(buffer, a, b) or None
        elif tag == 0x48:
            entry.address = a
        elif tag == 0x40:
            entry.sub_format = wire.signed(a)
        elif tag == 0x2A and b > a:
            entry.offset, entry.size = a, b - a
    return entry


def _input(buffer, pos: int, end: int, index: int) -> TensorEntry:
    """OpInput of dump_data.proto."""
    entry = TensorEntry("input", index)
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x08:
            entry.data_type = a
        elif tag == 0x10:
            entry.format = a
        elif tag == 0x1A:
            entry.shape += _shape(buffer, a, b)
        elif tag == 0x28:
            entry.size = a
        elif tag == 0x32:
            entry.original_shape = _shape(buffer, a, b) or None
        elif tag == 0x40:
            entry.address = a
        elif tag == 0x38:
            entry.sub_format = wire.signed(a)
        elif tag == 0x22 and b > a:
            entry.offset, entry.size = a, b - a
    return entry


# Shapes by their bytes: a network has few, a dump repeats them endlessly.
_SHAPES = {}  # type: Dict[bytes, Tuple[int, ...]]


def _shape(buffer, pos: int, end: int) -> Tuple[int, ...]:
    known = None
    if end - pos < 64:
        known = bytes(buffer[pos:end])
        shape = _SHAPES.get(known)
        if shape is not None:
            return shape
    dims = []  # type: List[int]
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


def _original_op(buffer, pos: int, end: int) -> OriginalOp:
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


def _buffer(buffer, pos: int, end: int, index: int,
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


def _attr(buffer, pos: int, end: int) -> Tuple[str, str]:
    key = value = ""
    for tag, a, b in wire.fields(buffer, pos, end):
        if tag == 0x0A:
            key = _text(buffer, a, b)
        elif tag == 0x12:
            value = _text(buffer, a, b)
    return key, value


def _text(buffer, pos: int, end: int) -> str:
    if end - pos > MAX_HEADER:
        raise wire.WireError("a text of %d bytes" % (end - pos), pos)
    return bytes(buffer[pos:end]).decode("utf-8", "backslashreplace")

