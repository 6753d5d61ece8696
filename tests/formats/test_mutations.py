"""Every reader is total: any change to a valid file gives a value or one
documented error, in bounded time and memory.

10,000 mutations a reader run by default; KERAS_NPU_DUMP_MUTATIONS=1000000
(this file alone, about half an hour on a free core) is the long form. A
failure names the seed and the number of the mutation: set
KERAS_NPU_DUMP_MUTATION_SEED to the seed to see it again.
"""
import json
import os
import random
import resource
import time

import numpy as np
import pytest

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import mapping, names
from keras_npu_dump.formats.graph import graph_reader, graph_writer
from keras_npu_dump.formats.graph.ge_graph import AttrList, Desc, Graph, GraphOp
from keras_npu_dump.formats.stats import stats_file, stats_folder, stats_writer
from keras_npu_dump.formats.tensor import dump_file as tensor
from keras_npu_dump.formats.tensor import ffts, layouts, opdebug
from tests.formats import graphs
from tests.formats.test_graph_twins import ONNX, ORIGINS
from tests.formats.test_stats import CPU

COUNT = int(os.environ.get("KERAS_NPU_DUMP_MUTATIONS", "10000"))
SEED = int(os.environ.get("KERAS_NPU_DUMP_MUTATION_SEED", "20261129"))
# What a reader may hold beyond the file itself.
MEMORY = 256 << 20
SECONDS = 5.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if os.access("/dev/shm", os.W_OK):  # a million files are written
        import tempfile
        with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
            yield path
    else:
        yield str(tmp_path_factory.mktemp("mutations"))


