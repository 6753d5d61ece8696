"""The values of the tensors of a dump file."""
from __future__ import annotations

import mmap as mmap_module
import os
from typing import Iterator, List, Optional, Tuple

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular
from keras_npu_dump.formats.tensor import decode
from keras_npu_dump.formats.tensor.extent import elements_of
from keras_npu_dump.formats.tensor.header import header_of, parse_header, read_exactly
from keras_npu_dump.formats.tensor.message import DumpHeader, TensorEntry

# Files up to this size are read whole, with their header.
_WHOLE = 1 << 20


def read_file(path: Path, dir_fd: Optional[int] = None
              ) -> Tuple[DumpHeader, List[np.ndarray]]:
    """The header and the values of all its entries, in the same order.

    Entries that the device left out (`stored` False) give an empty array of
    their type. Memory: the whole file; see `read_array` for single tensors.
    The arrays of a small file are read-only views of the same buffer.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: descriptor of an open folder.

    Returns:
      (header, an array per entry as of `read_array`).

    Raises:
      FormatError, OSError: as `read_header`.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        if size <= _WHOLE:
            # One read for header and data: most dumps are of small tensors.
            data = read_exactly(fd, size, 0)
            header = parse_header(data, len(data), path)
            if header is not None:
                memory = np.frombuffer(data, np.uint8)
                return header, [
                    _shaped(memory[e.offset:e.offset + e.size] if e.stored
                            else memory[:0], e) for e in header.entries]
        header = header_of(fd, size, os.fspath(path))
        return header, [_array(fd, size, path, e) for e in header.entries]
    finally:
        os.close(fd)


def read_array(path: Path, entry: TensorEntry, mmap: bool = False,
               dir_fd: Optional[int] = None) -> np.ndarray:
    """Values of a tensor.

    Args:
      path: the dump file that `entry` was read from.
      entry: of `read_header(path).entries`.
      mmap: map the file instead of reading it (read-only array; for types
        that numpy does not have, the decoded copy is in memory all the same).
        The file must not be cut while the array is in use. By default False.
      dir_fd: descriptor of an open folder that `path` is relative to.

    Returns:
      An array of the shape in the header, in the layout `entry.format`, of
      the type that `decode.value_dtype` names. Bytes beyond the shape's
      product are left out, as the vendor's converter does. Flat, with what
      there is, where the bytes do not fill the shape (an FFTS slice has the
      whole tensor's shape in its header), a dimension is unknown, or numpy can
      hold no such shape (`decode.can_hold`). DT_UNDEFINED and types without a
      documented bit order are flat bytes.

    Raises:
      FormatError: the file is shorter than the entry says.
      OSError: the file cannot be opened or read.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        return _array(fd, size, path, entry, mmap)
    finally:
        os.close(fd)


def read_bytes(path: Path, entry: TensorEntry,
               dir_fd: Optional[int] = None) -> np.ndarray:
    """The stored bytes of a tensor.

    Args:
      path: the dump file that `entry` was read from.
      entry: of its header.
      dir_fd: descriptor of an open folder that `path` is relative to.

    Returns:
      A flat uint8 array, empty where the device left the data out.

    Raises:
      FormatError, OSError: as `read_array`.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        return _bytes(fd, size, path, entry.offset,
                      entry.size if entry.stored else 0)
    finally:
        os.close(fd)


def iter_blocks(path: Path, entry: TensorEntry,
                block_bytes: int = 8 << 20) -> Iterator[np.ndarray]:
    """Yields the values of a tensor as flat arrays, block by block.

    A block is valid until the next is asked for: the same memory is used again.
    Bytes beyond the shape's product are left out, as in `read_array`.

    Args:
      path: the dump file that `entry` was read from.
      entry: of its header.
      block_bytes: bytes of the file that make a block, by default 8 MiB.

    Raises:
      FormatError, OSError: as `read_array`.
    """
    fd, size = open_regular(path)
    try:
        yield from blocks_of(fd, size, path, entry, block_bytes)
    finally:
        os.close(fd)


def blocks_of(fd: int, file_size: int, path: Path, entry: TensorEntry,
              block_bytes: int = 8 << 20) -> Iterator[np.ndarray]:
    """`iter_blocks` of an open file.

    Args:
      fd: descriptor; its position does not matter.
      file_size: in bytes.
      path: of the file, for errors.
      entry: of its header.
      block_bytes: bytes of the file that make a block, by default 8 MiB.

    Raises:
      FormatError, OSError: as `read_array`.
    """
    block = max(16, block_bytes // 16 * 16)  # whole elements of every type
    left = entry.size if entry.stored else 0
    _check(file_size, path, entry.offset, left)
    count = elements_of(entry, left)
    if count is not None:
        left = decode.stored_bytes(entry.data_type, count)
    offset = entry.offset
    memory = np.empty(min(block, left), dtype=np.uint8)
    while left:
        part = memory[:min(block, left)]
        _fill(fd, part, offset, path)
        values = decode.decode(part, entry.data_type)
        if count is not None:
            values = values[:count]  # packed bits fill up their last byte
            count -= values.size
        yield values
        offset += part.size
        left -= part.size


def _array(fd: int, file_size: int, path: Path, entry: TensorEntry,
           mmap: bool = False) -> np.ndarray:
    size = entry.size if entry.stored else 0
    if mmap and size:
        _check(file_size, path, entry.offset, size)
        start = entry.offset - entry.offset % mmap_module.ALLOCATIONGRANULARITY
        view = mmap_module.mmap(fd, entry.offset + size - start,
                                access=mmap_module.ACCESS_READ, offset=start)
        data = np.frombuffer(view, np.uint8, size, entry.offset - start)
    else:
        data = _bytes(fd, file_size, path, entry.offset, size)
    return _shaped(data, entry)


def _shaped(data: np.ndarray, entry: TensorEntry) -> np.ndarray:
    """Values of all of a tensor's bytes; shaped where they fill the shape."""
    count = elements_of(entry, data.size)
    if count is None:
        return decode.decode(data, entry.data_type)
    values = decode.decode(data[:decode.stored_bytes(entry.data_type, count)], entry.data_type)
    return values[:count].reshape(entry.shape)  # packed bits fill up their last byte


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
    view = memoryview(data)  # type: ignore[arg-type]  # numpy's stubs
    done = 0
    while done < data.size:
        count = os.preadv(fd, [view[done:]], offset + done)
        if not count:
            raise FormatError(path, "the file shrank while being read",
                              offset + done)
        done += count
