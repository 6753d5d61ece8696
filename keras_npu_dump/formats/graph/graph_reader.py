"""Reads GE graph files (`ge_proto_*.txt`): the head, or every operator.

The text is GE's print of `ge.proto.ModelDef` (GE `graph_utils.cc`): the root
graph first, its sub-graphs behind it. The reader streams: it holds one piece
of the file and the operator at hand, whatever the file's size, and leaves out
very long texts (weights, kernels), see `long_lines.py`.
"""
from __future__ import annotations

import codecs
import os
import re
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    TypeVar,
)

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path, open_regular, open_text
from keras_npu_dump.formats.graph import graph_decode, graph_onnx, protobuf_text
from keras_npu_dump.formats.graph.ge_graph import Desc, Graph, GraphOp
from keras_npu_dump.formats.graph.lazy_fields import make_op
from keras_npu_dump.formats.graph.long_lines import Pieces
from keras_npu_dump.formats.graph.printed_parts import TextPart, parts
from keras_npu_dump.formats.tensor.header import read_exactly

_T = TypeVar("_T")

HEAD_BYTES = 4096
# Descriptions kept for reuse; a file with more different ones gains nothing.
_MAX_MEMO = 1 << 16
_TAIL, _MAX_TAIL = 1 << 16, 1 << 24
_MAX_LOOSE = 1 << 25

# Values end at a blank, so that no text can be split in two ways: a pattern
# that could would take for ever on a hostile file.
_HEAD = re.compile(
    rb'(?:\s|#[^\n]*\n|[a-z_]+\s*:\s*(?:"(?:[^"\\\n]|\\.)*"|[\w.+-]+)'
    rb'(?=\s))*graph\s*:?\s*[{<]\s*'
    rb'(?:name\s*:\s*(?:"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'))?')
_NODE = re.compile(rb"\s*node\s*:?\s*[{<]")
# `graph {` on a line of its own, and two blanks in front of what follows.
_AS_PRINTED = re.compile(rb"^graph \{\n(?:  \S|\}\n|$)", re.MULTILINE)
_ON_ONE_LINE = re.compile(rb"  (?:op|node|attr|input|output) *:? *[{<\[]")
_DECODERS: Dict[str, Callable[[protobuf_text.Message], Any]] = {
    "op": graph_decode.decode_op, "node": graph_onnx.decode_node, "attr": graph_decode.decode_attr}
_FIELD = re.compile(rb'  (name|input|output): "(.*)"')


class GraphHead(NamedTuple):
    """What the head of a graph file says.

    Attributes:
      name: of the first graph, "" if it has none.
      size: of the file in bytes.
    """
    name: str
    size: int


def read_head(path: Path, dir_fd: Optional[int] = None) -> GraphHead:
    """Name of a file's first graph, from one read of HEAD_BYTES.

    ge_onnx files have the name behind the operators: their end is read, too.

    Args:
      path: the file; relative to `dir_fd` if that is given.
      dir_fd: descriptor of an open folder.

    Raises:
      FormatError: empty, or no graph text; also a name too long for the read.
      OSError: the file cannot be opened or read.
    """
    fd, size = open_regular(path, dir_fd)
    try:
        head = _without_mark(os.read(fd, HEAD_BYTES))
        # What GE prints, and nothing else, can be told without a pattern.
        if head.startswith(b'graph {\n  name: "'):
            end = head.find(b'"\n', 17)
            if end > 0:
                return GraphHead(protobuf_text.to_text(head[17:end]), size)
        if not head:
            raise FormatError(path, "the file is empty", 0)
        match = _HEAD.match(head)
        if match is None:
            raise FormatError(path, "expected the text of a graph, found %.40r"
                              % head[:40], 0)
        if match.lastindex:
            return GraphHead(protobuf_text.to_text(match.group(match.lastindex)), size)
        if _NODE.match(head, match.end()):
            return GraphHead(_name_at_end(fd, size), size)
    finally:
        os.close(fd)
    rest = head[match.end():].lstrip()
    if size > len(head) and b"\n" not in rest \
            and (not rest or b"name".startswith(rest[:4])):
        raise FormatError(path, "the graph's name is cut off", len(head))
    return GraphHead("", size)


