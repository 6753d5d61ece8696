"""A dumped training opened for reading; nothing is read before it is asked for.

    run = keras_npu_dump.open_run("output/data_dump")
    run.ranks                                      # [0, 1, 2, 3]
    run.statistics(data_index=5)["max"]            # one structured array
    run.tensor("dense/MatMul", data_index=5)       # values in TensorFlow's layout
    for op in run.operators(): print(op.name, op.inputs, op.original_ops)
"""
from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional, Tuple, Union

import numpy as np

from keras_npu_dump.analysis.dump_files import GraphCache
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.manifest_source import find_manifest
from keras_npu_dump.analysis.statistics import StatisticsTable, statistics_of
from keras_npu_dump.analysis.views import PairView, Rank, StepView, pairs_of
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.manifest import Manifest

# Without records or graphs, what training is goes by a function's name.
_IF_NO_TRAINING = ("train", "unknown", "eval", "predict")
# Numbers of executions that an error lists.
_SHOWN = 20


def open_run(path: "Union[str, os.PathLike[str]]", graphs: Iterable[str] = (),
             progress: Optional[Progress] = None) -> "Run":
    """Opens a dump for reading.

    Args:
      path: the dump path, any folder below it down to a data_index folder, or a
        manifest.json. A manifest that is still true is used; otherwise graphs
        and folders are paired as `collect` does, and nothing is written.
      graphs: further folders or files with Build graphs.
      progress: called as (stage, done, total or None), while graphs and folders are
        paired.

    Returns:
      A Run. Its manifest, graphs and files are read when they are asked for.

    Raises:
      InputError: `path` does not exist.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise InputError("Expected a dump folder. Received: %s, which does not exist." % path)
    return Run(path, graphs, progress)


class Run:
    """What one launch of a training left behind, of all its ranks.

    Where dump data was found twice under one path (two launches), `training`
    is that of the last one.

    Attributes:
      path: as it was opened, absolute.
    """

    def __init__(self, path: str, graphs: Iterable[str] = (),
                 progress: Optional[Progress] = None):
        self.path = os.path.abspath(path)
        self._graphs = tuple(graphs)
        self._progress = progress
        self._manifest: Optional[Manifest] = None
        self._pairs: Optional[List[PairView]] = None
        self._cache = GraphCache()

    def __repr__(self) -> str:
        return "Run(%r)" % self.path

    @property
    def manifest(self) -> Manifest:
        """The `collect` answer: pairs, graphs, runs, problems.

        Raises:
          InputError, FormatError: the folder or its manifest cannot be read.
        """
        if self._manifest is None:
            self._manifest = find_manifest(self.path, self._graphs, self._progress)
        return self._manifest

    @property
    def dump_path(self) -> str:
        """The job's dump path, absolute."""
        return self.manifest.dump_path

    @property
    def pairs(self) -> List[PairView]:
        """Every graph with its dumped executions, also graphs that are not training's.

        Folders without a graph are there too, as pairs with `confidence` None.
        """
        if self._pairs is None:
            self._pairs = pairs_of(self.manifest, self.path, self._cache)
        return self._pairs

    @property
    def training(self) -> Dict[Rank, List[PairView]]:
        """rank -> its training pairs in the order of execution; a retraced function has several.

        Keys are ranks, or "device:<id>" where no run record tells the rank.
        """
        found: Dict[Rank, List[PairView]] = {}
        for key, positions in self.manifest.training.items():
            found[int(key) if key.isdigit() else key] = [self.pairs[one] for one in positions]
        return dict(sorted(found.items(), key=lambda item: (isinstance(item[0], str), item[0])))

    @property
    def ranks(self) -> List[Rank]:
        """The keys of `training`, or of all pairs where no training was dumped.

        A rank is a number, or "device:<id>" where no run record tells it.
        """
        return list(self.training or self.groups())

    def groups(self, role: Optional[str] = "train") -> Dict[Rank, List[PairView]]:
        """rank -> its pairs of one role.

        Args:
          role: "train", "eval", "predict", "iterator", "init" or "unknown"; None or
            "all" for every role. Without training, the graphs whose purpose is unknown
            are taken for "train", then those of evaluation and prediction.

        Returns:
          An empty dict where nothing of that role was dumped.
        """
        role = None if role == "all" else role
        if role == "train" and self.training:
            return self.training
        wanted: Tuple[Optional[str], ...] = (role,)
        if role == "train":
            wanted = _IF_NO_TRAINING
        for taken in wanted:
            found: Dict[Rank, List[PairView]] = {}
            for pair in self.pairs:
                if taken is None or pair.role == taken:
                    found.setdefault(pair.rank_key, []).append(pair)
            if found:
                return found
        return {}

    def select(self, rank: Optional[Rank] = None, role: Optional[str] = "train"
               ) -> List[PairView]:
        """The pairs of one rank and one role.

        Args:
          rank: a member of `ranks`, None for all of them.
          role: see `groups`.

        Raises:
          InputError: no such rank, or nothing was dumped.
        """
        groups = self.groups(role)
        if rank is None:
            return [pair for pairs in groups.values() for pair in pairs]
        if rank not in groups:
            raise InputError("rank: expected one of %s. Received: %r" % (
                ", ".join(map(str, groups)) or "none, as nothing was dumped", rank))
        return groups[rank]

    def steps(self, rank: Optional[Rank] = None, role: Optional[str] = "train"
              ) -> List[StepView]:
        """Dumped executions, rank after rank, in the order in which they ran.

        Args:
          rank: a member of `ranks`, None for all of them.
          role: see `groups`.

        Raises:
          InputError: no such rank.
        """
        return [step for pair in self.select(rank, role) for step in pair.steps]

    def step(self, data_index: Optional[int] = None, rank: Optional[Rank] = None,
             role: Optional[str] = "train", fit: Optional[int] = None,
             epoch: Optional[int] = None, batch: Optional[int] = None) -> StepView:
        """One dumped execution, by data_index or by the batch it was.

        Args:
          data_index: number of the execution; of several with this number (a
            graph that was loaded again, a retraced function) the first.
          rank: a member of `ranks`; the first that has such an execution by default.
          role: see `groups`.
          fit, epoch, batch: from 0, instead of data_index; those left out match
            any.

        Raises:
          InputError: nothing of that kind was dumped; the text says what was.
        """
        steps = self.steps(rank, role)
        wanted = {"fit": fit, "epoch": epoch, "batch": batch}
        wanted = {key: value for key, value in wanted.items() if value is not None}
        for one in steps:
            if data_index is not None and one.data_index != data_index:
                continue
            if wanted and (one.iteration is None or any(
                    one.iteration.get(key) != value for key, value in wanted.items())):
                continue
            return one
        asked = "data_index %s" % data_index if not wanted else ", ".join(
            "%s %s" % item for item in wanted.items())
        there = sorted({one.data_index for one in steps if one.data_index is not None})
        raise InputError("%s was not dumped; there are the data_index %s" % (
            asked, ", ".join(map(str, there[:_SHOWN])) or "of no execution"))

    def operators(self, rank: Optional[Rank] = None, role: Optional[str] = "train"
                  ) -> Operators:
        """The operators of the (first) training graph in execution order.

        Args:
          rank: a member of `ranks`; the first by default.
          role: see `groups`.

        Returns:
          Operators: iterate over it, or ask it for positions by name.

        Raises:
          InputError: nothing was dumped.
        """
        pairs = self.select(rank, role)
        if not pairs:
            raise InputError("nothing was dumped below %s" % self.path)
        return pairs[0].operators

    def tensor(self, op: str, index: int = 0, io: str = "output",
               data_index: Optional[int] = None, rank: Optional[Rank] = None,
               role: Optional[str] = "train", turn: int = -1) -> np.ndarray:
        """Values of one tensor in the layout and shape that TensorFlow gave it.

        Args:
          op: name in the graph, the TensorFlow operator's name, or the name as
            in file names.
          index: of the output or input, from 0.
          io: "output" or "input".
          data_index: which execution; the first that was dumped by default.
          rank: a member of `ranks`; the first that has the execution by default.
          role: see `groups`.
          turn: which run of an operator in a loop; the last one by default, as
            msaccucmp takes it.

        Returns:
          A numpy array with the dtype of the dump; bfloat16 and 8-bit floats become float32.

        Raises:
          InputError: not dumped, or only as statistics. FormatError: broken file.
        """
        return self.step(data_index, rank, role).tensor(op, index, io, turn)

    def statistics(self, role: Optional[str] = "train", rank: Optional[Rank] = None,
                   data_index: Optional[int] = None, op: Optional[str] = None) -> StatisticsTable:
        """One structured array with a row per tensor, from statistics or from tensors.

        Args:
          role, rank, data_index: which executions; None is all of them.
          op: regular expression; only operators of whose names (in the graph or
            TensorFlow's) a part matches.

        Returns:
          A `StatisticsTable`: a numpy array with `to_pandas()`, and `problems` for files
          that could not be read. Fields: rank, data_index, fit, epoch, batch (each -1 where
          unknown), position, turn, op, op_type, io, index, data_size (bytes), data_type,
          format, shape, max, min, avg, count, nan, neg_inf, pos_inf.

        Raises:
          InputError: no such rank, or `op` is no regular expression.
        """
        steps = [one for one in self.steps(rank, role)
                 if data_index is None or one.data_index == data_index]
        return statistics_of(steps, op)