def mutate(data, rng):
    """One change: bytes, bits, numbers, cuts, repetitions, insertions."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        kind = rng.randrange(8)
        at = rng.randrange(len(out) + 1) if out else 0
        if kind == 0 and out:
            out[at - 1] = rng.randrange(256)
        elif kind == 1 and out:
            out[at - 1] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at:at + rng.randrange(1, 20)]
        elif kind == 4:
            out[at:at] = bytes(rng.randrange(256) for _ in
                               range(rng.randrange(1, 9)))
        elif kind == 5:
            other = rng.randrange(len(out) + 1)
            out[at:at] = out[other:other + rng.randrange(1, 40)]
        elif kind == 6:
            out[at:at + 8] = rng.choice(LARGE)
        else:
            out[at:at + 1] = rng.choice(b"\n\"\\{}:,_-.0129\x00\xff")\
                .to_bytes(1, "little")
    return bytes(out)


LARGE = [b"\xff" * 8, b"\xff" * 7 + b"\x7f", (1 << 60).to_bytes(8, "little"),
         (1 << 31).to_bytes(8, "little"), b"\xff\xff\xff\xff\x0f", b"\0" * 8]


def endure(folder, name, valid, read):
    """Feeds mutations of the valid contents to a reader."""
    path = os.path.join(folder, name)
    rng = random.Random(SEED)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = 0
    for number in range(COUNT):
        data = mutate(rng.choice(valid), rng)
        with open(path, "wb") as file:
            file.write(data)
        start = time.process_time()  # a busy machine is no fault
        try:
            read(path)
            accepted += 1
        except FormatError as error:
            assert error.path and error.reason
        except Exception as error:
            raise AssertionError(
                "mutation %d of seed %d: %r on %r"
                % (number, SEED, error, data[:2000])) from error
        assert time.process_time() - start < SECONDS, (number, data[:200])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown << 10 < MEMORY
    # a reader that refuses all, or takes all, would pass the above
    assert 0 < accepted < COUNT
    for data in valid:
        with open(path, "wb") as file:
            file.write(data)
        read(path)


def written(folder, write):
    path = os.path.join(folder, "valid")
    write(path)
    with open(path, "rb") as file:
        return file.read()


def dump_file(legacy):
    def write(path):
        values = np.arange(30, dtype=np.float32).reshape(5, 6)
        tensor.write_file(
            path, "toy/dense/MatMul",
            [tensor.TensorValue(values, original_shape=(5, 6)),
             tensor.TensorValue(np.zeros((1, 1, 2, 2, 16), np.float16), format=3,
                          original_shape=(1, 2, 2, 3)),
             tensor.TensorValue(None, 1, shape=(4,), size=16)],
            [tensor.TensorValue(b"\x80\x3f" * 4, 27, shape=(4,)),
             tensor.TensorValue(b"abcdefgh", 34, shape=(2, 4),
                          original_op=tensor.OriginalOp("a/b", None))],
            1900000000123456, buffers=[b"buffer"], spaces=[b"space"],
            attrs={"_sgt_json_info": json.dumps({
                "threadMode": 1, "slice_instance_num": 2,
                "outputCutList": [[2, 1]], "input_tensor_slice": [],
                "output_tensor_slice": [[[{"lower": 0, "higher": 4}]]]})},
            legacy=legacy, version="1.0" if legacy else "2.0")
    return write


def read_dump(path):
    header, arrays = tensor.read_file(path)
    info = ffts.slice_info(header)
    for entry, values in zip(header.entries, arrays):
        assert values.nbytes <= 4 * header.file_size
        mapped = tensor.read_array(path, entry, mmap=True)
        assert mapped.tobytes() == values.tobytes()
        assert sum(block.size for block in tensor.iter_blocks(path, entry)) \
            >= values.size
        ffts.shaped_slice(values, ffts.slice_shape(info, entry.kind, 0,
                                                   entry.index))
        layouts.to_original(values, entry)
    assert tensor.read_header(path) == header


def test_dump_files(folder):
    endure(folder, "Add.a.1.2.1617161424189416",
           [written(folder, dump_file(False)),
            written(folder, dump_file(True))], read_dump)


def test_overflow_records(folder):
    def record(payload):
        return lambda path: tensor.write_file(path, "Node_OpDebug", [],
                                              [tensor.TensorValue(payload, 4)])
    endure(folder, "Opdebug.Node_OpDebug.1.2.1617161424189416",
           [written(folder, record(opdebug.pack_record(
               "AIC", {"task_id": 1}, (1, 2, 3, 4), 1))),
            written(folder, record(bytes(2048)))], opdebug.read_overflow)


def test_statistics(folder):
    def read(path):
        rows = stats_file.read_stats(path)
        repr(rows)
    endure(folder, "Add.a.1.2.1617161424189416.csv",
           [CPU.encode(), CPU.encode() * 2, written(folder, lambda path:
            stats_writer.write_stats(path, [np.arange(9.0)], [np.arange(3)],
                              "kernel"))], read)


def test_statistics_of_a_folder_are_those_of_its_files(folder):
    def read(path):
        table = stats_folder.read_folder_stats(folder,
                                               [os.path.basename(path)])
        try:
            expected = stats_file.read_stats(path)
        except FormatError:
            (position, _), = table.problems
            assert position == 0
            raise
        assert repr(table.rows) == repr(expected)
    endure(folder, "Add.b.1.2.1617161424189416.csv", [CPU.encode()], read)


def read_graph(path):
    total = 0
    for graph in graph_reader.read_graphs(path):
        for op in graph.ops:
            total += len(op.inputs) + len(op.origins) + op.id + len(
                op.subgraph_names) + op.stream_id
            repr(op.attr("pass_name"))
            for desc in op.input_descs + op.output_descs:
                total += len(desc.shape) + len(desc.layout)
                repr((desc.origin_name, desc.origin_shape, desc.size))
            total += len(op.attrs) + len(op.fields)
    for _ in graph_reader.iter_ops(path):
        pass
    graph_reader.read_head(path)


def graph_text():
    toy = graphs.toy()
    toy[0].ops.append(GraphOp("all", "Op", attrs={
        "s": 'a"\n\xe9', "i": -5, "f": 0.1, "b": True, "bt": b"\0\xff",
        "l": [[1, 2], []], "e": AttrList([], "INT"), "d": Desc()},
        output_descs=[Desc("DT_INT8", (1,), "NHWC", fields={"size": 3})]))
    return graph_writer.format_graphs(toy)


def test_graphs(folder):
    endure(folder, "ge_proto_00000001_graph_1_Build.txt",
           [graphs.TOY_TEXT, graph_text(),
            b"graph: < name: 'x' op { name: \"a\" input: \"b:0\" } >"],
           read_graph)


def test_graph_heads(folder):
    endure(folder, "ge_proto_00000002_graph_1_Build.txt",
           [graphs.TOY_TEXT[:60], ONNX % b"",
            b'name: "m"\nversion: 3\ngraph {\n  name: "\\303\\251"\n}\n'],
           graph_reader.read_head)


def test_onnx_graphs(folder):
    endure(folder, "ge_onnx_00000001_graph_1_Build.pbtxt",
           [ONNX % ORIGINS, ONNX % b""], read_graph)


def test_json_of_graphs(folder):
    endure(folder, "ge_proto_00000003_graph_1_Build.txt",
           [graphs.TOY_TEXT, graph_text()], graphs.json_of)


def test_mapping_and_names():
    rng = random.Random(SEED)
    valid = [b"Conv2D.Conv2D_lxslice0.2.9.1670205069987341.4.330.0.0",
             b"Add.a.1.2.1617161424189416.csv", b"23423125315",
             b"ge_proto_00000001_aclop_graph_31_Build.txt"]
    kinds = set()
    for _ in range(COUNT):
        name = mutate(rng.choice(valid), rng).decode("utf-8", "replace")
        kinds.add(names.classify(name))
        parsed = names.parse_dump_name(name)
        if parsed is not None:
            repr((parsed.slice, parsed.sgt_graph, parsed.base_op_name))
            names.format_dump_name(parsed)
    assert kinds == {"dump", "stats", "digits", "graph", "foreign"}


def test_mapping_files(folder):
    path = os.path.join(folder, "mapping.csv")
    rng = random.Random(SEED)
    valid = b"11794093422222222222,Add.long.5.9.1900000000444444.csv\n" * 2
    for _ in range(COUNT):
        with open(path, "wb") as file:
            file.write(mutate(valid, rng))
        for digits, name in mapping.read_mapping(folder).items():
            assert digits.isdigit() and name


def test_the_largest_claims_change_nothing(folder):
    """A graph, a header and a csv that are all claims and no content."""
    huge = b"9" * 5000
    for name, data, read in (
            ("x.csv", CPU.replace("Input,0,16", "Input,0,"
                                  + huge.decode()).encode(),
             stats_file.read_stats),
            ("g.txt", graphs.TOY_TEXT.replace(b"dim: 16", b"dim: " + huge),
             read_graph),
            ("h.txt", graphs.TOY_TEXT.replace(b"i: 6", b"i: " + huge),
             read_graph)):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        try:
            read(path)
        except FormatError:
            pass


def test_a_graph_needs_no_memory_for_what_it_does_not_say(folder):
    path = os.path.join(folder, "empty.txt")
    graph_writer.write_graphs(path, [Graph("g", [GraphOp()] * 3)])
    graph, = graph_reader.read_graphs(path)
    assert [(op.name, op.type, op.inputs, op.output_descs, op.attrs,
             op.fields) for op in graph.ops] == [("", "", [], [], {}, {})] * 3
