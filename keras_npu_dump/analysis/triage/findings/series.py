"""One rank's executions of one graph, lined up for the rules of triage."""
from __future__ import annotations

import dataclasses
from typing import Callable, Dict, List, Optional, Set, Tuple

import numpy as np

from keras_npu_dump.analysis import row_keys
from keras_npu_dump.analysis.columns import NUMERIC, Columns, distinct
from keras_npu_dump.analysis.graph.linker import Source
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.views import PairView, StepView
from keras_npu_dump.formats import dtypes
from keras_npu_dump.op_types.arithmetic import SAME_VALUE_TYPES
from keras_npu_dump.op_types.graph_parts import QUIET_TYPES

# Below this share of the operators that could leave files, a dump is a chosen few.
_WHOLE = 0.5
# Operators in a row that only hand on; more are a circle.
_LONGEST_CHAIN = 64


@dataclasses.dataclass(frozen=True)
class TensorStatistics:
    """Statistics of one input or output in one execution.

    Attributes:
      index: among the inputs or outputs. turn: which run of the operator.
      dtype: number of the OutputDataType, 0 unknown.
      count: elements. nan, neg_inf, pos_inf: how many; all four -1 unknown.
      max, min, avg: of the values.
    """

    index: int
    turn: int
    dtype: int
    count: int
    max: float
    min: float
    avg: float
    nan: int
    neg_inf: int
    pos_inf: int

    @property
    def known(self) -> bool:
        """Has statistics; handles and strings have none."""
        return self.count > 0 and self.nan >= 0

    @property
    def bad(self) -> bool:
        """Holds NaN or infinities."""
        return self.nan > 0 or self.neg_inf > 0 or self.pos_inf > 0

    @property
    def size(self) -> float:
        """The largest magnitude; NaN where it is not known."""
        return float(np.fmax(abs(self.max), abs(self.min)))


@dataclasses.dataclass(frozen=True)
class Aligned:
    """Rows of all executions under common keys.

    Attributes:
      keys: int64 (keys,), ascending, see `row_keys`.
      op, index: int64 (keys,). output: bool (keys,).
      size: float64 (executions, keys), largest magnitude of the finite or infinite
        values, NaN where absent.
      bad: bool (executions, keys), holds values that are not finite.
      zero: bool (executions, keys), all values are zero.
      constant: bool (executions, keys), more than one value, all equal and finite.
      count: int64 (executions, keys), elements, 0 where absent.
      dtype: int16 (keys,), 0 where it is not known or changes.
      floating: bool (keys,), a floating type, or one that the file does not name.
    """

    keys: np.ndarray
    op: np.ndarray
    output: np.ndarray
    index: np.ndarray
    size: np.ndarray
    bad: np.ndarray
    zero: np.ndarray
    constant: np.ndarray
    count: np.ndarray
    dtype: np.ndarray
    floating: np.ndarray


