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
    the parts of a dynamic graph (GE graph_manager.cc, dynamic_shape_partition.cc)."""
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
    """The same trailing id with another time: the two are taken at different moments."""
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
    """Two names of one kind that differ in their number: two functions of one process."""
    model = whole_name(unit.model_name or "")
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
