"""From parsed blocks of GE's graph text to attributes, operators, graphs."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from keras_npu_dump.formats.graph import protobuf_text
from keras_npu_dump.formats.graph.ge_graph import (
    AttrList,
    DataType,
    Desc,
    Graph,
    GraphOp,
    NamedAttrs,
    Other,
    TensorAttr,
)

# What stands where a text was too long to be read (see long_lines.py).
ELIDED = "ELIDED_TEXT"

_LIST_KIND = "VT_LIST_"

# Fields of OpDef that occur more than once; the others are single.
REPEATED_FIELDS = frozenset((
    "input_name", "src_name", "src_index", "dst_name", "dst_index",
    "input_i", "output_i", "workspace", "workspace_bytes", "is_input_const",
    "subgraph_name"))
# Plain fields of OpDef and TensorDescriptor by what they hold.
_TEXTS = frozenset(("input_name", "src_name", "dst_name", "subgraph_name",
                    "device_type", "cmps_tab"))
_NUMBERS = frozenset((
    "id", "stream_id", "src_index", "dst_index", "input_i", "output_i",
    "workspace", "workspace_bytes", "size", "weight_size", "real_dim_cnt",
    "reuse_input_index", "data_offset", "cmps_size", "cmps_tab_offset"))
_FLAGS = frozenset(("has_out_attr", "is_input_const", "reuse_input",
                    "output_tensor", "input_tensor"))


def decode_value(message: protobuf_text.Message) -> Any:
    """Value of an AttrDef block.

    Args:
      message: the inside of `value { }`.

    Returns:
      What Python has for it (see `ge_graph.py`); None for an empty block and for
      a text that was too long to be read.

    Raises:
      TextError: a field of another kind than `ge_ir.proto` gives it.
    """
    for name, value in message:
        return _decode(name, value)
    return None


def decode_attr(message: protobuf_text.Message) -> Tuple[str, Any]:
    """(key, value) of an attribute.

    Args:
      message: the inside of an `attr` block of the two upper levels.

    Raises:
      TextError: no key or no value, or as `decode_value`.
    """
    key = protobuf_text.first(message, "key", b"")
    value = protobuf_text.first(message, "value", [])
    if not isinstance(key, bytes) or not isinstance(value, list):
        raise protobuf_text.TextError("an attribute without key and value", 0)
    return protobuf_text.to_str(key), decode_value(value)


def decode_attrs(message: protobuf_text.Message) -> Dict[str, Any]:
    """Attributes of a message.

    Args:
      message: the inside of an operator, description, graph or `func`.

    Returns:
      {key: value} of its `attr` blocks.

    Raises:
      TextError: as `decode_value`.
    """
    attrs = {}
    for name, block in message:
        if name == "attr" and isinstance(block, list):
            key = protobuf_text.first(block, "key", b"")
            value = protobuf_text.first(block, "value", [])
            if isinstance(key, bytes):
                attrs[protobuf_text.to_str(key)] = decode_value(_block(value))
    return attrs


def decode_desc(message: protobuf_text.Message) -> Desc:
    """A tensor description.

    Args:
      message: the inside of a TensorDescriptor block.

    Raises:
      TextError: a field of another kind than `ge_ir.proto` gives it.
    """
    desc = Desc(attrs=decode_attrs(message))
    for name, value in message:
        if name == "dtype" and isinstance(value, str):
            desc.dtype = value
        elif name == "layout" and isinstance(value, bytes):
            desc.layout = protobuf_text.to_str(value)
        elif name == "shape" and isinstance(value, list):
            desc.shape = tuple(_int(dim) for dim in protobuf_text.all_of(value, "dim"))
        elif not isinstance(value, list):
            desc.fields[name] = plain(name, value)
    return desc


def decode_op(message: protobuf_text.Message) -> GraphOp:
    """An operator whose block is parsed already.

    Args:
      message: the inside of an OpDef block.

    Raises:
      TextError: a field of another kind than `ge_ir.proto` gives it.
    """
    op = GraphOp(attrs=decode_attrs(message))
    for name, value in message:
        if name == "input_desc" or name == "output_desc":
            descs = op.input_descs if name == "input_desc" else op.output_descs
            descs.append(decode_desc(_block(value)))
        elif isinstance(value, list):
            continue
        elif name == "name":
            op.name = protobuf_text.to_str(_bytes(value))
        elif name == "type":
            op.type = protobuf_text.to_str(_bytes(value))
        elif name == "input":
            op.inputs.append(protobuf_text.to_str(_bytes(value)))
        elif name in REPEATED_FIELDS:
            op.fields.setdefault(name, []).append(plain(name, value))
        else:
            op.fields[name] = plain(name, value)
    return op


def decode_graph(message: protobuf_text.Message) -> Graph:
    """A graph whose block is parsed already.

    Args:
      message: the inside of a GraphDef block.

    Raises:
      TextError: a field of another kind than `ge_ir.proto` gives it.
    """
    graph = Graph(attrs=decode_attrs(message))
    for name, value in message:
        if name == "op":
            graph.ops.append(decode_op(_block(value)))
        elif name == "name":
            graph.name = protobuf_text.to_str(_bytes(value))
        elif name == "input" or name == "output":
            edges = graph.inputs if name == "input" else graph.outputs
            edges.append(protobuf_text.to_str(_bytes(value)))
    return graph


def plain(name: str, value: Any) -> Any:
    """A plain field as Python has it.

    Args:
      name: of the field; an unknown field gives what its text looks
        like: text, bool, whole number, or the word itself.
      value: bytes of a quoted text, or a word.

    Raises:
      TextError: a known field holds something else.
    """
    if name in _NUMBERS:
        return _int(value)
    if name in _TEXTS:
        return protobuf_text.to_str(_bytes(value))
    if name in _FLAGS:
        return _bool(value)
    if isinstance(value, bytes):
        return protobuf_text.to_str(value)
    if value == "true" or value == "false":
        return value == "true"
    number = protobuf_text.to_int(value)
    return value if number is None else number


def _decode(name: str, value: Any) -> Any:
    if value == ELIDED:
        return None
    if name == "s":
        return protobuf_text.to_str(_bytes(value))
    if name == "i":
        return _int(value)
    if name == "b":
        return _bool(value)
    if name == "f":
        return _float(value)
    if name == "bt":
        return _bytes(value)
    if name == "dt":
        return DataType(_int(value))
    if name == "list":
        return _list(_block(value))
    if name == "func":
        block = _block(value)
        return NamedAttrs(protobuf_text.to_str(_bytes(protobuf_text.first(block, "name", b""))),
                          decode_attrs(block))
    if name == "t":
        block = _block(value)
        data = protobuf_text.first(block, "data", b"")
        return TensorAttr(
            decode_desc(_block(protobuf_text.first(block, "desc", []))),
            data if isinstance(data, bytes) else None)
    if name == "td":
        return decode_desc(_block(value))
    if name == "list_list_int" or name == "list_list_float":
        inner = "i" if name.endswith("int") else "f"
        read = _int if inner == "i" else _float
        return AttrList(
            [[read(number) for number in
              protobuf_text.all_of(_block(item), "list_" + inner)]
             for item in protobuf_text.all_of(_block(value), "list_list_" + inner)],
            "LIST_INT" if inner == "i" else "LIST_FLOAT")
    return Other(name, value)


def _list(message: protobuf_text.Message) -> AttrList:
    values = AttrList()
    for name, value in message:
        if name == "val_type":
            if isinstance(value, str) and value.startswith(_LIST_KIND):
                values.kind = value[len(_LIST_KIND):]
        elif name == "na":
            values.append(_decode("func", value))
        else:
            values.append(_decode(name, value))
    return values


def _int(value: Any) -> int:
    number = protobuf_text.to_int(value)
    if number is None:
        raise protobuf_text.TextError("%.40r is no whole number" % (value,), 0)
    return number


def _float(value: Any) -> float:
    try:
        if isinstance(value, str) and "_" not in value and len(value) < 64:
            # The text is the shortest for a float32; read as a double it is
            # another number.
            return protobuf_text.to_single(float(value))
    except ValueError:
        pass
    raise protobuf_text.TextError("%.40r is no number" % (value,), 0)


def _bool(value: Any) -> bool:
    if value in ("true", "false", "True", "False", "1", "0"):
        return value in ("true", "True", "1")
    raise protobuf_text.TextError("%.40r is neither true nor false" % (value,), 0)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    raise protobuf_text.TextError("%.40r is no text" % (value,), 0)


def _block(value: Optional[Any]) -> protobuf_text.Message:
    if isinstance(value, list):
        return value
    raise protobuf_text.TextError("%.40r is no block" % (value,), 0)
