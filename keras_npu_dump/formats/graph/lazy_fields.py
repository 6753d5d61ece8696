"""The text of an operator or description, from which values are cut on demand.

GE prints one field a line with exact indentation, and escapes line ends
inside texts, so that a literal such as `\\n    attr {\\n` can only be what it
looks like. Finding literals costs a fraction of parsing; only the block that
was asked for is parsed.
"""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.graph import graph_decode, protobuf_text
from keras_npu_dump.formats.graph.ge_graph import Desc, GraphOp
from keras_npu_dump.formats.graph.protobuf_text import to_text

_OP_HEAD = re.compile(
    rb'\n(?:    name: "(.*)"\n)?(?:    type: "(.*)"\n)?'
    rb'((?:    input: ".*"\n)*)')
# What GE does not print: a block or list that goes on behind its bracket. Brackets stand in
# texts, too: single bytes, which cost little to look for, tell whether it is worth to look.
_GOES_ON = re.compile(rb"\{(?!\n)")
_ON_ONE_LINE = re.compile(rb"\n *\w+ *:? *(?:[{<] *[^ \n]|\[)")
_INPUT = re.compile(rb'    input: "(.*)"\n')
_DESC_HEAD = re.compile(
    rb'\n(?:      name: ".*"\n)?(?:      dtype: (\w+)\n)?'
    rb'(?:      shape \{\n((?:        dim: -?\d{1,20}\n)*)      \}\n)?'
    rb'(?:      layout: "(.*)"\n)?')
_DIM = re.compile(rb"-?\d+")
_LIST_TEXT = re.compile(rb'\n          s: "(.*)"(?=\n)')
_DESC = re.compile(rb"\n    (input|output)_desc \{\n")

Memo = Dict[bytes, Desc]


def make_op(raw: bytes, path: str, offset: int, memo: Memo) -> GraphOp:
    """GraphOp of a block.

    Args:
      raw: from the line end behind `  op {` to the line end before `  }`.
      path, offset: where that is, for errors.
      memo: descriptions seen in this file. Many operators have the same; equal
        texts give the same object, which must not be changed.
    """
    match = _OP_HEAD.match(raw)
    name, kind, inputs = match.groups() if match else (None, None, None)
    if name is None or kind is None or not _is_as_printed(raw, match.end() - 1 if match else 0):
        return _parsed_op(raw, path, offset)
    op = GraphOp.__new__(GraphOp)
    op.name = to_text(name or b"")
    op.type = to_text(kind or b"")
    op.inputs = [to_text(edge) for edge in _INPUT.findall(inputs)] \
        if inputs else []
    op._input_descs = op._output_descs = None
    op._attrs = op._fields = None
    op._source = OpSource(raw, path, offset, memo)
    return op


def _is_as_printed(raw: bytes, head: int) -> bool:
    """Whether an operator is laid out as GE prints it, fields in the order of their numbers.

    Args:
      raw: see `make_op`.
      head: where name, type and inputs end.
    """
    if raw.find(b"\n    input:", head) >= 0:
        return False
    odd = b"[" in raw or b"<" in raw or _GOES_ON.search(raw) is not None
    return not odd or _ON_ONE_LINE.search(raw) is None


def _parsed_op(raw: bytes, path: str, offset: int) -> GraphOp:
    """An operator that somebody has edited, or that another program has printed."""
    try:
        return graph_decode.decode_op(protobuf_text.parse(raw))
    except protobuf_text.TextError as error:
        raise FormatError(path, error.reason, offset + (error.offset or 0)) from None


