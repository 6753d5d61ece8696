"""How long does triage take over the statistics of a whole job?

    python -m tests.benchmarks.bench_triage_stats [--small] [--rounds 5]

A healthy job of 8 ranks x 10 executions x 5,000 operators is 400,000 csv files of two
inputs and an output each (165 MB; in memory where the machine has that). Peers on the same
tree, in turn: `find -print0 | xargs -0 cat | wc -c`, which opens and reads everything, and
`grep -rlE zzzz`, which does so in C. Goals: triage in at most the time of the first, at most
4 times that of the second, below 300 MB. Two forms: without a manifest, so that pairing is
included, and with the one that collect wrote. All times are of whole commands; --small, a
tenth, leaves out the start of the interpreter, which is then a third of it.
"""
import argparse
import json
import os
import sys
import time

from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph import edges, ge_graph, graph_writer
from keras_npu_dump.formats.stats.stats_file import HEADER
from tests.benchmarks import bench_formats_common as bench

GRAPH = "__inference_train_function_77"
TYPES = ("MatMul", "AddV2", "Relu", "Mul", "Cast")
ROW = "%s,%d,8192,DT_FLOAT,ND,32x64,%s,2048,0,0,0\n"
PEAK_MB = 300
TRIAGE = """
import resource, sys
from keras_npu_dump.analysis.triage.triage import triage
found = triage(sys.argv[1], write=False)
assert found.verdict == "healthy", found.suspects
assert found.checked["files"] == int(sys.argv[2])
with open(sys.argv[3], "w") as stream:
    stream.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))
"""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="the shape for CI")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    ranks, steps, operators = (2, 4, 5000) if args.small else (8, 10, 5000)
    with bench.scratch() as scratch:
        tree = os.path.join(scratch, "dump")
        files = write_job(tree, ranks, steps, operators)
        said = os.path.join(scratch, "peak")

        def triage():
            bench.command(sys.executable, "-c", TRIAGE, tree, files, said)

        def in_process():
            from keras_npu_dump.analysis.triage.triage import triage as look
            assert look(tree, write=False).checked["files"] == files

        def cat():
            bench.command("sh", "-c", "find '%s' -type f -print0 | xargs -0 cat | wc -c" % tree)

        def grep():
            # Nothing is found, which is status 1.
            bench.command("sh", "-c", "grep -rlE zzzz '%s' || test $? = 1" % tree)

        table = bench.Table("statistics of %d ranks x %d executions x %d operators" % (
            ranks, steps, operators))
        mine = in_process if args.small else triage
        scale = 1.5 if args.small else 1  # pairing and graphs weigh more
        for form in ("no manifest", "manifest"):
            table.compare("triage (%s) : cat" % form, mine, cat, at_most=1, rounds=args.rounds)
            table.compare("triage (%s) : grep" % form, mine, grep, at_most=4 * scale,
                          rounds=args.rounds)
            if form == "no manifest":
                bench.command(sys.executable, "-c", "from keras_npu_dump import collect;"
                              "collect(%r, budget=0)" % tree)
        triage()
        with open(said) as stream:
            peak = int(stream.read())
        print("peak memory %d MB, goal: below %d" % (peak, PEAK_MB))
        if peak >= PEAK_MB:
            table.failed.append("memory")
        return table.end()


def write_job(root, ranks, steps, operators):
    """A job as capture and CANN leave it; returns the number of csv files."""
    ops = make_graph(operators)
    started = int(time.time())
    session = time.strftime("%Y%m%d%H%M%S", time.localtime(started))
    for rank in range(ranks):
        folder = os.path.join(root, session, str(rank), GRAPH, "5")
        pid = 100000 + rank
        graphs = os.path.join(root, "graphs", "pid_%d_deviceid_%d" % (pid, rank))
        os.makedirs(graphs)
        graph_writer.write_graphs(
            os.path.join(graphs, "ge_proto_00000003_graph_3_Build.txt"),
            [ge_graph.Graph(GRAPH, ops)])
        write_records(root, rank, ranks, pid, started, steps)
        for number in range(steps):
            write_step(os.path.join(folder, str(number)), ops, rank, number, started)
    return ranks * steps * operators


def make_graph(operators):
    """Operators that each take two earlier ones, as a long network does."""
    desc = ge_graph.Desc("DT_FLOAT", (32, 64), "ND")
    ops = [ge_graph.GraphOp("IteratorGetNext", "IteratorGetNext", output_descs=[desc])]
    for number in range(1, operators):
        sources = [ops[-1].name + ":0", ops[max(0, number - 7)].name + ":0"]
        name = "model/block_%d/layer_%d/%s" % (number // 50, number, TYPES[number % 5])
        ops.append(ge_graph.GraphOp(name, TYPES[number % 5], sources, [desc, desc], [desc],
                                 original_op_names=[name]))
    edges.connect(ops)
    return ops


def write_step(folder, ops, rank, step, started):
    os.makedirs(folder)
    fd = os.open(folder, os.O_RDONLY)
    stamp = (started + 1 + step) * 1000000
    seed = 1 + 7 * step
    for number, op in enumerate(ops):
        rows = [HEADER, "\n"]
        for place in range(len(op.inputs)):
            rows.append(ROW % ("Input", place, numbers(number + place, seed)))
        rows.append(ROW % ("Output", 0, numbers(number + 2, seed + rank * (number == 0))))
        name = "%s.%s.%d.3.%d.csv" % (op.type, names.sanitise(op.name), number + 2,
                                      stamp + number)
        file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=fd)
        os.write(file, "".join(rows).encode())
        os.close(file)
    os.close(fd)


def numbers(number, seed):
    """max, min, avg: healthy and never quite the same."""
    scale = 0.5 + (number * 37 + seed * 101) % 997 / 997.0
    return "%g,%g,%g" % (scale * 1.2345678, -scale * 1.1, scale * 0.0123456)


def write_records(root, rank, ranks, pid, started, steps):
    run_id = "%s_rank%d_pid%d" % (time.strftime("%Y%m%d%H%M%S", time.gmtime(started)), rank, pid)
    folder = os.path.join(root, "runs", run_id)
    os.makedirs(folder)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(started))
    options = {"enable_dump": True, "dump_path": root, "dump_step": "0-%d" % max(1, steps - 1),
               "dump_mode": "all", "dump_data": "stats", "dump_layer": "",
               "enable_dump_debug": False, "dump_debug_mode": "all"}
    record = {"schema": "keras_npu_dump.run/1", "run_id": run_id, "version": "0.1.0", "host": "h",
              "pid": pid, "rank": rank, "rank_size": ranks, "device": rank, "emulated": False,
              "started": stamp, "opened": True, "ended": stamp, "status": "ended",
              "options": options, "environment": {}, "versions": {}, "script": ["train.py"],
              "cwd": "/", "graph_path": "graphs", "timezone": time.strftime("%z")}
    with open(os.path.join(folder, "run.json"), "w") as stream:
        json.dump(record, stream)
    with open(os.path.join(folder, "iterations.jsonl"), "w") as stream:
        events = [{"event": "section", "section": 0, "model": "model", "reason": "start"}]
        events += [{"event": "execution", "section": 0, "data_index": number, "fit": 0, "epoch": 0,
                    "batch": number, "uncertain": None} for number in range(steps)]
        events.append({"event": "count", "section": 0, "count": steps, "final": True})
        stream.writelines(json.dumps(event) + "\n" for event in events)


if __name__ == "__main__":
    sys.exit(main())
