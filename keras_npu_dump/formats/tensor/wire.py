"""The protobuf wire format, as far as dump headers need it.

Reading yields positions instead of copies: a legacy dump file is one message
with gigabytes of tensor data inside, and none of it may be touched to know
what is there. Nothing is believed from a length before it is compared with
the bytes that exist.
"""
from __future__ import annotations

import mmap
import struct
from typing import Iterator, List, Tuple, Union

Buffer = Union[bytes, bytearray, memoryview, mmap.mmap]

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5

_MASK64 = (1 << 64) - 1


class WireError(ValueError):
    """Bytes that are no message; `offset` counts from the buffer's start."""

    def __init__(self, reason: str, offset: int):
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def read_varint(buffer: Buffer, pos: int, end: int) -> Tuple[int, int]:
    """A number of 7 bits per byte.

    Args:
      buffer: bytes, or a map of the file.
      pos: of its first byte.
      end: where the message ends.

    Returns:
      (unsigned value of 64 bits, position behind it).

    Raises:
      WireError: longer than 10 bytes, or cut off.
    """
    result = 0
    shift = 0
    while pos < end:
        byte = buffer[pos]
        pos += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _MASK64, pos
        shift += 7
        if shift > 63:
            raise WireError("a varint longer than 10 bytes", pos)
    raise WireError("the message ends inside a number", pos)


def fields(buffer: Buffer, pos: int, end: int) -> Iterator[Tuple[int, int, int]]:
    """Yields (tag, a, b) for every field of a message.

    `tag` is the field's number * 8 + its wire type. For a varint, `a` is the unsigned
    value; for a length-delimited field [a, b) are its bytes; for fixed fields
    [a, b) are the 8 or 4 bytes. `b` is always the position behind the field.

    Args:
      buffer: bytes, or a map of the file.
      pos, end: the message is buffer[pos:end].

    Raises:
      WireError: cut off, a length beyond `end`, field number 0, or a group.
    """
    while pos < end:
        start = pos
        tag = buffer[pos]
        pos += 1
        if tag >= 0x80:
            tag, pos = read_varint(buffer, start, end)
        if tag < 8 or tag >> 32:
            raise WireError("no field has the tag %d" % tag, start)
        kind = tag & 7
        if kind == FIXED64 or kind == FIXED32:
            stop = pos + (8 if kind == FIXED64 else 4)
            if stop > end:
                raise WireError("the message ends inside a number", start)
            yield tag, pos, stop
            pos = stop
            continue
        if kind != VARINT and kind != BYTES:
            raise WireError("wire type %d is not used by any dump" % kind,
                            start)
        # Inlined: a call for each number costs more than everything else.
        if pos >= end:
            raise WireError("the message ends inside a number", start)
        value = buffer[pos]
        pos += 1
        if value >= 0x80:
            value &= 0x7F
            shift = 7
            while True:
                if pos >= end or shift > 63:
                    raise WireError("a number without an end", start)
                byte = buffer[pos]
                pos += 1
                if byte < 0x80:
                    value |= byte << shift
                    break
                value |= (byte & 0x7F) << shift
                shift += 7
            value &= _MASK64
        if kind == VARINT:
            yield tag, value, pos
            continue
        stop = pos + value
        if stop > end:
            raise WireError("field %d claims %d bytes, %d are left"
                            % (tag >> 3, value, end - pos), start)
        yield tag, pos, stop
        pos = stop


def packed_varints(buffer: Buffer, pos: int, end: int, limit: int) -> List[int]:
    """Unsigned values of a packed repeated field.

    Args:
      buffer: bytes, or a map of the file.
      pos, end: the field's bytes are buffer[pos:end].
      limit: how many values are believed.

    Raises:
      WireError: cut off, or more than `limit` values.
    """
    values = []
    while pos < end:
        byte = buffer[pos]
        if byte < 0x80:
            pos += 1
            values.append(byte)
        else:
            byte, pos = read_varint(buffer, pos, end)
            values.append(byte)
        if len(values) > limit:
            raise WireError("more than %d numbers in one field" % limit, pos)
    return values


def signed(value: int) -> int:
    """An unsigned 64-bit value read as two's complement.

    Args:
      value: of `read_varint` or `fields`.
    """
    return value - (1 << 64) if value >> 63 else value


def varint(value: int) -> bytes:
    """Encoding of a number.

    Args:
      value: unsigned, or a negative number of 64 bits.
    """
    value &= _MASK64
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def put_varint(out: bytearray, number: int, value: int) -> None:
    """Appends a varint field, or nothing if it has proto3's default 0.

    Args:
      out: the message so far.
      number: of the field.
      value: as for `varint`.
    """
    if value:
        out += varint(number << 3)
        out += varint(value)


def put_bytes(out: bytearray, number: int, data: bytes) -> None:
    """Appends a length-delimited field, also if empty.

    Args:
      out: the message so far.
      number: of the field.
      data: its bytes.
    """
    out += varint(number << 3 | BYTES)
    out += varint(len(data))
    out += data


def put_text(out: bytearray, number: int, text: str) -> None:
    """Appends a string field, or nothing if it is empty.

    Args:
      out: the message so far.
      number: of the field.
      text: written as UTF-8; surrogates that stand for bytes as these bytes.
    """
    if text:
        put_bytes(out, number, text.encode("utf-8", "surrogateescape"))


LENGTH = struct.Struct("<Q")
