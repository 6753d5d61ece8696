"""Statistics of executions as one structured array."""
from __future__ import annotations

import re
from typing import Any, Iterable, List, Optional, Set

import numpy as np

from keras_npu_dump.analysis.columns import turns_of
from keras_npu_dump.analysis.dump_files import ExecutionFiles
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats.stats import stats_folder
from keras_npu_dump.formats.stats.stats_file import STATS_DTYPE

# rank, fit, epoch, batch: -1 where unknown. position: of the operator in execution
# order. turn: which run of an operator in a loop. io: "input" or "output". The
# rest is as in `stats_file.STATS_DTYPE`.
TABLE_DTYPE = np.dtype(
    [("rank", np.int32), ("data_index", np.int64), ("fit", np.int32), ("epoch", np.int32),
     ("batch", np.int32), ("position", np.int32), ("turn", np.int32), ("op", object),
     ("op_type", object)]
    + [(name, STATS_DTYPE[name]) for name in STATS_DTYPE.names or ()])


class StatisticsTable(np.ndarray):
    """A structured array of TABLE_DTYPE, one row per tensor, in execution order.

    Attributes:
      problems: (path, reason) of files that could not be read.
    """

    problems: List[Any]

    def __array_finalize__(self, source: Any) -> None:
        # Slices and copies are of the same files; a new table has a list of its own.
        self.problems = list(getattr(source, "problems", ()))

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one column a field.

        Raises:
          ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install keras-npu-dump[pandas]"
                              ) from error
        return pandas.DataFrame({name: np.asarray(self[name]) for name in self.dtype.names or ()})


def statistics_of(steps: Iterable[ExecutionFiles], op: Optional[str] = None,
                  positions: Optional[Set[int]] = None) -> StatisticsTable:
    """Rows of executions, as one table.

    Args:
      steps: the executions.
      op: regular expression, see `Run.statistics`; None for all operators.
      positions: of the operators, instead of `op`.

    Returns:
      Rows in the order of `steps`, and in an execution in the order of execution.

    Raises:
      InputError: `op` is no regular expression.
    """
    problems: List[Any] = []
    parts = [np.empty(0, TABLE_DTYPE)]
    for step in steps:
        wanted = positions if op is None else matching(step, op)
        for folder in step.folders:
            part = _folder(step, folder, wanted, problems)
            where = dict(step.iteration or {}, rank=step.rank, data_index=step.data_index)
            for name in ("rank", "data_index", "fit", "epoch", "batch"):
                part[name] = _known(where.get(name), TABLE_DTYPE[name])
            parts.append(part)
    table = np.concatenate(parts).view(StatisticsTable)
    table.problems = problems
    return table


def _known(number: Any, dtype: np.dtype) -> int:
    """The number, -1 where there is none or records hold what no training counts to."""
    if isinstance(number, int) and 0 <= number <= np.iinfo(dtype).max:
        return number
    return -1


def matching(step: ExecutionFiles, pattern: str) -> Set[int]:
    """Positions of operators with a name, in the graph or in TensorFlow, that has a match.

    Args:
      step: the execution; its files may know operators that the graph does not.
      pattern: regular expression.

    Raises:
      InputError: it is none.
    """
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise InputError("op: expected a regular expression. Received: %r, %s" % (
            pattern, error)) from error
    for folder in step.folders:
        step.graph.file_names.list(folder)
    table = step.graph.operators
    return {position for position, name in enumerate(table.names)
            if search(name) or any(search(one) for one in table.originals[position])}


def _folder(step: ExecutionFiles, folder: str, wanted: Optional[Set[int]],
            problems: List[Any]) -> np.ndarray:
    files = step.graph.file_names.list(folder)
    if files.unreadable is not None:
        problems.append((folder, files.unreadable.reason))
    table = step.graph.operators
    parts = [np.empty(0, TABLE_DTYPE)]
    owners = [np.zeros(0, np.int64)]
    for csv, read in ((True, stats_folder.read_folder_stats),
                      (False, stats_folder.compute_folder_stats)):
        chosen = [number for number, one in enumerate(files.stats) if one == csv and (
            wanted is None or files.ops[number] in wanted)]
        if not chosen:
            continue
        result = read(folder, [files.names[number] for number in chosen])
        problems.extend((str(error.path), error.reason) for _, error in result.problems)
        part = np.empty(len(result.rows), TABLE_DTYPE)
        for name in STATS_DTYPE.names or ():
            part[name] = result.rows[name]
        part["io"] = ["output" if io == "Output" else "input" for io in result.rows["io"].tolist()]
        owner = np.array(chosen, np.int64)[result.file_of]
        positions = [files.ops[number] for number in owner.tolist()]
        part["position"] = positions
        part["op"] = [table.names[position] for position in positions]
        part["op_type"] = [table.types[position] for position in positions]
        parts.append(part)
        owners.append(owner)
    joined = np.concatenate(parts)
    file = np.concatenate(owners)
    output = joined["io"] == "output"
    joined["turn"] = turns_of(np.array(files.ops, np.int64), files.times, file, output)[file]
    order = np.lexsort((joined["index"], output, joined["turn"], joined["position"]))
    return joined[order]
