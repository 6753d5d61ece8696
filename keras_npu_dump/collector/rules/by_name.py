"""Rules about names: of the graph, of the folder, and the numbers in both."""
from __future__ import annotations

import re
from typing import List, Optional, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.rules.evidence import EXCLUDED, FOR, Context, Evidence, Unit, rule
from keras_npu_dump.formats.names import sanitise

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+?)_(\d+)(?:_(\d+))?$")
_DEFAULT = re.compile(r"(.*?)(\d{14})(?:_(\d+))?((?:_sub_\d+_[A-Za-z].*)?)$")
_PART = re.compile(r"(.+?)_sub_\d+_(?:know|unknow|input)\w*$")


def whole_name(model_name: str) -> str:
    """The name without the `_sub_<n>_know` that parts of a dynamic graph have."""
    return _PART.sub(r"\1", model_name)


def names_of(graph: BuildGraph) -> List[str]:
    """The graph's name and, once its body was read, those of its sub-graphs, sanitised."""
    if graph.body is not None:
        return [sanitise(name) for name in graph.body.names]
    return [graph.dump_name] if graph.dump_name else []


def numbered(name: str) -> Optional[str]:
    """The name without a number that some version may have appended; None without one."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else None


def dated(name: str) -> Optional[Tuple[str, str]]:
    """What two names that TF1's adapter took at different moments have in common."""
    match = _DEFAULT.match(name)
    return None if match is None or match.group(3) is None else (match.group(1), match.group(3))


@rule("full-name")
def full_name(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The folder has the name of the graph, or of one of its sub-graphs: the strongest
    evidence, since the device takes the folder's name from the loaded graph."""
    if unit.model_name is None:
        return None
    if unit.model_name == graph.dump_name:
        return Evidence("full-name", FOR, "full name: the graph is called %s" % graph.name)
    if unit.model_name in names_of(graph):
        return Evidence("full-name", FOR, "full name: the graph has a sub-graph %s"
                        % unit.model_name)
    return None


@rule("graph-id")
def graph_id(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The name with or without the graph id that some versions append, also in
    the parts of a dynamic graph (GE graph_manager.cc, dynamic_shape_partition.cc).

    Nearly as strong as the full name: another graph of the process has another id.
    """
    model, name = unit.model_name, graph.dump_name
    if not model or not name or model in names_of(graph):
        return None
    part = _PART.match(model)
    base = part.group(1) if part else model
    where = "a part of the graph %s" % graph.name if part else "the graph's name"
    if base == name:
        return Evidence("graph-id", FOR, "name: %s is %s" % (model, where), 2.0)
    for longer, shorter, text in ((base, name, "with"), (name, base, "without")):
        tail = longer.rpartition("_")[2]
        if numbered(longer) == shorter and graph.graph_id in (None, int(tail)):
            return Evidence("graph-id", FOR, "name: %s is %s %s the graph id %s" % (
                model, where, text, tail), 2.0)
    return None


@rule("same-id")
def same_id(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The same trailing id with another time: TF1's adapter takes the two at different
    moments. Weak, since ids begin anew in each process: the content may deny it."""
    ours, theirs = _DEFAULT.match(unit.model_name or ""), _DEFAULT.match(graph.dump_name or "")
    if not ours or not theirs or unit.model_name in names_of(graph):
        return None
    if ours.group(2) == theirs.group(2) or ours.group(3) is None:
        return None
    if (ours.group(1), ours.group(3)) == (theirs.group(1), theirs.group(3)):
        return Evidence("same-id", FOR, "trailing id: %s and %s end in %s, with different times"
                        % (unit.model_name, graph.name, ours.group(3)))
    return None


@rule("other-name")
def other_name(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Two names of one kind that differ in their number are two functions of one process,
    and their graphs may hold the same operators: this excludes the graph."""
    model = whole_name(unit.model_name or "")
    name = graph.dump_name or ""
    if full_name(unit, graph, context) or graph_id(unit, graph, context):
        return None
    for function_of in (_traced_function, _default_function):
        ours, theirs = function_of(model), function_of(name)
        if ours and theirs:
            if ours == theirs:
                return None
            return Evidence("other-name", EXCLUDED, "the names say two functions: %s and %s"
                            % (unit.model_name, graph.name))
    return None


def _traced_function(name: str) -> Optional[Tuple[str, str]]:
    """Name and number of a function as TensorFlow 2 traces it."""
    match = _FUNCTION.match(name)
    return None if match is None else (match.group(1), match.group(2))


def _default_function(name: str) -> Optional[Tuple[str, str]]:
    """Name and id of a graph as TF1's adapter names it; without an id the time stands for it."""
    match = _DEFAULT.match(name)
    return None if match is None else (match.group(1), match.group(3) or match.group(2))
