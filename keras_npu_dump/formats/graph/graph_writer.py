"""Writes graphs in GE's text form (protobuf TextFormat of ge.proto.ModelDef).

Printing rules as in GE `graph_utils.cc` and protobuf: fields in the order of
their numbers, one line each, two blanks per level, map entries sorted by key,
default values left out except inside a oneof.
"""
from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Optional

from keras_npu_dump.files.regular import Path
from keras_npu_dump.formats.graph import protobuf_text
from keras_npu_dump.formats.graph.ge_graph import (
    DataType,
    Desc,
    Graph,
    GraphOp,
    NamedAttrs,
    Other,
    TensorAttr,
)
from keras_npu_dump.formats.tensor.tensor_writer import write_parts

# Plain fields of OpDef behind the attributes, in the order of their numbers,
# and whether they are texts.
_OP_FIELDS = (
    ("has_out_attr", False), ("id", False), ("stream_id", False),
    ("input_name", True), ("src_name", True), ("src_index", False),
    ("dst_name", True), ("dst_index", False), ("input_i", False),
    ("output_i", False), ("workspace", False), ("workspace_bytes", False),
    ("is_input_const", False))
_DESC_FIELDS = (
    ("has_out_attr", False), ("size", False), ("weight_size", False),
    ("reuse_input", False), ("output_tensor", False), ("device_type", True),
    ("input_tensor", False), ("real_dim_cnt", False),
    ("reuse_input_index", False), ("data_offset", False),
    ("cmps_size", False), ("cmps_tab", True), ("cmps_tab_offset", False))
_LIST_FIELD = {"STRING": "s", "INT": "i", "FLOAT": "f", "BOOL": "b",
               "BYTES": "bt", "TENSOR_DESC": "td", "TENSOR": "t",
               "NAMED_ATTRS": "na", "DATA_TYPE": "dt", "GRAPH": "g"}
_CHUNK = 1 << 20


def write_graphs(path: Path, graphs: Iterable[Graph],
                 attrs: Optional[Mapping[str, Any]] = None) -> int:
    """Writes graphs into one file of mode 0600; returns its size in bytes.

    Args:
      path: replaced if it exists.
      graphs: the root graph first, then every graph that it calls.
      attrs: attributes of the model itself.

    Raises:
      TypeError: an attribute that GE's text has no field for.
      OSError: the file cannot be written; what was written is deleted.
    """
    return write_parts(path, [format_graphs(graphs, attrs)])


def format_graphs(graphs: Iterable[Graph],
                  attrs: Optional[Mapping[str, Any]] = None) -> bytes:
    """The text of `write_graphs`.

    Args:
      graphs: the root graph first, then every graph that it calls.
      attrs: attributes of the model itself.

    Raises:
      TypeError: an attribute that GE's text has no field for.
    """
    out: List[bytes] = []
    for graph in graphs:
        out.append(b"graph {\n")
        if graph.name:
            _text(out, b"  ", "name", graph.name)
        for edge in graph.inputs:
            _text(out, b"  ", "input", edge)
        for edge in graph.outputs:
            _text(out, b"  ", "output", edge)
        for op in graph.ops:
            _op(out, op)
        _attrs(out, b"  ", graph.attrs)
        out.append(b"}\n")
    _attrs(out, b"", attrs or {})
    return b"".join(out)


def _op(out: List[bytes], op: GraphOp) -> None:
    out.append(b"  op {\n")
    for name, value in (("name", op.name), ("type", op.type)):
        if value:
            _text(out, b"    ", name, value)
    for edge in op.inputs:
        _text(out, b"    ", "input", edge)
    _attrs(out, b"    ", op.attrs)
    _fields(out, b"    ", op.fields, _OP_FIELDS)
    for name, descs in (("input_desc", op.input_descs),
                        ("output_desc", op.output_descs)):
        for desc in descs:
            out.append(b"    %s {\n" % name.encode())
            _desc(out, b"      ", desc)
            out.append(b"    }\n")
    for name in op.subgraph_names:
        _text(out, b"    ", "subgraph_name", name)
    out.append(b"  }\n")


def _desc(out: List[bytes], indent: bytes, desc: Desc) -> None:
    if desc.fields.get("name"):
        _text(out, indent, "name", desc.fields["name"])
    if desc.dtype and desc.dtype != "DT_UNDEFINED":
        out.append(b"%sdtype: %s\n" % (indent, desc.dtype.encode()))
    out.append(indent + b"shape {\n")
    for dim in desc.shape:
        out.append(b"%s  dim: %d\n" % (indent, dim))
    out.append(indent + b"}\n")
    if desc.layout:
        _text(out, indent, "layout", desc.layout)
    _attrs(out, indent, desc.attrs)
    _fields(out, indent, desc.fields, _DESC_FIELDS)


def _fields(out: List[bytes], indent: bytes, fields: Mapping[str, Any],
            order: Any) -> None:
    for name, is_text in order:
        value = fields.get(name)
        if value is None:
            continue
        # A repeated field prints its zeros, a single field does not.
        values = value if isinstance(value, list) else [value] if value else []
        for item in values:
            if is_text:
                _text(out, indent, name, item)
            else:
                out.append(b"%s%s: %s\n" % (indent, name.encode(),
                                            _scalar(item)))


def _text(out: List[bytes], indent: bytes, name: str, value: str) -> None:
    out.append(b'%s%s: "%s"\n' % (
        indent, name.encode(),
        protobuf_text.escape(value.encode("utf-8", "surrogateescape"))))


