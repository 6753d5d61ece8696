"""Large values of an execution that are to be written, from when they come to when the
files are: in a file that has no name, so that nothing is left of it whatever happens.
"""
from __future__ import annotations

import os
import tempfile
import threading
from typing import Any, Tuple

import numpy as np

_MOST = 1 << 30  # bytes that one call of the system writes or reads; it takes less than 2 GiB


class Spooled:
    """A value in a spool.

    Args:
      spool: the Spool.
      offset: of its first byte.
      shape: of the array.
      dtype: numpy's.
    """

    __slots__ = ("_dtype", "_offset", "_shape", "_spool")

    def __init__(self, spool: "Spool", offset: int, shape: Tuple[int, ...], dtype: Any):
        self._spool = spool
        self._offset = offset
        self._shape = shape
        self._dtype = dtype

    def array(self) -> np.ndarray:
        """The value, read anew each time, so that it can be let go after each use.

        Raises:
          OSError: it cannot be read.
        """
        array = np.empty(self._shape, self._dtype)
        self._spool.read(_bytes_of(array), self._offset)
        return array


class Spool:
    """A file for values; safe to use from several threads.

    Args:
      folder: in which the file is made once the first value comes; it must exist.
    """

    def __init__(self, folder: str):
        self._folder = folder
        self._lock = threading.Lock()
        self._file: Any = None
        self._end = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: Any) -> None:
        if self._file is not None:
            self._file.close()

    def put(self, array: np.ndarray, dtype: int = 0) -> Spooled:
        """Writes a value behind the others.

        Args:
          array: the value.
          dtype: not needed, see `runs.Keep`.

        Raises:
          OSError: the file cannot be made or written.
        """
        del dtype
        data = np.ascontiguousarray(array)
        with self._lock:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)
            offset, self._end = self._end, self._end + data.nbytes
        view = _bytes_of(data)
        done = 0
        while done < len(view):
            done += os.pwrite(self._file.fileno(), view[done:done + _MOST], offset + done)
        return Spooled(self, offset, array.shape, array.dtype)

    def read(self, view: memoryview, offset: int) -> None:
        """Reads what stands at a place.

        Args:
          view: filled.
          offset: of the first byte.

        Raises:
          OSError: it cannot be read.
        """
        done = 0
        while done < len(view):
            count = os.preadv(self._file.fileno(), [view[done:done + _MOST]], offset + done)
            if not count:
                raise OSError("the file with the values of this execution was cut off")
            done += count


def _bytes_of(array: np.ndarray) -> memoryview:
    """The memory of an array; numpy's own buffer does not know every dtype."""
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)
