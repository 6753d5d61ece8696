"""Weighs the evidence: which Build graph was executed for which dump folders.

A unit is the folders of one model id. Its candidates are the graphs that no
rule excludes; content decides over names, names over circumstance. What stays
undecided, or contradicts itself, is a `guess` and says so.
"""
from __future__ import annotations

import dataclasses
import os
from typing import Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Match, Paired
from keras_npu_dump.collector.pairing.name_index import NameIndex
from keras_npu_dump.collector.pairing.shared_graphs import share_out, tell_shared
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules import all_rules
from keras_npu_dump.collector.rules.content import MOST_OPERATORS, SAME_SHAPES
from keras_npu_dump.collector.rules.evidence import (
    AGAINST,
    EXCLUDED,
    FOR,
    Context,
    Evidence,
    Unit,
    weigh,
)
from keras_npu_dump.collector.scan.folders import DumpFolder

# Rules that need no look into any file; they thin out the candidates.
CHEAP = ("full-name", "graph-id", "same-id", "other-name", "pid", "device", "place",
         "age", "journal")


@dataclasses.dataclass
class Candidate:
    unit: Unit
    graph: BuildGraph
    found: Dict[str, Evidence]

    def verdict(self, rule: str) -> Optional[str]:
        one = self.found.get(rule)
        return None if one is None else one.verdict

    def value(self, rule: str) -> float:
        one = self.found.get(rule)
        return 0.0 if one is None else one.value

    @property
    def excluded(self) -> bool:
        return any(one.verdict == EXCLUDED for one in self.found.values())

    @property
    def name_level(self) -> int:
        """3 full name, 2 with or without the graph id, 1 the id alone, 0 none."""
        if self.verdict("full-name") == FOR:
            return 3
        return 2 if "graph-id" in self.found else 1 if "same-id" in self.found else 0

    @property
    def contradicted(self) -> bool:
        """The content says that this is another graph."""
        return AGAINST in (self.verdict("operators"), self.verdict("shapes"))

    @property
    def content_fits(self) -> bool:
        """Nearly all operators, both ways: enough to pair without any name."""
        return (not self.contradicted and self.verdict("operators") == FOR
                and self.value("coverage") >= MOST_OPERATORS
                and ("shapes" not in self.found or self.value("shapes") >= SAME_SHAPES)
                and self.found["operators"].strange <= 1 + self.unit.allowance)

    @property
    def strong(self) -> Tuple:
        """Sort key of what can decide by itself, best last."""
        return (
            not self.contradicted,
            self.name_level,
            round(self.value("operators"), 3),
            self._sign("pid"), self._sign("device"), self._sign("place"), self._sign("age"),
            round(self.value("shapes"), 3),
        )

    @property
    def key(self) -> Tuple:
        """Sort key, best last; two candidates of one key cannot be told apart."""
        return self.strong + (
            self._sign("record-operators"), self._sign("journal"),
            round(self.value("coverage"), 2), self.value("keyword"))

    def beats(self, other: "Candidate") -> bool:
        """The evidence decides between two candidates, not just prefers one.

        What the journal or the record says of one graph only prefers it; it
        decides where they know the other one as well.
        """
        if self.strong > other.strong:
            return True
        return any(rule in other.found and self._sign(rule) > max(other._sign(rule), 0)
                   for rule in ("record-operators", "journal"))

    def _sign(self, rule: str) -> float:
        verdict = self.verdict(rule)
        return self.value(rule) if verdict == FOR else -1.0 if verdict == AGAINST else 0.0


def make_pairs(matches: Sequence[Match]) -> List[Paired]:
    """One for each graph and session, in the order of the matches."""
    pairs: Dict[Tuple[int, int], Paired] = {}
    for match in matches:
        if match.graph is not None:
            session = match.unit.session
            pairs.setdefault((id(session), id(match.graph)),
                             Paired(session, match.graph, [])).matches.append(match)
    return list(pairs.values())


def make_units(sessions: Sequence[Session]) -> List[Unit]:
    """The folders of each model id; a session's files without model folders are one unit."""
    units: Dict[Tuple, Tuple[Session, List[DumpFolder]]] = {}
    for session in sessions:
        for folder in session.folders:
            key = (id(session), folder.model_name, folder.model_id)
            units.setdefault(key, (session, []))[1].append(folder)
    return [Unit(session, key[1], key[2], folders) for key, (session, folders) in units.items()]


def match_units(units: Sequence[Unit], graphs: Sequence[BuildGraph],
                context: Context) -> List[Match]:
    """One match for each unit, in the order of the units."""
    index = NameIndex(graphs)
    matches = [_match(unit, graphs, index, context) for unit in units]
    share_out(matches)
    tell_shared(matches)
    return matches


def _match(unit: Unit, graphs: Sequence[BuildGraph], index: NameIndex,
           context: Context) -> Match:
    # Graphs whose name fits come first, and mostly that is all: others are weighed only if
    # there are none, or if the content of those that there are says no.
    asked = index.named(unit.model_name)
    candidates = [Candidate(unit, graph, weigh(unit, graph, context, CHEAP)) for graph in asked]
    looked = named = [one for one in candidates if one.name_level and not one.excluded]
    _look_inside(unit, named, index, context)
    # The id alone is no name: what the content denies is another graph.
    named = [one for one in named if one.name_level > 1 or not one.contradicted]
    if not named or all(one.contradicted for one in named):
        known = {id(graph) for graph in asked}
        candidates += [Candidate(unit, graph, weigh(unit, graph, context, CHEAP))
                       for graph in graphs if id(graph) not in known]
        others = [one for one in candidates if not one.name_level and not one.excluded]
        _look_inside(unit, others, index, context)
        # Only the bodies show the names of sub-graphs.
        named += [one for one in others if one.name_level]
        looked = named + [one for one in others if not one.name_level and one.content_fits]
    if not looked:
        return Match(unit, None, "guess", [], why=_why(unit, graphs, candidates))
    looked.sort(key=lambda one: one.key)
    best = looked[-1]
    rivals = [one for one in looked[:-1] if not best.beats(one)]
    by_hand = [one for one in rivals if context.keywords_given
               and one.value("keyword") < best.value("keyword")]
    rivals = [one for one in rivals if one not in by_hand]
    confidence, remarks = _confidence(best, rivals, named, by_hand)
    evidence = [one.text for name, one in best.found.items() if name != "keyword"]
    if "keyword" in best.found:
        evidence.append(best.found["keyword"].text)
    return Match(unit, best.graph, confidence, evidence + remarks,
                 [one.graph for one in rivals], tied=[best.graph] + [
                     one.graph for one in rivals if one.key == best.key],
                 level=best.name_level)


def _look_inside(unit: Unit, candidates: Sequence[Candidate], index: NameIndex,
                 context: Context) -> None:
    names = [name for name in all_rules.RULES if name not in CHEAP]
    for candidate in candidates:
        candidate.found.update(weigh(unit, candidate.graph, context, names))
        # A sub-graph's name is known only now.
        candidate.found.update(weigh(unit, candidate.graph, context, ("full-name",)))
    index.note_bodies([one.graph for one in candidates])


def _confidence(best: Candidate, rivals: Sequence[Candidate],
                named: Sequence[Candidate],
                by_hand: Sequence[Candidate]) -> Tuple[str, List[str]]:
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
