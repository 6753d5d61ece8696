"""Weighs the evidence: which Build graph was executed for which dump folders.

A unit is the folders of one model id. Its candidates are the graphs that no
rule excludes; content decides over names, names over circumstance. What stays
undecided, or contradicts itself, is a `guess` and says so.
"""
from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.candidate import Candidate
from keras_npu_dump.collector.pairing.match import Match, Paired
from keras_npu_dump.collector.pairing.name_index import NameIndex
from keras_npu_dump.collector.pairing.shared_graphs import share_out, tell_shared
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules import all_rules
from keras_npu_dump.collector.rules.evidence import AGAINST, EXCLUDED, Context, Unit, weigh
from keras_npu_dump.collector.scan.folders import DumpFolder

# Rules that need no look into any file; they thin out the candidates.
CHEAP = ("full-name", "graph-id", "same-id", "other-name", "pid", "device", "place",
         "age", "journal")


def make_pairs(matches: Sequence[Match]) -> List[Paired]:
    """A pair for each graph and session, in the order of the matches.

    Args:
      matches: of all units; those without a graph are passed over.
    """
    pairs: Dict[Tuple[int, int], Paired] = {}
    for match in matches:
        if match.graph is not None:
            session = match.unit.session
            pairs.setdefault((id(session), id(match.graph)),
                             Paired(session, match.graph, [])).matches.append(match)
    return list(pairs.values())


def make_units(sessions: Sequence[Session]) -> List[Unit]:
    """The folders of each model id; a session's files without model folders are one unit."""
    units: List[Unit] = []
    for session in sessions:
        models: Dict[Tuple[Optional[str], Optional[int]], List[DumpFolder]] = {}
        for folder in session.folders:
            models.setdefault((folder.model_name, folder.model_id), []).append(folder)
        units += [Unit(session, name, model_id, folders)
                  for (name, model_id), folders in models.items()]
    return units


def match_units(units: Sequence[Unit], graphs: Sequence[BuildGraph],
                context: Context) -> List[Match]:
    """A match for each unit, in the order of the units.

    Args:
      units: dump folders by model id, of all sessions.
      graphs: all Build graphs that may be theirs.
      context: what the rules need besides; it reads the bodies of graphs as they are needed.
    """
    index = NameIndex(graphs)
    matches = [_match(unit, graphs, index, context) for unit in units]
    share_out(matches)
    tell_shared(matches)
    return matches


class _Weighed(NamedTuple):
    """Graphs that were weighed for one unit.

    `candidates` are all of them; `looked` those that may be the graph and whose content
    was looked at; `named` those of them whose name fits.
    """

    candidates: List[Candidate]
    looked: List[Candidate]
    named: List[Candidate]


def _match(unit: Unit, graphs: Sequence[BuildGraph], index: NameIndex,
           context: Context) -> Match:
    weighed = _weigh_named(unit, index, context)
    if all(one.contradicted for one in weighed.named):
        # No name fits, or the content of those that do says no.
        weighed = _weigh_others(unit, graphs, index, context, weighed)
    if not weighed.looked:
        return Match(unit, None, "guess", [], why=_why(unit, graphs, weighed.candidates))
    return _decide(unit, weighed, context)


def _weigh_named(unit: Unit, index: NameIndex, context: Context) -> _Weighed:
    """Graphs whose name fits come first, and mostly that is all."""
    candidates = [Candidate(unit, graph, weigh(unit, graph, context, CHEAP))
                  for graph in index.named(unit.model_name)]
    looked = [one for one in candidates if one.name_level and not one.excluded]
    _look_inside(unit, looked, index, context)
    # The id alone is no name: what the content denies is another graph.
    named = [one for one in looked if one.name_level > 1 or not one.contradicted]
    return _Weighed(candidates, looked, named)


