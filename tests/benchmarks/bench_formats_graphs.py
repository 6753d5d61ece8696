"""Graph files: heads, a full read.

    python -m tests.benchmarks.bench_formats_graphs [--small] [--rounds 5]

20 files, 356 MB in all, made of one graph of 10,000 different operators each repeated to
size. Peers: `grep -l` as a process for heads; google.protobuf's text_format
for the full read (its tokenizer is Python on every runtime). The first
goals, heads 200 times and the full read 20 times faster, were passed easily and are raised
here.
"""
import argparse
import os
import subprocess
import sys

from keras_npu_dump.formats.graph import graph_reader, graph_writer
from keras_npu_dump.formats.graph.ge_graph import AttrList, Desc, Graph, GraphOp
from tests.benchmarks import bench_formats_common as bench


def make_graph(operators):
    """A training graph's worth of text: about 4.4 KB an operator, none alike."""
    ops = []
    for number in range(operators):
        name = "net/block_%d/conv2d_%d/Conv2D" % (number // 50, number)
        shape = (32, 1 + number % 97, 14, 14, 16)
        origin = (32, 14, 14, 16 * (1 + number % 97))
        desc = Desc("DT_FLOAT16", shape, "NC1HWC0", origin_format="NHWC", origin_shape=origin,
                    attrs={"origin_data_type": "DT_FLOAT16", "format_for_int": 3,
                           "origin_format_for_int": 1,
                           "shape_range": AttrList([], "LIST_INT")},
                    fields={"has_out_attr": True, "size": 2 * number + 32,
                            "device_type": "NPU", "real_dim_cnt": 5})
        output = Desc("DT_FLOAT16", shape, "NC1HWC0", origin_format="NHWC",
                      origin_shape=origin, origin_name=name, origin_index=0,
                      attrs={"origin_data_type": "DT_FLOAT16", "format_for_int": 3},
                      fields={"has_out_attr": True, "size": 4 * number + 32,
                              "device_type": "NPU", "real_dim_cnt": 5})
        before = "net/block_%d/relu_%d/Relu" % (number // 50, number)
        ops.append(GraphOp(
            name, "Conv2D", [before + ":0", "w_%d:0" % number, "", "init:-1"],
            [desc, desc, Desc()], [output], [name, name + "/BiasAdd"],
            {"_fe_imply_type": 6, "_ge_attr_op_kernel_lib_name": "AIcoreEngine",
             "_input_name_key": AttrList(["x", "filter", "bias"], "STRING"),
             "_input_name_value": AttrList([0, 1, 2], "INT"),
             "_kernelname": "te_conv2d_%032x" % number, "pads": [1, 1, 1, 1],
             "dilations": [1, 1, 1, 1], "groups": 1, "data_format": "NHWC",
             "pass_name": AttrList(["ConvBiasAddFusionPass"], "STRING"),
             "_tbe_kernel_size": number, "_is_n_batch_split": False,
             "OUTPUT_IS_VAR": [False], "INPUT_IS_VAR": [False, False, False]},
            id=number + 1, stream_id=number % 7,
            fields={"has_out_attr": True, "src_name": [before, "w_%d" % number],
                    "src_index": [0, 0], "dst_name": ["relu_%d" % (number + 1)],
                    "dst_index": [0], "input_i": [number, number * 512], "output_i": [number],
                    "workspace": [0], "workspace_bytes": [1024],
                    "is_input_const": [False, True, False]}))
    return Graph("__inference_train_function_55", ops, {"_session_graph_id": "0_11"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    count, operators = (4, 500) if args.small else (20, 10000)
    total = (20 if args.small else 356) << 20
    with bench.scratch() as scratch:
        text = graph_writer.format_graphs([make_graph(operators)])
        single = os.path.join(scratch, "ge_proto_00000099_graph_9_Build.txt")
        with open(single, "wb") as file:
            file.write(text)
        paths = []
        for number in range(count):
            path = os.path.join(scratch, "ge_proto_%08d_graph_1_Build.txt" % number)
            with open(path, "wb") as file:
                written = 0
                while written < total // count:
                    piece = text[:total // count - written]
                    file.write(piece)
                    written += len(piece)
            paths.append(path)
        word = b"IteratorV2"
        assert word not in text

        def heads():
            for path in paths:
                graph_reader.read_head(path)

        def grep():  # finds nothing, so reads every file to its end
            subprocess.run(["grep", "-l", word.decode()] + paths, stdout=subprocess.DEVNULL,
                           check=False)

        def read():
            for graph in graph_reader.read_graphs(single):
                for op in graph.ops:
                    assert op.name and op.type and op.inputs
                    assert op.original_op_names and op.output_descs[0].origin_name
                    for desc in op.input_descs + op.output_descs:
                        assert desc.dtype

        def read_all():
            for graph in graph_reader.read_graphs(single):
                for op in graph.ops:
                    assert op.attrs and op.fields
                    for desc in op.input_descs + op.output_descs:
                        assert desc.attrs or not desc.layout

        table = bench.Table("%d graph files, %d MB" % (count, total >> 20))
        table.compare("heads of all", heads, grep, faster=300 if not args.small else 20,
                      rounds=args.rounds, peer_name="grep -l")
        try:
            from google.protobuf import text_format

            from tests.formats import messages
        except ImportError:
            print("full read not measured: google.protobuf is not installed")
            return table.end()

        def protobuf():
            with open(single) as file:
                model = text_format.Parse(file.read(), messages.GE["ModelDef"]())
            assert len(model.graph[0].op) == operators

        name = "full read, %d operators, %d MB" % (operators, len(text) >> 20)
        rounds = min(args.rounds, 3)
        table.compare(name, read, protobuf, faster=30 if not args.small else 15, rounds=rounds,
                      peer_name="text_format")
        table.compare("  and every attribute parsed", read_all, protobuf, faster=3,
                      rounds=rounds, peer_name="text_format")
        return table.end()


if __name__ == "__main__":
    sys.exit(main())