def _name_at_end(fd: int, size: int) -> str:
    """The name that an ONNX graph has behind its nodes; "" if none."""
    end, tail = size, b""
    while end > 0 and len(tail) < _MAX_TAIL:
        start = max(0, end - _TAIL)
        tail = os.pread(fd, end - start, start) + tail
        name = graph_onnx.name_behind(tail)
        if name is not None:
            return name
        end = start
    return ""


def read_graphs(path: Path) -> Iterator[Graph]:
    """Yields every graph of a file, complete with its operators.

    Operators keep their text and parse attributes when asked, so a graph
    takes about the memory of its text without long texts. Use `iter_ops` to
    see the operators of a large file in turn.

    Args:
      path: a ge_proto or ge_onnx file.

    Raises:
      FormatError: cut off, or no graph text. Also raised later, by an
        operator's attribute that cannot be parsed.
      OSError: the file cannot be opened or read.
    """
    graph = Graph()
    inner: List[Graph] = []
    onnx = False
    for kind, value in _events(path):
        if kind == "graph":
            graph, inner, onnx = Graph(), [], False
        elif kind == "op":
            graph.ops.append(value)
        elif kind == "node":
            onnx = True
            if value[1] is None:
                graph.ops.append(value[0])
            else:
                value[1].name = value[1].name or value[0].name
                inner.append(value[1])
        elif kind == "name":
            graph.name = value
        elif kind == "attr":
            graph.attrs[value[0]] = value[1]
        elif kind == "input":
            graph.inputs.append(value)
        elif kind == "output":
            graph.outputs.append(value)
        elif kind == "whole":
            yield value
        elif kind == "end":
            if onnx:
                graph.lacks = graph_onnx.lacks(graph.ops)
            yield graph
            yield from inner


