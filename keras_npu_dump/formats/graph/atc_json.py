"""Graphs as JSON, as `atc --mode=5 --om=<graph file> --json=<file>` gives them.

The vendor's comparator and its other tools read this form. Rules (GE
`omg.cc`, `pb2json.cc`): the message's own structure, repeated fields as
lists, enums by name, 64-bit integers as numbers, floats as texts of six
digits, bytes C-escaped; what is empty is left out, and so are some fields by
their name, wherever they stand.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterator, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path
from keras_npu_dump.formats.graph import protobuf_text
from keras_npu_dump.formats.graph.graph_decode import ELIDED

# Left out wherever they stand: contents and memory layout.
DROPPED = frozenset((
    "output", "data_offset", "data", "workspace", "workspace_bytes",
    "memory_size", "weight_size", "size", "bt", "quantize_factor"))

# {message: {field: (kind, repeated)}}; a kind is a message, or s(tring),
# y (bytes), i(nteger), f(loat), b(ool), e(num). GE `ge_ir.proto`.
_SCHEMA: Dict[str, Dict[str, Tuple[str, bool]]] = {}


def _define(message: str, fields: str) -> None:
    table = {}
    for item in fields.split():
        name, _, kind = item.partition(":")
        table[name] = (kind.rstrip("*"), kind.endswith("*"))
    _SCHEMA[message] = table


_define("ModelDef", "name:s version:i custom_version:s graph:GraphDef* "
        "attr:AttrEntry* attr_groups:?")
_define("GraphDef", "name:s input:s* output:s* op:OpDef* attr:AttrEntry* "
        "attr_groups:?")
_define("OpDef", "name:s type:s input:s* attr:AttrEntry* attr_groups:? "
        "has_out_attr:b id:i stream_id:i input_name:s* src_name:s* "
        "src_index:i* dst_name:s* dst_index:i* input_i:i* output_i:i* "
        "workspace:i* workspace_bytes:i* is_input_const:b* "
        "input_desc:TensorDescriptor* output_desc:TensorDescriptor* "
        "subgraph_name:s*")
_define("TensorDescriptor", "name:s dtype:e shape:ShapeDef layout:s "
        "attr:AttrEntry* attr_groups:? has_out_attr:b size:i weight_size:i "
        "reuse_input:b output_tensor:b device_type:s input_tensor:b "
        "real_dim_cnt:i reuse_input_index:i data_offset:i cmps_size:i "
        "cmps_tab:s cmps_tab_offset:i")
_define("ShapeDef", "dim:i*")
_define("AttrEntry", "key:s value:AttrDef")
_define("AttrDef", "list:ListValue s:y i:i f:f b:b bt:y func:NamedAttrs "
        "td:TensorDescriptor t:TensorDef g:GraphDef "
        "list_list_int:ListListInt dt:i list_list_float:ListListFloat "
        "expression:y")
_define("ListValue", "s:y* i:i* f:f* b:b* bt:y* td:TensorDescriptor* "
        "t:TensorDef* g:GraphDef* na:NamedAttrs* dt:i* val_type:e")
_define("NamedAttrs", "name:s attr:AttrEntry*")
_define("TensorDef", "desc:TensorDescriptor data:y")
_define("ListListInt", "list_list_i:ListInt*")
_define("ListInt", "list_i:i*")
_define("ListListFloat", "list_list_f:ListFloat*")
_define("ListFloat", "list_f:f*")


def to_json(message: protobuf_text.Message, kind: str = "ModelDef") -> Dict[str, Any]:
    """A parsed block as the vendor's JSON has it.

    Args:
      message: fields in order, of `protobuf_text.parse`.
      kind: name of its message in GE `ge_ir.proto`: "ModelDef", "GraphDef",
        "OpDef" and so on. Fields that this message does not have are kept, as text
        or number by what they look like.

    Returns:
      A dict for `json.dumps`; empty blocks and the fields in DROPPED are left out.

    Raises:
      TextError: a float field that holds no number.
    """
    schema = _SCHEMA.get(kind, {})
    result: Dict[str, Any] = {}
    for name, value in message:
        if name in DROPPED or value == ELIDED:
            continue
        field, repeated = schema.get(name, ("?", False))
        if isinstance(value, list):
            item: Any = to_json(value, field)
            if not item:
                continue
        else:
            item = _scalar(value, field)
        if repeated:
            result.setdefault(name, []).append(item)
        elif name in schema or name not in result:
            result[name] = item
        else:  # a field that is not known, and comes again
            known = result[name]
            result[name] = [*known, item] if isinstance(known, list) \
                else [known, item]
    return result


def _scalar(value: Any, kind: str) -> Any:
    if isinstance(value, bytes):
        if kind == "y":
            return protobuf_text.escape(value).decode("ascii")
        return protobuf_text.to_str(value)
    if kind == "b" or value in ("true", "false"):
        return value == "true"
    if kind == "f":
        try:
            return "%g" % protobuf_text.to_single(float(value))
        except ValueError:
            raise protobuf_text.TextError("%.40r is no number" % (value,), 0) from None
    if kind == "e":
        return value
    number = protobuf_text.to_int(value)
    return value if number is None else number


def iter_json(path: Path) -> Iterator[str]:
    """Yields the JSON text of a ge_proto file, piece by piece.

    Memory: one operator at a time.

    Args:
      path: the file.

    Raises:
      FormatError: not a ge_proto file, cut off, or an attribute that cannot
        be parsed.
      OSError: the file cannot be opened or read.
    """
    from keras_npu_dump.formats.graph.graph_reader import iter_blocks
    blocks = iter_blocks(path)
    separator = '{"graph": ['
    open_graph = False
    fields: Dict[str, Any] = {}
    ops = 0
    for kind, block in blocks:
        try:
            if kind == "{":
                yield separator + "{"
                open_graph, ops, fields = True, 0, {}
                separator = ", "
            elif kind == "op" and open_graph and isinstance(block, list):
                if ops:
                    yield ", "
                else:  # what stands before the operators: the graph's name
                    yield _members(fields)
                    yield (", " if fields else "") + '"op": ['
                    fields = {}
                yield json.dumps(to_json(block, "OpDef"))
                ops += 1
            elif kind == "node":
                raise protobuf_text.TextError("an ONNX twin has no such JSON form; "
                                     "the ge_proto file has", 0)
            elif kind == "}":
                if ops:
                    yield "], " if fields else "]"
                yield _members(fields) + "}"
                open_graph, fields = False, {}
            else:
                _merge(fields, to_json(
                    [(kind, block)], "GraphDef" if open_graph
                    else "ModelDef"))
        except protobuf_text.TextError as error:
            raise FormatError(path, error.reason, error.offset) from None
    yield ("], " if fields else "]") + _members(fields) + "}\n"


def _merge(target: Dict[str, Any], source: Dict[str, Any]) -> None:
    for name, value in source.items():
        known = target.get(name)
        if isinstance(value, list) and isinstance(known, list):
            known.extend(value)
        else:
            target[name] = value


def _members(values: Dict[str, Any]) -> str:
    """The members of an object, without its brackets."""
    return json.dumps(values)[1:-1]
