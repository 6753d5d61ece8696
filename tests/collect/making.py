"""Builds single situations by hand: a dump path, a process, its graphs and folders."""
import json
import os

from tests.collect import files, nets

START = 1900000000  # 2030-03-17 17:46:40 UTC
TIME = "20300317174640"
TRAIN = "__inference_train_function_55"
EVAL = "__inference_test_function_77"


def train_ops(batch=4, model="net", **options):
    return nets.train(model, [8, 4, 2], batch, **options)


def eval_ops(batch=4, model="net", **options):
    return nets.evaluate(model, [8, 4, 2], batch, **options)


def graph(folder, name, ops, index=3, graph_id=None, subgraphs=(), mtime=START + 1, options=None,
          file_name=None):
    """Writes a Build file into `folder` and returns its path."""
    identifier = "" if graph_id is None else "graph_%d_" % graph_id
    file_name = file_name or "ge_proto_%08d_%sBuild.txt" % (index, identifier)
    return files.write(os.path.join(str(folder), file_name),
                       files.graph_text([(name, ops)] + list(subgraphs), options), mtime)


def step(dump, where, ops, seconds=START + 2, data="tensor", only=None):
    """Writes the files of one execution to `{dump}/{where}`; returns their paths."""
    paths = []
    for number, op in enumerate(op for op in ops if op.dumped):
        if only is not None and op.name not in only:
            continue
        moment = int(seconds * 1000000) + number
        name = "%s.%s.%d.3.%d" % (files.sanitise(op.type), files.sanitise(op.name), number, moment)
        content = files.dump_file(op.name, moment, op.inputs, op.outputs)
        if data == "stats":
            name, content = name + ".csv", files.stats_file(op.inputs, op.outputs)
        paths.append(files.write(os.path.join(str(dump), where, name), content))
    return paths


def steps(dump, ops, indices, name=TRAIN, model_id=5, time=TIME, device=0, start=START + 2,
          **options):
    """Writes executions, a second each, the one of data_index 0 at `start`."""
    for index in indices:
        step(dump, "%s/%d/%s/%d/%d" % (time, device, name, model_id, index), ops,
             start + index, **options)


def iso(seconds):
    import datetime
    return datetime.datetime.utcfromtimestamp(seconds).isoformat() + "+00:00"


def record(dump, executed=(), count=None, name=TRAIN, run_id="run", operators=("net/dense/MatMul",),
           sections=None, final=True, **changes):
    """A run record and a journal; `changes` replace fields, `options` are merged."""
    fields = {
        "schema": "keras_npu_dump.run/1", "run_id": run_id, "version": "0.1.0",
        "host": "node-of-the-test", "pid": 7, "rank": 0, "rank_size": 1, "device": 0,
        "emulated": True, "started": iso(START - 2), "opened": True, "ended": iso(START + 600),
        "status": "ended", "environment": {}, "graph_path": "graphs", "timezone": "+0000",
        "options": {"enable_dump": True, "dump_step": "0|5", "dump_mode": "all",
                    "dump_data": "tensor", "dump_layer": "", "enable_dump_debug": False}}
    fields["options"].update(changes.pop("options", {}))
    fields.update(changes)
    if sections is None:
        sections = [(name, executed, count)]
    events = [{"event": "fit", "fit": 0, "model": "net", "epochs": 2, "steps": 4}]
    for number, (graph_name, indices, total) in enumerate(sections):
        events.append({"event": "section", "section": number, "model": "net", "reason": "start"})
        for index in indices:
            events.append({"event": "execution", "section": number, "data_index": index, "fit": 0,
                           "epoch": index // 4, "batch": index % 4, "uncertain": None})
        events.append({"event": "graph", "section": number, "name": graph_name,
                       "operators": list(operators)})
        if total is not None:
            events.append({"event": "count", "section": number, "count": total, "final": final})
    return files.write_run(str(dump), run_id, fields, events)


def plain_job(dump, indices=(0, 5), count=8, evaluate=True):
    """A training of eight executions with validation, dumped as asked."""
    graphs = os.path.join(str(dump), "graphs", "pid_7_deviceid_0")
    graph(graphs, TRAIN, train_ops(), 3, 3)
    steps(dump, train_ops(), indices)
    if evaluate:
        graph(graphs, EVAL, eval_ops(), 4, 4, mtime=START + 3)
        steps(dump, eval_ops(), (0,), EVAL, 6)
    record(dump, indices, count)


def codes(manifest, severity=None):
    return sorted({one.code for one in manifest.problems
                   if severity is None or one.severity == severity})


def snapshot(root):
    """Every path below `root` with its kind, size, times and content."""
    seen = {}
    for folder, names, file_names in os.walk(str(root)):
        for name in names + file_names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = None
            if os.path.isfile(path):
                with open(path, "rb") as stream:
                    content = stream.read()
            seen[os.path.relpath(path, str(root))] = (
                status.st_mode, status.st_mtime_ns if content is not None else None, content)
    return seen


def load(path):
    with open(str(path), encoding="utf-8") as stream:
        return json.load(stream)
