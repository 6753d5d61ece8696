"""Chooses what a job was like: by lot, or as one of the cases that need a certain rule."""
import random

from tests.collect import nets
from tests.collect.jobs import BASE, DAY, Counter, Plan, Process, in_steps, make_load

NAMINGS = ("same", "same", "same", "folder-suffix", "text-suffix", "tf1", "tf1-drift", "foreign")
PLACES = ("pid", "pid", "pid", "collect", "flat", "top", "elsewhere", "cwd")
STEPS = ("0", "0", "0|5", "2-3", "1", "0|3-4", None)
# Of these a job has one at most: one of them hides the other.
FATAL = ("lost-graph", "lost-graph", "lost-step", "no-step-id", "late-open", "wrong-layer",
         "only-wrong-layer", "disk-full", "emptied-step", "half-step")
FAULTS = ("truncated", "empty", "foreign", "mapped", "unmapped", "not-reached", "killed",
          "lost-operator", "extra-operator", "stages")


def plan_job(seed):
    """A job of a seed. Every third is one of the special cases, in turn."""
    rng = random.Random(seed)
    plan = Plan(seed, rng)
    if seed % 3 == 0:
        case = CASES[(seed // 3) % len(CASES)]
        case(plan, rng)
        return plan
    plan.naming = rng.choice(NAMINGS)
    plan.files = rng.choice(("new", "new", "old8", "old5"))
    plan.place = rng.choice(PLACES)
    plan.records = rng.choice(("full", "full", "full", "nameless", "none"))
    plan.clocks = rng.choice(("kept", "kept", "copied"))
    plan.zone = rng.choice((0, 8 * 3600, -5 * 3600))
    plan.steps = rng.choice(STEPS)
    plan.data = rng.choice(("tensor", "tensor", "stats"))
    plan.mode = rng.choice(("all", "all", "output", "input"))
    plan.form = rng.choice(("A", "A", "A", "B", "C"))
    plan.second_time = rng.random() < 0.1
    ranks = rng.choice((1, 1, 1, 2, 2, 4))
    if plan.place in ("flat", "top", "cwd"):
        # Processes without folders of their own: told apart by function names only.
        ranks = min(ranks, 2)
    if rng.random() < 0.35:
        plan.faults.append(rng.choice(FATAL))
    plan.faults += [fault for fault in FAULTS if rng.random() < 0.08]
    start = BASE + rng.randrange(10 ** 7)
    shape = _Shape(plan, rng)
    for rank in range(ranks):
        plan.processes.append(shape.process(rank, rank, start + rng.choice((0, 0, 1, 2))))
    if rng.random() < 0.2 and plan.place in ("pid", "collect", "elsewhere"):
        shape = _Shape(plan, rng)
        plan.previous.append(shape.process(0, 0, start - rng.choice((7200, DAY))))
    return plan


class _Shape:
    """The training script: what every process of one launch builds and runs."""

    def __init__(self, plan, rng):
        self.plan, self.rng = plan, rng
        self.model = rng.choice(("sequential", "model", "net/block.a"))
        self.widths = rng.choice(([6, 4], [8, 4, 2], [5, 5, 5, 1]))
        self.batch = rng.choice((2, 4))
        self.iterator = rng.random() < 0.7
        self.optimizer = rng.choice(("adam", "sub"))
        self.plain = rng.random() < 0.3
        self.keras3 = rng.random() < 0.2 and plan.naming != "foreign"
        self.sections = rng.choice((1, 1, 1, 1, 2, 3))
        self.evaluate = rng.random() < 0.6
        self.predict = rng.random() < 0.3
        self.inits = rng.choice((0, 1, 3))
        self.dynamic = rng.choice((0, 0, 0, 2, 3)) if plan.naming in ("same", "tf1") else 0
        self.reload = self.sections == 1 and not self.dynamic and rng.random() < 0.1
        self.rebuild = rng.random() < 0.5 and plan.naming != "foreign"
        self.counts = [rng.randrange(1, 8) for _ in range(self.sections)]
        self.numbers_differ = plan.place in ("flat", "top", "cwd")
        # Processes of one launch trace the same functions in the same order.
        self.strides = [rng.randrange(1, 90) for _ in range(8)]

    def process(self, rank, device, start, pid=None):
        plan, rng = self.plan, self.rng
        counter = Counter(random.Random(self.widths[0] * 31 + (rank if self.numbers_differ else 0)))
        if self.numbers_differ:
            # Processes share a folder: their files must not overwrite each other.
            counter.index += 50 * rank
            counter.function += 37 * rank
            counter.graph_id += 3 * rank
        self.traced = 0
        process = Process(rank, device, pid or rng.randrange(1000, 60000), start, [])
        now = start + 1.0
        for number in range(self.inits):
            variable = "dense_%d/kernel" % number
            process.loads.append(make_load(
                plan, counter, "init", nets.initialise(variable, (3, 2 + number)), 1, now,
                "AssignVariableOp_%d" % counter.graph_id))
            now += 0.2
        if self.iterator:
            process.loads.append(make_load(plan, counter, "iterator", nets.iterator(0), 1, now,
                                           "dp_init_AnonymousIterator0"))
            process.loads[-1].dumped = []
            now += 0.2
        for section in range(self.sections):
            now = self._train(process, counter, section, now)
            if section == 0 and self.evaluate:
                now = self._forward(process, counter, "eval", now)
        if self.predict:
            now = self._forward(process, counter, "predict", now)
        return process

    def _stride(self):
        self.traced += 1
        return self.strides[self.traced % len(self.strides)]

    def _train(self, process, counter, section, now):
        plan = self.plan
        # A retrace has another batch; a recompile another optimizer; or nothing changes.
        change = self.rng.random()
        batch = self.batch + (section if change < 0.6 or plan.naming == "foreign" else 0)
        ops = nets.train(self.model, self.widths, batch, self.iterator, self.optimizer,
                         "no-step-id" not in plan.faults, self.plain)
        counter.function += self._stride()
        name = "multi_step_on_iterator" if self.keras3 else "train_function"
        load = make_load(plan, counter, "train", ops, self.counts[section], now,
                         "__inference_%s_%d" % (name, counter.function), self.dynamic,
                         2 if self.reload else 1)
        load.section = section
        process.loads.append(load)
        if self.reload and self.rebuild:
            # Built again, not only loaded again: a second file of the same name.
            load.rebuilt = counter.index
            counter.index += 1
        return now + 2.0

    def _forward(self, process, counter, role, now):
        make = nets.evaluate if role == "eval" else nets.predict
        ops = make(self.model, self.widths, self.batch, self.iterator)
        counter.function += self._stride()
        name = {"eval": "test_function", "predict": "predict_function"}[role]
        if self.keras3:
            name = {"eval": "multi_step_on_iterator",
                    "predict": "one_step_on_data_distributed"}[role]
        process.loads.append(make_load(
            self.plan, counter, role, ops, self.rng.randrange(0, 4), now,
            "__inference_%s_%d" % (name, counter.function)))
        return now + 1.0


# --- cases in which one rule has to decide

def _basic(plan, rng, **fixed):
    for key, value in fixed.items():
        setattr(plan, key, value)
    shape = _Shape(plan, rng)
    shape.sections, shape.dynamic, shape.reload = 1, 0, False
    shape.counts = [6, 6, 6]
    shape.evaluate, shape.predict, shape.keras3 = True, False, False
    return shape, BASE + rng.randrange(10 ** 7)


def _shared_layer(shape):
    return ["%s/dense/MatMul" % shape.model]


def _one_layer(naming):
    """Only one operator is dumped, and training and evaluation both have it: the name decides."""
    def case(plan, rng):
        shape, start = _basic(plan, rng, naming=naming, records=rng.choice(("full", "none")),
                              clocks="copied")
        plan.layers = _shared_layer(shape)
        process = shape.process(0, 0, start)
        for load in process.loads:
            load.count = max(load.count, 1)
        plan.processes.append(process)
    case.__name__ = "one_layer_" + naming
    return case


def lost_sibling(plan, rng):
    """Recompiled; the second function's file is gone, the first has all its operators."""
    shape, start = _basic(plan, rng, naming=rng.choice(("same", "tf1")), records="none")
    shape.sections, shape.evaluate = 2, False
    plan.steps = "0"
    shape.rng = _Constant(rng, 0.9)
    plan.processes.append(shape.process(0, 0, start))
    plan.processes[0].loads[-1].lost_graph = True


class _Constant:
    """Lots, except that `random()` always gives one value."""

    def __init__(self, rng, value):
        self._rng, self._value = rng, value

    def random(self):
        return self._value

    def __getattr__(self, name):
        return getattr(self._rng, name)


def other_batch(plan, rng):
    """Folders have names of their own, two functions the same operators: shapes decide."""
    shape, start = _basic(plan, rng, naming="foreign", records="none", steps="5", data="tensor")
    shape.sections, shape.counts, shape.evaluate = 2, [3, 6], False
    plan.processes.append(shape.process(0, 0, start))


def containers(plan, rng):
    """Every container calls its device 0 and builds the same graphs: the pid decides."""
    shape, start = _basic(plan, rng, naming="same", records="full", clocks="copied", place="pid")
    pids = rng.sample(range(100, 999), 3)
    for rank in range(3):
        plan.processes.append(shape.process(rank, 0, start + 2 * rank, pids[rank]))


def hosts(plan, rng):
    """Dump paths of containers, copied side by side; device and pid are the same in all."""
    shape, start = _basic(plan, rng, naming="same", records=rng.choice(("full", "none")),
                          clocks="copied", place=rng.choice(("pid", "collect")))
    pid = rng.randrange(10, 99)
    for rank in range(2):
        plan.processes.append(shape.process(rank, 0, start + rng.choice((0, 1)), pid))
        plan.processes[-1].host = "worker_%d" % rank


def devices(plan, rng):
    """No records: the device in the graph folder's name decides."""
    shape, start = _basic(plan, rng, naming="same", records="none", clocks="copied",
                          place=rng.choice(("pid", "collect", "elsewhere")))
    pids = rng.sample(range(100, 999), 3)
    for rank in range(3):
        plan.processes.append(shape.process(rank, rank, start + rng.choice((0, 1)), pids[rank]))


def yesterday(plan, rng):
    """The folder was used before, by the same script on the same device: the time decides."""
    shape, start = _basic(plan, rng, naming="same", records=rng.choice(("none", "none", "full")),
                          clocks="kept", place="pid", steps="0|5")
    pids = rng.sample(range(100, 999), 2)
    plan.previous.append(shape.process(0, 0, start - rng.choice((3600, DAY)), pids[0]))
    plan.processes.append(shape.process(0, 0, start, pids[1]))


def recompiled(plan, rng):
    """Two functions with the same operators and shapes; the journal's counts decide."""
    shape, start = _basic(plan, rng, naming="foreign", records="full", steps="0|3|5")
    shape.sections, shape.evaluate = 2, False
    shape.counts = [2, 6]
    shape.rng = _Constant(rng, 0.9)
    shape.batch = 4
    process = shape.process(0, 0, start)
    trains = [load for load in process.loads if load.role == "train"]
    trains[1].graphs = [(trains[1].name, trains[0].ops)]
    # Model ids against the order of the files, so that order would be wrong.
    trains[0].model_ids, trains[1].model_ids = trains[1].model_ids, trains[0].model_ids
    plan.processes.append(process)


def other_model(plan, rng):
    """Two jobs' files of one name in one folder, one common operator dumped, times lost:
    the operators in the run record decide."""
    shape, start = _basic(plan, rng, naming="same", records="full", clocks="copied", place="flat",
                          steps="0")
    shape.iterator, shape.evaluate, shape.inits = True, False, 0
    plan.layers = ["mean_squared_error/Mean"]
    process = shape.process(0, 0, start)
    shape.model = "another"
    stray = shape.process(0, 0, start)
    train = next(load for load in stray.loads if load.role == "train")
    train.name = next(one for one in process.loads if one.role == "train").name
    train.graphs = [(train.name, train.ops)]
    train.index = rng.choice((0, 99))
    train.count, train.role = 0, "stray"
    process.loads = [load for load in process.loads if load.role != "iterator"] + [train]
    for position, load in enumerate(process.loads):
        load.index = load.index if load.role == "stray" else position + 1
    plan.processes.append(process)


def by_keyword(plan, rng):
    """Nothing tells two graphs apart but the operator that the user names."""
    shape, start = _basic(plan, rng, naming="foreign", records="none", clocks="copied", steps="5",
                          data="stats")
    shape.counts, shape.plain, shape.inits = [6], False, 0
    plan.layers = ["mean_squared_error/Mean"]
    process = shape.process(0, 0, start)
    # The evaluation graph comes first, so that order would be wrong.
    eval_load = next(load for load in process.loads if load.role == "eval")
    train = next(load for load in process.loads if load.role == "train")
    eval_load.count = 0
    eval_load.index, train.index = train.index, eval_load.index
    plan.keywords = ("gradient_tape/",)
    plan.processes.append(process)


def no_gradient(plan, rng):
    """A training step without any operator that looks like a gradient: the journal says it."""
    shape, start = _basic(plan, rng, naming="same", records="full")
    shape.evaluate = True
    process = shape.process(0, 0, start)
    for load in process.loads:
        if load.role == "train":
            kept = [op for op in load.ops if "Grad" not in op.type and "Adam" not in op.name
                    and not op.name.startswith("gradient_tape") and "_1" not in op.name]
            load.graphs = [(load.name.replace("train_function", "own_step"), kept)]
            load.name = load.folder = load.function = load.graphs[0][0]
    plan.processes.append(process)


def named_only(plan, rng):
    """Graphs that nothing was dumped of: only their names say what they are for."""
    shape, start = _basic(plan, rng, naming="same", records="none", steps="5")
    shape.predict, shape.counts = True, [6]
    process = shape.process(0, 0, start)
    for load in process.loads:
        if load.role == "predict":
            load.count = 6
        elif load.role == "eval":
            # An evaluation without metrics does what a prediction does.
            load.graphs = [(load.name, nets.predict(shape.model, shape.widths, shape.batch,
                                                    shape.iterator))]
            load.count = 6
    plan.processes.append(process)


def nameless_sections(plan, rng):
    """The journal knows operators, not names: they, or the order, say which section it was."""
    shape, start = _basic(plan, rng, naming="same", records="nameless", steps="0|3")
    shape.sections, shape.evaluate = 2, False
    process = shape.process(0, 0, start)
    trains = [load for load in process.loads if load.role == "train"]
    if rng.random() < 0.5:
        # Two models: their journal sections against the order of their files.
        other = nets.train("second", shape.widths, 4, shape.iterator)
        trains[0].graphs = [(trains[0].name, other)]
        trains[0].section, trains[1].section = 1, 0
    plan.processes.append(process)


CASES = (_one_layer("same"), _one_layer("folder-suffix"), _one_layer("text-suffix"),
         _one_layer("tf1-drift"), lost_sibling, other_batch, containers, hosts, devices, yesterday,
         recompiled, other_model, by_keyword, no_gradient, named_only, nameless_sections)

__all__ = ["CASES", "plan_job", "in_steps"]
