"""The statistics of one dumped execution as columns, whether it holds csv or tensors.

A row is one input or output of one operator in one run of it (an operator in a
loop runs several times in an execution). Rows are ordered by `key`, so that
equal graphs give equal keys in every step and on every rank.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from keras_npu_dump.analysis import row_keys
from keras_npu_dump.analysis.graph.file_operators import FileNames
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.stats import stats_folder


@dataclasses.dataclass
class Columns:
    """Statistics of one execution; see `stats_file.STATS_DTYPE` for the meanings.

    Attributes:
      key: int64, ascending: operator, run of it, input or output, index.
      max, min, avg: float64. count, nan, neg_inf, pos_inf: int64, -1 unknown.
      dtype: int16 OutputDataType number, 0 unknown.
      files: how many were read. problems: (path, reason) of those that could not be.
    """

    key: np.ndarray
    max: np.ndarray
    min: np.ndarray
    avg: np.ndarray
    count: np.ndarray
    nan: np.ndarray
    neg_inf: np.ndarray
    pos_inf: np.ndarray
    dtype: np.ndarray
    files: int
    problems: List[Tuple[str, str]]

    @property
    def op(self) -> np.ndarray:
        """int64 positions of the operators."""
        return row_keys.op_of(self.key)

    @property
    def turn(self) -> np.ndarray:
        """int64, which run of its operator, from 0."""
        return row_keys.turn_of(self.key)

    @property
    def output(self) -> np.ndarray:
        """bool, False for inputs."""
        return row_keys.is_output(self.key)

    @property
    def index(self) -> np.ndarray:
        """int64, among the inputs or outputs."""
        return row_keys.index_of(self.key)

    def rows_of(self, position: int) -> slice:
        """The rows of one operator.

        Args:
          position: of the operator.
        """
        start, end = np.searchsorted(
            self.key, [row_keys.first_key(position), row_keys.first_key(position + 1)])
        return slice(int(start), int(end))


def distinct(ordered: np.ndarray) -> List[int]:
    """Different values of an ascending array. (`np.unique` imports numpy.ma, a third of
    a command's start, and sorts.)

    Args:
      ordered: integers, ascending.
    """
    if not len(ordered):
        return []
    values: List[int] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])].tolist()
    return values


NUMERIC = ("max", "min", "avg", "count", "nan", "neg_inf", "pos_inf", "dtype")


@dataclasses.dataclass
class Tensors:
    """Unordered rows: number of the file of each, then columns as in `Columns`."""

    file: np.ndarray
    output: np.ndarray
    index: np.ndarray
    values: Dict[str, np.ndarray]


def read_columns(folders: Sequence[str], files: FileNames) -> Columns:
    """Columns of one execution, of all its folders.

    Args:
      folders: of the execution; a dynamic graph has several.
      files: which operator each file of theirs belongs to.

    Returns:
      Columns; folders and files that cannot be read are in its `problems`.
    """
    parts: List[Tensors] = []
    ops: List[int] = []
    times: List[Tuple[Sequence[int], List[int]]] = []
    problems: List[Tuple[str, str]] = []
    done = 0
    for folder in folders:
        listed = files.list(folder)
        if listed.unreadable is not None:
            problems.append((folder, listed.unreadable.reason))
        for stats in (True, False):
            chosen = [number for number, csv in enumerate(listed.stats) if csv == stats]
            if not chosen:
                continue
            names = [listed.names[number] for number in chosen]
            rows = _read_csv(folder, names, problems) if stats else _read_tensors(
                folder, names, problems)
            rows.file = rows.file + done
            parts.append(rows)
            ops.extend(listed.ops[number] for number in chosen)
            times.append((listed.times, chosen))
            done += len(chosen)
    return _sorted(parts, np.array(ops, np.int64), _Joined(times), problems)


class _Joined(Sequence[int]):
    """Times of the chosen files of several folders, one behind the other."""

    def __init__(self, parts: List[Tuple[Sequence[int], List[int]]]):
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(chosen) for _, chosen in self._parts)

    def __getitem__(self, number: Any) -> Any:
        for times, chosen in self._parts:
            if number < len(chosen):
                return times[chosen[number]]
            number -= len(chosen)
        raise IndexError(number)


def _sorted(parts: List[Tensors], ops: np.ndarray, times: Sequence[int],
            problems: List[Tuple[str, str]]) -> Columns:
    if not parts:
        none = np.zeros(0, np.int64)
        floats = np.zeros(0, np.float64)
        return Columns(none, floats, floats, floats, none, none, none, none,
                       np.zeros(0, np.int16), 0, problems)
    file = np.concatenate([part.file for part in parts])
    output = np.concatenate([part.output for part in parts])
    index = np.concatenate([part.index for part in parts])
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in NUMERIC}
    turns = turns_of(ops, times, file, output)
    key = row_keys.make_key(ops[file], turns[file], output, index)
    if np.any(key[1:] <= key[:-1]):
        order = np.argsort(key, kind="stable")
        key = key[order]
        values = {name: value[order] for name, value in values.items()}
    return Columns(key=key, files=len(ops), problems=problems, **values)


def turns_of(ops: np.ndarray, times: Sequence[int], file: np.ndarray,
             output: np.ndarray) -> np.ndarray:
    """Which run of its operator each file is, by the times in the names.

    Args:
      ops, times: per file. file, output: per tensor, its file and whether it is
        an output.

    Returns:
      int64 per file.

    A collective leaves its inputs and its outputs in two files (GE
    `hccl_task_info.cc`): these two are one run.
    """
    turns = np.zeros(len(ops), np.int64)
    order = np.argsort(ops, kind="stable")
    repeated = np.flatnonzero(np.diff(ops[order]) == 0)
    if not len(repeated):
        return turns
    has_input = np.zeros(len(ops), bool)
    has_output = np.zeros(len(ops), bool)
    has_input[file[~output]] = True
    has_output[file[output]] = True
    by_op: Dict[int, List[int]] = {}
    for number in set(order[repeated].tolist()) | set(order[repeated + 1].tolist()):
        by_op.setdefault(int(ops[number]), []).append(number)
    for numbers in by_op.values():
        numbers.sort(key=lambda number: (times[number], number))
        turn = -1
        before: Optional[int] = None
        for number in numbers:
            joins = (before is not None and has_input[before] and not has_output[before]
                     and has_output[number] and not has_input[number])
            turn += not joins
            turns[number] = min(turn, row_keys.MAX_TURN)
            before = number
    return turns


def _read_csv(folder: str, names: List[str], problems: List[Tuple[str, str]]) -> Tensors:
    read = stats_folder.read_folder_columns(folder, names)
    problems.extend((str(error.path), error.reason) for _, error in read.problems)
    return Tensors(read.file_of, read.columns["output"], read.columns["index"],
                   {name: read.columns[name] for name in NUMERIC})


def _read_tensors(folder: str, names: List[str], problems: List[Tuple[str, str]]) -> Tensors:
    read = stats_folder.compute_folder_stats(folder, names)
    problems.extend((str(error.path), error.reason) for _, error in read.problems)
    return _of_rows(read.rows, read.file_of)


def _of_rows(rows: np.ndarray, file: np.ndarray) -> Tensors:
    """Of an array of STATS_DTYPE."""
    known: Dict[str, int] = {}
    numbers = np.zeros(len(rows), np.int16)
    for number, name in enumerate(rows["data_type"].tolist()):
        if name not in known:
            known[name] = dtypes.dtype_number(name) or 0
        numbers[number] = known[name]
    values = {name: np.ascontiguousarray(rows[name]) for name in NUMERIC if name != "dtype"}
    values["dtype"] = numbers
    output = np.fromiter((io == "Output" for io in rows["io"].tolist()), bool, len(rows))
    return Tensors(file, output, rows["index"].astype(np.int64), values)