class Series:
    """The executions of one pair, with their columns.

    Attributes:
      pair, operators: as of the pair. ordinal: of the pair among its rank's.
      steps, columns: one each per execution, in the order of execution.
      partial: only a few chosen operators were dumped.
    """

    def __init__(self, pair: PairView, steps: List[StepView], columns: List[Columns],
                 ordinal: int = 0):
        self.pair = pair
        self.ordinal = ordinal
        self.operators = pair.operators
        self.steps = steps
        self.columns = columns
        self._aligned: Optional[Aligned] = None
        self.partial = self._is_partial()

    @classmethod
    def read(cls, pair: PairView, ordinal: int = 0,
             progress: Optional[Callable[[int], None]] = None) -> "Series":
        """Reads every execution of a pair that holds statistics or tensors.

        Args:
          pair: a graph on its rank.
          ordinal: of the graph among those of its rank, in time.
          progress: called with the number of files that each execution had.
        """
        steps, columns = [], []
        before: Optional[Columns] = None
        for step in pair.steps:
            if not (step.kinds.get("dump") or step.kinds.get("stats") or step.kinds.get("digits")):
                continue
            read = _shared(_completed(step.columns(), pair.operators), before)
            steps.append(step)
            columns.append(read)
            before = read
            if progress is not None:
                progress(read.files)
        return cls(pair, steps, columns, ordinal)

    def _is_partial(self) -> bool:
        table = self.operators
        record = self.pair.run_record
        if record is not None and record.options.get("dump_layer"):
            return True
        if not table.known or not self.columns:
            return False
        able = {position for position in range(table.known)
                if table.types[position] not in QUIET_TYPES}
        seen = set(distinct(self.columns[0].op))
        return len(able & seen) < _WHOLE * len(able)

    def values(self, number: int, position: int, output: bool) -> List[TensorStatistics]:
        """Inputs or outputs of one operator in one execution.

        Args:
          number: of the execution in this series. position: of the operator.
          output: its outputs, not its inputs.
        """
        columns = self.columns[number]
        rows = columns.rows_of(position)
        found = []
        for row in range(rows.start, rows.stop):
            key = int(columns.key[row])
            if row_keys.is_output(key) == output:
                found.append(TensorStatistics(row_keys.index_of(key), row_keys.turn_of(key),
                                   int(columns.dtype[row]), int(columns.count[row]),
                                   float(columns.max[row]), float(columns.min[row]),
                                   float(columns.avg[row]), int(columns.nan[row]),
                                   int(columns.neg_inf[row]), int(columns.pos_inf[row])))
        return found

    def seen(self, number: int) -> Set[int]:
        """Positions that have rows in execution `number`."""
        return set(distinct(self.columns[number].op))

    def inputs_seen(self, number: int, position: int) -> bool:
        """Every data input of the operator has statistics in this execution.

        Constants need none, nor does what hands out batches.
        """
        table = self.operators
        if table.is_data(position):
            return True
        have = {one.index for one in self.values(number, position, False) if one.known}
        return all(source is None or slot in have or table.is_constant(source[0])
                   for slot, source in enumerate(table.sources[position]))

    @property
    def aligned(self) -> Aligned:
        """All executions side by side; made when first asked for."""
        if self._aligned is None:
            self._aligned = _align(self.columns)
        return self._aligned


def _shared(columns: Columns, before: Optional[Columns]) -> Columns:
    """Columns that are as in the execution before share its memory."""
    if before is None:
        return columns
    changes = {}
    for name in ("key", "count", "nan", "neg_inf", "pos_inf", "dtype"):
        mine, theirs = getattr(columns, name), getattr(before, name)
        if len(mine) == len(theirs) and np.array_equal(mine, theirs):
            changes[name] = theirs
    return dataclasses.replace(columns, **changes)


def _align(all_columns: List[Columns]) -> Aligned:
    """All executions under the union of their keys."""
    first = all_columns[0].key
    same = all(one.key is first for one in all_columns)
    keys = first if same else np.unique(np.concatenate([one.key for one in all_columns]))
    shape = (len(all_columns), len(keys))
    size = np.full(shape, np.nan)
    bad = np.zeros(shape, bool)
    zero = np.zeros(shape, bool)
    constant = np.zeros(shape, bool)
    count = np.zeros(shape, np.int64)
    dtype = np.zeros(len(keys), np.int16)
    mixed = np.zeros(len(keys), bool)
    for number, one in enumerate(all_columns):
        place = slice(None) if one.key is keys else np.searchsorted(keys, one.key)
        known = (one.count > 0) & (one.nan >= 0)
        with np.errstate(invalid="ignore"):
            size[number, place] = np.where(
                known, np.fmax(np.abs(one.max), np.abs(one.min)), np.nan)
        not_finite = (one.nan > 0) | (one.neg_inf > 0) | (one.pos_inf > 0)
        bad[number, place] = not_finite
        equal = known & ~not_finite & (one.max == one.min)
        zero[number, place] = equal & (one.max == 0)
        constant[number, place] = equal & (one.count > 1)
        count[number, place] = np.maximum(one.count, 0)
        mixed[place] |= (dtype[place] != 0) & (dtype[place] != one.dtype)
        dtype[place] = one.dtype
    dtype[mixed] = 0
    return Aligned(keys, row_keys.op_of(keys), row_keys.is_output(keys), row_keys.index_of(keys),
                   size, bad, zero, constant, count, dtype,
                   ~np.isin(dtype, sorted(dtypes.WHOLE_NUMBERS)))


