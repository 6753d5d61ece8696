"""protobuf's text form as GE prints it: escapes, numbers, nested blocks.

Descriptor-free on purpose: GE adds fields with every version, and a reader
that knows the message would refuse them. A block becomes a list of
(name, value) pairs; what is not known is simply not asked for.
"""
from __future__ import annotations

import re
import struct
from typing import Any, List, Match, Optional, Tuple, Union

# A parsed block: fields in order. A value is a Message for `{ }`, bytes for a
# quoted text (unescaped), str for a bare word or number.
Message = List[Tuple[str, Any]]

MAX_DEPTH = 64  # GE's deepest (a graph inside an attribute) is about 12

_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.)|$)",
                     re.DOTALL)
_SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b",
           b"f": b"\f", b"v": b"\v"}

_PRINTED = [bytes((code,)) if 0x20 <= code < 0x7F else b"\\%03o" % code
            for code in range(256)]
for _code, _text in ((9, b"\\t"), (10, b"\\n"), (13, b"\\r"), (34, b'\\"'),
                     (39, b"\\'"), (92, b"\\\\")):
    _PRINTED[_code] = _text
_PLAIN = re.compile(rb"[ !#-&(-\[\]-~]*")


class TextError(ValueError):
    """Not the text form; `offset` counts from the start of the bytes."""

    def __init__(self, reason: str, offset: int):
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def escape(data: bytes) -> bytes:
    """Bytes as they stand between quotes (protobuf's CEscape).

    Args:
      data: of any kind.
    """
    if _PLAIN.fullmatch(data):
        return data
    return b"".join([_PRINTED[code] for code in data])


def unescape(data: bytes) -> bytes:
    """The bytes behind an escaped text; unknown escapes stay as they are.

    Args:
      data: what stands between quotes.
    """
    if b"\\" not in data:
        return data
    return _ESCAPE.sub(_unescape_one, data)


def _unescape_one(match: "Match[bytes]") -> bytes:
    octal, hexa, other = match.groups()
    if octal is not None:
        return bytes((int(octal, 8) & 0xFF,))
    if hexa is not None:
        return bytes((int(hexa, 16),))
    if other is None:
        return b"\\"
    plain: bytes = _SIMPLE.get(other, other)
    return plain


def to_str(data: bytes) -> str:
    """Text of unescaped bytes.

    Args:
      data: UTF-8; bytes that are not show as \\xNN.
    """
    return data.decode("utf-8", "backslashreplace")


def to_text(quoted: bytes) -> str:
    """Text of escaped bytes.

    Args:
      quoted: what stands between quotes.
    """
    if b"\\" in quoted:
        quoted = unescape(quoted)
    return quoted.decode("utf-8", "backslashreplace")


def to_int(word: Any) -> Optional[int]:
    """A parsed value as a whole number.

    Args:
      word: of a Message.

    Returns:
      The number, or None for a quoted text, a block, or another word.
    """
    if not isinstance(word, str) or len(word) > 24:
        return None
    try:
        return int(word, 10)
    except ValueError:
        return None


def float_text(value: float, single: bool = True) -> str:
    """Shortest text that reads back as the same number.

    Args:
      value: the number.
      single: whether it is a float32; float64 otherwise.
    """
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if not single:
        return repr(value)
    for digits in (6, 7, 8, 9):
        text = "%.*g" % (digits, value)
        if to_single(float(text)) == to_single(value):
            return text
    return text


def to_single(value: float) -> float:
    """The float32 nearest to a value, as every attribute of GE is a float32.

    Args:
      value: a float64; infinite where float32 cannot hold it.
    """
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
        return single
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# One token behind blanks: a word or number, a quoted text, or punctuation.
_TOKEN = re.compile(
    rb"(?:[ \t\r\n,;]|#[^\n]*(?:\n|\Z))*"
    rb"(?:([A-Za-z_][\w.\-/\[\]]*)|(\"(?:[^\"\\\n]|\\.)*\"|"
    rb"'(?:[^'\\\n]|\\.)*')|([{}<>:]|\[|\])|([-+]?[\w.][\w.+\-]*)|\Z)", re.DOTALL)


def parse(data: Union[bytes, bytearray], start: int = 0,
          end: Optional[int] = None) -> Message:
    """The fields of a text, blocks nested.

    Args:
      data: text form, in any layout that protobuf's own parser takes.
      start, end: data[start:end] is read, to the end of `data` by default.

    Raises:
      TextError: unbalanced, nested deeper than MAX_DEPTH, or no text form.
    """
    if end is None:
        end = len(data)
    root: Message = []
    stack = [root]
    name: Optional[str] = None
    # Per open list in brackets: (depth, name of the field whose values it holds).
    lists: List[Tuple[int, str]] = []
    pos = start
    match_token = _TOKEN.match
    while True:
        match = match_token(data, pos, end)
        if match is None:
            raise TextError("expected a name, a value or a bracket", pos)
        at, pos = pos, match.end()
        kind = match.lastindex
        if kind is None:
            break
        if lists and name is None and lists[-1][0] == len(stack):
            name = lists[-1][1]
        if kind == 1:
            word = match.group(1).decode("ascii", "backslashreplace")
            if lists and word.endswith("]") and "[" not in word:
                word = word.rstrip("]")  # it closes the list
                pos = match.start(1) + len(word)
            if name is None:
                name = word
            else:
                stack[-1].append((name, word))
                name = None
        elif kind == 2:
            if name is None:
                # Adjacent texts belong together.
                if stack[-1] and isinstance(stack[-1][-1][1], bytes):
                    key, value = stack[-1][-1]
                    stack[-1][-1] = (key, value
                                     + unescape(match.group(2)[1:-1]))
                    continue
                raise TextError("a text without a name", at)
            stack[-1].append((name, unescape(match.group(2)[1:-1])))
            name = None
        elif kind == 4:
            if name is None:
                raise TextError("a number without a name", at)
            stack[-1].append((name, match.group(4).decode(
                "ascii", "backslashreplace")))
            name = None
        else:
            mark = match.group(3)
            if mark in (b"{", b"<"):
                if name is None:
                    raise TextError("a block without a name", at)
                if len(stack) > MAX_DEPTH:
                    raise TextError("nested deeper than %d" % MAX_DEPTH, at)
                block: Message = []
                stack[-1].append((name, block))
                stack.append(block)
                name = None
            elif mark == b":":
                if name is None:
                    raise TextError("a colon without a name", at)
            elif mark == b"[":
                if name is None or (lists and lists[-1][0] == len(stack)):
                    raise TextError("a list without a name", at)
                lists.append((len(stack), name))
                name = None
            elif mark == b"]":
                if not lists or lists[-1][0] != len(stack):
                    raise TextError("a closing bracket too many", at)
                lists.pop()
                name = None
            else:
                in_list = bool(lists) and lists[-1][0] == len(stack)
                if in_list or name is not None or len(stack) == 1:
                    raise TextError("a closing bracket too many", at)
                stack.pop()
    if name is not None or lists or len(stack) != 1:
        raise TextError("the text ends inside a block", end)
    return root


def first(message: Message, name: str, default: Any = None) -> Any:
    """Value of the first field of a name.

    Args:
      message: of `parse`.
      name: of the field.
      default: what to return where there is none.
    """
    for key, value in message:
        if key == name:
            return value
    return default


def all_of(message: Message, name: str) -> List[Any]:
    """Values of all fields of a name, in order.

    Args:
      message: of `parse`.
      name: of the fields.
    """
    return [value for key, value in message if key == name]