def _weigh_others(unit: Unit, graphs: Sequence[BuildGraph], index: NameIndex, context: Context,
                  weighed: _Weighed) -> _Weighed:
    """Adds all other graphs: by the name of a sub-graph, or by content alone."""
    known = {id(one.graph) for one in weighed.candidates}
    candidates = weighed.candidates + [
        Candidate(unit, graph, weigh(unit, graph, context, CHEAP))
        for graph in graphs if id(graph) not in known]
    others = [one for one in candidates if not one.name_level and not one.excluded]
    _look_inside(unit, others, index, context)
    # Only the bodies show the names of sub-graphs.
    named = weighed.named + [one for one in others if one.name_level]
    looked = named + [one for one in others if not one.name_level and one.content_fits]
    return _Weighed(candidates, looked, named)


def _decide(unit: Unit, weighed: _Weighed, context: Context) -> Match:
    """The best of the graphs that were looked at, and how sure that is."""
    looked = sorted(weighed.looked, key=lambda one: one.key)
    best = looked[-1]
    rivals = [one for one in looked[:-1] if not best.beats(one)]
    by_hand = [one for one in rivals if context.keywords_given
               and one.value("keyword") < best.value("keyword")]
    rivals = [one for one in rivals if one not in by_hand]
    confidence, remarks = _confidence(best, rivals, weighed.named, by_hand)
    # The keyword's text comes last: it is what the vendor's procedure shows.
    shown = sorted(best.found, key=lambda name: name == "keyword")
    return Match(unit, best.graph, confidence, [best.found[name].text for name in shown] + remarks,
                 [one.graph for one in rivals], tied=[best.graph] + [
                     one.graph for one in rivals if one.key == best.key],
                 level=best.name_level)


def _look_inside(unit: Unit, candidates: Sequence[Candidate], index: NameIndex,
                 context: Context) -> None:
    """Adds what the bodies of the graphs and the heads of the dump files tell."""
    names = [name for name in all_rules.RULES if name not in CHEAP]
    for candidate in candidates:
        candidate.found.update(weigh(unit, candidate.graph, context, names))
        # A sub-graph's name is known only now.
        candidate.found.update(weigh(unit, candidate.graph, context, ("full-name",)))
    index.note_bodies([one.graph for one in candidates])


def _confidence(best: Candidate, rivals: Sequence[Candidate],
                named: Sequence[Candidate],
                by_hand: Sequence[Candidate]) -> Tuple[str, List[str]]:
    """(confidence, remarks to show with the evidence).

    Args:
      best: the graph that was chosen.
      rivals: those that the evidence does not rule out.
      named: those whose name fits.
      by_hand: rivals that only the user's keyword decided against.
    """
    remarks = []
    if by_hand:
        remarks.append("chosen by the keyword that was given, over %s" % ", ".join(
            os.path.basename(one.graph.file.path) for one in by_hand[:3]))
    against = [one.text for one in best.found.values() if one.verdict == AGAINST]
    if rivals:
        remarks.append("cannot be told from %s" % ", ".join(
            os.path.basename(one.graph.file.path) for one in rivals[:3]))
    if best.name_level == 0 and named:
        remarks.append("content against name: the folder is named like %s" % named[0].graph.name)
    if rivals or against or remarks:
        return "guess", ["contradicted: " + text for text in against] + remarks
    if best.name_level == 3:
        return "exact", remarks
    return ("id" if best.name_level else "content"), remarks


def _why(unit: Unit, graphs: Sequence[BuildGraph], candidates: Sequence[Candidate]) -> str:
    """Why no graph belongs to the unit, for the message of the problem."""
    if not graphs:
        return "no Build graph file was found"
    for candidate in candidates:
        if candidate.name_level and candidate.excluded:
            reasons = [one.text for one in candidate.found.values() if one.verdict == EXCLUDED]
            return "%s has the name, but %s" % (
                os.path.basename(candidate.graph.file.path), "; ".join(reasons))
    for candidate in candidates:
        if candidate.graph.error is not None and candidate.graph.name is None \
                and not candidate.excluded:
            return "the graph file %s cannot be read" % candidate.graph.file.path
    if not unit.operators:
        return "no graph has the name %s, and no file here names an operator" % unit.model_name
    return "none of the %d Build graphs has the name %s, and none has these operators" % (
        len(graphs), unit.model_name)
