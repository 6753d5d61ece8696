"""How long does it take to collect a large job, beside tools that only list and read it?

    python -m tests.benchmarks.bench_collect_job [--scale 0.1] [--runs 5] [--variables 0]
        [--dir DIR] [--check]

The job: 8 ranks x 10 steps x 5,000 operators (400,000 dump files) and 8 x 30 graph
files of 20 MB; `--scale` makes operators fewer and graphs smaller by that factor
(0.1 is the shape for CI, 1 needs 6 GB of disk and some minutes to write). `--variables`
adds as many graphs to each rank that set one variable, with a dump each, as a network's
initialisation leaves where execution 0 is dumped; 800 is a network of a hundred layers (the
goals are meant without them).

Peers, in turn with ours, all on cached pages:
  sampled   `find -type f -printf '%s\\n'` and `cat` of the training Build graphs; goal: at
            most 4.5 times their wall time, under 300 MB
  verify    `find -print0 | xargs -0 head -qc 512 | wc -c`; goal: at most 4 times

With `--check` the status is 1 where a goal is missed. A job in `--dir` is kept, and used again.
Ours runs in a process of its own, which measures the call of `collect` without the
start of Python, and its own peak memory.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tests.collect import files, making

RANKS, STEPS, OPERATORS, GRAPHS, GRAPH_BYTES = 8, 10, 5000, 30, 20 << 20
MEGABYTES = 300
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = """
import json, resource, sys, time
from keras_npu_dump.collector.collect import collect
started, cpu = time.perf_counter(), time.process_time()
manifest = collect(sys.argv[1], verify=sys.argv[2] == "verify", budget=int(sys.argv[3]),
                   write=sys.argv[2] == "sampled")
print(json.dumps({
    "wall": time.perf_counter() - started, "cpu": time.process_time() - cpu,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    "exact": sum(pair.confidence == "exact" for pair in manifest.pairs),
    "steps": sum(len(pair.steps) for pair in manifest.pairs),
    "problems": [one.message for one in manifest.problems]}))
