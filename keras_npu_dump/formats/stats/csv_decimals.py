"""Decimal numbers of many csv cells at once, to the bit what Python's float gives."""
from __future__ import annotations

from typing import List, Tuple

import numpy as np

WORD = 8  # bytes
MAX_LENGTH = 3 * WORD  # longer cells are left to Python's float
BYTE = np.uint64(255)

_DIGIT_0, _DOT, _MINUS, _PLUS, _E = (ord(mark) for mark in "0.-+e")
# Integers below 2**53 times or over a power of ten up to 10**22 are rounded
# once, so that the result is the float that Python's parser gives.
_EXACT_DIGITS = 15
_EXACT_POWER = 22
_MAX_EXPONENT_DIGITS = 3
_POWERS = 10.0 ** np.arange(_EXACT_POWER + 1)


def decimals(words: List[np.ndarray], length: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Values of cells of the form [-]digits[.digits][e(+|-)digits].

    Args:
      words: uint64 per cell; words[n] holds its bytes 8 * n and on, the first byte the
        lowest, 0 behind its end. As many as the longest cell needs, at most 3.
      length: of each cell in bytes.

    Returns:
      (float64 values, bool: which cells are of another form, or too long to be exact;
      their values mean nothing).
    """
    scanned = _Scan(len(length))
    for place in range(min(WORD * len(words), int(length.max()) if len(length) else 0)):
        shift = np.uint64(8 * (place % WORD))
        scanned.take(((words[place // WORD] >> shift) & BYTE).astype(np.uint8), place == 0)
    values, inexact = scanned.values()
    return values, inexact | (length == 0) | (length > MAX_LENGTH)


class _Scan:
    """What the characters of all cells so far make, a character of each at a time.

    Attributes, a value per cell:
      mantissa, digits, fraction: digits before an "e" as a number, how many they are,
        and how many of them stand behind the point.
      exponent, exponent_digits: the same of what stands behind "e".
      negative, dotted, powered, signed, down: whether there was a leading minus, a point,
        an "e", a sign behind it, and whether that was a minus.
      odd: whether a character stood where it must not.
    """

    def __init__(self, cells: int):
        self.mantissa = np.zeros(cells, np.int64)
        self.digits = np.zeros(cells, np.int8)
        self.fraction = np.zeros(cells, np.int8)
        self.exponent = np.zeros(cells, np.int16)
        self.exponent_digits = np.zeros(cells, np.int8)
        self.negative = np.zeros(cells, bool)
        self.dotted = np.zeros(cells, bool)
        self.powered = np.zeros(cells, bool)
        self.signed = np.zeros(cells, bool)
        self.down = np.zeros(cells, bool)
        self.odd = np.zeros(cells, bool)
        self._any_powered = False  # saves work on columns without any "e"

    def take(self, byte: np.ndarray, is_first: bool) -> None:
        """The next character of every cell, uint8; 0 behind its end."""
        digit = byte - np.uint8(_DIGIT_0)
        is_digit = digit <= 9  # what is below "0" wraps around to more
        self._take_digits(digit, is_digit)
        other = (byte != 0) & ~is_digit
        if is_first:
            self.negative = byte == _MINUS
            self.odd |= other & ~self.negative
        elif other.any():
            self._take_marks(byte, other)

    def _take_digits(self, digit: np.ndarray, is_digit: np.ndarray) -> None:
        front = is_digit
        if self._any_powered:
            front = is_digit & ~self.powered
            behind = is_digit & self.powered
            self.exponent = np.where(behind, self.exponent * 10 + digit, self.exponent)
            self.exponent_digits += behind
        self.mantissa = np.where(front, self.mantissa * 10 + digit, self.mantissa)
        self.digits += front
        self.fraction += front & self.dotted

    def _take_marks(self, byte: np.ndarray, other: np.ndarray) -> None:
        """A point, an "e", or the sign behind it, each only where it may stand."""
        dot = other & (byte == _DOT) & ~self.dotted & ~self.powered
        sign = other & ((byte == _PLUS) | (byte == _MINUS)) & self.powered & ~self.signed \
            & (self.exponent_digits == 0)
        e = other & (byte == _E) & ~self.powered & (self.digits > 0)
        self.odd |= other & ~(dot | e | sign)
        self.down |= sign & (byte == _MINUS)
        self.dotted |= dot
        self.signed |= sign
        self.powered |= e
        self._any_powered = self._any_powered or bool(e.any())

    def values(self) -> Tuple[np.ndarray, np.ndarray]:
        """(float64 values, bool: which cannot be told exactly)."""
        odd = self.odd | (self.digits == 0) | (self.digits > _EXACT_DIGITS)
        odd |= self.powered & (self.exponent_digits == 0)
        odd |= self.exponent_digits > _MAX_EXPONENT_DIGITS
        scale = np.where(self.down, -self.exponent, self.exponent).astype(np.int64) \
            - self.fraction
        odd |= np.abs(scale) > _EXACT_POWER
        scale = np.where(odd, 0, scale)
        value = self.mantissa.astype(np.float64)
        value = np.where(scale < 0, value / _POWERS[np.maximum(-scale, 0)],
                         value * _POWERS[np.maximum(scale, 0)])
        return np.where(self.negative, -value, value), odd
