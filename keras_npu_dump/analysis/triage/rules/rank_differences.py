"""Ranks that disagree where data parallelism makes them equal.

Equal on every rank are: weights, before and after each update, and what a
collective gives to all. Batches differ as a rule, and with them everything
computed from them; moving averages and metrics are each rank's own. But where
the ranks were fed the very same batches in an earlier execution, or most of
them are in this one (chance makes no two batches equal), a rank that is fed
another is the one to look at.

Without any collective in the graph the ranks may be trainings of their own: weights
that differ from the start are then told with low confidence, weights that part
later with medium.

Values are compared as the statistics give them, to the digit: ranks that apply
equal sums to equal weights stay equal bit by bit.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.analysis import row_keys
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.findings.suspects import (
    HIGH,
    LOW,
    MEDIUM,
    Suspect,
    make_suspect,
)
from keras_npu_dump.op_types.training import gives_all_the_same, is_collective

# Of two ranks neither is the majority.
_MAJORITY_OF = 3


class _CommonRows(NamedTuple):
    """Common rows of all ranks in one execution.

    Attributes:
      keys: of the first rank's operators. op: positions there.
      differs: (ranks, keys): a rank's statistics are not those of the majority.
      votes: (keys): how many ranks agree with the majority.
    """

    keys: np.ndarray
    op: np.ndarray
    output: np.ndarray
    differs: np.ndarray
    votes: np.ndarray


def find(group: Sequence[Series]) -> List[Suspect]:
    """Suspects of one graph on several ranks.

    Args:
      group: one series per rank, of the same graph.
    """
    group = [one for one in group if one.columns]
    if len(group) < 2:
        return []
    first = group[0]
    table = first.operators
    equal = _must_be_equal(table)
    data = np.array([table.is_data(position) for position in range(len(table))])
    fed_alike = False
    for numbers in _common_steps(group):
        rows = _compare(group, numbers)
        if rows is None:
            continue
        batches = data[rows.op] & rows.output
        shared = fed_alike or _mostly_alike(rows, batches, len(group))
        wanted = equal(rows)
        if shared:
            wanted = wanted | batches
        found = _first_difference(group, numbers, rows, wanted, shared)
        if found is not None:
            return [found]
        if batches.any() and not rows.differs[:, batches].any():
            fed_alike = True
    return []


def _must_be_equal(table: Operators) -> Callable[[_CommonRows], np.ndarray]:
    """A function of a _CommonRows that tells the rows of weights and of collectives."""
    weights = table.weights
    pairs = {(position, slot) for one in weights for position, slot in one.readers}
    updates = {one.update for one in weights}
    collective = {position for position, name in enumerate(table.types)
                  if gives_all_the_same(name)}

    def chosen(rows: _CommonRows) -> np.ndarray:
        index = row_keys.index_of(rows.keys)
        mark = np.zeros(len(rows.keys), bool)
        for row, (position, output, slot) in enumerate(zip(
                rows.op.tolist(), rows.output.tolist(), index.tolist())):
            mark[row] = (position in collective and output) or (
                position in updates and slot == 0) or (not output and (position, slot) in pairs)
        return mark

    return chosen


def _common_steps(group: Sequence[Series]) -> List[Tuple[int, ...]]:
    """For each execution that all ranks dumped, its number in each rank's series."""
    places = [{(step.load, step.data_index): number for number, step in enumerate(one.steps)}
              for one in group]
    return [tuple(place[key] for place in places) for key in places[0]
            if all(key in place for place in places)]


