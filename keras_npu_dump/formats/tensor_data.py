"""The values of one tensor of a dump file."""
from __future__ import annotations

import mmap as mmap_module
import os
from typing import Iterator, List, Optional, Tuple

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import decode
from keras_npu_dump.formats.header import (
    DumpHeader, Path, TensorEntry, read_header)

# numpy refuses more (32 before numpy 2).
_MAX_DIMS = 32


def read_file(path: Path) -> Tuple[DumpHeader, List[np.ndarray]]:
    """The header and the values of all its entries, in the same order.

    Entries that the device left out (`stored` False) give an empty array of
    their type. Memory: the whole file; see `read_array` for single tensors.

    Raises:
      FormatError, OSError: as `read_header`.
    """
    header = read_header(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        arrays = [_array(fd, size, path, entry) for entry in header.entries]
    finally:
        os.close(fd)
    return header, arrays


def read_array(path: Path, entry: TensorEntry, mmap: bool = False,
               dir_fd: Optional[int] = None) -> np.ndarray:
    """Values of one tensor.

    Args:
      path: the dump file that `entry` was read from.
      entry: of `read_header(path).entries`.
      mmap: map the file instead of reading it (read-only array; for types
        that numpy does not have, the decoded copy is in memory all the same).
        The file must not be cut while the array is in use.
      dir_fd: an open folder that `path` is relative to.

    Returns:
      An array of the shape in the header, in the layout `entry.format`, of
      the type that `decode.value_dtype` names. Bytes beyond the shape's
      product are left out, as the vendor's converter does. Flat, with what
      there is, where the bytes do not fill the shape (an FFTS slice has the
      whole tensor's shape in its header) or a dimension is unknown.
      DT_UNDEFINED and types without a documented bit order are flat bytes.

    Raises:
      FormatError: the file is shorter than the entry says.
      OSError: the file cannot be opened or read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return _array(fd, os.fstat(fd).st_size, path, entry, mmap)
    finally:
        os.close(fd)


def read_bytes(path: Path, entry: TensorEntry,
               dir_fd: Optional[int] = None) -> np.ndarray:
    """The stored bytes of one tensor as a flat uint8 array.

    Raises:
      FormatError, OSError: as `read_array`.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return _bytes(fd, os.fstat(fd).st_size, path, entry.offset,
                      entry.size if entry.stored else 0)
    finally:
        os.close(fd)


def iter_blocks(path: Path, entry: TensorEntry,
                block_bytes: int = 8 << 20) -> Iterator[np.ndarray]:
    """Yields the values of one tensor as flat arrays, block by block.

    Each block is decoded from at most `block_bytes` bytes and is valid until
    the next one is asked for: the same memory is used again. All stored
    elements are given, also those beyond the shape's product.

    Raises:
      FormatError, OSError: as `read_array`.
    """
    block = max(16, block_bytes // 16 * 16)  # whole elements of every type
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        left = entry.size if entry.stored else 0
        _check(size, path, entry.offset, left)
        offset = entry.offset
        memory = np.empty(min(block, left), dtype=np.uint8)
        while left:
            part = memory[:min(block, left)]
            _fill(fd, part, offset, path)
            yield decode.decode(part, entry.data_type)
            offset += part.size
            left -= part.size
    finally:
        os.close(fd)


def _array(fd: int, file_size: int, path: Path, entry: TensorEntry,
           mmap: bool = False) -> np.ndarray:
    size = entry.size if entry.stored else 0
    count = entry.count
    if not decode.is_decoded(entry.data_type) or entry.data_type == 0:
        count = None
    if count is not None:
        needed = decode.stored_bytes(entry.data_type, count)
        if needed > size or len(entry.shape) > _MAX_DIMS:
            count = None
        else:
            size = needed
    if mmap and size:
        _check(file_size, path, entry.offset, size)
        start = entry.offset - entry.offset % mmap_module.ALLOCATIONGRANULARITY
        view = mmap_module.mmap(fd, entry.offset + size - start,
                                access=mmap_module.ACCESS_READ, offset=start)
        data = np.frombuffer(view, np.uint8, size, entry.offset - start)
    else:
        data = _bytes(fd, file_size, path, entry.offset, size)
    values = decode.decode(data, entry.data_type)
    if count is None:
        return values
    if values.size != count:  # packed bits fill up their last byte
        values = values[:count]
    return values.reshape(entry.shape)


def _bytes(fd: int, file_size: int, path: Path, offset: int,
           size: int) -> np.ndarray:
    _check(file_size, path, offset, size)
    data = np.empty(size, dtype=np.uint8)
    _fill(fd, data, offset, path)
    return data


def _check(file_size: int, path: Path, offset: int, size: int) -> None:
    if offset < 0 or size < 0 or offset + size > file_size:
        raise FormatError(
            path, "the tensor's %d bytes at %d reach beyond the file's %d "
            "bytes" % (size, offset, file_size), file_size)


def _fill(fd: int, data: np.ndarray, offset: int, path: Path) -> None:
    view = memoryview(data)
    done = 0
    while done < data.size:
        count = os.preadv(fd, [view[done:]], offset + done)
        if not count:
            raise FormatError(path, "the file shrank while being read",
                              offset + done)
        done += count
