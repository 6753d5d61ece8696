"""Binary dump files: what is in them, read without touching the data.

Layout (runtime `dump_task.cpp`; msaccucmp `big_dump_data.py`):

    8 bytes   little-endian length L of the header
    L bytes   message toolkit.dumpdata.DumpData, its `data` fields empty
    ...       data of every input, output, buffer and workspace, in this
              order, without padding

Older files ("version 1") are one DumpData message whose `data` fields hold
the tensors. Both give the same `DumpHeader`; `TensorEntry.offset` says where
in the file the bytes of one tensor lie.

`message.py` knows the message, `tensor_data.py` reads the values,
`tensor_writer.py` writes files.
"""
from __future__ import annotations

import mmap
import os
from typing import List, Optional, Tuple, Union

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular
from keras_npu_dump.formats import sniff
from keras_npu_dump.formats.tensor import wire
from keras_npu_dump.formats.tensor.message import DumpHeader, parse_message
from keras_npu_dump.sizes import human_bytes

_FIRST_READ = 4096
# A header holds names and shapes only. The device writer allows 2 GiB; what
# is larger than this has never been seen and is not worth believing.
MAX_HEADER = 64 << 20
# Larger than the memory of any device, and so than any of its tensors.
MAX_FILE = 1 << 38
_FIRST_TAGS = (0x0A, 0x10, 0x1A, 0x22, 0x2A, 0x32)
_MAX_MESSAGE = 1 << 31  # protobuf's own limit


def read_header(path: Path, dir_fd: Optional[int] = None) -> DumpHeader:
    """Reads the header of a dump file; a single read for all but huge headers.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: an open folder, which saves path resolution in large trees.

    Raises:
      FormatError: empty, truncated, or not a dump file; `offset` says where.
        Also what is no regular file, as for every reader here.
      OSError: the file cannot be opened or read.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        return header_of(fd, size, os.fspath(path))
    finally:
        os.close(fd)


def header_of(fd: int, size: int, path: Path) -> DumpHeader:
    """`read_header` of an open file.

    Args:
      fd: descriptor; its position does not matter.
      size: of the file in bytes.
      path: of the file, for errors.

    Raises:
      FormatError, OSError: as `read_header`; also for a file larger than MAX_FILE.
    """
    if size > MAX_FILE:
        raise FormatError(path, "not a dump file: %s are more than any device has" % (
            human_bytes(size)), 0)
    head = os.pread(fd, _FIRST_READ, 0)
    if len(head) >= 8:
        length, = wire.LENGTH.unpack_from(head)
        if len(head) < length + 8 <= size and length <= MAX_HEADER:
            head += read_exactly(fd, length + 8 - len(head), len(head))
    problem: List[Tuple[str, int]] = []
    header = parse_header(head, size, path, problem)
    if header is None:
        header = _read_legacy(fd, size)
    if header is None:
        what = sniff.looks_like(head[:sniff.ENOUGH])
        if what is not None:
            raise FormatError(path, "not a dump file: it looks like %s" % what, 0)
        reason, where = problem[0]
        raise FormatError(path, "not a dump file, or cut off: %s" % reason,
                          where)
    return header


def read_exactly(fd: int, count: int, offset: int) -> bytes:
    """Bytes of an open file.

    Args:
      fd: descriptor; its position does not matter.
      count: how many bytes.
      offset: position of the first in the file.

    Returns:
      The bytes; fewer where the file ends before. Memory follows what is there.

    Raises:
      OSError: the file cannot be read.
    """
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


def parse_header(head: Union[bytes, bytearray], size: int, path: Path,
                 problem: Optional[List[Tuple[str, int]]] = None
                 ) -> Optional[DumpHeader]:
    """The header at the start of a file of which a part is at hand.

    Args:
      head: the first bytes of the file.
      size: of the file in bytes.
      path: of the file, for errors.
      problem: a list for what is wrong where None is returned: (reason, position
        in bytes) is appended.

    Returns:
      DumpHeader; None if this is no file with a length and a header behind it, or
      the header is not within `head`.

    Raises:
      FormatError: it is such a file, but tensor data is missing.
    """
    reason, where = "%d bytes are too few" % size, size
    if not size:
        reason = "the file is empty"
    if len(head) >= 8:
        length, = wire.LENGTH.unpack_from(head)
        if length > MAX_HEADER and length > size - 8:
            reason, where = "its first 8 bytes are no length of a header", 0
        elif not 0 < length <= size - 8:
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
        # A message starts with one of its fields, and must describe at least
        # one tensor: otherwise other files that happen to look like fields
        # would pass. (The length in front of a newer header never does: its
        # upper bytes are 0, which is no field.)
        if view[0] not in _FIRST_TAGS:
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
        # The device writes nothing for an input or output whose address it
        # could not resolve, but leaves its size in the header
        # (dump_task.cpp). Without any address there is no telling such a
        # file from one that was cut.
        left_out = [entry for entry in header.entries
                    if not entry.address and entry.size
                    and entry.kind in ("input", "output")]
        stored = total - sum(entry.size for entry in left_out)
        if stored == left and any(e.address for e in header.entries):
            for entry in left_out:
                entry.stored = False
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
