"""Triage of tensor dumps against the vendor's recipe: convert to npy, then look at each.

    python -m tests.benchmarks.bench_triage_tensors [--small] [--rounds 5]

2,000 dump files of 2 x 16 KiB, a chain of layers; what the last one gives holds a NaN. The
peer is msaccucmp convert (see bench_formats_convert) and a loop over the npy files that
prints max, min, mean and what is not finite, as precision_tool does. Goals of the issue: 20
times faster in process, 10 times as a command.
"""
import argparse
import json
import os
import shutil
import sys
import time

import numpy as np

from keras_npu_dump.analysis.triage.triage import triage
from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph import edges, ge_graph, graph_writer
from keras_npu_dump.formats.tensor import dump_file
from tests.benchmarks import bench_formats_common as bench
from tests.formats import msaccucmp

GRAPH = "__inference_train_function_77"
SCAN = """
import os, sys
import numpy as np
for name in sorted(os.listdir(sys.argv[1])):
    values = np.load(os.path.join(sys.argv[1], name))
    bad = np.isnan(values).sum(), np.isinf(values).sum()
    print(name, values.max(), values.min(), values.mean(), *bad)
"""


def make_dumps(dump_path, count):
    """A chain of layers, each with its input and its output; returns the step's folder."""
    started = int(time.time())
    session = time.strftime("%Y%m%d%H%M%S", time.localtime(started))
    folder = os.path.join(dump_path, session, "0", GRAPH, "6", "0")
    os.makedirs(folder)
    rng = np.random.RandomState(0)
    ops = [ge_graph.GraphOp("IteratorGetNext", "IteratorGetNext")]
    values = rng.standard_normal((64, 64)).astype(np.float32)
    for number in range(count):
        name = "net/layer_%d/Relu" % number
        ops.append(ge_graph.GraphOp(name, "Relu", [ops[-1].name + ":0"], original_op_names=[name]))
        result = rng.standard_normal((64, 64)).astype(np.float32)
        if number == count - 1:
            result[3, 5] = np.nan
        stamp = (started + 1) * 1000000 + number
        dump_file.write_file(
            os.path.join(folder, names.format_dump_name(
                names.DumpName("Relu", name, number, 3, stamp))), name,
            [dump_file.TensorValue(values)],
            [dump_file.TensorValue(result, original_shape=result.shape,
                          original_op=dump_file.OriginalOp(name, 0))], stamp)
        values = result
    ops.append(ge_graph.GraphOp("NetOutput", "NetOutput", [ops[-1].name + ":0"]))
    edges.connect(ops)
    os.makedirs(os.path.join(dump_path, "graphs"))
    graph_writer.write_graphs(os.path.join(
        dump_path, "graphs", "ge_proto_00000003_graph_3_Build.txt"), [ge_graph.Graph(GRAPH, ops)])
    return folder


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    try:
        vendor = msaccucmp.python()
    except msaccucmp.Unavailable as error:
        print("not measured: %s" % error)
        return 0
    count = 200 if args.small else 2000
    with bench.scratch() as scratch:
        dump_path = os.path.join(scratch, "dump")
        source = make_dumps(dump_path, count)
        theirs = os.path.join(scratch, "theirs")
        commands = os.path.join(scratch, "commands.json")
        with open(commands, "w") as file:
            json.dump([["convert", "-d", source, "-out", theirs]], file)

        def clear():
            shutil.rmtree(theirs, ignore_errors=True)
            os.mkdir(theirs)

        def recipe():
            bench.command(vendor, os.path.join(bench.ROOT, "tests", "formats",
                                               "msaccucmp_run.py"), commands)
            bench.command(vendor, "-c", SCAN, theirs)

        def in_process():
            found = triage(dump_path, write=False)
            assert found.suspects[0].op == "net/layer_%d/Relu" % (count - 1), found.suspects

        def as_command():
            # A suspect is exit status 1.
            bench.command("sh", "-c", '"$0" -m keras_npu_dump triage "$1" --json || test $? = 1',
                          sys.executable, dump_path)

        table = bench.Table("%d dump files of 2 x 16 KiB" % count)
        scale = 0.5 if args.small else 1  # starting an interpreter weighs more
        table.compare("triage, in process", in_process, recipe, faster=20 * scale,
                      rounds=args.rounds, before=clear)
        assert len(os.listdir(theirs)) == 2 * count
        table.compare("triage, as a command", as_command, recipe, faster=10 * scale,
                      rounds=args.rounds, before=clear)
        # As after a run, which writes its manifest.
        bench.ours("collect", dump_path)
        table.compare("the same with a manifest, in process", in_process, recipe,
                      faster=20 * scale, rounds=args.rounds, before=clear)
        table.compare("the same with a manifest, as a command", as_command, recipe,
                      faster=10 * scale, rounds=args.rounds, before=clear)
        return table.end()


if __name__ == "__main__":
    sys.exit(main())