"""


def operators(count):
    """A network of `count` operators, a third of it forward, named as Keras names it."""
    from tests.collect.nets import Op
    tensor = ("DT_FLOAT", (4, 4))
    ops = [Op("AnonymousIterator0", "IteratorV2", dumped=False),
           Op("IteratorGetNext", "IteratorGetNext", [], [tensor], ["AnonymousIterator0:0"],
              dumped=False)]
    kinds = (("Conv2D", "conv/Conv2D"), ("BNInfer", "bn/FusedBatchNormV3"), ("Relu", "relu/Relu"))
    for number in range(count):
        kind, name = kinds[number % 3]
        scope = "model/stage%d/block%d/" % (number // 300, number // 3)
        if number >= count // 3:
            scope, kind = "gradient_tape/" + scope, kind + "Grad"
        source = ops[-1].name + ":0"
        ops.append(Op(scope + name, kind, [tensor, tensor], [tensor], [source, source],
                      [scope + name]))
    return ops


def graph_body(ops, size):
    """Text of the operators, filled with attributes to the size that GE writes."""
    texts = [files.op_text(op, number) for number, op in enumerate(ops)]
    room = max(0, size - sum(map(len, texts))) // len(texts)
    unit = files.attr_text("_attr_%03d", "i: 123456789")
    filling = "".join(unit % number for number in range(room // len(unit)))
    return "".join(text.replace("    input_desc", filling + "    input_desc", 1)
                   for text in texts).encode()


def make_variables(root, rank, folder, count):
    from tests.collect.nets import Op
    tensor = ("DT_FLOAT", (4,))
    op = Op("AssignVariableOp", "AssignVariableOp", [tensor, tensor], [], ["kernel:0", "value:0"],
            ["AssignVariableOp"])
    for number in range(GRAPHS, GRAPHS + count):
        name = "AssignVariableOp_%d" % number
        path = os.path.join(folder, "ge_proto_%08d_graph_%d_Build.txt" % (number, number))
        with open(path, "w") as stream:
            stream.write('graph {\n  name: "%s"\n%s}\n' % (name, files.op_text(op, 2)))
        os.utime(path, (making.START + 1, making.START + 1))
        step = os.path.join(root, making.TIME, str(rank), name, str(number), "0")
        os.makedirs(step)
        moment = making.START * 1000000 + number
        with open(os.path.join(step, "%s.%s.2.0.%d" % (op.type, op.name, moment)), "wb") as stream:
            stream.write(files.dump_file(op.name, moment, op.inputs, op.outputs))


def make_job(root, scale, variables):
    ops = operators(int(OPERATORS * scale))
    body = graph_body(ops, int(GRAPH_BYTES * scale))
    # Times of the same length, one of which is replaced by another.
    marker = files.varint(making.START * 1000000)
    for rank in range(RANKS):
        # Every rank has its own addresses, which stay the same from step to step.
        contents = [(op, files.dump_file(op.name, making.START * 1000000, op.inputs, op.outputs,
                                         address=(rank + 1) << 20).split(marker, 1))
                    for op in ops if op.dumped]
        pid = 1000 + rank
        folder = os.path.join(root, "graphs", "pid_%d_deviceid_%d" % (pid, rank))
        os.makedirs(folder)
        for number in range(GRAPHS):
            name = making.TRAIN if number == 20 else "__inference_test_function_%d" % number
            path = os.path.join(folder, "ge_proto_%08d_graph_%d_Build.txt" % (number, number))
            with open(path, "wb") as stream:
                # Graphs of different ranks are never the same to the byte.
                stream.write(b'graph {\n  name: "%s"\n' % name.encode())
                stream.write(body)
                stream.write(b'  attr {\n    key: "rank"\n    value {\n      i: %d\n    }\n  }\n}\n'
                             % rank)
            os.utime(path, (making.START + 1, making.START + 1))
        make_variables(root, rank, folder, variables)
        for index in range(STEPS):
            step = os.path.join(root, making.TIME, str(rank), making.TRAIN, "21", str(index))
            os.makedirs(step)
            for number, (op, (before, behind)) in enumerate(contents):
                moment = making.START * 1000000 + index * 100000 + number
                name = "%s.%s.%d.%d.%d" % (op.type, files.sanitise(op.name), number, number % 7,
                                           moment)
                handle = os.open(os.path.join(step, name), os.O_WRONLY | os.O_CREAT, 0o600)
                os.write(handle, before + files.varint(moment) + behind)
                os.close(handle)
        making.record(root, range(STEPS), STEPS, run_id="rank%d" % rank, rank=rank, device=rank,
                      pid=pid, operators=[op.name for op in ops[2::40]],
                      options={"dump_step": "0-%d" % (STEPS - 1)})


def peer(command, root):
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.check_call(["bash", "-c", command], cwd=root, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.perf_counter() - started,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def ours(mode, root, scale):
    # The budget of the full shape is 20,000 of 400,000 files; smaller shapes keep the share.
    out = subprocess.check_output([sys.executable, "-c", OURS, root, mode, str(int(20000 * scale))],
                                  env=dict(os.environ, PYTHONPATH=ROOT))
    return json.loads(out.decode())


PEERS = {
    "sampled": ("find . -type f -printf '%s\\n' | tail -n 1; "
                "cat graphs/*/ge_proto_00000020_graph_20_Build.txt > /dev/null", 4.5),
    "verify": ("find %s -type f -print0 | xargs -0 head -qc 512 | wc -c" % making.TIME, 4.0),
}


def measure(root, runs, scale):
    figures = {mode: {"peer": [], "ours": []} for mode in PEERS}
    for run in range(runs + 1):
        for mode, (command, _) in PEERS.items():
            beside, mine = peer(command, root), ours(mode, root, scale)
            if run:  # the first one warms the cache
                figures[mode]["peer"].append(beside)
                figures[mode]["ours"].append(mine)
    return figures


def median(figures, kind):
    return statistics.median(one[kind] for one in figures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--variables", type=int, default=0)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    root = args.dir or tempfile.mkdtemp()
    if not os.path.isdir(os.path.join(root, "graphs")):
        started = time.perf_counter()
        make_job(root, args.scale, args.variables)
        print("written in %.0f s: %s" % (time.perf_counter() - started, root))
    figures = measure(root, args.runs, args.scale)
    missed = []
    for mode, (_, goal) in PEERS.items():
        beside, mine = figures[mode]["peer"], figures[mode]["ours"]
        print("%-8s peer %.3f s (CPU %.3f), collect %.3f s (CPU %.3f), peak %.0f MB" % (
            mode, median(beside, "wall"), median(beside, "cpu"), median(mine, "wall"),
            median(mine, "cpu"), max(one["mb"] for one in mine)))
        for kind in ("wall", "cpu"):
            ratios = [ours[kind] / theirs[kind] for ours, theirs in zip(mine, beside)]
            print("  %-4s ratio median %.2f (min %.2f, max %.2f), goal %.1f of wall time" % (
                kind, statistics.median(ratios), min(ratios), max(ratios), goal))
            if kind == "wall" and statistics.median(ratios) > goal:
                missed.append("%s: %.2f times the peer" % (mode, statistics.median(ratios)))
        if max(one["mb"] for one in mine) > MEGABYTES:
            missed.append("%s: more than %d MB" % (mode, MEGABYTES))
        last = mine[-1]
        print("  %d pairs exact, %d steps" % (last["exact"], last["steps"]))
        for message in last["problems"]:
            print("  " + message)
    if not args.dir:
        shutil.rmtree(root)
    if missed:
        print("missed: " + "; ".join(missed))
    sys.exit(1 if args.check and missed else 0)


if __name__ == "__main__":
    main()
