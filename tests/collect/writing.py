"""Writes a planned job to disk and says the truth about it."""
import os

from tests.collect import files
from tests.collect.jobs import (
    BASE,
    TruePair,
    Truth,
    file_name,
    graph_folder,
    in_steps,
    model_folders,
)

CONFIDENCE = {"same": "exact", "tf1": "exact", "folder-suffix": "id", "text-suffix": "id",
              "tf1-drift": "id", "foreign": "content"}
COPIED = BASE + 3 * 10 ** 7  # the moment of a copy that did not keep times


def write_job(plan, root):
    """Returns the Truth; `root` then has `dump`, and perhaps `script`, `graphs_elsewhere`."""
    truth = Truth()
    os.makedirs(os.path.join(root, "dump"), exist_ok=True)
    os.makedirs(os.path.join(root, "script"), exist_ok=True)
    for latest, processes in ((False, plan.previous), (True, plan.processes)):
        for process in processes:
            _Writer(plan, root, truth, process, latest).write()
    _tell_lost_graphs(plan, truth)
    return truth


def _tell_lost_graphs(plan, truth):
    for process in plan.processes:
        for load in process.loads:
            if load.lost_graph and load.dumped:
                code = "no-pair" if truth.roles else "no-graph"
                truth.expect(code, files.sanitise(load.folder))