def _scalar(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float):
        return protobuf_text.float_text(value).encode()
    return b"%d" % value


def _attrs(out: List[bytes], indent: bytes, attrs: Mapping[str, Any]) -> None:
    for key in sorted(attrs, key=lambda key: key.encode("utf-8",
                                                        "surrogateescape")):
        out.append(indent + b"attr {\n")
        _text(out, indent + b"  ", "key", key)
        out.append(indent + b"  value {\n")
        _value(out, indent + b"    ", attrs[key])
        out.append(indent + b"  }\n" + indent + b"}\n")


def _value(out: List[bytes], indent: bytes, value: Any) -> None:
    if isinstance(value, str):
        _text(out, indent, "s", value)
    elif isinstance(value, bytes):
        out.append(b'%sbt: "%s"\n' % (indent, protobuf_text.escape(value)))
    elif isinstance(value, DataType):
        out.append(b"%sdt: %d\n" % (indent, value))
    elif isinstance(value, bool):
        out.append(b"%sb: %s\n" % (indent, _scalar(value)))
    elif isinstance(value, int):
        out.append(b"%si: %d\n" % (indent, value))
    elif isinstance(value, float):
        out.append(b"%sf: %s\n" % (indent, _scalar(value)))
    elif isinstance(value, NamedAttrs):
        _block(out, indent, "func", value)
    elif isinstance(value, TensorAttr):
        _block(out, indent, "t", value)
    elif isinstance(value, Desc):
        _block(out, indent, "td", value)
    elif isinstance(value, Other):
        out.append(b"%s%s" % (indent, value.kind.encode()))
        _message(out, indent, value.message)
    elif isinstance(value, (list, tuple)):
        _list(out, indent, value)
    else:
        raise TypeError("GE's text has no attribute for %s"
                        % type(value).__name__)


def _block(out: List[bytes], indent: bytes, name: str, value: Any) -> None:
    out.append(b"%s%s {\n" % (indent, name.encode()))
    deeper = indent + b"  "
    if isinstance(value, NamedAttrs):
        if value.name:
            _text(out, deeper, "name", value.name)
        _attrs(out, deeper, value.attrs)
    elif isinstance(value, TensorAttr):
        _block(out, deeper, "desc", value.desc)
        if value.data:
            out.append(b'%sdata: "%s"\n' % (deeper, protobuf_text.escape(value.data)))
    else:
        _desc(out, deeper, value)
    out.append(indent + b"}\n")


def _message(out: List[bytes], indent: bytes, message: Any) -> None:
    """The rest of a line whose field name is already out."""
    if isinstance(message, list):
        out.append(b" {\n")
        for name, value in message:
            out.append(b"%s  %s" % (indent, name.encode()))
            _message(out, indent + b"  ", value)
        out.append(indent + b"}\n")
    elif isinstance(message, bytes):
        out.append(b': "%s"\n' % protobuf_text.escape(message))
    else:
        out.append(b": %s\n" % str(message).encode())


def _list(out: List[bytes], indent: bytes, values: Any) -> None:
    if values and all(isinstance(item, (list, tuple)) for item in values) \
            or getattr(values, "kind", "") in ("LIST_INT", "LIST_FLOAT"):
        is_float = getattr(values, "kind", "") == "LIST_FLOAT" or any(
            isinstance(number, float) for item in values for number in item)
        word = b"float" if is_float else b"int"
        letter = b"f" if is_float else b"i"
        out.append(b"%slist_list_%s {\n" % (indent, word))
        for item in values:
            out.append(b"%s  list_list_%s {\n" % (indent, letter))
            for number in item:
                out.append(b"%s    list_%s: %s\n"
                           % (indent, letter, _scalar(number)))
            out.append(b"%s  }\n" % indent)
        out.append(indent + b"}\n")
        return
    kind = getattr(values, "kind", None)
    if kind is None:
        kind = _kind(values)
    name = _LIST_FIELD.get(kind) or _LIST_FIELD.get(_kind(values), "i")
    out.append(indent + b"list {\n")
    for item in values:
        if isinstance(item, str):
            _text(out, indent + b"  ", name, item)
        elif isinstance(item, bytes):
            out.append(b'%s  %s: "%s"\n' % (indent, name.encode(),
                                            protobuf_text.escape(item)))
        elif isinstance(item, (NamedAttrs, TensorAttr, Desc)):
            _block(out, indent + b"  ", name, item)
        elif isinstance(item, Other):
            out.append(b"%s  %s" % (indent, item.kind.encode()))
            _message(out, indent + b"  ", item.message)
        else:
            out.append(b"%s  %s: %s\n" % (indent, name.encode(),
                                          _scalar(item)))
    if kind != "NONE":
        out.append(b"%s  val_type: VT_LIST_%s\n" % (indent, kind.encode()))
    out.append(indent + b"}\n")


def _kind(values: Any) -> str:
    """Kind of a plain list by its first element; an empty list is of texts."""
    for item in values:
        for kind, types in _KINDS:
            if isinstance(item, types):
                return kind
        raise TypeError("GE's text has no list of %s" % type(item).__name__)
    return "STRING"


_KINDS = (
    ("STRING", str), ("BYTES", bytes), ("DATA_TYPE", DataType),
    ("BOOL", bool), ("INT", int), ("FLOAT", float),
    ("NAMED_ATTRS", NamedAttrs), ("TENSOR", TensorAttr),
    ("TENSOR_DESC", Desc), ("NONE", Other))
