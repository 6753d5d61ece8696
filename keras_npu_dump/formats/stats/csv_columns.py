"""The rows of statistics files as columns, without a Python object for every cell.

A run of several ranks and steps is hundreds of thousands of csv files. Cut into
cells by Python, they cost more than reading them. Here the texts of all files
with the same header are one array of bytes: separators are found at once, cells
are taken in words of eight bytes, and digits are added up over all rows
together. What is not plain decimal (`nan`, `inf`, empty, more digits than a
float holds exactly) goes through Python's own float, cell by cell.

This is the only parser of such rows; `stats_file.py` knows the header, and which
file a row belongs to. Form of the cells: runtime `dump_task.cpp` (CPU path),
adump `adx_dump_record.cpp` (kernel path).
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.formats.dtypes import dtype_number
from keras_npu_dump.formats.stats.csv_decimals import BYTE, MAX_LENGTH, WORD, decimals

_COMMA, _NEWLINE, _DIGIT_0 = 44, 10, 48
# What a word reads beyond the end of the text.
_PADDING = b"\0" * (MAX_LENGTH + WORD)
_BITS = np.uint64(8)
_INPUT = np.uint64(int.from_bytes(b"Input", "little"))
_OUTPUT = np.uint64(int.from_bytes(b"Output", "little"))
_HASH_FACTOR = np.uint64(1099511628211)  # of FNV-1a
# With fewer rows than this, numpy's calls cost more than Python's parser.
_FEW = 40

# The vendor's words for nothing: the CPU path leaves a cell empty or writes "-",
# the kernel path writes NA.
MISSING = frozenset((b"", b"NA", b"-", b"N/A"))
HEADER_START = b"Input/Output"
_MAX_INDEX = (1 << 31) - 1
_MAX_INT = (1 << 63) - 1
_INT_DIGITS = 18  # as many fit into 64 bits, whatever they are
_FLOAT_LENGTH = 64  # characters; no float is printed with more


class CsvRows:
    """Rows of statistics files with the same header; columns are read when asked for.

    Attributes:
      file_of: int64, per row the position of its file in `bodies`.
      faults: {row: what is wrong with it}. Grows as columns are read; the first
        fault of a row stays. Values of a faulty row mean nothing.
    """

    def __init__(self, bodies: Sequence[bytes], fields: Sequence[Optional[str]]):
        """Cuts rows into cells.

        Args:
          bodies: per file the text behind its header line. Empty lines, a header
            repeated among the rows (the kernel path can leave that), line ends of
            Windows and a missing last line end are all taken.
          fields: per cell of a row the name of its column (STATS_FIELDS), None for
            a column that is not known. The same for all bodies.
        """
        self.faults: Dict[int, str] = {}
        self._place = {field: place for place, field in enumerate(fields) if field}
        text = b"".join(bodies)
        ends = None
        if all(not body or body[-1] == _NEWLINE for body in bodies) \
                and b"\r" not in text and HEADER_START not in text:
            ends = _cell_ends(text, len(fields))
        if ends is None:
            bodies = self._tidied(bodies, fields)
            text = b"".join(bodies)
            ends = _separators(text).reshape(-1, len(fields))
        self._text = text
        # A 0 stands behind the end of every cell below; inside one it is a fault.
        data = np.frombuffer(text.replace(b"\0", b"?") + _PADDING, np.uint8)
        self._data = data
        # The eight bytes at every position as one number, the first byte the lowest.
        self._words: np.ndarray = np.ndarray((len(data) - WORD + 1,), "<u8", data, 0, (1,))
        self._ends = ends
        self.file_of = np.repeat(np.arange(len(bodies), dtype=np.int64),
                                 [body.count(b"\n") for body in bodies])

    def __len__(self) -> int:
        return len(self._ends)

    def _tidied(self, bodies: Sequence[bytes], fields: Sequence[Optional[str]]) -> List[bytes]:
        """Bodies with nothing but rows of as many cells as there are fields."""
        stand_in = b",".join(b"Input" if field == "io" else b"0" if field == "index" else b""
                             for field in fields)
        result = []
        row = 0
        for body in bodies:
            lines = []
            for read in rows_in(body):
                line = read
                found = line.count(b",") + 1
                if found == len(fields) - 1 and "count" in self._place \
                        and b"NA" in line.split(b","):
                    # A failed row of a selected layout lacks its Count cell, and
                    # only that (adx_dump_record.cpp).
                    cells = line.split(b",")
                    cells.insert(self._place["count"], b"NA")
                    line = b",".join(cells)
                elif found != len(fields):
                    self.faults[row] = "expected %d cells, found %d" % (len(fields), found)
                    line = stand_in
                lines.append(line + b"\n")
                row += 1
            result.append(b"".join(lines))
        return result

    def _span(self, field: str) -> Tuple[np.ndarray, np.ndarray]:
        """(first positions, positions behind the end) of a column's cells."""
        place = self._place[field]
        ends = self._ends[:, place]
        if place:
            return self._ends[:, place - 1] + 1, ends
        starts = np.empty(len(self), ends.dtype)
        starts[:1] = 0
        starts[1:] = self._ends[:-1, -1] + 1
        return starts, ends

    def _word(self, starts: np.ndarray, length: np.ndarray, number: int = 0) -> np.ndarray:
        """uint64: bytes 8 * number and on of each cell, 0 behind its end."""
        word: np.ndarray = self._words[starts + WORD * number]
        left = length - WORD * number
        short = left < WORD
        if not short.any():
            return word
        unused = np.where(short, WORD - np.maximum(left, 0), 0).astype(np.uint64) * _BITS
        # A shift by 64 bits is undefined, by 32 twice it is not.
        half = unused >> np.uint64(1)
        rest = unused - half
        cut: np.ndarray = (((word << half) << rest) >> half) >> rest
        return cut

    def _fault(self, row: int, reason: str) -> None:
        self.faults.setdefault(row, reason)

    def outputs(self) -> np.ndarray:
        """bool: True where the first column is Output, False for Input."""
        starts, ends = self._span("io")
        word = self._word(starts, ends - starts)
        output: np.ndarray = word == _OUTPUT
        for row in np.flatnonzero(~output & (word != _INPUT)).tolist():
            self._fault(row, "expected Input or Output, found %.40r" % _str(
                self._text[starts[row]:ends[row]]))
        return output

    def dtypes(self) -> np.ndarray:
        """int16: OutputDataType codes of names such as DT_FLOAT; 0 where there is none."""
        if "data_type" not in self._place or not len(self):
            return np.zeros(len(self), np.int16)
        starts, ends = self._span("data_type")
        different = self._different(starts, ends - starts)
        if different is None:
            return np.array([_dtype_code(self._text[start:end]) for start, end
                             in zip(starts.tolist(), ends.tolist())], np.int16)
        first, inverse = different
        codes = [_dtype_code(self._text[starts[row]:ends[row]]) for row in first]
        column: np.ndarray = np.array(codes, np.int16)[inverse]
        return column

    def _different(self, starts: np.ndarray, length: np.ndarray
                   ) -> Optional[Tuple[np.ndarray, np.ndarray]]:
        """(a row of each different text, per row which of these it has), so that a text
        is looked up once; None where that takes more than the first 16 bytes."""
        longest = int(length.max())
        if longest > 2 * WORD:
            return None
        words = [self._word(starts, length)]
        mark = words[0]
        if longest > WORD:
            words.append(self._word(starts, length, 1))
            mark = mark * _HASH_FACTOR + words[1]
        if (mark == mark[0]).all():
            first, inverse = np.zeros(1, np.int64), np.zeros(len(mark), np.int64)
        else:
            order = np.argsort(mark, kind="stable")
            new = np.concatenate([[True], np.diff(mark[order]) != 0])
            first = order[new]
            inverse = np.empty(len(mark), np.int64)
            inverse[order] = np.cumsum(new) - 1
        if len(words) > 1 and not all((word == word[first][inverse]).all() for word in words):
            return None  # two texts with one mark
        return first, inverse

    def integers(self, field: str) -> np.ndarray:
        """Whole numbers of a column; cells that are none are faults.

        Args:
          field: "index", "data_size", "count", "nan", "neg_inf" or "pos_inf".

        Returns:
          int64 per row, cut to 64 bits; -1 for the vendor's words for nothing, and
          where the header has no such column. Of "index" also what is negative,
          missing or beyond 31 bits is a fault.
        """
        if field not in self._place:
            return np.full(len(self), -1, np.int64)
        starts, ends = self._span(field)
        length = ends - starts
        result, odd = self._digits(starts, length)
        for row in np.flatnonzero(odd).tolist():
            cell = self._text[starts[row]:ends[row]]
            try:
                result[row] = _integer(cell)
            except ValueError as error:
                self._fault(row, str(error))
        if field == "index":
            for row in np.flatnonzero((result < 0) | (result > _MAX_INDEX)).tolist():
                self._fault(row, "%.40r is no index" % _str(self._text[starts[row]:ends[row]]))
        return result

    def _digits(self, starts: np.ndarray, length: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """(values of cells of up to 18 digits, which cells are something else)."""
        result = np.zeros(len(self), np.int64)
        odd: np.ndarray
        if len(self) < _FEW:
            return result, np.ones(len(self), bool)
        widest = int(length.max())
        if widest == 1 and int(length.min()) == 1 and (self._data[starts] == _DIGIT_0).all():
            return result, np.zeros(len(self), bool)  # counts of NaN and infinities
        odd = (length == 0) | (length > _INT_DIGITS)
        for place in range(min(widest, _INT_DIGITS)):
            if place % WORD == 0:
                word = self._word(starts, length, place // WORD)
            byte = (word >> np.uint64(8 * (place % WORD))) & BYTE
            inside = length > place
            digit = byte.astype(np.int64) - _DIGIT_0
            odd |= inside & ((digit < 0) | (digit > 9))
            result = np.where(inside, result * 10 + digit, result)
        return result, odd

    def floats(self, field: str) -> np.ndarray:
        """Numbers of a column as C++ and %g print them; cells that are none are faults.

        Args:
          field: "max", "min" or "avg".

        Returns:
          float64 per row; NaN for the vendor's words for nothing, and where the header
          has no such column.
        """
        if field not in self._place:
            return np.full(len(self), np.nan)
        starts, ends = self._span(field)
        result = np.zeros(len(self))
        odd = np.ones(len(self), bool)
        if len(self) >= _FEW:
            length = ends - starts
            result, odd = decimals(
                [self._word(starts, length, number)
                 for number in range(-(-min(int(length.max()), MAX_LENGTH) // WORD))], length)
        for row in np.flatnonzero(odd).tolist():
            cell = self._text[starts[row]:ends[row]]
            try:
                result[row] = _float(cell)
            except ValueError as error:
                self._fault(row, str(error))
        return result

    def texts(self, field: str, default: str = "-") -> List[str]:
        """Cells of a column as they are.

        Args:
          field: "io", "data_type", "format" or "shape".
          default: for all rows where the header has no such column.
        """
        if field not in self._place:
            return [default] * len(self)
        starts, ends = self._span(field)
        spans = zip(starts.tolist(), ends.tolist())
        if self._text.isascii():
            text = self._text.decode("ascii")
            return [text[start:end] for start, end in spans]
        return [_str(self._text[start:end]) for start, end in spans]

    def shapes(self) -> np.ndarray:
        """object: a tuple of dimensions, () for a scalar, None where none is given."""
        column = np.empty(len(self), object)
        if "shape" not in self._place:
            return column
        known: Dict[str, Optional[Tuple[int, ...]]] = {}
        for row, text in enumerate(self.texts("shape")):
            if text not in known:
                try:
                    known[text] = parse_shape(text)
                except ValueError as error:
                    self._fault(row, str(error))
                    continue
            column[row] = known[text]
        return column


def rows_in(body: bytes) -> List[bytes]:
    """The lines of a text that are rows: neither empty nor a repeated header.

    Args:
      body: what stands behind the header line.

    Returns:
      Lines without their ends.
    """
    lines = [line[:-1] if line[-1:] == b"\r" else line for line in body.split(b"\n")]
    return [line for line in lines if line and not line.startswith(HEADER_START)]


def parse_shape(cell: str) -> Optional[Tuple[int, ...]]:
    """Dimensions of a Shape cell.

    Args:
      cell: its text.

    Returns:
      (4, 50) for "4x50", () for "-" or "" (a scalar), None for "NA" (more than 25
      dimensions on the kernel path).

    Raises:
      ValueError: a dimension that is no whole number.
    """
    if cell in ("-", ""):
        return ()
    raw = cell.encode("utf-8", "surrogateescape")
    if raw in MISSING:
        return None
    return tuple(_whole(dim) for dim in raw.split(b"x"))


def _separators(text: bytes) -> np.ndarray:
    data = np.frombuffer(text, np.uint8)
    return np.flatnonzero((data == _COMMA) | (data == _NEWLINE))


def _cell_ends(text: bytes, width: int) -> Optional[np.ndarray]:
    """(rows, width): position behind each cell; None where a row has not `width` cells."""
    separators = _separators(text)
    if len(separators) % width:
        return None
    ends = separators.reshape(-1, width)
    kinds = np.frombuffer(text, np.uint8)[ends]
    if (kinds[:, :-1] == _COMMA).all() and (kinds[:, -1] == _NEWLINE).all():
        return ends
    return None


def _str(cell: bytes) -> str:
    return cell.decode("utf-8", "backslashreplace")


def _integer(cell: bytes) -> int:
    return -1 if cell in MISSING else _whole(cell)


def _whole(cell: bytes) -> int:
    digits = cell[1:] if cell[:1] == b"-" else cell
    if not digits.isdigit() or len(digits) > 20:
        raise ValueError("%.40r is no whole number" % _str(cell))
    return max(-_MAX_INT, min(int(cell), _MAX_INT))


def _float(cell: bytes) -> float:
    if cell in MISSING:
        return float("nan")
    try:
        if b"_" not in cell and len(cell) <= _FLOAT_LENGTH:
            return float(cell)
    except ValueError:
        pass
    raise ValueError("%.40r is no number" % _str(cell))


_DTYPE_CODES: Dict[bytes, int] = {}


def _dtype_code(name: bytes) -> int:
    code = _DTYPE_CODES.get(name)
    if code is None:
        code = dtype_number(_str(name)) or 0
        if code > 0x7FFF:
            code = 0  # DT_<number> of a type that nobody has
        if len(_DTYPE_CODES) < 1000:
            _DTYPE_CODES[name] = code
    return code
