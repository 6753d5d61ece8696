"""Ties data_index folders to Keras iterations through the journal's sections."""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence

from keras_npu_dump.collect.evidence import SAME_OPERATORS
from keras_npu_dump.collect.pairing import Match
from keras_npu_dump.collect.problems import Problems
from keras_npu_dump.collect.records import Run, Section


class Trained:
    """A training graph of one session: its matches, and its section or None."""

    def __init__(self, matches: List[Match]):
        self.matches = matches
        self.section = None  # type: Optional[Section]

    @property
    def graph(self):
        return self.matches[0].graph

    @property
    def session(self):
        return self.matches[0].unit.session

    @property
    def indices(self) -> List[int]:
        return sorted({index for one in self.matches for index in one.unit.indices})

    def reloaded(self) -> List[int]:
        """Model ids after the first of the same model name: the graph was built again
        and its counter began anew (adapter npu_concrete_graph.cpp, IsGraphNeedRebuild)."""
        first = {}  # type: Dict[Optional[str], Optional[int]]
        later = []
        for match in sorted(self.matches, key=lambda one: one.unit.model_id or 0):
            name = match.unit.model_name
            if name in first and match.unit.model_id is not None:
                later.append(match.unit.model_id)
            first.setdefault(name, match.unit.model_id)
        return later


def assign_sections(trained: Sequence[Trained], run: Optional[Run]) -> None:
    """Gives each training graph of one session its section of the journal.

    By the function's name; by its operators; what is left in order, since
    sections, graph files and model ids are all numbered as functions appear.
    """
    if run is None:
        return
    free = list(run.sections)
    for test in (_same_name, _same_operators):
        for one in trained:
            if one.section is None:
                fits = [section for section in free if test(section, one)]
                if len(fits) > 1:
                    exact = [section for section in fits
                             if sorted(section.executions) == one.indices]
                    fits = exact or fits
                if fits:
                    one.section = fits[0]
                    free.remove(fits[0])
    # A section that names another graph is not up for grabs.
    free = [section for section in free if section.graph_name is None]
    rest = sorted((one for one in trained if one.section is None), key=training_order)
    reached = [section for section in free if section.executions] or free
    if len(rest) == len(reached):
        free = reached
    for one, section in zip(rest, free):
        one.section = section


def training_order(one: Trained):
    """Sections in the order of execution: by section, else as GE numbered the graphs."""
    ids = [match.unit.model_id for match in one.matches if match.unit.model_id is not None]
    return (one.section.number if one.section is not None else 1 << 30,
            min(ids) if ids else 1 << 30, one.graph.file.name.index)


def _same_name(section: Section, one: Trained) -> bool:
    return section.graph_name is not None and section.graph_name == one.graph.name


def _same_operators(section: Section, one: Trained) -> bool:
    if section.graph_name is not None or not section.operators or one.graph.body is None:
        return False
    names = one.graph.body.names_of_operators()
    have = sum(1 for name in section.operators if name in names)
    return have >= SAME_OPERATORS * len(section.operators)


def iteration_of(one: Trained, model_id: Optional[int],
                 data_index: Optional[int]) -> Optional[Dict[str, int]]:
    if one.section is None or data_index is None or model_id in one.reloaded():
        return None
    execution = one.section.executions.get(data_index)
    return None if execution is None or execution.iteration is None else dict(execution.iteration)


def tell_uncertain(trained: Sequence[Trained], problems: Problems) -> None:
    """Says which iterations cannot be known for sure, and why."""
    for one in trained:
        later = one.reloaded()
        if later:
            problems.add(
                "index-uncertain", "%s was built again: the folders of model id %s count "
                "from 0 anew, the journal cannot tell which batches they are" % (
                    one.graph.name, ", ".join(str(number) for number in later)),
                path=one.matches[0].unit.folders[0].path)
        if one.section is None:
            continue
        reasons = {}  # type: Dict[str, List[int]]
        for index in one.indices:
            execution = one.section.executions.get(index)
            if execution is not None and execution.uncertain:
                reasons.setdefault(str(execution.uncertain), []).append(index)
        for reason, indices in reasons.items():
            problems.add(
                "index-uncertain", "epoch and batch of data_index %s of %s may be off: %s" % (
                    ", ".join(str(index) for index in indices[:8]), one.graph.name, reason),
                path=one.matches[0].unit.folders[0].path)
