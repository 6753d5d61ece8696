"""Writes what CANN writes, for tests, from the reference alone.

Nothing here imports the package under test: a mistake that reader and writer
shared would prove itself right.
"""
import json
import os
import struct

DT = {"DT_FLOAT": 1, "DT_FLOAT16": 2, "DT_INT32": 7, "DT_INT64": 8}
SIZE = {"DT_FLOAT": 4, "DT_FLOAT16": 2, "DT_INT32": 4, "DT_INT64": 8}
STATS_HEADER = ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,"
                "Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count\n")


def sanitise(name):
    for character in " ./\\":
        name = name.replace(character, "_")
    return name


def write(path, content, mtime=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content if isinstance(content, bytes) else content.encode("utf-8"))
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


# --- binary dump files (runtime dump_task.cpp: u64 length, DumpData, raw data)

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def _bytes(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def _shape(dims):
    return _bytes(1, b"".join(varint(dim) for dim in dims)) if dims else b""


def tensor_bytes(tensor):
    dtype, shape = tensor
    count = 1
    for dim in shape:
        count *= dim
    return count * SIZE[dtype]


def dump_file(op_name, time_us, inputs, outputs, address=4096):
    """inputs, outputs: lists of (dtype name, shape)."""
    head = _bytes(1, b"2.0") + _number(2, time_us)
    for dtype, shape in outputs:
        head += _bytes(3, _number(1, DT[dtype]) + _number(2, 2) + _bytes(3, _shape(shape))
                       + _number(6, tensor_bytes((dtype, shape))) + _bytes(7, _shape(shape))
                       + _number(9, address))
    for dtype, shape in inputs:
        head += _bytes(4, _number(1, DT[dtype]) + _number(2, 2) + _bytes(3, _shape(shape))
                       + _number(5, tensor_bytes((dtype, shape))) + _bytes(6, _shape(shape))
                       + _number(8, address + 4096))
    head += _bytes(6, op_name.encode("utf-8"))
    data = b"".join(b"\x01" * tensor_bytes(one) for one in list(inputs) + list(outputs))
    return struct.pack("<Q", len(head)) + head + data


def stats_file(inputs, outputs):
    rows = [STATS_HEADER]
    for kind, tensors in (("Input", inputs), ("Output", outputs)):
        for index, (dtype, shape) in enumerate(tensors):
            dims = "x".join(str(dim) for dim in shape) or "-"
            size = tensor_bytes((dtype, shape))
            rows.append("%s,%d,%d,%s,ND,%s,1,-1,0.5,%d,0,0,0\n" % (
                kind, index, size, dtype, dims, size // SIZE[dtype]))
    return "".join(rows)


# --- graph text (ge_ir.proto printed as protobuf text)

def _desc(kind, tensor):
    dtype, shape = tensor
    dims = "".join("        dim: %d\n" % dim for dim in shape)
    inner = "      shape {\n%s      }\n" % dims
    return ("    %s {\n      dtype: %s\n%s      layout: \"ND\"\n"
            "      has_out_attr: true\n      size: 64\n    }\n" % (kind, dtype, inner))


def _quote(text):
    out = []
    for byte in text.encode("utf-8"):
        character = chr(byte)
        if character in "\"\\":
            out.append("\\" + character)
        elif 32 <= byte < 127:
            out.append(character)
        else:
            out.append("\\%03o" % byte)
    return '"%s"' % "".join(out)


def attr_text(key, value, indent="    "):
    return ("%sattr {\n%s  key: %s\n%s  value {\n%s    %s\n%s  }\n%s}\n" % (
        indent, indent, _quote(key), indent, indent, value, indent, indent))


def op_text(op, number):
    lines = ["  op {\n    name: %s\n    type: %s\n" % (_quote(op.name), _quote(op.type))]
    lines += ["    input: %s\n" % _quote(source) for source in op.sources]
    if op.originals is not None:
        names = "".join("        s: %s\n" % _quote(name) for name in op.originals)
        lines.append(
            "    attr {\n      key: \"_datadump_original_op_names\"\n      value {\n"
            "        list {\n%s          val_type: VT_LIST_STRING\n        }\n      }\n    }\n"
            % names.replace("        s:", "          s:"))
    if op.no_task:
        lines.append(attr_text("_no_task", "b: true"))
    if number:
        lines.append("    id: %d\n" % number)
    lines += [_desc("input_desc", one) for one in op.inputs]
    lines += [_desc("output_desc", one) for one in op.outputs]
    lines += ["    subgraph_name: %s\n" % _quote(name) for name in op.subgraphs]
    lines.append("  }\n")
    return "".join(lines)


def graph_text(graphs, options=None):
    """graphs: list of (name, ops), the root first; options: GE session options."""
    out = []
    for position, (name, ops) in enumerate(graphs):
        out.append("graph {\n  name: %s\n" % _quote(name))
        out += [op_text(op, number) for number, op in enumerate(ops)]
        if position == 0 and options is not None:
            inner = "".join(
                "        attr {\n          key: %s\n          value {\n            s: %s\n"
                "          }\n        }\n" % (_quote(key), _quote(value))
                for key, value in sorted(options.items()))
            out.append("  attr {\n    key: \"SessionOptions\"\n    value {\n      func {\n"
                       "        name: \"SessionOptions\"\n%s      }\n    }\n  }\n" % inner)
        out.append("}\n")
    return "".join(out)


# --- run records (the contract between capture and collect)

def write_run(dump_path, run_id, record, events):
    folder = os.path.join(dump_path, "runs", run_id)
    write(os.path.join(folder, "run.json"), json.dumps(record))
    write(os.path.join(folder, "iterations.jsonl"),
          "".join(json.dumps(event) + "\n" for event in events))
    return folder