def iter_ops(path: Path) -> Iterator[Tuple[str, GraphOp]]:
    """Yields (graph name, operator) through all graphs of a file.

    Args:
      path: a ge_proto or ge_onnx file.

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
        elif kind == "node":
            op, subgraph = value
            if not name:
                name = read_head(path).name
            if subgraph is None:
                yield name, op
            else:
                for op in subgraph.ops:
                    yield subgraph.name, op
        elif kind == "whole":
            for op in value.ops:
                yield value.name, op


def _events(path: Path) -> Iterator[Tuple[str, Any]]:
    """("graph"|"name"|"op"|"node"|"attr"|"input"|"output"|"end"|"whole",
    value) in the order of the file."""
    path_text = os.fspath(path)
    fd, size = open_text(path)
    try:
        if _is_loose(fd, size):
            for graph in _loose(fd, size, path_text):
                yield "whole", graph
            return
        yield from _events_of(parts(Pieces(fd, size), path_text), path_text)
    finally:
        os.close(fd)


def iter_blocks(path: Path) -> Iterator[Tuple[str, Any]]:
    """Yields the parsed pieces of a ge_proto file, in its order.

    ("{", None) opens a graph, ("}", None) closes it; between them come
    ("op", Message) and the graph's own fields, e.g. ("attr", Message); behind
    the graphs the model's own fields.

    Args:
      path: the file.

    Raises:
      FormatError, OSError: as `read_graphs`; also for ge_onnx files.
    """
    path_text = os.fspath(path)
    fd, size = open_text(path)
    try:
        if not _is_loose(fd, size):
            yield from _blocks_of(parts(Pieces(fd, size), path_text), path_text)
            return
        for name, value in _whole(fd, size, path_text):
            if name == "graph" and isinstance(value, list):
                yield "{", None
                yield from value
                yield "}", None
            else:
                yield name, value
    finally:
        os.close(fd)


def _without_mark(data: bytes) -> bytes:
    """The text without the byte order mark that an editor has put in front of it."""
    return data[len(codecs.BOM_UTF8):] if data.startswith(codecs.BOM_UTF8) else data


def _is_loose(fd: int, size: int) -> bool:
    """Whether a graph is not laid out as GE prints it (edited by hand)."""
    head = _without_mark(os.pread(fd, HEAD_BYTES, 0))
    return size <= _MAX_LOOSE and _AS_PRINTED.search(head) is None \
        and _HEAD.match(head) is not None


def _whole(fd: int, size: int, path: str) -> protobuf_text.Message:
    try:
        return protobuf_text.parse(_without_mark(read_exactly(fd, size, 0)))
    except protobuf_text.TextError as error:
        raise FormatError(path, error.reason, error.offset) from None


def _loose(fd: int, size: int, path: str) -> Iterator[Graph]:
    """Graphs of a file that is not laid out as GE prints it."""
    for name, value in _whole(fd, size, path):
        if name == "graph" and isinstance(value, list):
            decode = graph_decode.decode_graph
            if protobuf_text.first(value, "node") is not None:
                decode = graph_onnx.decode_graph
            try:
                graph = decode(value)
            except protobuf_text.TextError as error:
                raise FormatError(path, error.reason, error.offset) from None
            yield graph


def _events_of(pieces: Iterator[TextPart], path: str) -> Iterator[Tuple[str, Any]]:
    """The events of `_events`, of a file as GE prints it; operators are not parsed."""
    memo: Dict[bytes, Desc] = {}
    for part in pieces:
        if part.kind == "open":
            yield "graph", None
        elif part.kind == "close":
            yield "end", None
        elif not part.inside:
            continue
        elif part.kind == "line":
            match = _FIELD.fullmatch(part.line)
            if match is not None:
                yield match.group(1).decode(), protobuf_text.to_text(match.group(2))
            elif _ON_ONE_LINE.match(part.line):
                yield from _fields_of(part, path)
        else:
            line = part.line
            if line == b"  op {":
                if len(memo) > _MAX_MEMO:
                    memo = {}
                yield "op", make_op(part.data[part.head:part.last + 1], path,
                                    part.base + part.head, memo)
            elif line == b"  node {":
                yield "node", _inside(part, path, graph_onnx.decode_node)
            elif line == b"  attr {":
                yield "attr", _inside(part, path, graph_decode.decode_attr)


def _fields_of(part: TextPart, path: str) -> Iterator[Tuple[str, Any]]:
    """The events of a line that holds a whole block or list, which GE does not print."""
    def decoded(message: protobuf_text.Message) -> List[Tuple[str, Any]]:
        found: List[Tuple[str, Any]] = []
        for name, value in message:
            if name in _DECODERS and isinstance(value, list):
                found.append((name, _DECODERS[name](value)))
            elif name in ("input", "output") and isinstance(value, bytes):
                found.append((name, protobuf_text.to_str(value)))
        return found

    yield from _decoded(part, part.start, part.end, path, decoded)


def _blocks_of(pieces: Iterator[TextPart], path: str) -> Iterator[Tuple[str, Any]]:
    """The pieces of `iter_blocks`, of a file as GE prints it."""
    for part in pieces:
        if part.kind == "open":
            yield "{", None
        elif part.kind == "close":
            yield "}", None
        else:
            yield from _decoded(part, part.start, part.end, path, _as_it_is)


def _as_it_is(message: protobuf_text.Message) -> protobuf_text.Message:
    return message


def _inside(part: TextPart, path: str, decode: Callable[[protobuf_text.Message], _T]) -> _T:
    """What `decode` makes of the inside of a block."""
    return _decoded(part, part.head, part.last, path, decode)


def _decoded(part: TextPart, start: int, end: int, path: str,
             decode: Callable[[protobuf_text.Message], _T]) -> _T:
    try:
        return decode(protobuf_text.parse(part.data, start, end))
    except protobuf_text.TextError as error:
        raise FormatError(path, error.reason, part.base + (error.offset or start)) from None