# --- what dump_mode left out, from the operators on the other side of the edge


def _completed(columns: Columns, table: Operators) -> Columns:
    """Adds inputs from producers' outputs (dump_mode=output), or the other way round.

    A dump of both already has all that can be known.
    """
    if not table.known or not len(columns.key):
        return columns
    ops, outputs = columns.op, columns.output
    has_output = np.zeros(len(table), bool)
    has_input = np.zeros(len(table), bool)
    has_output[ops[outputs]] = True
    has_input[ops[~outputs]] = True
    if outputs.any() and not (has_output & ~has_input & np.array(table.fed, bool)).any():
        return columns
    edges = _edges(table, has_output | has_input)
    if not len(edges):
        return columns
    op, slot, source, index = edges.T
    turn, an_input, an_output = np.zeros_like(op), np.zeros(len(op), bool), np.ones(len(op), bool)
    if not outputs.any():
        # Of equal tensors that several operators take, the first will do.
        chosen = has_input[op] & has_input[source]
        wanted = row_keys.make_key(op, turn, an_input, slot)
        given = row_keys.make_key(source, turn, an_output, index)
    else:
        chosen = has_output[op] & ~has_input[op] & has_output[source]
        wanted = row_keys.make_key(source, turn, an_output, index)
        given = row_keys.make_key(op, turn, an_input, slot)
    return _added(columns, wanted[chosen], given[chosen])


def _edges(table: Operators, dumped: np.ndarray) -> np.ndarray:
    """(operator, input, operator that makes it, its output), past what is not dumped and
    only hands on."""
    rows: List[Tuple[int, int, int, int]] = []
    known: Dict[Source, Source] = {}
    for position in range(table.known):
        if not dumped[position]:
            continue
        for slot, source in enumerate(table.sources[position]):
            if source is not None:
                rows.append((position, slot) + _maker(table, source, dumped, known))
    return np.array(rows, np.int64).reshape(-1, 4)


def _maker(table: Operators, source: Source, dumped: np.ndarray,
           known: Dict[Source, Source]) -> Source:
    """What is dumped and makes a value, or the first that is not and changes it."""
    if source not in known:
        place = source
        for _ in range(_LONGEST_CHAIN):
            if dumped[place[0]] or table.types[place[0]] not in SAME_VALUE_TYPES:
                break
            sources = table.sources[place[0]]
            slot = place[1] if table.types[place[0]] == "IdentityN" else 0
            following = sources[slot] if slot < len(sources) else None
            if following is None:
                break
            place = following
        known[source] = place
    return known[source]


def _added(columns: Columns, wanted: np.ndarray, given: np.ndarray) -> Columns:
    """Columns with the row of each key `wanted` also under the key `given`, in every turn.

    Turns: an operator of a body that ran several times reads its producer's value
    of the same turn, or the only one there is.
    """
    turns = columns.turn
    last = int(turns.max()) if len(turns) else 0
    parts = [columns.key]
    rows = [np.arange(len(columns.key))]
    for turn in range(last + 1):
        key = row_keys.later(wanted, turn)
        place = np.minimum(np.searchsorted(columns.key, key), len(columns.key) - 1)
        there = columns.key[place] == key
        parts.append(row_keys.later(given[there], turn))
        rows.append(place[there])
    keys, first = np.unique(np.concatenate(parts), return_index=True)
    row = np.concatenate(rows)[first]
    return dataclasses.replace(
        columns, key=keys, **{name: getattr(columns, name)[row] for name in NUMERIC})
