"""The second form of graph files, with less in it: ge_onnx_*.pbtxt.

GE prints every graph a second time in the shape of an ONNX model, for
viewers (GE `ge_ir_utils.cc`): operators are `node`s of type `ge:<Type>`,
tensor descriptions are flattened into attributes such as
`input_desc_dtype:0`, sub-graphs lie in an attribute of a node of their own,
and the graph's name stands behind its nodes. Such a file serves where the
ge_proto file is missing; `Graph.lacks` tells what it does not hold.
"""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.graph import protobuf_text
from keras_npu_dump.formats.graph.ge_graph import AttrList, Desc, Graph, GraphOp
from keras_npu_dump.formats.graph.graph_decode import REPEATED_FIELDS

LACKS_TEXTS = ("written without texts (DUMP_GE_GRAPH 2 or 3): no original "
               "operator names, no origin of outputs, no fusion passes")
LACKS_DESCS = ("written with node relations only (DUMP_GE_GRAPH 3): no "
               "shapes, types, layouts or attributes")

_PREFIX = "ge:"
_DESC = re.compile(r"(input|output)_desc_(\w+):([0-9]{1,5})$")
_DESC_ATTR = "attr_"
_FIELDS = REPEATED_FIELDS | frozenset(("id", "stream_id", "has_out_attr"))
_MAX_DESCS = 1 << 12


def decode_node(message: protobuf_text.Message) -> Tuple[GraphOp, Optional[Graph]]:
    """An operator, and the sub-graph that a node may hold.

    Args:
      message: the inside of a node block.

    Returns:
      (operator, sub-graph); the sub-graph is None for all but the nodes that GE
      makes for sub-graphs.

    Raises:
      TextError: a field of another kind than ONNX gives it.
    """
    op = GraphOp()
    descs: Dict[str, Dict[int, Desc]] = {"input": {}, "output": {}}
    subgraph = None
    for name, value in message:
        if name == "name":
            op.name = _text(value)
        elif name == "op_type":
            op.type = _text(value)
            if op.type.startswith(_PREFIX):
                op.type = op.type[len(_PREFIX):]
        elif name == "input":
            op.inputs.append(_text(value))
        elif name == "attribute" and isinstance(value, list):
            key = _text(protobuf_text.first(value, "name", b""))
            inner = protobuf_text.first(value, "g")
            if isinstance(inner, list):
                subgraph = decode_graph(inner)
            else:
                _place(op, descs, key, _value(value))
    for side, target in (("input", op.input_descs),
                         ("output", op.output_descs)):
        known = descs[side]
        for index in range(max(known) + 1 if known else 0):
            target.append(known.get(index, Desc()))
    return op, subgraph


def decode_graph(message: protobuf_text.Message) -> Graph:
    """A graph of ONNX form; graphs nested in it are left out.

    Args:
      message: the inside of a GraphProto block.

    Raises:
      TextError: a field of another kind than ONNX gives it.
    """
    graph = Graph()
    for name, value in message:
        if name == "node" and isinstance(value, list):
            graph.ops.append(decode_node(value)[0])
        elif name == "name":
            graph.name = _text(value)
    graph.lacks = lacks(graph.ops)
    return graph


def lacks(ops: List[GraphOp]) -> Tuple[str, ...]:
    """What a graph of ONNX form does not hold, by what is missing in all its operators.

    Args:
      ops: all operators of the graph.

    Returns:
      LACKS_DESCS and LACKS_TEXTS, or those of them that are true.
    """
    if not any(op.output_descs or op.attrs for op in ops):
        return (LACKS_DESCS, LACKS_TEXTS)
    if any(isinstance(value, str) or (isinstance(value, AttrList)
                                      and value.kind == "STRING")
           for op in ops for key, value in op.attrs.items()
           if not key.startswith("_input_name")
           and not key.startswith("_output_name")):
        return ()
    return (LACKS_TEXTS,)


def _place(op: GraphOp, descs: Dict[str, Dict[int, Desc]], key: str,
           value: Any) -> None:
    """Puts an attribute where ge_proto has it."""
    match = _DESC.match(key)
    if match is None:
        if key in _FIELDS:
            if isinstance(value, list if key in REPEATED_FIELDS else int):
                op.fields[key] = value
        elif key not in ("input_desc_nums", "output_desc_nums"):
            op.attrs[key] = value
        return
    side, name, number = match.groups()
    index = int(number)
    if index > _MAX_DESCS:
        return
    desc = descs[side].setdefault(index, Desc())
    if name == "dtype":
        # A word of ge::DataType; some builds print it without its prefix.
        word = str(value)
        desc.dtype = word if dtypes.dtype_number(word) is not None \
            or word.startswith("DT_") else "DT_" + word
    elif name == "shape":
        desc.shape = tuple(value) if isinstance(value, list) else ()
    elif name == "layout":
        desc.layout = str(value)
    elif name == "origin_shape":
        desc.attrs["origin_shape"] = value
    elif name == "origin_layout":
        desc.attrs["origin_format"] = value
    elif name == "origin_dtype":
        desc.attrs["origin_data_type"] = value
    elif name.startswith(_DESC_ATTR):
        desc.attrs[name[len(_DESC_ATTR):]] = value
    else:
        desc.fields[name] = value


_KINDS = {"FLOATS": ("floats", "FLOAT"), "INTS": ("ints", "INT"),
          "STRINGS": ("strings", "STRING")}


def _value(message: protobuf_text.Message) -> Any:
    kind = protobuf_text.first(message, "type", "")
    if isinstance(kind, str) and kind in _KINDS:
        name, list_kind = _KINDS[kind]
        return AttrList([_scalar(item, list_kind) for item
                         in protobuf_text.all_of(message, name)], list_kind)
    if kind == "INT":
        return _scalar(protobuf_text.first(message, "i", "0"), "INT")
    if kind == "FLOAT":
        return _scalar(protobuf_text.first(message, "f", "0"), "FLOAT")
    if kind == "STRING":
        return _text(protobuf_text.first(message, "s", b""))
    return None


def _scalar(value: Any, kind: str) -> Any:
    if kind == "STRING":
        return _text(value)
    if isinstance(value, str) and len(value) < 64:
        try:
            return int(value) if kind == "INT" else float(value)
        except ValueError:
            pass
    raise protobuf_text.TextError("%.40r is no number" % (value,), 0)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return protobuf_text.to_str(value)
    if isinstance(value, str):
        return ""  # left out as too long
    raise protobuf_text.TextError("%.40r is no text" % (value,), 0)


def name_behind(data: bytes) -> Optional[str]:
    """The graph's name, which ONNX has behind the nodes.

    Args:
      data: the last bytes of a file.

    Returns:
      The last field `name` at the graph's own level; None if it is not in there.
    """
    at = data.rfind(b'\n  name: "')
    if at < 0:
        return None
    end = data.find(b'"\n', at + 10)
    return None if end < 0 else protobuf_text.to_text(data[at + 10:end])
