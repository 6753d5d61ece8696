"""Numbers of loaded models: GE's counter, or those that the driver gives.

GE of 2022 counts models from 1 over the process (davinci_model.cc). In 2026 a dump folder
carries the number that the driver gave (davinci_model.cc, runtime npu_driver_res.cc): it tells
nothing about what was loaded first, and is free again when the model is unloaded.
"""
from __future__ import annotations

import collections
import itertools
from typing import Deque

_BITS = 11  # of the numbers that the stand-in for the driver has; where all are in use, more


def _scattered() -> Deque[int]:
    """All numbers but 0, in the order in which they are given; the driver's own is not known.

    The bits of a count, turned round: neighbours lie far from each other.
    """
    return collections.deque(int(format(number, "0%db" % _BITS)[::-1], 2)
                             for number in range(1, 1 << _BITS))


class ModelIds:
    """Gives numbers to models, and takes them back.

    Args:
      counted: whether they count from 1, as before 2026, or are the driver's.
    """

    def __init__(self, counted: bool):
        self._free = collections.deque() if counted else _scattered()
        self._more = itertools.count(1 if counted else 1 << _BITS)
        self._counted = counted

    def load(self) -> int:
        """A number that no loaded model has; in a counter's case, that none ever had."""
        try:
            return self._free.popleft()
        except IndexError:
            return next(self._more)

    def unload(self, number: int) -> None:
        """The model is gone: the driver may give its number to the next one.

        Args:
          number: of the model.
        """
        if not self._counted:
            self._free.append(number)
