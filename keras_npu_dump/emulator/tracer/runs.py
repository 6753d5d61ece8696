"""The dumped executions that are going on, and the Python side of what a twin gives out.

A twin calls two functions of this module from TensorFlow's threads (as PyFunc): `_take_big`
with each large value as soon as it is there, and `_take_small` with all the small ones of a
graph or of a round of a body, at its end. Both know the execution by the number that went
into the twin with the arguments, and both answer with the place at which it now keeps what it
was given. They never raise: a training does not end for its dump.
"""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

# What becomes of a large value (array, dtype number of TensorFlow): something small, to be kept.
Keep = Callable[[np.ndarray, int], Any]

OFF = -1
"""In place of an execution's number: nothing is wanted of this one."""


class Run:
    """An execution of a twin that gives values out.

    Args:
      number: tells it from others that go on at the same time.
      keep: what becomes of large values.

    Attributes:
      number: see the argument.
      error: the first error of `keep`; the large values after it are dropped.
    """

    def __init__(self, number: int, keep: Keep):
        self.number = number
        self.error: Optional[Exception] = None
        self._keep = keep
        self._kept: List[Any] = []
        self._lock = threading.Lock()

    def add_big(self, array: np.ndarray, dtype: int) -> int:
        """Keeps what remains of a large value.

        Args:
          array: the value; it is not referred to afterwards.
          dtype: number of TensorFlow.

        Returns:
          Its place, for `kept`.
        """
        kept = None
        if self.error is None:
            try:
                kept = self._keep(array, dtype)
            except Exception as error:
                # Of any kind: it is told where the files are written.
                self.error = error
        return self.add(kept)

    def add(self, kept: Any) -> int:
        """Keeps something; returns its place.

        Args:
          kept: whatever it is.
        """
        with self._lock:
            self._kept.append(kept)
            return len(self._kept) - 1

    def kept(self, place: int) -> Any:
        """What is kept at a place.

        Args:
          place: of `add`.

        Raises:
          Exception: a large value could not be kept; the first error.
        """
        if self.error is not None:
            raise self.error
        return self._kept[place]


class Runs:
    """The executions that are going on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._going: Dict[int, Run] = {}

    def begin(self, keep: Keep) -> Run:
        """A new execution, with the lowest number that none has now.

        Args:
          keep: what becomes of large values.
        """
        with self._lock:
            number = next(number for number in range(len(self._going) + 1)
                          if number not in self._going)
            self._going[number] = run = Run(number, keep)
            return run

    def end(self, run: Run) -> None:
        """Forgets an execution, which takes no more values.

        Args:
          run: of `begin`.
        """
        with self._lock:
            del self._going[run.number]

    def get(self, number: int) -> Run:
        """The execution of a number.

        Args:
          number: of one that is going on.
        """
        return self._going[number]


RUNS = Runs()


def _take_big(dtype: int, number: np.ndarray, array: np.ndarray) -> np.ndarray:
    return np.array(RUNS.get(int(number)).add_big(array, dtype), np.int64)


def _take_small(number: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    return np.array(RUNS.get(int(number)).add(arrays), np.int64)


@functools.lru_cache(maxsize=None)
def token(dtype: int) -> bytes:
    """The name under which TensorFlow knows a function of this module.

    Args:
      dtype: number of TensorFlow, for the function that takes large values of it; 0 for the one
        that takes the small ones.
    """
    return _registered(dtype)[0]


# TensorFlow refers to registered functions weakly; here they live.
@functools.lru_cache(maxsize=None)
def _registered(dtype: int) -> Tuple[bytes, Callable[..., Any]]:
    from tensorflow.python.ops import script_ops
    function = functools.partial(_take_big, dtype) if dtype else _take_small
    name: str = script_ops._py_funcs.insert(function)
    return name.encode("utf-8"), function


@functools.lru_cache(maxsize=None)
def number_tensor(number: int) -> Any:
    """The number of an execution, or OFF, as an eager tensor.

    Args:
      number: see `Run`.
    """
    from tensorflow.python.framework import constant_op, dtypes
    return constant_op.constant(number, dtypes.int64)


def values_of(run: Run, place: int, big: Sequence[bool]) -> List[Any]:
    """What came out of a run of a graph or body.

    Args:
      run: the execution.
      place: at which the small values are kept.
      big: for each value whether it went to `keep`.

    Returns:
      Per value an array, or what `keep` made of it.

    Raises:
      Exception: see `Run.kept`.
    """
    return [run.kept(int(array)) if is_big else array
            for array, is_big in zip(run.kept(place), big)]
