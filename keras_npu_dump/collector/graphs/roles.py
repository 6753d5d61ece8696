"""What a graph is for: train, eval, predict, iterator, init, or unknown.

Told by what the operators do; by the journal; by the function's name last.
Keras 3 gives training and evaluation the same function name, and a network
fed by hand has no iterator, so neither name nor keyword can decide alone.
"""
from __future__ import annotations

import collections
import dataclasses
import re
from typing import Callable, Dict, List, Sequence, Tuple

from keras_npu_dump.collector.graphs.body import Body
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.op_types import graph_names, graph_parts, training
from keras_npu_dump.records.reading import RecordedRun

Answer = Tuple[str, List[str]]
RoleRule = Callable[[BuildGraph, Sequence[RecordedRun]], Answer]
NOTHING: Answer = ("unknown", [])

# What manifests and the option `role` know.
ROLES = ("train", "eval", "predict", "iterator", "init", "unknown")

# What the operators alone cannot tell apart, no role of a graph: eval or predict.
FORWARD = "forward"

_EAGER: Answer = ("init", ["role init: one operator on variables, run by itself"])
_NUMBERS = re.compile(r"(?:_\d+)+\Z")

_FLOATS = ("DT_FLOAT", "DT_FLOAT16", "DT_BF16", "DT_DOUBLE")


# By name; all take the same arguments, of which some rules need only the graph.
RULES: Dict[str, RoleRule] = collections.OrderedDict()


def rule(name: str) -> Callable[[RoleRule], RoleRule]:
    """Registers a function in RULES."""
    def register(function: RoleRule) -> RoleRule:
        RULES[name] = function
        return function
    return register


def decide_role(graph: BuildGraph, runs: Sequence[RecordedRun]) -> None:
    """Sets `role` and `role_evidence` of a graph: operators, journal, name, in this order.

    Args:
      graph: its body is looked at where it was read.
      runs: whose journals may have counted the graph.
    """
    answers = {name: function(graph, runs) for name, function in RULES.items()}
    by_name = answers.get("name", NOTHING)
    role, evidence = _with_name(answers.get("operators", NOTHING), by_name)
    journal, counted = answers.get("journal", NOTHING)
    if journal == "train":
        # The journal counts what Keras trains with. A step without any
        # gradient is odd, but it is what was run as training.
        if role not in ("train", "unknown"):
            counted = counted + ["although it has no gradient operators"]
        evidence = evidence + counted if role == "train" else counted
        role = "train"
    elif role == "unknown":
        role, evidence = by_name
    graph.role, graph.role_evidence = role, evidence


def _with_name(by_operators: Answer, by_name: Answer) -> Answer:
    """Makes a role of FORWARD: without a gradient and a metric only the name can tell an
    evaluation from a prediction."""
    if by_operators[0] != FORWARD:
        return by_operators
    role, called = by_name
    if role in ("eval", "predict"):
        return role, ["role %s: forward operators only" % role, *called]
    return "predict", ["role predict: forward operators only"]


@rule("name")
def by_name(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    """Keras names its functions after what they do; Keras 3 not always, so this comes last."""
    role = graph_names.role_of(graph.name)
    return (role, ["role %s by the name %s" % (role, graph.name)]) if role != "unknown" else NOTHING


@rule("journal")
def by_journal(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    """The journal counts only training functions: a graph that it names was trained with.

    Of the graph's own process: ranks trace the same functions under the same names, and
    what one of them counted says nothing of another.
    """
    for run in runs:
        if any(graph.is_called(section.graph_name) for section in run.sections) \
                and graph.may_be_of(run, runs):
            return "train", ["role train by the journal of %s: it counted executions of %s" % (
                run.run_id, graph.name)]
    return NOTHING


@rule("operators")
def by_operators(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    """What the operators do; nothing where the body was not read."""
    if graph.body is None:
        return NOTHING
    if _is_eager(graph.name or "", graph.body):
        return _EAGER
    return role_by_operators(graph.body)


def _is_eager(name: str, body: Body) -> bool:
    """Whether it is an operator on a variable that ran eagerly, such as ResourceGather: the
    adapter makes a graph of it that has its name, with a number (npu_resource_op.cpp)."""
    called = _NUMBERS.sub("", name)
    computing = [op for op in body.keys.values() if op.expected]
    return len(computing) == 1 and called in (
        computing[0].type, computing[0].name, *computing[0].originals)


@dataclasses.dataclass
class _Operators:
    """The operators of a graph by what they do: names, or whether there are any.

    `assigns` of variables include `metrics`, those that add up floats; `computing` is
    whatever else leaves files and does not fill a variable; `filling` does.
    """

    gradients: List[str] = dataclasses.field(default_factory=list)
    optimizers: List[str] = dataclasses.field(default_factory=list)
    assigns: List[str] = dataclasses.field(default_factory=list)
    metrics: List[str] = dataclasses.field(default_factory=list)
    computing: bool = False
    filling: bool = False
    iterator: bool = False
    feeds: bool = False


def _sort_operators(body: Body) -> _Operators:
    found = _Operators()
    for op in body.keys.values():
        if graph_parts.is_iterator(op.type):
            found.iterator = True
        elif op.type in graph_parts.FEED_TYPES or op.type == "RefData":
            found.feeds = True
        if training.is_optimizer(op.type):
            found.optimizers.append(op.name)
        elif training.is_gradient(op.type, (op.name, *op.originals)):
            found.gradients.append(op.name)
        elif training.is_assign(op.type):
            found.assigns.append(op.name)
            # Every Keras function counts its calls; only metrics add up floats.
            if any(dtype in _FLOATS for dtype, _ in op.inputs + op.outputs):
                found.metrics.append(op.name)
        elif op.expected and training.is_fill(op.type):
            found.filling = True
        elif op.expected:
            found.computing = True
    return found


def role_by_operators(body: Body) -> Answer:
    """The role that the operators of a graph show, with the evidence.

    Args:
      body: of the graph, read whole.

    Returns:
      (role, texts): a role of ROLES; FORWARD for what may be a prediction or an
      evaluation without metrics; "unknown" where neither an iterator nor fed inputs
      show that Keras made the graph.
    """
    found = _sort_operators(body)
    if len(found.optimizers) == 1 and not (
            found.gradients or found.assigns or found.computing or found.filling):
        return _EAGER
    if found.gradients or found.optimizers:
        return "train", ["role train by " + " and ".join(
            "%d %s operators such as %s" % (len(names), kind, names[0])
            for kind, names in (("gradient", found.gradients), ("optimizer", found.optimizers))
            if names)]
    if not found.computing:
        if found.iterator and not found.assigns:
            return "iterator", ["role iterator: it only makes an iterator"]
        if not found.iterator and (found.assigns or not found.feeds):
            return "init", ["role init: it only fills or assigns variables"]
    if not (found.iterator or found.feeds):
        return NOTHING
    if found.metrics:
        return "eval", ["role eval: forward operators and %d metric updates, no gradient"
                        % len(found.metrics)]
    return FORWARD, []
