"""Reads records: small files that are read whole, up to a limit that is stated here."""
from __future__ import annotations

import json
import os
from typing import Any, Iterator, Union

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, check_regular, open_regular
from keras_npu_dump.sizes import human_bytes

# What capture writes takes a few kilobytes; options may name every operator of a network.
MAX_RUN_RECORD = 16 << 20
# Two hundred bytes for each execution that was dumped.
MAX_JOURNAL = 256 << 20
MAX_JOURNAL_LINE = 16 << 20
MAX_FLAG_FILE = 16 << 20
# Three hundred bytes for each step of each graph on each device.
MAX_MANIFEST = 64 << 20
# Bytes of memory that a JSON document may take once it is read. Most of it is in objects (a
# dict of one field takes 232 bytes, `{"a":0}` seven), texts, and what stands in lists.
_MOST_MEMORY = 700 << 20
_MEMORY = {b"{": 240, b"[": 90, b'"': 45, b",": 40}
# Nothing that is counted has more; 2**63 has 19.
_MOST_DIGITS = 40


def read_record(path: Path, limit: int) -> bytes:
    """All bytes of a regular file.

    Raises:
      FormatError: it is something else, or has more than `limit` bytes.
      OSError: it cannot be opened or read.
    """
    check_regular(path)
    fd, size = open_regular(path)
    try:
        _check_size(path, size, limit)
        parts = []
        left = limit + 1  # a file of /proc says 0, and another one may grow
        while left > 0:
            part = os.read(fd, min(left, max(size + 1, 1 << 16), 1 << 24))
            if not part:
                break
            parts.append(part)
            left -= len(part)
    finally:
        os.close(fd)
    _check_size(path, limit + 1 - left, limit)
    return b"".join(parts)


def read_json(path: Path, limit: int) -> Any:
    """The JSON document that a file holds.

    Raises:
      FormatError: as `read_record`; or it is no JSON.
      OSError: as `read_record`.
    """
    try:
        return parse_json(read_record(path, limit))
    except FormatError:
        raise
    except RecursionError:
        raise FormatError(path, "not JSON that can be read: nested too deep") from None
    except ValueError as error:
        raise FormatError(path, "not JSON: %s" % error) from None


def parse_json(content: bytes) -> Any:
    """The JSON document that bytes hold; a number of too many digits is infinite.

    Python takes time that grows with the square of the digits, or refuses all of the document.

    Raises:
      ValueError: it is none, or would take too much memory. RecursionError: it is nested too
        deep.
    """
    memory = sum(content.count(sign) * size for sign, size in _MEMORY.items())
    if memory > _MOST_MEMORY:
        raise ValueError("it has so many parts that it would take %s of memory, at most %s are"
                         " given to it" % (human_bytes(memory), human_bytes(_MOST_MEMORY)))
    return json.loads(content.decode("utf-8"), parse_int=_whole_number)


def _whole_number(digits: str) -> Union[int, float]:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def read_lines(path: Path, limit: int, longest: int) -> Iterator[bytes]:
    """The lines of a regular file, each with its line end, one after the other.

    A line longer than `longest` comes in pieces.

    Raises:
      FormatError: it is something else, or has more than `limit` bytes.
      OSError: it cannot be opened or read.
    """
    check_regular(path)
    fd, size = open_regular(path)
    with os.fdopen(fd, "rb") as stream:
        _check_size(path, size, limit)
        left = limit
        while left > 0:
            line = stream.readline(min(longest, left))
            if not line:
                break
            left -= len(line)
            yield line


def _check_size(path: Path, size: int, limit: int) -> None:
    if size > limit:
        raise FormatError(path, "%s are too much for such a file, at most %s are read" % (
            human_bytes(size), human_bytes(limit)))
