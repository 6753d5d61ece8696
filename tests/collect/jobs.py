"""Makes the folder that a training job leaves behind, from a seed, and knows the truth.

It writes what CANN and capture write, by `files.py` and `nets.py`, and imports
nothing of the package. A job is planned first (`plan_job`: plain data), then
written (`write_job`); what was broken on purpose is in the truth as a problem
that collect must tell.
"""
import dataclasses
import os
import random
import time
from typing import Dict, List, Optional, Set, Tuple

from tests.collect import nets
from tests.collect.files import sanitise

DAY = 86400
BASE = 1900000000  # far from the real clock: nothing here depends on today


@dataclasses.dataclass
class Load:
    """A compiled graph as one process loaded it."""

    role: str
    name: str                      # in the Build file
    folder: str                    # model_name in the dump tree
    graphs: list                   # [(graph name, ops)], the root first
    index: int                     # of the Build file
    graph_id: int
    model_ids: List[int]
    count: int                     # executions
    built: float                   # seconds since the epoch
    function: str = ""             # the name that the journal knows
    section: Optional[int] = None
    parts: List[str] = dataclasses.field(default_factory=list)
    file: str = ""                 # relative path of the Build file
    dumped: List[int] = dataclasses.field(default_factory=list)
    lost_graph: bool = False
    rebuilt: Optional[int] = None  # index of the file of a second build
    again: str = ""                # and its path

    @property
    def ops(self):
        return [op for _, ops in self.graphs for op in ops]


@dataclasses.dataclass
class Process:
    rank: int
    device: int
    pid: int
    start: float
    loads: List[Load]
    run_id: str = ""
    host: str = ""                 # folder of its own below the dump path


@dataclasses.dataclass
class Plan:
    seed: int
    rng: random.Random
    processes: List[Process] = dataclasses.field(default_factory=list)
    previous: List[Process] = dataclasses.field(default_factory=list)
    naming: str = "same"
    files: str = "new"
    place: str = "pid"
    records: str = "full"
    clocks: str = "kept"
    zone: int = 0
    steps: Optional[str] = "0"
    layers: List[str] = dataclasses.field(default_factory=list)
    mode: str = "all"
    data: str = "tensor"
    second_time: bool = False
    faults: List[str] = dataclasses.field(default_factory=list)
    keywords: Tuple[str, ...] = ("Iterator",)
    form: str = "A"                      # of the dump files' names


def in_steps(index: int, steps: Optional[str]) -> bool:
    if steps is None:
        return True
    for item in steps.split("|"):
        low, _, high = item.partition("-")
        if int(low) <= index <= int(high or low):
            return True
    return False


def stamp(seconds: float, zone: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds + zone))


class Counter:
    """Numbers that one process counts up: graph files, graph ids, model ids."""

    def __init__(self, rng: random.Random):
        self.index = rng.choice((0, 1))
        self.graph_id = 0
        self.model_id = rng.choice((0, 0, 3))
        self.function = rng.randrange(100, 900)


def make_load(plan: Plan, counter: Counter, role: str, ops, count: int, built: float,
              function: str, parts: int = 0, loads: int = 1) -> Load:
    """Numbers and names a graph as the naming of the plan has it."""
    graph_id = counter.graph_id
    if plan.naming.startswith("tf1"):
        moment = stamp(built, plan.zone)
        name = "ge_default_%s_%d" % (moment, 10 * graph_id + 1)
        graph_id = 10 * graph_id + 1
        folder = name
        if plan.naming == "tf1-drift":
            folder = "ge_default_%s_%d" % (stamp(built + 1, plan.zone), graph_id)
    else:
        name = folder = function
        if plan.naming == "folder-suffix":
            folder = "%s_%d" % (function, graph_id)
        elif plan.naming == "text-suffix":
            name = "%s_%d" % (function, graph_id)
        elif plan.naming == "foreign":
            folder = "om%08x" % plan.rng.getrandbits(32)
    graphs = nets.split(name, ops, parts) if parts else [(name, ops)]
    ids = []
    for _ in range(loads * max(1, parts)):
        counter.model_id += 1
        ids.append(counter.model_id)
    load = Load(role, name, folder, graphs, counter.index, graph_id, ids, count, built,
                function=function)
    load.parts = [graph for graph, _ in graphs[1:]]
    counter.index += 1
    counter.graph_id += 1
    return load


def file_name(plan: Plan, load: Load) -> str:
    if plan.files == "new":
        return "ge_proto_%08d_graph_%d_Build.txt" % (load.index, load.graph_id)
    return "ge_proto_%0*d_Build.txt" % (8 if plan.files == "old8" else 5, load.index)


def graph_folder(plan: Plan, process: Process) -> str:
    """Relative to the job's root, which holds `dump`, `script` and `graphs_elsewhere`."""
    named = "pid_%d_deviceid_%d" % (process.pid, process.device)
    return {
        "pid": os.path.join("dump", process.host, "graphs", named),
        "collect": os.path.join("dump", process.host, "graphs", "extra-info", "graph",
                                "%d_%d" % (process.pid, process.device)),
        "flat": os.path.join("dump", "graphs"),
        "top": "dump",
        "elsewhere": os.path.join("graphs_elsewhere", named),
        "cwd": "script",
    }[plan.place]


# --- truth

@dataclasses.dataclass
class TruePair:
    graphs: Set[str]                     # acceptable Build files, relative to the root
    folders: Set[str]                    # its model id folders, relative to the dump path
    role: str
    rank: int
    iterations: Dict[str, Optional[dict]]  # step folder -> iteration
    latest: bool
    sure: bool = True                    # False: the traces cannot tell, a guess is right
    confidence: Optional[str] = None     # what the traces allow; None where damage may lower it
    section: int = 0


@dataclasses.dataclass
class Truth:
    pairs: List[TruePair] = dataclasses.field(default_factory=list)
    problems: List[Tuple[str, str, Optional[str]]] = dataclasses.field(default_factory=list)
    roles: Dict[str, str] = dataclasses.field(default_factory=dict)
    allowed: Set[str] = dataclasses.field(default_factory=set)

    def expect(self, code: str, words: str, severity: Optional[str] = None) -> None:
        """A problem that collect must tell; `severity` where the traces decide it."""
        self.problems.append((code, words, severity))


def model_folders(plan: Plan, process: Process, load: Load) -> List[Tuple[str, str, list]]:
    """(folder of the model id, which load, operators) for every model id of a graph."""
    moment = stamp(process.start, plan.zone)
    top = os.path.join(moment, stamp(process.start + 1, plan.zone)) if plan.second_time else moment
    base = os.path.join(process.host, top, str(process.device))
    if not load.parts:
        return [(os.path.join(base, sanitise(load.folder), str(number)), position, load.ops)
                for position, number in enumerate(load.model_ids)]
    found = []
    for position, (part, ops) in enumerate(load.graphs[1:]):
        name = part.replace(load.name, load.folder) if load.folder != load.name else part
        found.append((os.path.join(base, sanitise(name), str(load.model_ids[position])), 0, ops))
    return found
