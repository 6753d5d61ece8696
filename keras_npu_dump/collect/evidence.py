"""The rules of evidence: what speaks for and against a graph and a dump folder.

Each rule looks at one unit (the folders of one model id) and one Build graph,
and answers with an `Evidence` or None. `RULES` is the whole list; how the
answers are weighed is in `pairing.py`.
"""
from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from keras_npu_dump.collect import headers
from keras_npu_dump.collect.build_graph import BuildGraph
from keras_npu_dump.collect.launches import Launches
from keras_npu_dump.collect.records import Run, Section
from keras_npu_dump.collect.scan import DumpFolder
from keras_npu_dump.collect.sessions import Session
from keras_npu_dump.formats.names import sanitise

FOR, AGAINST, EXCLUDED, SHOWN = "for", "against", "excluded", "shown"

# Below this share of known operators the files are another graph's.
SAME_OPERATORS = 0.8
# A pair by content alone also wants most of the graph's operators to have files,
# and hardly a file of an operator that the graph does not have.
MOST_OPERATORS = 0.8
FEW_STRANGE = 0.02

# The word that the vendor's procedure looks for.
DEFAULT_KEYWORDS = ("Iterator",)

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+?)_(\d+)(?:_(\d+))?$")
_DEFAULT = re.compile(r"(.*?)(\d{14})(?:_(\d+))?((?:_sub_\d+_[A-Za-z].*)?)$")
_PART = re.compile(r"(.+?)_sub_\d+_(?:know|unknow|input)\w*$")


@dataclasses.dataclass
class Unit:
    """The dump folders of one model id: what one loaded graph wrote in one session."""

    session: Session
    model_name: Optional[str]
    model_id: Optional[int]
    folders: List[DumpFolder]
    operators: FrozenSet[str] = frozenset()

    def __post_init__(self) -> None:
        self.operators = frozenset().union(*{one.operators for one in self.folders})

    @property
    def indices(self) -> List[int]:
        return sorted({one.data_index for one in self.folders if one.data_index is not None})

    @property
    def first_dump(self) -> Optional[float]:
        times = [one.first_time for one in self.folders if one.first_time]
        return min(times) / 1e6 if times else None

    @property
    def allowance(self) -> int:
        """Files of unknown operators that are forgiven in a pair by content."""
        return int(FEW_STRANGE * len(self.operators))

    @property
    def label(self) -> str:
        parts = [self.session.label, self.model_name or "?"]
        return "/".join(parts + ([] if self.model_id is None else [str(self.model_id)]))


@dataclasses.dataclass
class Evidence:
    """One rule's answer. `value` grades it among answers of the same rule."""

    rule: str
    verdict: str
    text: str
    value: float = 1.0
    strange: int = 0


@dataclasses.dataclass
class Context:
    """What rules need beyond one unit and one graph."""

    runs: Sequence[Run]
    launches: Launches
    keywords: Sequence[str]
    bodies: Dict[Any, Any]
    headers: "headers.HeaderCache"

    @property
    def keywords_given(self) -> bool:
        """Somebody chose the keywords: they decide where nothing else does."""
        return tuple(self.keywords) != DEFAULT_KEYWORDS

    def body(self, graph: BuildGraph):
        return graph.read_body(self.bodies)


Rule = Callable[[Unit, BuildGraph, Context], Optional[Evidence]]
RULES = collections.OrderedDict()  # type: Dict[str, Rule]


