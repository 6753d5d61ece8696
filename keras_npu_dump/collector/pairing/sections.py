"""Ties data_index folders to Keras iterations through the journal's sections."""
from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.loads import begin_of
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.rules.by_name import whole_name
from keras_npu_dump.collector.rules.content import SAME_OPERATORS
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.records.journal_lines import RecordedSection
from keras_npu_dump.records.reading import RecordedRun

# What ties a graph to its section of the journal, strongest first.
RULES = ["name", "operators", "order"]


def assign_sections(trained: Sequence[Paired], unpaired: Sequence[Unit], run: Optional[RecordedRun],
                    graphs: Sequence[BuildGraph]) -> None:
    """Sets `section` of each training graph of one session.

    By the function's name; by its operators; what is left in order: sections and graph files
    are numbered as functions appear, and a graph without a file has the times of its dumps.

    Args:
      trained: the training graphs of the session with their folders.
      unpaired: units of the session without a graph: each may be a section.
      run: of the session; None leaves all sections open.
      graphs: all Build graphs: a journal whose names none of them has ties nothing by
        names.
    """
    if run is None:
        return
    trained = sorted(trained, key=training_order)
    free = list(run.sections)
    if "name" in RULES:
        free = _assign(trained, free, _same_name)
    free = _without_named(free, run, graphs)
    if "operators" in RULES:
        free = _assign(trained, free, _same_operators)
    if "order" not in RULES:
        return
    rest = [one for one in trained if one.section is None]
    reached = [section for section in free if section.executions] or free
    slots: List[Union[Paired, Unit]] = [*rest, *_first_parts(unpaired)]
    if len(slots) > len(rest):
        slots.sort(key=_begin)
    if len(slots) != len(reached):
        slots = list(rest)
    if len(slots) == len(reached):
        for one, section in zip(slots, reached):
            if isinstance(one, Paired):
                one.section = section
    else:
        # Too few or too many to count: only what the folders themselves tell.
        _assign(rest, reached, lambda section, one: section.may_be(one.indices))


def _first_parts(units: Sequence[Unit]) -> List[Unit]:
    """Of the parts of one dynamic graph the first: together they are one section."""
    first: Dict[str, Unit] = {}
    for unit in sorted(units, key=_begin):
        first.setdefault(whole_name(unit.model_name or str(unit.model_id)), unit)
    return list(first.values())


def _assign(trained: Sequence[Paired], free: List[RecordedSection],
            test: Callable[[RecordedSection, Paired], bool]) -> List[RecordedSection]:
    """Ties graphs to sections that fit no other graph: first of those whose folders are
    exactly the executions of the section, then of all.

    Args:
      trained: the graphs; `section` is set.
      free: sections that no graph is tied to yet; those that are tied now are removed.
      test: whether a section may be a graph's.

    Returns:
      `free`.
    """
    # Of several builds of one graph the first was counted, whatever indices the others have.
    first = {one.graph.name or id(one): one for one in reversed(trained)}
    for narrow in (True, False):
        for one in trained:
            if first[one.graph.name or id(one)] is not one:
                continue
            fits = [section for section in free if one.section is None and test(section, one)
                    and (not narrow or section.may_be(one.indices))]
            if len(fits) != 1:
                continue
            rivals = [other for other in trained if other.section is None
                      and other.graph.name != one.graph.name and test(fits[0], other)
                      and (not narrow or fits[0].may_be(other.indices))]
            if not rivals:
                one.section = fits[0]
                free.remove(fits[0])
    return free


def _without_named(free: List[RecordedSection], run: RecordedRun,
                   graphs: Sequence[BuildGraph]) -> List[RecordedSection]:
    """Sections that no name ties to a graph. Where GE named all graphs in its own
    way, the journal's names tie nothing."""
    if any(graph.is_called(section.graph_name) for section in run.sections for graph in graphs):
        return [section for section in free if section.graph_name is None]
    return free


def _begin(one: Union[Paired, Unit]) -> int:
    """When it was first dumped. Model ids tell no order: the driver gives them."""
    return begin_of(one.folders)


def training_order(one: Paired) -> Tuple[int, int, int]:
    """Sort key of training graphs in the order of execution: by section, else as GE
    numbered graph files, which it does as graphs are built."""
    return (one.section.number if one.section is not None else 1 << 30,
            one.graph.file.name.index, begin_of(one.folders))


def _same_name(section: RecordedSection, one: Paired) -> bool:
    return one.graph.is_called(section.graph_name)


def _same_operators(section: RecordedSection, one: Paired) -> bool:
    if not section.operators or one.graph.body is None:
        return False
    names = one.graph.body.names_of_operators()
    have = sum(1 for name in section.operators if name in names)
    return have >= SAME_OPERATORS * len(section.operators)


def iteration_of(one: Paired, unit: Unit,
                 data_index: Optional[int]) -> Optional[Dict[str, int]]:
    """The batch of an execution: {"fit", "epoch", "batch"}, all from 0; None if unknown.

    Args:
      one: a training graph, tied to its section.
      unit, data_index: of the folder. Only the first load of a graph was counted.
    """
    if one.section is None or data_index is None or one.load_of(unit):
        return None
    execution = one.section.executions.get(data_index)
    return None if execution is None or execution.iteration is None else dict(execution.iteration)
