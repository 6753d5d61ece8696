"""A graph file as GE prints it, cut into fields and blocks by its line ends.

GE prints one field a line, two blanks a level (GE `graph_utils.cc`), so a block's
end is a literal that can be searched for. Nothing inside a block is parsed here.
"""
from __future__ import annotations

from typing import Iterator, NamedTuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph.long_lines import Pieces

# Of a line no more is looked at, to tell what it is.
MAX_LINE_START = 4096


class TextPart(NamedTuple):
    """A piece of the text at one of the two upper levels.

    Attributes:
      kind: "open" for the line `graph {`, "close" for its `}`, "line" for a field
        on one line, "block" for a field in braces.
      inside: of a graph; False for fields of the model.
      data: bytes that hold it, of which data[start:end] are its own.
      head: position in `data` of the end of its first line.
      last: position of the line end in front of a block's closing brace.
      base: position of data[0] in the file.
    """
    kind: str
    inside: bool
    data: bytes
    start: int
    head: int
    last: int
    end: int
    base: int

    @property
    def line(self) -> bytes:
        """The first line, or the start of a long line."""
        return self.data[self.start:min(self.head, self.start + MAX_LINE_START)]


def parts(pieces: Pieces, path: str) -> Iterator[TextPart]:
    """Cuts a file as GE prints it into parts, by line ends and closing braces alone.

    Args:
      pieces: the file, from its beginning.
      path: of the file, for errors.

    Raises:
      FormatError: the file ends inside a graph or block, or holds no graph.
    """
    pos = 0
    inside = seen = False
    searched = 0  # how far behind `pos` a block's end was looked for already
    expected = "the text of a graph"
    while True:
        data = pieces.data
        head = data.find(b"\n", pos)
        if head >= 0:
            if inside and data.startswith(b"}\n", pos):
                inside = False
                yield TextPart("close", inside, data, pos, head, head, pos + 2, pieces.base)
                pos += 2
                continue
            if data[head - 1:head] != b"{":
                yield TextPart("line", inside, data, pos, head, head, head + 1, pieces.base)
                pos = head + 1
                continue
            if not inside and data[pos:head] == b"graph {":
                inside = seen = True
                yield TextPart("open", inside, data, pos, head, head, head + 1, pieces.base)
                pos = head + 1
                continue
            # The search begins at the line's end: an empty block ends on the
            # next line.
            closing = b"\n  }\n" if inside else b"\n}\n"
            last = data.find(closing, max(head, pos + searched))
            if last >= 0:
                end = last + len(closing)
                yield TextPart("block", inside, data, pos, head, last, end, pieces.base)
                pos = end
                searched = 0
                continue
            searched = max(head, len(data) - len(b"\n  }\n")) - pos
            expected = "the end of the block %r" % data[pos:min(head, pos + MAX_LINE_START)].decode(
                "utf-8", "backslashreplace").strip()
        if not pieces.more(pos):
            break
        pos = 0
    if inside:
        expected = "the end of a graph" if expected.startswith("the text") else expected
    elif seen and pos >= len(pieces.data):
        return
    raise FormatError(path, "truncated or no graph: expected %s" % expected,
                      pieces.base + len(pieces.data))
