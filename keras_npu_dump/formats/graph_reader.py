"""Reads GE graph files (`ge_proto_*.txt`): the head, or every operator.

The text is GE's print of `ge.proto.ModelDef` (GE `graph_utils.cc`): the root
graph first, its sub-graphs behind it. The reader streams: it holds one piece
of the file and the operator at hand, whatever the file's size, and leaves out
texts longer than MAX_LINE (weights, kernels).
"""
from __future__ import annotations

import os
import re
from typing import Any, Iterator, NamedTuple, Optional, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import attr_value
from keras_npu_dump.formats import text
from keras_npu_dump.formats.graph import Graph, GraphOp
from keras_npu_dump.formats.graph_source import Memo, make_op
from keras_npu_dump.formats.header import Path

HEAD_BYTES = 4096
MAX_LINE = 1 << 20
_CHUNK = 4 << 20
# Descriptions kept for reuse; a file with more different ones gains nothing.
_MAX_MEMO = 1 << 16

_HEAD = re.compile(
    rb'(?:\s|#[^\n]*\n|[a-z_]+\s*:\s*(?:"(?:[^"\\\n]|\\.)*"|[\w.+-]+))*'
    rb'graph\s*:?\s*[{<]\s*(?:name\s*:\s*"((?:[^"\\\n]|\\.)*)")?')
_NAME = re.compile(rb'  name: "(.*)"')
_EDGE = re.compile(rb'  (input|output): "(.*)"')


class GraphHead(NamedTuple):
    """Attributes: name of the first graph ("" if it has none), size of the
    file in bytes."""
    name: str
    size: int


