"""One tensor out of a large dump file, opened and summed.

    python -m tests.benchmarks.bench_formats_tensor [--small] [--rounds 5]

A file of 4 GB with one tensor (in memory where the machine has that, sparse elsewhere).
Peer: numpy.memmap on the same bytes. Goals of the issue: at most 1.1 times its time; in
blocks at most 1.5 times (raised to 1.2), under 50 MB more than before.
"""
import argparse
import os
import resource
import subprocess
import sys

import numpy as np

from keras_npu_dump.formats.tensor import dump_file, wire
from tests.benchmarks import bench_formats_common as bench

_BLOCKS = """
import resource, sys
import numpy as np
from keras_npu_dump.formats.tensor import dump_file as tensor
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
entry, = tensor.read_header(sys.argv[1]).outputs
print(sum(float(block.sum(dtype=np.float64)) for block in tensor.iter_blocks(sys.argv[1], entry)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def make_file(path, size):
    """A dump whose only tensor is `size` bytes of zeros and a few ones."""
    empty = np.zeros(0, np.float32)
    dump_file.write_file(path, "net/large", [], [dump_file.TensorValue(
        empty, shape=(size // 4096, 1024), size=size)])
    head = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.truncate(head + size)
        for at in range(0, size, size // 16):
            file.seek(head + at // 4 * 4)
            file.write(np.float32(1).tobytes())
        if bench.memory_folder() == "/dev/shm":
            # really there: a sparse file costs page faults of another kind
            block = bytes(1 << 20)
            for at in range(0, size, 1 << 20):
                os.pwrite(file.fileno(), block[:min(1 << 20, size - at)], head + at)
    return head


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    size = 64 << 20 if args.small else 4 << 30
    with bench.scratch() as scratch:
        path = os.path.join(scratch, "MatMulV2.net_large.1.2.1700000000000000")
        head = make_file(path, size)
        with open(path, "rb") as file:
            assert wire.LENGTH.unpack(file.read(8))[0] == head - 8

        def mapped():
            entry, = dump_file.read_header(path).outputs
            return float(dump_file.read_array(path, entry, mmap=True).sum())

        def memmap():
            return float(np.memmap(path, np.float32, "r", head, (size // 4096, 1024)).sum())

        def blocks():
            entry, = dump_file.read_header(path).outputs
            return sum(float(block.sum()) for block in dump_file.iter_blocks(path, entry))

        assert mapped() == memmap() == blocks()
        table = bench.Table("one tensor of %d MB" % (size >> 20))
        table.compare("mapped, summed", mapped, memmap, at_most=1.1, rounds=args.rounds,
                      peer_name="numpy.memmap")
        table.compare("in blocks, summed", blocks, memmap, at_most=1.2, rounds=args.rounds,
                      peer_name="numpy.memmap")
        grown = int(subprocess.run(
            [sys.executable, "-c", _BLOCKS, path], env=dict(os.environ, PYTHONPATH=bench.ROOT),
            stdout=subprocess.PIPE, check=True).stdout.split()[-1]) >> 10
        print("  memory in blocks: %d MB more than before (this process: %d MB)" % (
            grown, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10))
        if grown >= 50:
            table.failed.append("memory in blocks")
        return table.end()


if __name__ == "__main__":
    sys.exit(main())
