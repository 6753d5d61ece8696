"""Names too long for the file system, and mapping.csv.

The host receiver opens the long name; if the file system refuses it
(ENAMETOOLONG), the file gets the decimal `std::hash` of its full path as its
name, without an extension, and the folder's `mapping.csv` a line
`<digits>,<long name>`, once per chunk of data: no header, no quoting,
duplicates are normal (runtime adump `file_utils.cpp`).
"""
from __future__ import annotations

import errno
import os
from typing import Dict, Iterator, Optional, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, create, open_regular
from keras_npu_dump.formats import names
from keras_npu_dump.sizes import human_bytes

MAPPING = "mapping.csv"
MAX_BYTES = 100 << 20  # msaccucmp refuses more, too
_MASK = (1 << 64) - 1


def read_mapping(folder: Path, dir_fd: Optional[int] = None) -> Dict[str, str]:
    """The long names behind the digits in a folder.

    Args:
      folder: the folder; relative to `dir_fd` if that is given.
      dir_fd: descriptor of an open folder.

    Returns:
      {digits: long name}; empty where there is no mapping.csv. Lines of another form
      are left out: other tools write theirs into the same file. Of several lines for
      the same digits the last counts. At most the first 100 MiB are read.

    Raises:
      FormatError: mapping.csv is no regular file, or larger than the vendor reads.
      OSError: mapping.csv is there and cannot be read.
    """
    return dict(row for row in _rows(folder, dir_fd) if row is not None)


def count_skipped(folder: Path) -> int:
    """How many lines of a folder's mapping.csv `read_mapping` leaves out.

    Args:
      folder: the folder.

    Returns:
      Lines of another form, empty ones not counted; 0 where there is no mapping.csv.

    Raises:
      OSError: mapping.csv is there and cannot be read.
    """
    return sum(row is None for row in _rows(folder, None))


def _rows(folder: Path, dir_fd: Optional[int]) -> Iterator[Optional[Tuple[str, str]]]:
    """(digits, long name) of each line; None for a line of another form."""
    path = os.path.join(os.fspath(folder), MAPPING)
    try:
        fd, size = open_regular(path, dir_fd)
    except FileNotFoundError:
        return
    with os.fdopen(fd, "rb") as file:
        if size > MAX_BYTES:
            raise FormatError(path, "%s are too much for names of files, at most %s are read"
                              % (human_bytes(size), human_bytes(MAX_BYTES)))
        left = MAX_BYTES
        while left > 0:
            line = file.readline(min(left, 1 << 16))
            if not line:
                break
            left -= len(line)
            digits, comma, name = line.partition(b",")
            name = name.rstrip(b"\r\n")
            if comma and digits.isdigit() and len(digits) <= 20 and name and b"," not in name:
                yield digits.decode("ascii"), os.fsdecode(name)
            elif line.strip():
                yield None


def resolve(file_name: str, mapping: Dict[str, str]) -> str:
    """The long name behind digits.

    Args:
      file_name: as on disk.
      mapping: of `read_mapping`.

    Returns:
      The long name; the file's own name where the mapping has none.
    """
    return mapping.get(file_name, file_name)


def create_dump_file(folder: Path, file_name: str) -> str:
    """Creates an empty dump file of mode 0600.

    Args:
      folder: that exists.
      file_name: of the dump, of any length.

    Returns:
      Path of the file. Where the name is too long for the file system that is a
      file of digits, and the folder's mapping.csv has a new line for it.

    Raises:
      OSError: the file cannot be created for another reason.
    """
    folder = os.fspath(folder)
    path = os.path.join(folder, file_name)
    try:
        _create(path)
        return path
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    digits = str(path_hash(os.fsencode(path)))
    path = os.path.join(folder, digits)
    _create(path)
    fd = create(os.path.join(folder, MAPPING), append=True)
    try:
        os.write(fd, b"%s,%s\n" % (digits.encode(), os.fsencode(file_name)))
    finally:
        os.close(fd)
    return path


def _create(path: str) -> None:
    os.close(create(path))


def path_hash(text: bytes) -> int:
    """The digits that stand for a long path, as a number.

    Args:
      text: bytes of the whole path.

    Returns:
      `std::hash<std::string>` of libstdc++ on 64-bit machines: MurmurHash64A,
      unaligned, with the seed of libstdc++'s `hash_bytes.cc`.
    """
    mul = 0xC6A4A7935BD1E995
    value = 0xC70F6907 ^ (len(text) * mul & _MASK)
    whole = len(text) & ~7
    for pos in range(0, whole, 8):
        word = int.from_bytes(text[pos:pos + 8], "little") * mul & _MASK
        word = (word ^ (word >> 47)) * mul & _MASK
        value = (value ^ word) * mul & _MASK
    if len(text) & 7:
        value ^= int.from_bytes(text[whole:], "little")
        value = value * mul & _MASK
    value = (value ^ (value >> 47)) * mul & _MASK
    return value ^ (value >> 47)


def kind_of(file_name: str, mapping: Dict[str, str]) -> str:
    """What a file is, with digits resolved.

    Args:
      file_name: as on disk.
      mapping: of `read_mapping`.

    Returns:
      As `names.classify`; the kind of the long name where the mapping has it and it
      is a dump's.
    """
    kind = names.classify(file_name)
    if kind == "digits" and file_name in mapping:
        resolved = names.classify(mapping[file_name])
        return resolved if resolved in ("dump", "stats", "overflow") \
            else "digits"
    return kind
