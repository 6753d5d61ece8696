"""The walk of a large dump, with sizes and parsed names.

    python -m tests.benchmarks.bench_formats_tree [--small] [--rounds 5]

400,000 files: 8 devices x 10 steps x 5,000 operators. Peer: find -type f -printf '%s\\n'.
Goal of the issue: at most 3 times its time, under 100 MB. Statistics are read from the
same tree as a second row (peer: find | xargs cat | wc -c; no goal here).
"""
import argparse
import os
import resource
import subprocess
import sys

from keras_npu_dump.formats import tree
from keras_npu_dump.formats.stats import stats_file, stats_folder
from tests.benchmarks import bench_formats_common as bench


def make_tree(root, devices, steps, operators):
    row = "Output,0,16384,DT_FLOAT,ND,64x64,%d.5,-3.25,0.125,4096,0,0,0\n"
    for device in range(devices):
        for step in range(steps):
            folder = os.path.join(root, "20310102030405", str(device), "train", "6", str(step))
            os.makedirs(folder)
            for number in range(operators):
                path = os.path.join(folder, "MatMulV2.net_block_%d_dense_%d_MatMul.%d.3.%d.csv" % (
                    number // 50, number, number, 1700000000000000 + number))
                fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
                os.write(fd, (stats_file.HEADER + "\n" + row % number).encode())
                os.close(fd)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    shape = (2, 4, 1000) if args.small else (8, 10, 5000)
    count = shape[0] * shape[1] * shape[2]
    with bench.scratch() as root:
        make_tree(root, *shape)

        def walk():
            files = size = named = 0
            for step in tree.walk_steps(root):
                for file in tree.list_files(step.path):
                    files += 1
                    size += file.size
                    named += file.dump is not None and file.dump.task_id is not None
            assert files == named == count and size

        def find():
            subprocess.run(["find", root, "-type", "f", "-printf", "%s\\n"],
                           stdout=subprocess.DEVNULL, check=True)

        def read():
            rows = 0
            for step in tree.walk_steps(root):
                listed = [file.name for file in tree.list_files(step.path)]
                rows += len(stats_folder.read_folder_stats(step.path, listed).rows)
            assert rows == count

        def cat():
            subprocess.run("find '%s' -type f -print0 | xargs -0 cat | wc -c" % root,
                           shell=True, stdout=subprocess.DEVNULL, check=True)

        table = bench.Table("%d files" % count)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table.compare("walk with sizes and parsed names", walk, find, at_most=3,
                      rounds=args.rounds, peer_name="find -printf")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print("  memory: %d MB at the peak, %d of them by the walk" % (
            peak >> 10, (peak - before) >> 10))
        if peak >> 10 >= 100:
            table.failed.append("memory of the walk")
        table.compare("all statistics into arrays", read, cat, at_most=3,
                      rounds=min(3, args.rounds), peer_name="find | xargs cat | wc -c")
        return table.end()


if __name__ == "__main__":
    sys.exit(main())
