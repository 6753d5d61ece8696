"""CANN's messages for google.protobuf, built at run time in a private pool.

An independent witness: nothing here comes from the package under test. The
field numbers are those of GE's `ge_ir.proto` and runtime's `dump_data.proto`.
Descriptors made this way work on every protobuf runtime without protoc, and
cannot clash with a copy that another library has registered.
"""
import pytest

pytest.importorskip("google.protobuf")

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

_SCALARS = {"double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5,
            "bool": 8, "string": 9, "bytes": 12, "uint32": 13}

DATA_TYPES = [
    "UNDEFINED", "FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16",
    "INT32", "INT64", "UINT32", "UINT64", "BOOL", "DOUBLE", "STRING",
    "DUAL_SUB_INT8", "DUAL_SUB_UINT8", "COMPLEX64", "COMPLEX128", "QINT8",
    "QINT16", "QINT32", "QUINT8", "QUINT16", "RESOURCE", "STRING_REF",
    "DUAL", "VARIANT", "BF16", "INT4", "UINT1", "INT2", "UINT2",
    "COMPLEX32", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E8M0",
    "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2", "HIFLOAT4"]

_GE = """
ModelDef: name=1 string; version=2 uint32; custom_version=3 string;
  graph=7 *GraphDef; attr=11 @AttrDef
GraphDef: name=1 string; input=4 *string; output=5 *string; op=6 *OpDef;
  attr=11 @AttrDef
OpDef: name=1 string; type=2 string; input=5 *string; attr=10 @AttrDef;
  has_out_attr=20 bool; id=21 int64; stream_id=22 int64;
  input_name=23 *string; src_name=24 *string; src_index=25 *int64;
  dst_name=26 *string; dst_index=27 *int64; input_i=28 *int64;
  output_i=29 *int64; workspace=30 *int64; workspace_bytes=31 *int64;
  is_input_const=32 *bool; input_desc=33 *TensorDescriptor;
  output_desc=34 *TensorDescriptor; subgraph_name=35 *string
TensorDescriptor: name=1 string; dtype=2 DataType; shape=3 ShapeDef;
  layout=4 string; attr=5 @AttrDef; has_out_attr=9 bool; size=10 int64;
  weight_size=11 int64; reuse_input=12 bool; output_tensor=13 bool;
  device_type=14 string; input_tensor=15 bool; real_dim_cnt=16 int64;
  reuse_input_index=17 int64; data_offset=18 int64; cmps_size=19 int64;
  cmps_tab=20 string; cmps_tab_offset=21 int64
ShapeDef: dim=1 *int64
TensorDef: desc=1 TensorDescriptor; data=2 bytes
NamedAttrs: name=1 string; attr=2 @AttrDef
AttrDef: list=1 ?ListValue; s=2 ?bytes; i=3 ?int64; f=4 ?float; b=5 ?bool;
  bt=7 ?bytes; func=10 ?NamedAttrs; td=11 ?TensorDescriptor; t=12 ?TensorDef;
  g=13 ?GraphDef; list_list_int=14 ?ListListInt; dt=15 ?int64;
  list_list_float=16 ?ListListFloat; expression=17 ?bytes
ListValue: s=2 *bytes; i=3 *int64; f=4 *float; b=5 *bool; bt=7 *bytes;
  td=8 *TensorDescriptor; t=9 *TensorDef; g=10 *GraphDef; na=11 *NamedAttrs;
  dt=12 *int64; val_type=20 ListValueType
ListListInt: list_list_i=1 *ListInt
ListInt: list_i=1 *int64
ListListFloat: list_list_f=1 *ListFloat
ListFloat: list_f=1 *float
"""

_DUMP = """
DumpData: version=1 string; dump_time=2 uint64; output=3 *OpOutput;
  input=4 *OpInput; buffer=5 *OpBuffer; op_name=6 string; attr=7 *OpAttr;
  space=8 *Workspace; dfx_message=9 string
OpOutput: data_type=1 uint32; format=2 uint32; shape=3 Shape;
  original_op=4 OriginalOp; data=5 bytes; size=6 uint64;
  original_shape=7 Shape; sub_format=8 int32; address=9 uint64;
  dim_range=10 *DimRange; offset=11 uint64
OpInput: data_type=1 uint32; format=2 uint32; shape=3 Shape; data=4 bytes;
  size=5 uint64; original_shape=6 Shape; sub_format=7 int32;
  address=8 uint64; offset=9 uint64; arg_index=10 uint32;
  input_type=11 uint32
OriginalOp: name=1 string; output_index=2 uint32; data_type=3 uint32;
  format=4 uint32
Shape: dim=1 *uint64
DimRange: dim_start=1 uint64; dim_end=2 uint64
OpBuffer: buffer_type=1 uint32; data=2 bytes; size=3 uint64
OpAttr: name=1 string; value=2 string
Workspace: type=1 uint32; data=2 bytes; size=3 uint64
"""

_LIST_TYPES = [
    "NONE", "STRING", "INT", "FLOAT", "BOOL", "BYTES", "TENSOR_DESC",
    "TENSOR", "GRAPH", "NAMED_ATTRS", "DATA_TYPE"]


def _enum(file, name, values):
    enum = file.enum_type.add()
    enum.name = name
    for number, value in enumerate(values):
        entry = enum.value.add()
        entry.name, entry.number = value, number


def _field(message, name, number, kind, package, enums):
    field = message.field.add()
    field.name, field.number, field.label = name, number, 1
    if kind[0] == "*":
        field.label, kind = 3, kind[1:]
    elif kind[0] == "?":  # member of the message's oneof
        field.oneof_index, kind = 0, kind[1:]
    if kind[0] == "@":  # map<string, kind>
        entry = message.nested_type.add()
        entry.name = "".join(part.title() for part in name.split("_")) \
            + "Entry"
        entry.options.map_entry = True
        _field(entry, "key", 1, "string", package, enums)
        _field(entry, "value", 2, kind[1:], package, enums)
        field.label, field.type = 3, 11
        field.type_name = ".%s.%s.%s" % (package, message.name, entry.name)
    elif kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = 14 if kind in enums else 11
        field.type_name = ".%s.%s" % (package, kind)


def _build(package, text, enums):
    file = descriptor_pb2.FileDescriptorProto()
    file.name, file.package, file.syntax = package + ".proto", package, \
        "proto3"
    for name, values in enums.items():
        _enum(file, name, values)
    names = []
    for definition in text.strip().replace("\n  ", " ").splitlines():
        name, fields = definition.split(":", 1)
        message = file.message_type.add()
        message.name = name
        names.append(name)
        if "?" in fields:
            message.oneof_decl.add().name = "value"
        for field in fields.split(";"):
            left, kind = field.split()
            key, number = left.split("=")
            _field(message, key, int(number), kind, package, enums)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = {}
    for name in names:
        descriptor = pool.FindMessageTypeByName("%s.%s" % (package, name))
        if hasattr(message_factory, "GetMessageClass"):
            classes[name] = message_factory.GetMessageClass(descriptor)
        else:
            classes[name] = message_factory.MessageFactory(
                pool).GetPrototype(descriptor)
    return classes


GE = _build("ge.proto", _GE, {
    "DataType": ["DT_" + name for name in DATA_TYPES],
    "ListValueType": ["VT_LIST_" + name for name in _LIST_TYPES]})
DUMP = _build("toolkit.dumpdata", _DUMP, {})
