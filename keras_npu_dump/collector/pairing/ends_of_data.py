"""Does the device count executions in which the data ended? Its folders tell.

A dataset of unknown size ends in an execution that is aborted. Some versions of GE count it, in
static graphs (2026), in dynamic ones (2022, and the first runtime of 2026) or in all, so that
everything after it has a data_index that is one higher; each graph is judged for itself. The
journal cannot know; but a whole folder that only one way of counting explains proves it, as an
aborted execution leaves no whole one.
"""
from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.graphs.body import Body
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.records.journal_lines import RecordedSection

_OTHERWISE = "; else each index after it is a later batch, by one for each end of the data"


def settle(pairs: Sequence[Paired], read: Callable[[BuildGraph], Optional[Body]]) -> None:
    """Numbers the executions of training graphs as their folders show that the device did.

    Args:
      pairs: training graphs tied to their sections; where the data has ended in an execution,
        the section is numbered, what is not proven is doubted, and `counting` tells.
      read: gives the body of a graph.
    """
    for pair in pairs:
        if pair.section is not None and pair.section.ends:
            _settle(pair, pair.section, read)


def _settle(pair: Paired, section: RecordedSection,
            read: Callable[[BuildGraph], Optional[Body]]) -> None:
    counted, skipped = section.indices_if(True), section.indices_if(False)
    present, whole = _folders(pair, counted & skipped, read)
    proof = {True: sorted(whole & (counted - skipped)), False: sorted(whole & (skipped - counted))}
    where = "the data ended at data_index %s, " % ", ".join(
        str(index) for index in section.aborted[:4])
    if bool(proof[True]) != bool(proof[False]):
        counts = bool(proof[True])
        pair.counting = where + (
            "and the device counted that: data_index %d has whole files" if counts else
            "and the device did not count that: data_index %d has whole files, which an aborted"
            " execution never leaves") % proof[counts][0]
        section.renumber(counts)
        return
    counts, text = True, "and no folder shows whether the device counted that, as is assumed here"
    shown = whole or present  # of a single folder nothing tells whether it is whole
    if not proof[True] and counted != skipped and shown in (counted, skipped):
        counts = shown == counted
        gone = sorted((counted | skipped) - shown) or sorted(shown - counted)
        text = ("and the device is taken to have%s counted that, as data_index %s has %s"
                % ("" if counts else " not", ", ".join(str(index) for index in gone[:4]),
                   "files" if gone[0] in shown else "no whole folder"))
    pair.counting = where + text
    section.renumber(counts)
    for execution in section.executions.values():
        if execution.ends:
            execution.doubt(pair.counting + (
                _OTHERWISE if counts else _OTHERWISE.replace("a later", "an earlier")))


def _folders(pair: Paired, sure: Set[int], read: Callable[[BuildGraph], Optional[Body]]
             ) -> Tuple[Set[int], Set[int]]:
    """The data_index that have files, and those that have all that they must have.

    Args:
      pair: a graph with its folders; only its first load was counted by the journal.
      sure: executions that trained, however the device counts.
      read: gives the body of a graph.
    """
    operators: Dict[int, FrozenSet[str]] = {}
    for match in pair.matches:
        for folder in [] if pair.load_of(match.unit) else match.unit.folders:
            if folder.data_index is not None and folder.count:
                operators[folder.data_index] = operators.get(
                    folder.data_index, frozenset()) | folder.operators
    needed = _needed([operators[index] for index in sure if index in operators],
                     lambda: read(pair.graph))
    return set(operators), {index for index, names in operators.items()
                            if needed and needed <= names}


def _needed(trained: List[FrozenSet[str]], body: Callable[[], Optional[Body]]) -> FrozenSet[str]:
    """The operators of which every whole execution has files; none where that is not known."""
    if trained:
        return frozenset.intersection(*trained)
    found = body()
    parts = [] if found is None else found.parts
    return frozenset(key for part in parts if part.always for key in part.keys)