def rule(name: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function
    return register


def weigh(unit: Unit, graph: BuildGraph, context: Context,
          names: Optional[Sequence[str]] = None) -> Dict[str, Evidence]:
    """The answers of all rules (or of those named) that have one."""
    found = collections.OrderedDict()
    for name, function in RULES.items():
        if names is None or name in names:
            evidence = function(unit, graph, context)
            if evidence is not None:
                found[name] = evidence
    return found


def _names(graph: BuildGraph) -> List[str]:
    if graph.body is not None:
        return [sanitise(name) for name in graph.body.names]
    return [graph.dump_name] if graph.dump_name else []


@rule("full-name")
def full_name(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    if unit.model_name is None:
        return None
    if unit.model_name == graph.dump_name:
        return Evidence("full-name", FOR, "full name: the graph is called %s" % graph.name)
    if unit.model_name in _names(graph):
        return Evidence("full-name", FOR, "full name: the graph has a sub-graph %s"
                        % unit.model_name)
    return None


@rule("graph-id")
def graph_id(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The name with or without the graph id that some versions append, also in
    the parts of a dynamic graph (GE graph_manager.cc, dynamic_shape_partition.cc)."""
    model, name = unit.model_name, graph.dump_name
    if not model or not name or model in _names(graph):
        return None
    part = _PART.match(model)
    base = part.group(1) if part else model
    where = "a part of the graph %s" % graph.name if part else "the graph's name"
    if base == name:
        return Evidence("graph-id", FOR, "name: %s is %s" % (model, where), 2.0)
    for longer, shorter, text in ((base, name, "with"), (name, base, "without")):
        head, _, tail = longer.rpartition("_")
        if head == shorter and tail.isdigit() and graph.graph_id in (None, int(tail)):
            return Evidence("graph-id", FOR, "name: %s is %s %s the graph id %s" % (
                model, where, text, tail), 2.0)
    return None


@rule("same-id")
def same_id(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The same trailing id with another time: the two are taken at different moments."""
    ours, theirs = _DEFAULT.match(unit.model_name or ""), _DEFAULT.match(graph.dump_name or "")
    if not ours or not theirs or unit.model_name in _names(graph):
        return None
    if ours.group(2) == theirs.group(2) or ours.group(3) is None:
        return None
    if (ours.group(1), ours.group(3)) == (theirs.group(1), theirs.group(3)):
        return Evidence("same-id", FOR, "trailing id: %s and %s end in %s, with different times"
                        % (unit.model_name, graph.name, ours.group(3)))
    return None


@rule("other-name")
def other_name(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Two names of one kind that differ in their number: two functions of one process."""
    model = _PART.sub(r"\1", unit.model_name or "")
    name = graph.dump_name or ""
    if full_name(unit, graph, context) or graph_id(unit, graph, context):
        return None
    for pattern, key in ((_FUNCTION, lambda m: (m.group(1), m.group(2))),
                         (_DEFAULT, lambda m: (m.group(1), m.group(3) or m.group(2)))):
        ours, theirs = pattern.match(model), pattern.match(name)
        if ours and theirs:
            if key(ours) == key(theirs):
                return None
            return Evidence("other-name", EXCLUDED, "the names say two functions: %s and %s"
                            % (unit.model_name, graph.name))
    return None


@rule("operators")
def operators(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """How many of the operators that have files are in the graph."""
    body = context.body(graph)
    if body is None or not unit.operators:
        return None
    known = sum(1 for key in unit.operators if key in body.keys)
    share = known / len(unit.operators)
    text = "operators: %d of the %d that have files are in the graph" % (
        known, len(unit.operators))
    return Evidence("operators", FOR if share >= SAME_OPERATORS else AGAINST, text, share,
                    len(unit.operators) - known)


@rule("coverage")
def coverage(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """How many of the graph's operators that leave files have one; the best of
    the whole graph and its sub-graphs, which have model ids of their own."""
    body = context.body(graph)
    if body is None or not unit.operators:
        return None
    mode, layers = dump_options(unit.session, graph)
    owed = body.owed(mode, layers)
    best = (0.0, 0, 0)  # type: Tuple[float, int, int]
    for keys in [owed] + [owed & part for part in body.by_graph.values()]:
        if keys:
            have = len(keys & unit.operators)
            best = max(best, (have / len(keys), have, len(keys)))
    if not best[2]:
        return None
    return Evidence("coverage", FOR if best[0] >= MOST_OPERATORS else SHOWN,
                    "coverage: %d of the graph's %d operators that leave files have one"
                    % best[1:], best[0])


@rule("shapes")
def shapes(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Dtypes and shapes in a sample of the files against the graph's."""
    body = context.body(graph)
    if body is None:
        return None
    equal, other = context.headers.compare(unit, body)
    if not equal and not other:
        return None
    text = "dtypes and shapes: %d of %d sampled files agree with the graph" % (
        equal, equal + other)
    return Evidence("shapes", FOR if equal >= other else AGAINST, text, equal / (equal + other))


@rule("pid")
def pid(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    run, number = unit.session.run, graph.file.pid
    if run is None or run.pid is None or number is None:
        return None
    if run.pid == number:
        return Evidence("pid", FOR, "process: graph folder and run record both say pid %d" % number)
    others = [one.run_id for one in context.runs if one.pid == number]
    text = "process: the graph is of pid %d, the run %s of pid %d" % (number, run.run_id, run.pid)
    return Evidence("pid", EXCLUDED if others else AGAINST, text)


@rule("device")
def device(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    ours, theirs = unit.session.device, graph.file.device
    if ours is None or theirs is None:
        return None
    if ours == theirs:
        return Evidence("device", FOR, "device: graph folder and dump folder both say %d" % ours)
    return Evidence("device", EXCLUDED, "device: the graph is of device %d, the dump of %d"
                    % (theirs, ours))


@rule("age")
def age(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Which launch the graph file was written in, by its time on disk."""
    launch = context.launches.of(graph.file.mtime)
    if launch is None:
        return None
    if launch == unit.session.launch:
        return Evidence("age", FOR, "time: the graph file was written during this launch")
    if launch < unit.session.launch:
        return Evidence("age", EXCLUDED, "time: the graph file is older than the session")
    return Evidence("age", AGAINST, "time: the graph file was written by a later launch")


@rule("journal")
def journal(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The executions that the journal counted against the data_index folders."""
    section = section_of(unit.session, graph)
    if section is None:
        return _others_journal(unit, graph, context)
    expected, found = sorted(section.executions), unit.indices
    if not found:
        return None
    if section.final and section.count is not None and max(found) >= section.count:
        return Evidence("journal", AGAINST, "journal: %d executions of %s, but a folder %d" % (
            section.count, graph.name, max(found)))
    if expected == found:
        return Evidence("journal", FOR, "journal: dumped executions %s are the folders"
                        % _short(expected), 2.0)
    if set(found) <= set(expected) or set(expected) <= set(found):
        return Evidence("journal", SHOWN, "journal: dumped executions %s, folders %s" % (
            _short(expected), _short(found)))
    return Evidence("journal", AGAINST, "journal: dumped executions %s, but folders %s" % (
        _short(expected), _short(found)))


def _others_journal(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    own = unit.session.run
    if own is None or not any(section.graph_name for section in own.sections):
        return None
    for run in context.runs:
        if run is not own and any(graph.is_called(one.graph_name) for one in run.sections):
            return Evidence("journal", EXCLUDED, "journal: %s was counted by the run %s" % (
                graph.name, run.run_id))
    return None


@rule("record-operators")
def record_operators(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The compute operators of the traced function, as the run record keeps them."""
    run = unit.session.run
    body = context.body(graph)
    if run is None or body is None:
        return None
    names = body.names_of_operators()
    for section in run.sections:
        named = graph.is_called(section.graph_name)
        if not section.operators or (section.graph_name and not named):
            continue
        have = sum(1 for name in section.operators if name in names)
        share = have / len(section.operators)
        text = "run record: %d of the training function's %d operators are in the graph" % (
            have, len(section.operators))
        if share >= SAME_OPERATORS:
            return Evidence("record-operators", FOR, text, share)
        if named:
            return Evidence("record-operators", AGAINST, text, share)
    return None


@rule("keyword")
def keyword(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The vendor's two methods: a word, or an operator's name, in the Build file."""
    body = context.body(graph)
    if body is None or not context.keywords:
        return None
    hits = keyword_hits(graph, context.keywords)
    if not hits:
        return None
    return Evidence("keyword", SHOWN, "keyword: " + ", ".join(
        "%s in operator %s" % (word, name) for word, name in hits), float(len(hits)))


def keyword_hits(graph: BuildGraph, keywords: Sequence[str]) -> List[Tuple[str, str]]:
    """(keyword, name of the first operator with it) for each keyword in the graph."""
    hits = []
    for word in keywords:
        for op in (graph.body.keys.values() if graph.body is not None else ()):
            if word in op.name or word in op.type or any(word in one for one in op.originals):
                hits.append((word, op.name))
                break
    return hits


def section_of(session: Session, graph: BuildGraph) -> Optional[Section]:
    """The journal's section that counted this graph, by the function's name."""
    for section in (session.run.sections if session.run is not None else ()):
        if graph.is_called(section.graph_name):
            return section
    return None


def dump_options(session: Session, graph: Optional[BuildGraph]) -> Tuple[str, FrozenSet[str]]:
    """(dump_mode, names of dump_layer) of a session, from its record or the graph's options."""
    if session.run is not None and session.run.options:
        return (str(session.run.options.get("dump_mode") or "output"),
                frozenset(session.run.layers))
    options = graph.body.options if graph is not None and graph.body is not None else {}
    # Without a record the mode is unknown: what has an output leaves a file
    # in two of the three modes.
    return (options.get("ge.exec.dumpMode") or "output",
            frozenset((options.get("ge.exec.dumpLayer") or "").split()))


def _short(numbers: Sequence[int]) -> str:
    texts = [str(one) for one in numbers[:8]]
    return "|".join(texts) + ("|..." if len(numbers) > 8 else "") if texts else "none"
