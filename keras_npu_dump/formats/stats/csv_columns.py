"""The columns of many statistics files that a verdict needs, without a Python object a cell.

A run of several ranks and steps is hundreds of thousands of csv files. Cut into
cells by Python, their columns cost more than reading the files. Here the texts
of a folder are one array of bytes: separators are found at once, cells are taken
in words of eight bytes, and numbers are added up digit by digit over all rows
together. What is not plain decimal
(`nan`, `inf`, empty, more digits than a float holds exactly) goes through
Python's own float, cell by cell. The form of the files is that of
`formats.stats` (runtime `dump_task.cpp`).
"""
from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional, Tuple

import numpy as np

from keras_npu_dump.formats.dtypes import dtype_number

_COLUMNS = 13
_COMMA, _NEWLINE = 44, 10
_DIGIT_0, _DOT, _MINUS, _PLUS, _E = 48, 46, 45, 43, 101
# Integers below 2**53 times or over a power of ten up to 10**22 are rounded
# once, so that the result is the float that Python's parser gives.
_EXACT_DIGITS = 15
_EXACT_POWER = 22
_POWERS = 10.0 ** np.arange(_EXACT_POWER + 1)
_WORD = 8
_WORDS = 3
# What a word reads beyond the end of the text.
_PADDING = b"\0" * (_WORD * (_WORDS + 1))
_MISSING = frozenset((b"", b"NA", b"-", b"N/A"))


@dataclasses.dataclass
class CsvColumns:
    """One row per tensor, in the order of the text.

    Attributes:
      output: bool, True for outputs.
      index: int64, position among the inputs or outputs.
      dtype: int16 OutputDataType number, 0 where the file gives none.
      max, min, avg: float64, NaN where the file gives none.
      count, nan, neg_inf, pos_inf: int64, -1 where the file gives none.
    """

    output: np.ndarray
    index: np.ndarray
    dtype: np.ndarray
    max: np.ndarray
    min: np.ndarray
    avg: np.ndarray
    count: np.ndarray
    nan: np.ndarray
    neg_inf: np.ndarray
    pos_inf: np.ndarray


def parse_bodies(text: bytes) -> Optional[CsvColumns]:
    """Columns of statistics files without their header lines, one behind the other.

    Returns:
      None where a line is not of the standard 13 cells or a number is none:
      the caller reads these files one by one, with errors that name them.
    """
    data = np.frombuffer(text + _PADDING, np.uint8)
    size = len(text)
    separators = np.flatnonzero((data[:size] == _COMMA) | (data[:size] == _NEWLINE))
    if len(separators) % _COLUMNS or (size and data[size - 1] != _NEWLINE):
        return None
    cells = _Cells(data, separators.reshape(-1, _COLUMNS))
    if not cells.regular:
        return None
    try:
        return CsvColumns(cells.outputs(), cells.integers(1), cells.dtypes(3), cells.floats(6),
                          cells.floats(7), cells.floats(8), cells.integers(9), cells.integers(10),
                          cells.integers(11), cells.integers(12))
    except ValueError:
        return None


