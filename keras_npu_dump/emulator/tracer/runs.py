"""The dumped executions that are going on, and the Python side of what a twin gives out.

A twin calls functions of this module from TensorFlow's threads (as PyFunc). A graph, or a
round of a body, whose values are all small gives them out at its end (AT_END). Another one
asks for a place when it begins (BEGIN), and gives values out as they come (AT_ONCE), of which
something smaller is kept there. All know the execution by the number that went into the twin
with the arguments. What keeping a value raises does not reach the training.
"""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

# What becomes of a value (array, dtype number of TensorFlow) that does not stay: something small.
Keep = Callable[[np.ndarray, int], Any]

BEGIN, AT_ONCE, AT_END = range(3)

OFF = -1
"""In place of an execution's number: nothing is wanted of this one."""


class Reading:
    """An execution of a twin that gives values out.

    Args:
      number: tells it from others that go on at the same time.
      keep: what becomes of values that go out as they come.

    Attributes:
      number: see the argument.
      error: the first error of `keep`; the values after it are dropped.
    """

    def __init__(self, number: int, keep: Keep):
        self.number = number
        self.error: Optional[Exception] = None
        self._keep = keep
        self._kept: List[Any] = []
        self._lock = threading.Lock()

    def reduce(self, place: int, group: int, arrays: Sequence[np.ndarray]) -> None:
        """Keeps what remains of values.

        Args:
          place: at which a dictionary is kept.
          group: under which it goes in there.
          arrays: the values; they are not referred to afterwards.
        """
        try:
            if self.error is None:
                self._kept[place][group] = [self._keep(array, _dtype_number(array.dtype))
                                            for array in map(_as_array, arrays)]
        except Exception as error:
            # Of any kind: it is told where the files are written.
            self.error = error

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
          Exception: a value could not be kept; the first error.
        """
        if self.error is not None:
            raise self.error
        return self._kept[place]


class Readings:
    """The executions that are going on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._going: Dict[int, Reading] = {}

    def begin(self, keep: Keep) -> Reading:
        """A new execution, with the lowest number that none has now.

        Args:
          keep: what becomes of values that go out as they come.
        """
        with self._lock:
            number = next(number for number in range(len(self._going) + 1)
                          if number not in self._going)
            self._going[number] = run = Reading(number, keep)
            return run

    def end(self, run: Reading) -> None:
        """Forgets an execution, which takes no more values.

        Args:
          run: of `begin`.
        """
        with self._lock:
            del self._going[run.number]

    def get(self, number: int) -> Reading:
        """The execution of a number.

        Args:
          number: of one that is going on.
        """
        return self._going[number]


RUNS = Readings()


def _as_array(value: Any) -> np.ndarray:
    """What TensorFlow passed, which for a scalar is a number in 2.6."""
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def _begin(number: np.ndarray) -> np.ndarray:
    return np.array(RUNS.get(int(number)).add({}), np.int64)


def _at_once(number: np.ndarray, place: np.ndarray, group: np.ndarray, *arrays: np.ndarray
             ) -> List[np.ndarray]:
    RUNS.get(int(number)).reduce(int(place), int(group), arrays)
    return []


def _at_end(number: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    return np.array(RUNS.get(int(number)).add(arrays), np.int64)


@functools.lru_cache(maxsize=None)
def token(function: int) -> bytes:
    """The name under which TensorFlow knows a function of this module.

    Args:
      function: BEGIN, AT_ONCE or AT_END.
    """
    from tensorflow.python.ops import script_ops
    # TensorFlow refers to it weakly; it lives here.
    name: str = script_ops._py_funcs.insert((_begin, _at_once, _at_end)[function])
    return name.encode("utf-8")


@functools.lru_cache(maxsize=None)
def _dtype_number(dtype: Any) -> int:
    from tensorflow.python.framework import dtypes
    return int(dtypes.as_dtype(dtype).as_datatype_enum)


@functools.lru_cache(maxsize=None)
def number_tensor(number: int) -> Any:
    """The number of an execution, or OFF, as an eager tensor.

    Args:
      number: see `Reading`.
    """
    from tensorflow.python.framework import constant_op, dtypes
    return constant_op.constant(number, dtypes.int64)


def values_of(run: Reading, place: int, names: Sequence[str], groups: Sequence[Sequence[str]]
              ) -> Dict[str, Any]:
    """What came out of a run of a graph or body.

    Args:
      run: the execution.
      place: at which it is kept.
      names: of all values.
      groups: of those that went out together as they came, see `sinks.Sinks.add`.

    Returns:
      By name an array, or what `keep` made of it.

    Raises:
      Exception: see `Reading.kept`.
    """
    found = run.kept(place)
    if not groups:
        return dict(zip(names, map(_as_array, found)))
    return {name: kept for index, group in enumerate(groups)
            for name, kept in zip(group, found[index])}
