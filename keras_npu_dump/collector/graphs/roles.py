"""What a graph is for: train, eval, predict, iterator, init, or unknown.

Told by what the operators do; by the journal; by the function's name last.
Keras 3 gives training and evaluation the same function name, and a network
fed by hand has no iterator, so neither name nor keyword can decide alone.
"""
from __future__ import annotations

import collections
from typing import Callable, Dict, List, Sequence, Tuple

from keras_npu_dump.collector.graphs.body import Body
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.op_types import graph_names, graph_parts, training
from keras_npu_dump.records.reading import RecordedRun

Answer = Tuple[str, List[str]]
RoleRule = Callable[[BuildGraph, Sequence[RecordedRun]], Answer]
NOTHING: Answer = ("unknown", [])

ROLES = ("train", "eval", "predict", "iterator", "init", "unknown")

_FLOATS = ("DT_FLOAT", "DT_FLOAT16", "DT_BF16", "DT_DOUBLE")


RULES: Dict[str, RoleRule] = collections.OrderedDict()


def rule(name: str) -> Callable[[RoleRule], RoleRule]:
    def register(function: RoleRule) -> RoleRule:
        RULES[name] = function
        return function
    return register


def decide_role(graph: BuildGraph, runs: Sequence[RecordedRun]) -> None:
    """Sets `role` and `role_evidence` of a graph: operators, journal, name, in this order."""
    answers = {name: function(graph, runs) for name, function in RULES.items()}
    role, evidence = answers.get("operators", NOTHING)
    journal, said = answers.get("journal", NOTHING)
    named, called = answers.get("name", NOTHING)
    if role == "forward":
        # No gradient and no metric: a prediction, or an evaluation without
        # metrics; only the name can tell these two apart.
        role = named if named in ("eval", "predict") else "predict"
        evidence = ["role %s: forward operators only" % role] + (called if named == role else [])
    if journal == "train":
        # The journal counts what Keras trains with. A step without any
        # gradient is odd, but it is what was run as training.
        if role not in ("train", "unknown"):
            said = said + ["although it has no gradient operators"]
        evidence = evidence + said if role == "train" else said
        role = "train"
    elif role == "unknown":
        role, evidence = named, called
    graph.role, graph.role_evidence = role, evidence


@rule("name")
def by_name(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    role = graph_names.role_of(graph.name)
    return (role, ["role %s by the name %s" % (role, graph.name)]) if role != "unknown" else NOTHING


@rule("journal")
def by_journal(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    for run in runs:
        if any(graph.is_called(section.graph_name) for section in run.sections):
            return "train", ["role train by the journal of %s: it counted executions of %s" % (
                run.run_id, graph.name)]
    return NOTHING


@rule("operators")
def by_operators(graph: BuildGraph, runs: Sequence[RecordedRun]) -> Answer:
    return NOTHING if graph.body is None else role_by_operators(graph.body)


def role_by_operators(body: Body) -> Answer:
    """The role that the operators show: one of ROLES, or "forward" for what may be
    a prediction or an evaluation."""
    gradients, optimizers, assigns, metrics, work = [], [], [], [], []
    iterator = feeds = False
    for op in body.keys.values():
        if graph_parts.is_iterator(op.type):
            iterator = True
        elif op.type in graph_parts.FEED_TYPES or op.type == "RefData":
            feeds = True
        if training.is_optimizer(op.type):
            optimizers.append(op.name)
        elif training.is_gradient(op.type, (op.name, *op.originals)):
            gradients.append(op.name)
        elif training.is_assign(op.type):
            assigns.append(op.name)
            # Every Keras function counts its calls; only metrics add up floats.
            if any(dtype in _FLOATS for dtype, _ in op.inputs + op.outputs):
                metrics.append(op.name)
        elif op.expected:
            work.append(op)
    if len(optimizers) == 1 and not (gradients or assigns or work):
        # An eager update: the adapter makes a graph of each operator (npu_resource_op.cpp).
        return "init", ["role init: one operator on variables, run by itself"]
    if gradients or optimizers:
        shown = []
        if gradients:
            shown.append("%d gradient operators such as %s" % (len(gradients), gradients[0]))
        if optimizers:
            shown.append("%d optimizer operators such as %s" % (len(optimizers), optimizers[0]))
        return "train", ["role train by " + " and ".join(shown)]
    computing = [op for op in work if not training.is_fill(op.type)]
    if iterator and not computing and not assigns:
        return "iterator", ["role iterator: it only makes an iterator"]
    if not iterator and not computing and (assigns or not feeds):
        return "init", ["role init: it only fills or assigns variables"]
    if iterator or feeds:
        if metrics:
            return "eval", ["role eval: forward operators and %d metric updates, no gradient"
                            % len(metrics)]
        return "forward", []
    return "unknown", []
