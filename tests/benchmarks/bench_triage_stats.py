"""How long does triage take over the statistics of a whole job?

    python -m tests.benchmarks.bench_triage_stats [--ranks 8] [--steps 10] [--operators 5000]
        [--runs 5] [--folder DIR]

A healthy job of 8 ranks x 10 executions x 5,000 operators is 400,000 csv files of two
inputs and an output each. Peers on the same tree, in turn: `find -print0 | xargs -0 cat |
wc -c`, which opens and reads everything, and `grep -rlE zzzz`, which does so in C. Goals:
triage in at most the time of the first, at most 4 times that of the second, below 300 MB.
Two forms: without a manifest (pairing included) and with the one that collect wrote.
All times are of whole processes, interpreter start included. CI runs a tenth of a tenth:
`--ranks 2 --steps 2 --operators 2000 --runs 3`.
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

from keras_npu_dump.formats import graph, graph_writer, names
from keras_npu_dump.formats.stats import HEADER
from tests.conftest import ROOT

GRAPH = "__inference_train_function_77"
TYPES = ("MatMul", "AddV2", "Relu", "Mul", "Cast")
ROW = "%s,%d,8192,DT_FLOAT,ND,32x64,%s,2048,0,0,0\n"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--operators", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", default=None, help="where the tree is made; memory or disk")
    args = parser.parse_args(argv)
    folder = tempfile.mkdtemp(prefix="bench_triage_", dir=args.folder)
    try:
        tree = os.path.join(folder, "dump")
        files = write_job(tree, args.ranks, args.steps, args.operators)
        result = measure(tree, args.runs)
    finally:
        shutil.rmtree(folder)
    result["files"] = files
    print(json.dumps(result, indent=1))
    return result


def measure(tree, runs):
    """Medians of seconds, each peer and each form once per round."""
    commands = {
        "cat": ["sh", "-c", "find '%s' -type f -print0 | xargs -0 cat | wc -c" % tree],
        "grep": ["grep", "-rlE", "zzzz", tree],
        "triage": triage_command(tree),
    }
    seconds = {name: [] for name in list(commands) + ["triage_with_manifest"]}
    cpu = {name: [] for name in seconds}
    memory = 0.0
    for command in commands.values():
        run(command)  # fills the page cache
    for _ in range(runs):
        for name, command in commands.items():
            wall, used, _ = run(command)
            seconds[name].append(wall)
            cpu[name].append(used)
        manifest = os.path.join(tree, "manifest.json")
        python("from keras_npu_dump import collect; collect(%r, budget=0)" % tree)
        wall, used, peak = run(commands["triage"])
        memory = max(memory, peak)
        seconds["triage_with_manifest"].append(wall)
        cpu["triage_with_manifest"].append(used)
        os.remove(manifest)
    _, _, peak = run(commands["triage"])
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "seconds": {name: round(value, 3) for name, value in median.items()},
        "cpu_seconds": {name: round(statistics.median(values), 3) for name, values in cpu.items()},
        "triage_over_cat": round(median["triage"] / median["cat"], 3),
        "triage_over_grep": round(median["triage"] / median["grep"], 3),
        "with_manifest_over_grep": round(median["triage_with_manifest"] / median["grep"], 3),
        "peak_mb": round(max(memory, peak), 1),
    }


def triage_command(tree):
    return [sys.executable, "-c",
            "import resource, sys\n"
            "from keras_npu_dump.analysis.triage import triage\n"
            "found = triage(%r, write=False)\n"
            "assert found.verdict == 'healthy', found.suspects\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)" % tree]


def python(code):
    return run([sys.executable, "-c", code])


def run(command):
    """(seconds, seconds of CPU, peak MB if the command prints its maxrss)"""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = 0.0
    if command[0] == sys.executable:
        if done.returncode:
            raise RuntimeError(done.stderr)
        peak = int(done.stdout or 0) / 1024.0 if done.stdout.strip().isdigit() else 0.0
    return wall, used, peak


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
            os.path.join(graphs, "ge_proto_00000003_graph_3_Build.txt"), [graph.Graph(GRAPH, ops)])
        write_records(root, rank, ranks, pid, started, steps)
        for number in range(steps):
            write_step(os.path.join(folder, str(number)), ops, rank, number, started)
    return ranks * steps * operators


def make_graph(operators):
    """Operators that each take two earlier ones, as a long network does."""
    desc = graph.Desc("DT_FLOAT", (32, 64), "ND")
    ops = [graph.GraphOp("IteratorGetNext", "IteratorGetNext", output_descs=[desc])]
    for number in range(1, operators):
        sources = [ops[-1].name + ":0", ops[max(0, number - 7)].name + ":0"]
        name = "model/block_%d/layer_%d/%s" % (number // 50, number, TYPES[number % 5])
        ops.append(graph.GraphOp(name, TYPES[number % 5], sources, [desc, desc], [desc],
                                 original_op_names=[name]))
    graph.connect(ops)
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
    main()
