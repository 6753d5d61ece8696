"""Large values of an execution that are to be written, from when they come to when the
files are: in a file that has no name, so that nothing is left of it whatever happens.
"""
from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from typing import Any, List, Tuple, Union

import numpy as np

from keras_npu_dump.files.private_folders import make_private

_MOST = 1 << 30  # bytes that one call of the system writes or reads; it takes less than 2 GiB
_FULL = 1 << 30  # a file of more gets no further value: systems and limits know large files less
_open: "weakref.WeakSet[Spool]" = weakref.WeakSet()


class Spooled:
    """A value in a file.

    Args:
      file: descriptor of the file, open as long as the Spool is.
      offset: of its first byte.
      shape: of the array.
      dtype: numpy's.
    """

    __slots__ = ("_dtype", "_file", "_offset", "_shape")

    def __init__(self, file: int, offset: int, shape: Tuple[int, ...], dtype: Any):
        self._file = file
        self._offset = offset
        self._shape = shape
        self._dtype = dtype

    def array(self) -> np.ndarray:
        """The value, read anew each time, so that it can be let go after each use.

        Raises:
          OSError: it cannot be read.
        """
        array = np.empty(self._shape, self._dtype)
        view = _bytes_of(array)
        done = 0
        while done < len(view):
            count = os.preadv(self._file, [view[done:done + _MOST]], self._offset + done)
            if not count:
                raise OSError("the file with the values of this execution was cut off")
            done += count
        return array


class Spool:
    """Files for values; safe to use from several threads.

    Args:
      folder: in which the files are made once values come; it is made again if it is gone.
    """

    def __init__(self, folder: str):
        self._folder = folder
        self._lock = threading.Lock()
        self._files: List[Any] = []
        self._end = 0
        _open.add(self)

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Gives the files back."""
        for file in self._files:
            file.close()

    def put(self, array: np.ndarray, dtype: int = 0) -> Union[Spooled, np.ndarray]:
        """Writes a value behind the others.

        Args:
          array: the value.
          dtype: not needed, see `runs.Keep`.

        Returns:
          Where it is. A copy of it where a file cannot be as large as even this value.

        Raises:
          OSError: a file cannot be made or written.
        """
        del dtype
        data = np.ascontiguousarray(array)
        view = _bytes_of(data)
        for fresh in (False, True):
            file, offset = self._place(data.nbytes, fresh)
            try:
                done = 0
                while done < len(view):
                    done += os.pwrite(file, view[done:done + _MOST], offset + done)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
            else:
                return Spooled(file, offset, array.shape, array.dtype)
        return np.array(array)

    def _place(self, size: int, fresh: bool) -> Tuple[int, int]:
        """(descriptor, offset) of room for bytes; in a `fresh` file, if the last took no more."""
        with self._lock:
            if fresh or not self._files or self._end > _FULL:
                make_private(self._folder)
                self._files.append(tempfile.TemporaryFile(dir=self._folder, buffering=0))
                self._end = 0
            offset, self._end = self._end, self._end + size
            return self._files[-1].fileno(), offset


def _bytes_of(array: np.ndarray) -> memoryview:
    """The memory of an array; numpy's own buffer does not know every dtype."""
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _forked() -> None:
    """A child does not go on with its parent's execution, and must not hold its values."""
    for spool in list(_open):
        spool.close()


os.register_at_fork(after_in_child=_forked)