class _Writer:
    def __init__(self, plan, root, truth, process, latest):
        self.plan, self.root, self.truth = plan, root, truth
        self.process, self.latest = process, latest
        self.dump = os.path.join(root, "dump")
        self.faults = set(plan.faults) if latest and process is plan.processes[0] else set()
        self.recorded = plan.records != "none"

    def write(self):
        plan, process = self.plan, self.process
        process.run_id = "%d_rank%d_%d" % (process.start, process.rank, process.pid)
        if "only-wrong-layer" in plan.faults and self.latest:
            plan.layers = ["nothing/Here"]
        elif "wrong-layer" in plan.faults and self.latest:
            plan.layers = [op.name for load in process.loads for op in load.ops
                           if op.dumped][:6] + ["dense/MatMull"]
        if "not-reached" in plan.faults and plan.steps is not None and "50" not in plan.steps:
            plan.steps += "|50"
        if self.faults and "lost-graph" in self.faults:
            loads = [one for one in process.loads if self._dumps(one)]
            if loads:
                plan.rng.choice(loads).lost_graph = True
        for load in process.loads:
            self._graph(load)
        for load in process.loads:
            self._dumped(load)
        if self.latest and "late-open" not in plan.faults:
            self._damage()
        if self.recorded:
            self._record()
        self._expect()

    # --- graphs

    def _graph(self, load):
        plan = self.plan
        folder = graph_folder(plan, self.process)
        load.file = os.path.join(folder, file_name(plan, load))
        if load.lost_graph:
            return
        options = {"ge.exec.enableDump": "0" if "late-open" in plan.faults and self.latest else "1"}
        if plan.records == "none" and plan.layers:
            options["ge.exec.dumpLayer"] = " ".join(plan.layers)
        mtime = load.built if plan.clocks == "kept" else COPIED
        path = os.path.join(self.root, load.file)
        files.write(path, files.graph_text(load.graphs, options), mtime)
        if "stages" in plan.faults:
            for stage in ("PreRunBegin", "PreRunAfterBuild", "AfterBuildModel"):
                files.write(path.replace("_Build.", "_%s." % stage),
                            files.graph_text(load.graphs[:1]), mtime)
        if load.rebuilt is not None:
            number, load.index = load.index, load.rebuilt
            load.again = os.path.join(folder, file_name(plan, load))
            load.index = number
            later = mtime + 1.04 if plan.clocks == "kept" else mtime
            files.write(os.path.join(self.root, load.again),
                        files.graph_text(load.graphs, options), later)
        if load.role != "stray":
            self.truth.roles[load.file] = load.role

    # --- dump files

    def _dumps(self, load):
        """[(model id folder, first load?, operators, indices)] of what was dumped."""
        plan = self.plan
        if "late-open" in plan.faults and self.latest or load.role in ("iterator", "stray"):
            return []
        found = []
        no_step_id = "no-step-id" in plan.faults and load.role == "train" and self.latest
        if no_step_id and plan.steps is not None:
            return []
        for folder, position, ops in model_folders(plan, self.process, load):
            count = load.count
            if len(load.model_ids) > 1 and not load.parts:
                count = load.count - load.count // 2 if position == 0 else load.count // 2
            indices = [index for index in range(count) if in_steps(index, plan.steps)]
            chosen = [op for op in ops if op.dumped and self._wanted(op)]
            if chosen and indices:
                found.append((folder, position, chosen, [None] if no_step_id else indices))
        return found

    def _wanted(self, op):
        plan = self.plan
        if plan.layers and op.name not in plan.layers and not set(plan.layers) & set(op.originals):
            return False
        return bool(op.inputs if plan.mode == "input" else op.outputs if plan.mode == "output"
                    else op.inputs or op.outputs)

    def _dumped(self, load):
        plan = self.plan
        # Two launches on one device, neither records nor times kept: no trace is
        # left of which was which.
        lost = (plan.previous and plan.records == "none" and plan.clocks == "copied"
                and self.process.device == 0)
        # Nor of equal graphs of two processes in one folder, if the dump folders
        # have names of their own, or the names of other moments.
        lost = lost or (plan.naming in ("foreign", "tf1-drift") and len(plan.processes) > 1
                        and plan.place in ("flat", "top", "cwd"))
        # Nor of graphs that share all the operators that were dumped.
        lost = lost or (plan.naming == "foreign" and "wrong-layer" in plan.faults)
        dumps = self._dumps(load)
        if load.rebuilt is not None and len(dumps) == 1:
            # The second build left no dump: which of the two files it was is open.
            lost = True
        if lost:
            self.truth.allowed.update(("ambiguous-pair", "step-missing", "operator-missing",
                                       "operator-foreign", "step-partial"))
        pairs = {}
        for folder, position, ops, indices in dumps:
            second = load.rebuilt is not None and position == 1
            folders, iterations = pairs.setdefault(second, (set(), {}))
            folders.add(folder)
            for index in indices:
                step = folder if index is None else os.path.join(folder, str(index))
                later = 0.05 if position else 0
                for number, op in enumerate(ops):
                    self._file(step, op, number, load.built + 1 + (index or 0) * 0.1 + later)
                known = load.role == "train" and index is not None and not position
                iterations[step] = self._iteration(load, index) if known else None
                load.dumped.append(index)
        for second, (folders, iterations) in pairs.items():
            if not load.lost_graph:
                self.truth.pairs.append(TruePair(
                    {load.again if second else load.file}, folders, load.role,
                    self.process.rank, iterations, self.latest, sure=not lost,
                    confidence=CONFIDENCE[plan.naming] if not plan.faults
                    and plan.keywords == ("Iterator",) else None,
                    section=(load.section or 0) + (0.5 if second else 0)))

    def _file(self, step, op, number, seconds):
        plan = self.plan
        moment = int(seconds * 1000000) + number
        name = {"A": "%s.%s.%d.3.%d", "B": "%s.%s_lxslice0.3.%d.%d.4.17.0.1", "C": "%s.%s.%d.%d"}[
            plan.form] % (files.sanitise(op.type), files.sanitise(op.name), number + 2, moment)
        inputs = [] if plan.mode == "output" else op.inputs
        outputs = [] if plan.mode == "input" else op.outputs
        if plan.data == "stats":
            return files.write(os.path.join(self.dump, step, name + ".csv"),
                               files.stats_file(inputs, outputs))
        return files.write(os.path.join(self.dump, step, name),
                           files.dump_file(op.name, moment, inputs, outputs))

    # --- records

    def _trains(self):
        return sorted((load for load in self.process.loads if load.role == "train"),
                      key=lambda load: load.section)

    def _iteration(self, load, index):
        if not self.recorded:
            return None
        before = sum(one.count for one in self._trains() if one.section < load.section)
        number = before + index
        return {"fit": 0, "epoch": number // 4, "batch": number % 4}

    def _record(self):
        plan, process = self.plan, self.process
        killed = "killed" in plan.faults and self.latest
        zone = plan.zone // 36
        last = max([load.built for load in process.loads] + [process.start]) + 60
        record = {
            "schema": "keras_npu_dump.run/1", "run_id": process.run_id, "version": "0.1.0",
            "host": "node-of-the-test", "pid": process.pid, "rank": process.rank,
            "rank_size": len(plan.processes), "device": process.device, "emulated": True,
            "started": _iso(process.start - 2), "opened": True,
            "ended": None if killed else _iso(last), "status": "running" if killed else "ended",
            "options": {"enable_dump": True, "dump_path": self.dump, "dump_step": plan.steps or "",
                        "dump_mode": plan.mode, "dump_data": plan.data,
                        "dump_layer": " ".join(plan.layers), "enable_dump_debug": False},
            "environment": {}, "cwd": os.path.join(self.root, "script"), "graph_path": "graphs",
            "timezone": "%+05d" % zone}
        if plan.place == "elsewhere":
            record["graph_path"] = os.path.join(self.root, "graphs_elsewhere")
        events = [{"event": "fit", "fit": 0, "model": "model", "epochs": 2, "steps": 4}]
        for load in self._trains():
            events.append({"event": "section", "section": load.section, "model": "model",
                           "reason": "retrace" if load.section else "start"})
            for index in range(load.count):
                if in_steps(index, plan.steps):
                    events.append(dict(self._iteration(load, index), event="execution",
                                       section=load.section, data_index=index, uncertain=None))
            events.append({"event": "graph", "section": load.section,
                           "name": load.function if plan.records == "full" else None,
                           "operators": [op.originals[0] for op in load.ops
                                         if op.dumped and op.originals]})
            events.append({"event": "count", "section": load.section, "count": load.count,
                           "final": not killed})
        folder = files.write_run(os.path.join(self.dump, process.host), process.run_id, record,
                                 events)
        if killed:
            with open(os.path.join(folder, "iterations.jsonl"), "a") as stream:
                stream.write('{"event": "execution", "section": 0, "data_in')

    # --- what collect has to say

    def _expect(self):
        plan, truth = self.plan, self.truth
        if not self.latest:
            return
        trains = self._trains()
        if self.recorded and "killed" in plan.faults:
            truth.expect("run-crashed", self.process.run_id, "warning")
        if self.recorded and plan.steps is not None and trains:
            most = max(load.count for load in trains)
            gone = [index for index in range(60) if in_steps(index, plan.steps) and index >= most]
            for first in gone:
                if first - 1 not in gone:
                    last = next(index for index in range(first, 61) if index + 1 not in gone)
                    which = ("step %d" % first if first == last else "steps %d-%d" % (first, last))
                    truth.expect("step-not-reached", "%s not reached, %d executions" % (
                        which, most) if len(trains) == 1 else which + " not reached")
                    if "killed" in plan.faults:
                        truth.expect("step-not-reached", "the process ended before")
        executed = [load for load in trains
                    if any(in_steps(index, plan.steps) for index in range(load.count))]
        if "late-open" in plan.faults:
            truth.allowed.add("not-dumped")
            if self.recorded and executed:
                truth.expect("not-dumped", "opened without dump")
        elif "only-wrong-layer" in plan.faults:
            truth.allowed.update(("not-dumped", "step-missing"))
            if self.recorded:
                truth.expect("layer-unknown", "nothing/Here")
                if executed:
                    truth.expect("not-dumped", "dump_layer")
        elif "wrong-layer" in plan.faults and self.recorded:
            truth.expect("layer-unknown", "dense/MatMull")
            truth.allowed.update(("step-missing",))
        if "no-step-id" in plan.faults and plan.steps is not None:
            truth.allowed.update(("step-missing", "not-dumped"))
            others = any(one.dumped for one in self.process.loads)
            if self.recorded and executed and not plan.layers:
                truth.expect("step-missing" if others else "not-dumped", "no step id")
        if not self.recorded:
            truth.expect("no-run", "")
            truth.allowed.add("not-dumped")
        if any(len(load.model_ids) > 1 and not load.parts for load in trains):
            truth.allowed.update(("step-missing", "not-dumped"))

    def _damage(self):
        if not self.faults:
            return
        truth, rng = self.truth, self.plan.rng
        train = next((load for load in self._trains() if load.dumped and not load.lost_graph
                      and None not in load.dumped), None)
        if train is None:
            return
        dumps = self._dumps(train)
        folder, _, _, indices = dumps[-1]
        step = os.path.join(self.dump, folder, str(indices[-1]))
        pair = next(one for one in truth.pairs if folder in one.folders)
        if not pair.sure:
            return
        names = sorted(os.listdir(step))
        if "lost-step" in self.faults and len(indices) > 1 and len(dumps) == 1:
            self._remove_step(step, pair)
            truth.expect("step-missing" if self.recorded else "no-run",
                         "step %d of" % indices[-1] if self.recorded else "")
            return
        if "disk-full" in self.faults and len(indices) > 1 and len(dumps) == 1:
            self._remove_step(step, pair)
            before = os.path.join(self.dump, folder, str(indices[-2]))
            name = sorted(os.listdir(before))[-1]
            self._cut(os.path.join(before, name))
            truth.expect("truncated-file", name)
            if self.recorded:
                truth.expect("step-missing", "disk was full")
            return
        if "emptied-step" in self.faults and len(indices) > 1 and len(dumps) == 1:
            for name in names:
                os.unlink(os.path.join(step, name))
            truth.expect("step-missing", os.path.relpath(step, self.dump), "error")
            return
        if len(names) < 4:
            return
        rng.shuffle(names)
        if "half-step" in self.faults and len(indices) > 1 and (len(dumps) == 1 or train.parts):
            for name in names[len(names) // 2:]:
                os.unlink(os.path.join(step, name))
            truth.expect("step-partial", os.path.relpath(step, self.dump),
                         self._severity(train, indices[-1]))
            return
        if "truncated" in self.faults:
            truth.expect("truncated-file", names[0])
            self._cut(os.path.join(step, names[0]))
        if "empty" in self.faults:
            open(os.path.join(step, names[1]), "wb").close()
            truth.expect("empty-file", names[1])
        if "foreign" in self.faults:
            files.write(os.path.join(step, "MatMul.a.1.2.1900000000000000.output.0.npy"), b"x")
            truth.expect("foreign-file", "npy")
        if "mapped" in self.faults or "unmapped" in self.faults:
            digits = str(rng.randrange(10 ** 18, 10 ** 19))
            os.rename(os.path.join(step, names[2]), os.path.join(step, digits))
            if "mapped" in self.faults:
                files.write(os.path.join(step, "mapping.csv"),
                            "%s,%s\n" % (digits, names[2]) * 2)
            else:
                truth.expect("unmapped-name", digits)
        if "lost-operator" in self.faults:
            os.unlink(os.path.join(step, names[3]))
            if len(dumps) > 1 and not train.parts:
                # Of a graph that was loaded again the other load may tell.
                truth.allowed.update(("step-partial", "operator-missing"))
            elif len(indices) > 1:
                truth.expect("step-partial", os.path.relpath(step, self.dump),
                             self._severity(train, indices[-1]))
            else:
                truth.expect("operator-missing", "")
        if "extra-operator" in self.faults:
            open_name = "Mystery.not_in_graph.77.3.%d" % (int(train.built * 1000000) + 5)
            content = files.dump_file("not/in/graph", 1, [], [("DT_FLOAT", (2,))])
            files.write(os.path.join(step, open_name), content)
            truth.expect("operator-foreign", "Mystery.not_in_graph")

    def _severity(self, load, index):
        """Of a step with too few files: an error where the journal says that it ended."""
        if not self.recorded:
            return "warning"
        if self.plan.records != "full" or self.plan.naming == "foreign":
            return None  # which section of the journal it was may be open
        killed = "killed" in self.plan.faults
        return "error" if load.count > index + killed else "warning"

    def _remove_step(self, step, pair):
        for name in os.listdir(step):
            os.unlink(os.path.join(step, name))
        os.rmdir(step)
        pair.iterations.pop(os.path.relpath(step, self.dump), None)

    def _cut(self, path):
        size = os.path.getsize(path)
        with open(path, "r+b") as stream:
            stream.truncate(size - self.plan.rng.choice((1, 2, 3)))


def _iso(seconds):
    import datetime
    return datetime.datetime.utcfromtimestamp(int(seconds)).isoformat() + "+00:00"