class _Source:
    """Attributes and fields by literal search; see the module."""
    __slots__ = ("offset", "path", "raw")
    pad = b""
    line = re.compile(rb"")  # a field of this level

    def __init__(self, raw: bytes, path: str, offset: int):
        self.raw = raw
        self.path = path
        self.offset = offset

    def _block_of(self, key: str) -> Optional[Tuple[int, int]]:
        quoted = protobuf_text.escape(key.encode("utf-8", "surrogateescape"))
        start = self.raw.find(b'\n%s  key: "%s"\n' % (self.pad, quoted))
        if start < 0:
            return None
        return start, self._end(start)

    def _end(self, start: int) -> int:
        # The last block's line end was cut off together with the operator's.
        end = self.raw.find(b"\n%s}\n" % self.pad, start + 1)
        return len(self.raw) if end < 0 else end

    def attr(self, key: str, default: Any = None) -> Any:
        found = self._block_of(key)
        if found is None:
            return default
        return self._parsed(*found)[1]

    def _parsed(self, start: int, end: int) -> Tuple[str, Any]:
        try:
            return graph_decode.decode_attr(protobuf_text.parse(self.raw, start, end))
        except protobuf_text.TextError as error:
            raise FormatError(self.path, error.reason,
                              self.offset + (error.offset or start)) from None

    def attrs(self) -> Dict[str, Any]:
        raw = self.raw
        opening = b"\n%sattr {\n" % self.pad
        attrs = {}
        pos = raw.find(opening)
        while pos >= 0:
            end = self._end(pos)
            key, value = self._parsed(pos + len(opening) - 1, end)
            attrs[key] = value
            # Blocks follow each other; only what GE adds later lies between.
            pos = end + len(self.pad) + 2
            if not raw.startswith(opening[1:], pos):
                pos = raw.find(opening, pos)
            else:
                pos -= 1
        return attrs

    def texts(self, key: str) -> Optional[List[str]]:
        """A list of texts, or a single text as a list; None if missing."""
        found = self._block_of(key)
        if found is None:
            return None
        start, end = found
        values = _LIST_TEXT.findall(self.raw, start, end + 1)
        if values:
            return [to_text(value) for value in values]
        value = self._parsed(start, end)[1]
        if isinstance(value, list):
            return [item for item in value if isinstance(item, str)]
        return [value] if isinstance(value, str) else []

    def _plain_fields(self, start: int, end: int) -> Dict[str, Any]:
        """The single-line fields at this level in raw[start:end]."""
        fields: Dict[str, Any] = {}
        for match in self.line.finditer(self.raw, start, end):
            name = match.group(1).decode("ascii")
            quoted = match.group(2)
            value = protobuf_text.unescape(quoted) if quoted is not None \
                else match.group(3).decode("ascii", "replace")
            try:
                value = graph_decode.plain(name, value)
            except protobuf_text.TextError as error:
                raise FormatError(self.path, "%s: %s" % (name, error.reason),
                                  self.offset + match.start()) from None
            if name in graph_decode.REPEATED_FIELDS:
                fields.setdefault(name, []).append(value)
            else:
                fields[name] = value
        return fields


class OpSource(_Source):
    """Text of an operator."""
    __slots__ = ("memo",)
    pad = b"    "
    line = re.compile(rb'(?<=\n)    (\w+): (?:"(.*)"|(.*))(?=\n|\Z)')

    def __init__(self, raw: bytes, path: str, offset: int, memo: Memo):
        super().__init__(raw, path, offset)
        self.memo = memo

    def fields(self) -> Dict[str, Any]:
        """Plain fields by name, without name, type and inputs.

        Raises:
          FormatError: a field of another kind than `ge_ir.proto` gives it.
        """
        raw = self.raw
        first = _DESC.search(raw)
        last = len(raw) if first is None else first.start() + 1
        start = raw.rfind(b"\n    }\n", 0, last)
        fields = self._plain_fields(max(start, 0), last)
        for name in ("name", "type", "input"):
            fields.pop(name, None)
        names = self._plain_fields(max(raw.rfind(b"\n    }"), 0), len(raw)) \
            .get("subgraph_name")
        if names:
            fields["subgraph_name"] = names
        return fields

    def descs(self, name: str) -> List[Desc]:
        """Descriptions of all inputs or outputs.

        Args:
          name: "input_desc" or "output_desc".
        """
        raw = self.raw
        opening = b"\n    %s {\n" % name.encode()
        descs = []
        pos = raw.find(opening)
        while pos >= 0:
            start = pos + len(opening) - 1
            end = raw.find(b"\n    }\n", start)
            if end < 0:
                end = len(raw)
                if raw.endswith(b"\n    }"):
                    end -= 6
            block = raw[start:end + 1]
            desc = self.memo.get(block)
            if desc is None:
                desc = self.memo[block] = _make_desc(
                    block, self.path, self.offset + start)
            descs.append(desc)
            pos = raw.find(opening, end)
        return descs


class DescSource(_Source):
    """Text of a tensor description of an operator."""
    __slots__ = ()
    pad = b"      "
    line = re.compile(rb'(?<=\n)      (\w+): (?:"(.*)"|(.*))(?=\n|\Z)')

    def fields(self) -> Dict[str, Any]:
        """Plain fields by name, without dtype and layout.

        Raises:
          FormatError: a field of another kind than `ge_ir.proto` gives it.
        """
        fields = self._plain_fields(0, len(self.raw))
        for name in ("dtype", "layout"):
            fields.pop(name, None)
        return fields


def _make_desc(raw: bytes, path: str, offset: int) -> Desc:
    match = _DESC_HEAD.match(raw)
    dtype, dims, layout = match.groups() if match else (None, None, None)
    desc = Desc.__new__(Desc)
    desc.dtype = "DT_UNDEFINED" if dtype is None else dtype.decode("ascii")
    desc.shape = tuple(map(int, _DIM.findall(dims))) if dims else ()
    desc.layout = to_text(layout or b"")
    desc._attrs = desc._fields = None
    desc._source = DescSource(raw, path, offset)
    return desc
