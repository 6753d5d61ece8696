"""Small jobs written by hand, for what no CPU training shows: devices, ranks, old habits.

    job = Job(folder, [op("a", "Data"), op("b", "Relu", ["a:0"])])
    job.execution(0, {"b": ([x], [y])})
"""
import json
import os
import time

import numpy as np

from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph import edges, ge_graph, graph_writer
from keras_npu_dump.formats.stats import stats_writer
from keras_npu_dump.formats.tensor import dump_file
from keras_npu_dump.formats.tensor import opdebug as overflow

GRAPH = "__inference_train_function_77"
OUTPUT = object()


def op(name, kind, inputs=(), originals=None, **attrs):
    """A GraphOp that stands for itself, or for `originals`."""
    return ge_graph.GraphOp(name, kind, list(inputs),
                         original_op_names=[name] if originals is None else originals,
                         attrs=attrs)


class Job:
    """One rank of a job below `folder`; several share the folder.

    Args:
      ops: of the graph, or a list of Graphs with the root first.
      data: "tensor" or "stats". options: of the run record, None for no record.
    """

    def __init__(self, folder, ops, data="tensor", rank=0, with_graph=True, options=None,
                 record=True, emulated=False):
        self.emulated = emulated
        self.folder = str(folder)
        self.data = data
        self.rank = rank
        self.started = int(time.time())
        self.stamp = (self.started + 1) * 1000000
        graphs = ops if isinstance(ops[0], ge_graph.Graph) else [ge_graph.Graph(GRAPH, ops)]
        self.ops = {one.name: one for part in graphs for one in part.ops}
        for part in graphs:
            edges.connect(part.ops)
        pid = 100000 + rank
        if with_graph:
            place = os.path.join(self.folder, "graphs", "pid_%d_deviceid_%d" % (pid, rank))
            os.makedirs(place)
            graph_writer.write_graphs(
                os.path.join(place, "ge_proto_00000003_graph_3_Build.txt"), graphs)
        self.journal = None
        if record:
            self._record(pid, options or {})

    def execution(self, data_index, values, iteration=None, turns=1, fit=0):
        """Writes one execution.

        Args:
          values: operator -> (inputs, outputs), arrays or `tensor.TensorValue`s; or a
            list of such pairs, one per run of the operator.
          iteration: (epoch, batch); (0, data_index) by default.
        """
        folder = os.path.join(self.folder, self.session(), str(self.rank), GRAPH, "5",
                              str(data_index))
        os.makedirs(folder, exist_ok=True)
        for name, given in values.items():
            for inputs, outputs in given if isinstance(given, list) else [given]:
                self._file(folder, name, inputs, outputs)
        if self.journal:
            epoch, batch = iteration or (0, data_index)
            self._event(event="execution", section=0, data_index=data_index, fit=fit, epoch=epoch,
                        batch=batch, uncertain=None)
        return folder

    def counted(self, count, final=True):
        """The training ended (`final`) after so many executions."""
        self._event(event="count", section=0, count=count, final=final)

    def session(self):
        return time.strftime("%Y%m%d%H%M%S", time.localtime(self.started))

    def overflow(self, folder, name, source="AIC", status=(0x20,), **fields):
        """The record of an operator's overflow, after its own file was written."""
        task = list(self.ops).index(name)
        self.stamp += 1
        record = overflow.pack_record(source, dict(
            {"model_id": 5, "stream_id": 3, "task_id": task}, **fields), status)
        dump_file.write_file(
            os.path.join(folder, names.format_dump_name(names.DumpName(
                "Opdebug", "Node_OpDebug", task, 3, self.stamp))), "Node_OpDebug", [],
            [dump_file.TensorValue(np.frombuffer(record, np.uint8))], self.stamp)

    def _file(self, folder, name, inputs, outputs):
        kind = self.ops[name].type if name in self.ops else "Unknown"
        self.stamp += 1
        task = list(self.ops).index(name) if name in self.ops else 999
        path = os.path.join(folder, names.format_dump_name(names.DumpName(
            kind, name, task, 3, self.stamp, csv=self.data == "stats")))
        if self.data == "stats":
            stats_writer.write_stats(path, inputs, outputs)
        else:
            dump_file.write_file(path, name, inputs, outputs, self.stamp)

    def _record(self, pid, options):
        run_id = "20300101000000_rank%d_pid%d" % (self.rank, pid)
        place = os.path.join(self.folder, "runs", run_id)
        os.makedirs(place)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(self.started))
        asked = {"enable_dump": True, "dump_path": self.folder, "dump_step": "",
                 "dump_mode": "all", "dump_data": self.data, "dump_layer": "",
                 "enable_dump_debug": False, "dump_debug_mode": "all"}
        with open(os.path.join(place, "run.json"), "w") as stream:
            json.dump({"schema": "keras_npu_dump.run/1", "run_id": run_id, "version": "0.1.0",
                       "host": "elsewhere", "pid": pid, "rank": self.rank, "rank_size": 8,
                       "device": self.rank, "emulated": self.emulated, "started": stamp,
                       "opened": True, "ended": stamp, "status": "ended",
                       "options": dict(asked, **options), "environment": {}, "versions": {},
                       "script": ["train.py"], "cwd": "/",
                       "graph_path": "graphs", "timezone": time.strftime("%z")}, stream)
        self.journal = os.path.join(place, "iterations.jsonl")
        self._event(event="section", section=0, model="model", reason="start")
        self._event(event="graph", section=0, name=GRAPH, operators=list(self.ops)[:8])

    def _event(self, **event):
        with open(self.journal, "a") as stream:
            stream.write(json.dumps(event) + "\n")


def spread(count=64, scale=1.0, seed=0, dtype=np.float32):
    """Values that look like those of a healthy layer."""
    return (np.random.RandomState(seed).randn(count) * scale).astype(dtype)
