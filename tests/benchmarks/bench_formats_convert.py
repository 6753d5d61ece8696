"""Dump files to npy, and their statistics, against the vendor's converter.

    python -m tests.benchmarks.bench_formats_convert [--small] [--rounds 5]

2,000 dump files of 2 x 16 KiB. The peer is msaccucmp convert (its environment is made
as the cross-check's is, see tests/formats/msaccucmp.py), with the stand-in for its
native header library; its own start is part of the command. Goals of the issue: 7 times
faster to npy as whole commands; statistics 25 times faster in process, 10 as a command.
"""
import argparse
import json
import os
import shutil
import sys

import numpy as np

from keras_npu_dump.formats import names, tree
from keras_npu_dump.formats.stats import stats_folder
from keras_npu_dump.formats.tensor import dump_file
from tests.benchmarks import bench_formats_common as bench
from tests.formats import msaccucmp


def make_dumps(folder, count):
    """Files of one matrix multiplication each: input and output of 16 KiB."""
    os.makedirs(folder)
    rng = np.random.RandomState(0)
    for number in range(count):
        values = rng.standard_normal((64, 64)).astype(np.float32)
        op = "net/dense_%d/MatMul" % number
        stamp = 1700000000000000 + number
        dump_file.write_file(
            os.path.join(folder, names.format_dump_name(
                names.DumpName("MatMulV2", op, number, 3, stamp))), op,
            [dump_file.TensorValue(values, original_shape=values.shape)],
            [dump_file.TensorValue(values * 2, original_shape=values.shape,
                          original_op=dump_file.OriginalOp(op, 0))], stamp)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    try:
        vendor = msaccucmp.python()
    except msaccucmp.Unavailable as error:
        print("not measured: %s" % error)
        return 0
    count = 200 if args.small else 2000
    with bench.scratch() as scratch:
        source = os.path.join(scratch, "20310102030405", "0", "train", "6", "0")
        make_dumps(source, count)
        out, theirs = os.path.join(scratch, "out"), os.path.join(scratch, "theirs")
        commands = os.path.join(scratch, "commands.json")
        with open(commands, "w") as file:
            json.dump([["convert", "-d", source, "-out", theirs]], file)

        def clear():
            shutil.rmtree(out, ignore_errors=True)
            shutil.rmtree(theirs, ignore_errors=True)
            os.mkdir(theirs)

        def convert():
            bench.command(vendor, os.path.join(bench.ROOT, "tests", "formats",
                                               "msaccucmp_run.py"), commands)

        def statistics():
            found = [file.name for file in tree.list_files(source) if file.kind == "dump"]
            table = stats_folder.compute_folder_stats(source, found)
            assert len(table.rows) == 2 * count and not table.problems

        table = bench.Table("%d dump files of 2 x 16 KiB" % count)
        scale = 0.5 if args.small else 1  # the vendor's start weighs more
        table.compare("to npy, whole command",
                      lambda: bench.ours("export", source, "--to", "npy", "--output", out),
                      convert, faster=7 * scale, rounds=args.rounds, before=clear)
        assert len(os.listdir(theirs)) == 2 * count
        table.compare("statistics, in process", statistics, convert, faster=25 * scale,
                      rounds=args.rounds, before=clear)
        table.compare("statistics, as a command",
                      lambda: bench.ours("inspect", source, "--json"), convert,
                      faster=10 * scale, rounds=args.rounds, before=clear)
        return table.end()


if __name__ == "__main__":
    sys.exit(main())
