"""Rules about content: operators, shapes, and words in the graph."""
from __future__ import annotations

from typing import FrozenSet, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import (
    AGAINST,
    FOR,
    SHOWN,
    Context,
    Evidence,
    Unit,
    rule,
)

# Below this share of known operators the files are another graph's.
SAME_OPERATORS = 0.8
# A pair by content alone also wants most of the graph's operators to have files,
# and dtypes and shapes that agree.
MOST_OPERATORS = 0.8
SAME_SHAPES = 0.9


@rule("operators")
def operators(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """How many of the operators that have files are in the graph: below SAME_OPERATORS the
    files are another graph's, and then not even the name makes a sure pair."""
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
    """How many of the graph's operators that should leave files have any: a large graph
    holds the operators of many small graphs. Sub-graphs have model ids of their own, so
    that the best share counts, of the whole graph or a sub-graph. A low share is only shown:
    files may be missing."""
    body = context.body(graph)
    if body is None or not unit.operators:
        return None
    mode, layers = dump_options(unit.session, graph)
    owed = body.owed(mode, layers)
    # Digits without a line in mapping.csv are files of some operator, too.
    nameless = max(len(folder.unmapped) for folder in unit.folders)
    best: Tuple[float, int, int] = (0.0, 0, 0)
    for keys in [owed] + [owed & part for part in body.by_graph.values()]:
        if keys:
            have = min(len(keys & unit.operators) + nameless, len(keys))
            best = max(best, (have / len(keys), have, len(keys)))
    if not best[2]:
        return None
    return Evidence("coverage", FOR if best[0] >= MOST_OPERATORS else SHOWN,
                    "coverage: %d of the graph's %d operators that leave files have one"
                    % best[1:], best[0])


@rule("shapes")
def shapes(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Dtypes and shapes in a sample of the files against the graph's: they tell graphs with
    the same operators apart, as those of two batch sizes."""
    body = context.body(graph)
    if body is None:
        return None
    equal, other = context.headers.compare(unit.folders, body)
    if not equal and not other:
        return None
    text = "dtypes and shapes: %d of %d sampled files agree with the graph" % (
        equal, equal + other)
    return Evidence("shapes", FOR if equal >= other else AGAINST, text, equal / (equal + other))


@rule("record-operators")
def record_operators(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The compute operators of the traced function, as the run record keeps them: they show
    which graph was trained, whatever GE has called it."""
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
    """The vendor's two methods: a word, or an operator's name, in the Build file. Shown; it
    decides only where the user gave the word and nothing else tells graphs apart."""
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


def dump_options(session: Session, graph: Optional[BuildGraph]) -> Tuple[str, FrozenSet[str]]:
    """(dump_mode, names of dump_layer) of a session, from its record or the graph's options.

    Args:
      session: its run record comes first.
      graph: asked where there is no record; its body may not have been read.
    """
    if session.run is not None and session.run.options:
        return (str(session.run.options.get("dump_mode") or "output"),
                frozenset(session.run.layers))
    options = graph.body.options if graph is not None and graph.body is not None else {}
    # Without a record the mode is unknown: what has an output leaves a file
    # in two of the three modes.
    return (options.get("ge.exec.dumpMode") or "output",
            frozenset((options.get("ge.exec.dumpLayer") or "").split()))