def _compare(group: Sequence[Series], numbers: Tuple[int, ...]) -> Optional[_CommonRows]:
    """The rows that all ranks have in an execution, side by side; None without any.

    Args:
      numbers: of the execution in each rank's series.
    """
    keys: Optional[np.ndarray] = None
    translated = []
    for one, number in zip(group, numbers):
        mine = _translated(one, number, group[0].operators)
        translated.append(mine)
        keys = mine if keys is None else (
            keys if mine is keys or np.array_equal(mine, keys) else np.intersect1d(keys, mine))
    if keys is None or not len(keys):
        return None
    values = np.empty((len(group), len(keys), 3))
    for rank, (one, number) in enumerate(zip(group, numbers)):
        columns = one.columns[number]
        place: Any = slice(None)
        if len(translated[rank]) != len(keys):
            order = np.argsort(translated[rank], kind="stable")
            place = order[np.searchsorted(translated[rank][order], keys)]
        for column, name in enumerate(("max", "min", "avg")):
            values[rank, :, column] = getattr(columns, name)[place]
    # The upper median is the majority's value wherever there is a majority.
    ordered = np.sort(values, axis=0)
    middle = ordered[len(group) // 2]
    same = (values == middle) | (np.isnan(values) & np.isnan(middle))
    differs = ~same.all(axis=2)
    return _CommonRows(keys, row_keys.op_of(keys), row_keys.is_output(keys), differs,
                  (~differs).sum(axis=0))


def _translated(series: Series, number: int, table: Operators) -> np.ndarray:
    """A rank's keys with the operators' positions of the first rank, by their names."""
    keys = series.columns[number].key
    if series.operators is table:
        return keys
    moved: Dict[int, int] = {}
    for position in np.unique(row_keys.op_of(keys)).tolist():
        other = table.by_name(series.operators.names[position])
        moved[position] = row_keys.UNKNOWN_OP + position if other is None else other
    return np.array([row_keys.with_op(key, moved[row_keys.op_of(key)])
                     for key in keys.tolist()], np.int64)


def _mostly_alike(rows: _CommonRows, batches: np.ndarray, ranks: int) -> bool:
    if ranks < _MAJORITY_OF or not batches.any():
        return False
    return bool((rows.votes[batches] > ranks / 2.0).all())


def _first_difference(group: Sequence[Series], numbers: Tuple[int, ...], rows: _CommonRows,
                      wanted: np.ndarray, shared: bool) -> Optional[Suspect]:
    """The suspect for the first row that should be equal and is not; None without.

    Args:
      wanted: bool per row. shared: the ranks are fed the same batches.
    """
    places = np.flatnonzero(wanted & rows.differs.any(axis=0))
    if not len(places):
        return None
    place = int(places[0])
    odd = np.flatnonzero(rows.differs[:, place]).tolist()
    others = [rank for rank in range(len(group)) if rank not in odd]
    majority = len(others) > len(odd)
    rank = odd[0] if majority else 0
    series, number = group[rank], numbers[rank]
    position = int(rows.op[place])
    table = group[0].operators
    what = _what(table, position, bool(rows.output[place]),
                 row_keys.index_of(int(rows.keys[place])))
    if majority:
        message = "%s is another on rank%s than on ranks %s, which agree" % (
            what, " " + _ranks(group, odd) if len(odd) == 1 else "s " + _ranks(group, odd),
            _ranks(group, others))
    else:
        message = "%s differs between the ranks %s" % (what, _ranks(group, range(len(group))))
    if shared and table.is_data(position):
        message += "; all ranks were fed alike before"
    confidence = HIGH
    if not shared and not any(map(is_collective, table.types)):
        # Perhaps they are trainings of their own; or somebody forgot the collective.
        confidence = MEDIUM if number or table.is_update(position) else LOW
        message += "; the graph has no collective that would keep the ranks equal"
    affected = set(rows.op[rows.differs.any(axis=0)].tolist()) - {position}
    local = series.operators.by_name(table.names[position])
    suspect = make_suspect(series, number, position if local is None else local,
                           "ranks-disagree", message, confidence, len(affected) if shared else 0)
    suspect.ranks = [group[one].pair.rank_key for one in odd] if majority else [
        one.pair.rank_key for one in group]
    return suspect


def _what(table: Operators, position: int, output: bool, index: int) -> str:
    if table.is_data(position):
        return "the batch"
    if not output:
        variable = table.variable_of(position, index)
        if variable is not None:
            return "the weight %s, before the execution," % table.names[variable]
    variable = table.variable_of(position)
    if table.is_update(position) and variable is not None:
        return "the weight %s, after its update," % table.names[variable]
    return "what %s gives to every rank" % table.types[position]


def _ranks(group: Sequence[Series], chosen: Any) -> str:
    return ", ".join(str(group[one].pair.rank_key) for one in chosen)
