"""A graph that may be the one of a unit, and how strong the evidence for it is."""
from __future__ import annotations

import dataclasses
from typing import Dict, Optional, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.rules.content import MOST_OPERATORS, SAME_SHAPES
from keras_npu_dump.collector.rules.evidence import AGAINST, EXCLUDED, FOR, Evidence, Unit


@dataclasses.dataclass
class Candidate:
    """A graph that may be the unit's, with all evidence that was found so far.

    Attributes:
      found: answers of the rules, by the rule's name.
    """

    unit: Unit
    graph: BuildGraph
    found: Dict[str, Evidence]

    def verdict(self, rule: str) -> Optional[str]:
        """A rule's verdict: "for", "against", "excluded", "shown"; None without an answer."""
        one = self.found.get(rule)
        return None if one is None else one.verdict

    def value(self, rule: str) -> float:
        """The grade of a rule's answer among its own; 0.0 without an answer."""
        one = self.found.get(rule)
        return 0.0 if one is None else one.value

    @property
    def excluded(self) -> bool:
        """By some rule the graph cannot be the unit's, whatever else fits."""
        return any(one.verdict == EXCLUDED for one in self.found.values())

    @property
    def name_level(self) -> int:
        """3 full name, 2 with or without the graph id, 1 the id alone, 0 none."""
        if self.verdict("full-name") == FOR:
            return 3
        return 2 if "graph-id" in self.found else 1 if "same-id" in self.found else 0

    @property
    def contradicted(self) -> bool:
        """By its operators, dtypes or shapes this is another graph."""
        return AGAINST in (self.verdict("operators"), self.verdict("shapes"))

    @property
    def content_fits(self) -> bool:
        """Nearly all operators, both ways: enough to pair without any name."""
        return (self.verdict("operators") == FOR
                and self.value("coverage") >= MOST_OPERATORS
                and ("shapes" not in self.found or self.value("shapes") >= SAME_SHAPES)
                and self.found["operators"].strange <= 1 + self.unit.allowance)

    @property
    def strong(self) -> Tuple[float, ...]:
        """Sort key of what can decide by itself, best last."""
        return (
            not self.contradicted,
            self.name_level,
            round(self.value("operators"), 3),
            self._sign("pid"), self._sign("device"), self._sign("place"), self._sign("age"),
            round(self.value("shapes"), 3),
        )

    @property
    def key(self) -> Tuple[float, ...]:
        """Sort key, best last; two candidates of one key cannot be told apart."""
        return self.strong + (
            self._sign("record-operators"), self._sign("journal"),
            round(self.value("coverage"), 2), self.value("keyword"))

    def beats(self, other: "Candidate") -> bool:
        """Whether the evidence decides between two candidates, and does not just prefer one.

        Where the journal or the record knows only one of the two graphs, it merely prefers
        that; it decides where it knows both.
        """
        if self.strong > other.strong:
            return True
        return any(rule in other.found and self._sign(rule) > max(other._sign(rule), 0)
                   for rule in ("record-operators", "journal"))

    def _sign(self, rule: str) -> float:
        verdict = self.verdict(rule)
        return self.value(rule) if verdict == FOR else -1.0 if verdict == AGAINST else 0.0