class _Cells:
    """The cells of a text: data bytes, and where the cells of each row end.

    `words` sees the eight bytes at every position as one number, the first byte
    the lowest.
    """

    def __init__(self, data: np.ndarray, ends: np.ndarray):
        self._data = data
        self._words = np.ndarray(len(data) - _WORD + 1, "<u8", data, 0, (1,))
        self._ends = ends
        self._rows = len(ends)
        kinds = data[ends]
        self.regular = bool((kinds[:, :-1] == _COMMA).all() and (kinds[:, -1] == _NEWLINE).all())

    def _span(self, column: int) -> Tuple[np.ndarray, np.ndarray]:
        ends = self._ends[:, column]
        if column:
            return self._ends[:, column - 1] + 1, ends
        starts = np.empty(self._rows, ends.dtype)
        starts[:1] = 0
        starts[1:] = self._ends[:-1, -1] + 1
        return starts, ends

    def _text(self, start: int, end: int) -> bytes:
        return self._data[start:end].tobytes()

    def _word(self, starts: np.ndarray, length: np.ndarray, number: int = 0) -> np.ndarray:
        """Bytes 8 * number and on of each cell, zero behind its end."""
        word = self._words[starts + _WORD * number]
        left = length - _WORD * number
        short = left < _WORD
        if not short.any():
            return word
        unused = np.where(short, _WORD - np.maximum(left, 0), 0).astype(np.uint64) * _EIGHT
        # A shift by 64 bits is undefined, by 32 twice it is not.
        half = unused >> np.uint64(1)
        rest = unused - half
        return (((word << half) << rest) >> half) >> rest

    def outputs(self) -> np.ndarray:
        starts, ends = self._span(0)
        word = self._word(starts, ends - starts)
        output = word == _OUTPUT_WORD
        if not (output | (word == _INPUT_WORD)).all():
            raise ValueError("neither Input nor Output")
        return output

    def dtypes(self, column: int) -> np.ndarray:
        """Numbers of names such as DT_FLOAT; each different text is looked up once."""
        starts, ends = self._span(column)
        length = ends - starts
        mark = self._word(starts, length)
        if not len(mark):
            return np.zeros(0, np.int16)
        if int(length.max()) > _WORD:
            mark = mark * np.uint64(1099511628211) + self._word(starts, length, 1)
        if (mark == mark[0]).all():
            first, inverse = np.zeros(1, np.int64), np.zeros(len(mark), np.int64)
        else:
            order = np.argsort(mark, kind="stable")
            new = np.concatenate([[True], np.diff(mark[order]) != 0])
            first = order[new]
            inverse = np.empty(len(mark), np.int64)
            inverse[order] = np.cumsum(new) - 1
        numbers = [_number_of(self._text(starts[row], ends[row])) for row in first]
        return np.array(numbers, np.int16)[inverse]

    def integers(self, column: int) -> np.ndarray:
        """Whole numbers; -1 for the vendor's words for nothing."""
        starts, ends = self._span(column)
        length = ends - starts
        result = np.zeros(self._rows, np.int64)
        if not self._rows:
            return result
        widest = int(length.max())
        if widest == 1:
            first = self._data[starts]
            if (first == _DIGIT_0).all() and int(length.min()) == 1:
                return result
        odd = (length == 0) | (length > 18)
        for place in range(min(widest, 18)):
            if place % _WORD == 0:
                word = self._word(starts, length, place // _WORD)
            byte = (word >> np.uint64(8 * (place % _WORD))) & _BYTE
            inside = length > place
            digit = byte.astype(np.int64) - _DIGIT_0
            odd |= inside & ((digit < 0) | (digit > 9))
            result = np.where(inside, result * 10 + digit, result)
        for row in np.flatnonzero(odd):
            result[row] = _integer(self._text(starts[row], ends[row]))
        return result

    def floats(self, column: int) -> np.ndarray:
        """Numbers as C++ and %g print them; NaN for the vendor's words for nothing."""
        starts, ends = self._span(column)
        if not self._rows:
            return np.zeros(0, np.float64)
        length = ends - starts
        words = [self._word(starts, length, number)
                 for number in range(min(_WORDS, -(-int(length.max()) // _WORD)))]
        result, odd = _decimals(words, length)
        for row in np.flatnonzero(odd):
            text = self._text(starts[row], ends[row])
            if text in _MISSING:
                result[row] = np.nan
            elif b"_" in text or len(text) > 64:
                raise ValueError("no number")
            else:
                result[row] = float(text)
        return result


_EIGHT = np.uint64(8)
_BYTE = np.uint64(255)
_INPUT_WORD = np.uint64(int.from_bytes(b"Input", "little"))
_OUTPUT_WORD = np.uint64(int.from_bytes(b"Output", "little"))


def _decimals(words: List[np.ndarray], length: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Values of [-]digits[.digits][e(+|-)digits], all rows at once; and which rows are
    of another form (their values are to be ignored)."""
    rows = len(length)
    odd = (length == 0) | (length > _WORD * _WORDS)
    if not words:
        return np.zeros(rows), odd
    negative = (words[0] & _BYTE) == _MINUS
    mantissa = np.zeros(rows, np.int64)
    digits = np.zeros(rows, np.int8)
    fraction = np.zeros(rows, np.int8)
    exponent = np.zeros(rows, np.int16)
    exponent_digits = np.zeros(rows, np.int8)
    down = np.zeros(rows, bool)
    dotted = np.zeros(rows, bool)
    powered = np.zeros(rows, bool)
    signed = np.zeros(rows, bool)
    any_power = False
    for place in range(min(_WORD * len(words), int(length.max()))):
        shift = np.uint64(8 * (place % _WORD))
        byte = ((words[place // _WORD] >> shift) & _BYTE).astype(np.uint8)
        digit = byte - np.uint8(_DIGIT_0)
        is_digit = digit <= 9
        front = is_digit & ~powered if any_power else is_digit
        mantissa = np.where(front, mantissa * 10 + digit, mantissa)
        digits += front
        fraction += front & dotted
        other = (byte != 0) & ~is_digit
        if place == 0:
            odd |= other & ~negative
            continue
        if any_power:
            back = is_digit & powered
            exponent = np.where(back, exponent * 10 + digit, exponent)
            exponent_digits += back
        if not other.any():
            continue
        dot = other & (byte == _DOT) & ~dotted & ~powered
        e = other & (byte == _E) & ~powered & (digits > 0)
        sign = other & ((byte == _PLUS) | (byte == _MINUS)) & powered & ~signed \
            & (exponent_digits == 0)
        down |= sign & (byte == _MINUS)
        dotted |= dot
        powered |= e
        signed |= sign
        odd |= other & ~(dot | e | sign)
        any_power = any_power or bool(e.any())
    odd |= (digits == 0) | (digits > _EXACT_DIGITS) | (powered & (exponent_digits == 0))
    odd |= exponent_digits > 3
    scale = np.where(down, -exponent, exponent).astype(np.int64) - fraction
    odd |= np.abs(scale) > _EXACT_POWER
    scale = np.where(odd, 0, scale)
    value = mantissa.astype(np.float64)
    value = np.where(scale < 0, value / _POWERS[np.maximum(-scale, 0)],
                     value * _POWERS[np.maximum(scale, 0)])
    return np.where(negative, -value, value), odd


def _integer(text: bytes) -> int:
    if text in _MISSING:
        return -1
    digits = text[1:] if text[:1] == b"-" else text
    if not digits.isdigit() or len(digits) > 20:
        raise ValueError("no whole number")
    return max(-(1 << 63) + 1, min(int(text), (1 << 63) - 1))


_NUMBERS: Dict[bytes, int] = {}


def _number_of(name: bytes) -> int:
    number = _NUMBERS.get(name)
    if number is None:
        number = dtype_number(name.decode("utf-8", "replace")) or 0
        if len(_NUMBERS) < 1000:
            _NUMBERS[name] = number
    return number