def read_head(path: Path, dir_fd: Optional[int] = None) -> GraphHead:
    """Name of a file's first graph, from one read of HEAD_BYTES.

    Raises:
      FormatError: empty, or no graph text; also a name too long for the read.
      OSError: the file cannot be opened or read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        head = os.read(fd, HEAD_BYTES)
        size = os.fstat(fd).st_size
    finally:
        os.close(fd)
    # What GE prints, and nothing else, can be told without a pattern.
    if head.startswith(b'graph {\n  name: "'):
        end = head.find(b'"\n', 17)
        if end > 0:
            return GraphHead(text.to_text(head[17:end]), size)
    if not head:
        raise FormatError(path, "the file is empty", 0)
    match = _HEAD.match(head)
    if match is None:
        raise FormatError(path, "expected the text of a graph, found %.40r"
                          % head[:40], 0)
    if match.group(1) is None:
        rest = head[match.end():]
        if not rest and size > len(head) or b"name" in rest.split(b"{")[0] \
                and b"\n" not in rest.strip():
            raise FormatError(path, "the graph's name is cut off", len(head))
        return GraphHead("", size)
    return GraphHead(text.to_text(match.group(1)), size)


def read_graphs(path: Path) -> Iterator[Graph]:
    """Yields every graph of a file, complete with its operators.

    Operators keep their text and parse attributes when asked, so a graph
    takes about the memory of its text without long texts. Use `iter_ops` to
    see the operators of a large file one by one.

    Raises:
      FormatError: cut off, or no graph text. Also raised later, by an
        operator's attribute that cannot be parsed.
      OSError: the file cannot be opened or read.
    """
    graph = None  # type: Optional[Graph]
    for kind, value in _events(path):
        if kind == "graph":
            graph = Graph()
        elif kind == "op":
            graph.ops.append(value)
        elif kind == "name":
            graph.name = value
        elif kind == "attr":
            graph.attrs[value[0]] = value[1]
        elif kind == "input":
            graph.inputs.append(value)
        elif kind == "output":
            graph.outputs.append(value)
        elif kind == "end":
            yield graph


def iter_ops(path: Path) -> Iterator[Tuple[str, GraphOp]]:
    """Yields (graph name, operator) through all graphs of a file.

    Raises:
      FormatError, OSError: as `read_graphs`.
    """
    name = ""
    for kind, value in _events(path):
        if kind == "op":
            yield name, value
        elif kind == "name":
            name = value
        elif kind == "graph":
            name = ""


def _events(path: Path) -> Iterator[Tuple[str, Any]]:
    """("graph"|"name"|"op"|"attr"|"input"|"output"|"end", value) in order."""
    path_text = os.fspath(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for event in _scan(_Pieces(fd), path_text):
            yield event
    finally:
        os.close(fd)


class _Pieces:
    """The file, piece by piece, without the inside of very long lines.

    `data` is what is at hand, `base` the position of data[0] in the file
    (approximately, where long lines were left out before it).
    """

    def __init__(self, fd: int):
        self.fd = fd
        self.data = b""
        self.base = 0
        self.skipping = False  # inside a line that is being left out

    def more(self, pos: int) -> bool:
        """Drops data[:pos] and reads on; False at the end of the file."""
        # Doubling keeps an operator larger than a piece linear.
        chunk = os.read(self.fd, max(_CHUNK, len(self.data) - pos))
        while chunk and self.skipping:
            end = chunk.find(b"\n")
            if end >= 0:
                self.base += end
                chunk = chunk[end:]
                self.skipping = False
                break
            self.base += len(chunk)
            chunk = os.read(self.fd, _CHUNK)
        if not chunk:
            return False
        self.data = self._without_long_lines(self.data[pos:] + chunk)
        self.base += pos
        return True

    def _without_long_lines(self, data: bytes) -> bytes:
        parts = []
        done = 0
        probe = MAX_LINE
        # A longer line covers one of the probes; only these are looked at.
        while probe < len(data):
            start = data.rfind(b"\n", done, probe) + 1 or done
            end = data.find(b"\n", probe)
            if end < 0:
                end = len(data)
                self.skipping = True
            if end - start > MAX_LINE:
                colon = data.find(b":", start, start + 200)
                head = data[done:colon] if colon > 0 else data[done:start]
                parts.append(head + b": " + attr_value.ELIDED.encode())
                done = end
            elif self.skipping:
                self.skipping = False
                break
            probe = max(end, probe) + MAX_LINE
        if not parts:
            return data
        parts.append(data[done:])
        return b"".join(parts)


def _scan(pieces: _Pieces, path: str) -> Iterator[Tuple[str, Any]]:
    pos = 0
    inside = False
    seen = False
    memo = {}  # type: Memo
    what = "the text of a graph"
    searched = 0  # how far a block's end was looked for already
    while True:
        data = pieces.data
        closing = b"\n  }\n" if inside else b"\n}\n"
        line_end = data.find(b"\n", pos)
        if line_end < 0:
            if not pieces.more(pos):
                break
            pos = 0
            continue
        if inside and data.startswith(b"}\n", pos):
            inside = False
            yield "end", None
            pos += 2
            continue
        line = data[pos:line_end] if line_end - pos < 4096 \
            else data[pos:pos + 4096]
        if not inside and line == b"graph {":
            inside = seen = True
            yield "graph", None
            pos = line_end + 1
            continue
        if data[line_end - 1:line_end] == b"{":
            # An empty block has its end on the next line.
            end = data.find(closing, max(line_end, searched))
            if end < 0:
                searched = max(line_end, len(data) - 5) - pos
                what = "the end of the block %r" % line.decode(
                    "utf-8", "backslashreplace").strip()
                if not pieces.more(pos):
                    break
                pos = 0
                continue
            searched = 0
            if inside:
                if line == b"  op {":
                    if len(memo) > _MAX_MEMO:
                        memo = {}
                    yield "op", make_op(data[line_end:end + 1], path,
                                        pieces.base + line_end, memo)
                elif line == b"  attr {":
                    yield "attr", _attr(data, line_end, end, path,
                                        pieces.base)
            pos = end + len(closing)
            continue
        if inside:
            match = _NAME.fullmatch(line)
            if match is not None:
                yield "name", text.to_text(match.group(1))
            else:
                match = _EDGE.fullmatch(line)
                if match is not None:
                    yield match.group(1).decode(), text.to_text(
                        match.group(2))
        pos = line_end + 1
    if inside:
        what = "the end of a graph" if what.startswith("the text") else what
    elif seen and pos >= len(pieces.data):
        return
    raise FormatError(path, "truncated or no graph: expected %s" % what,
                      pieces.base + len(pieces.data))


def _attr(data: bytes, start: int, end: int, path: str,
          base: int) -> Tuple[str, Any]:
    try:
        block = text.parse(data, start, end)
        key = text.first(block, "key", b"")
        value = text.first(block, "value", [])
        if not isinstance(key, bytes) or not isinstance(value, list):
            raise text.TextError("an attribute without key and value", start)
        return text.to_str(key), attr_value.decode_value(value)
    except text.TextError as error:
        raise FormatError(path, error.reason,
                          base + (error.offset or start)) from None

