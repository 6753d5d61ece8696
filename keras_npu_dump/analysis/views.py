"""Pairs and their dumped executions, as views that read when asked."""
from __future__ import annotations

import os
import re
from typing import Dict, Iterable, List, Optional, Tuple, Union

import numpy as np

from keras_npu_dump.analysis.columns import Columns, read_columns
from keras_npu_dump.analysis.dump_files import ExecutionFiles, GraphCache, PairGraph
from keras_npu_dump.analysis.graph.file_operators import FileNames
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.statistics import StatisticsTable, statistics_of
from keras_npu_dump.analysis.tensors import find_tensor
from keras_npu_dump.collector.pairing.loads import loads_of
from keras_npu_dump.collector.scan.dump_tree import scan_tree
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.formats.graph.ge_graph import GraphOp
from keras_npu_dump.op_types.graph_names import role_of
from keras_npu_dump.records.manifest import Manifest, ManifestRun, Pair, Step
from keras_npu_dump.records.problems import Problems

# A number, or "device:<id>" where no run record tells it.
Rank = Union[int, str]


class PairView:
    """A graph with the executions that were dumped of it, on one device.

    Attributes:
      manifest: of the job. record: the manifest's `Pair`.
      graph_path: absolute, None without a graph.
      rank, device, role, time: as in the manifest; confidence None without a graph.
    """

    def __init__(self, manifest: Manifest, record: Pair, cache: GraphCache,
                 confidence: Optional[str]):
        self.manifest = manifest
        self.record = record
        self.graph_path = manifest.absolute(record.graph) if record.graph else None
        self.rank = record.rank
        self.device = record.device
        self.role = record.role
        self.time = record.time
        self.confidence = confidence
        self.graph = PairGraph(self.graph_path, "/".join(record.model_names), cache)
        self._steps: Optional[List[StepView]] = None

    def __repr__(self) -> str:
        return "PairView(%s, rank %s, %d executions)" % (
            "/".join(self.record.model_names), self.rank, len(self.steps))

    @property
    def rank_key(self) -> Rank:
        """The rank, or "device:<id>" where no run record tells it."""
        return "device:%s" % self.device if self.rank is None else self.rank

    @property
    def graph_name(self) -> Optional[str]:
        """Name of the graph in its file; None without a graph."""
        for graph in self.manifest.graphs:
            if graph.file == self.record.graph:
                return graph.name
        return None

    @property
    def run_record(self) -> Optional[ManifestRun]:
        """What the manifest tells of the process that ran the graph; None where nothing does."""
        # Whole names: 2026_pid7 is not 2026_pid7_1, which a second run of that pid has.
        words = set(re.findall(r"[^\s,;:()]+", " ".join(self.record.evidence)))
        same = [run for run in self.manifest.runs if run.rank == self.rank]
        named = [run for run in same if run.run_id in words]
        found = named or same
        return found[0] if found else None

    @property
    def operators(self) -> Operators:
        """In execution order; without a graph, as known from the files read so far."""
        return self.graph.operators

    @property
    def file_names(self) -> FileNames:
        """Which operator a dump file belongs to."""
        return self.graph.file_names

    @property
    def graph_error(self) -> Optional[str]:
        """Why the graph could not be read; None if it could, or was not asked for yet."""
        return self.graph.error

    @property
    def steps(self) -> List["StepView"]:
        """Executions in the order in which they ran."""
        if self._steps is None:
            self._steps = _steps_of(self)
        return self._steps

    def described(self, names: Iterable[str]) -> Dict[str, GraphOp]:
        """Operators of the graph with all that its file says of them.

        Args:
          names: as in the graph.

        Returns:
          Name -> operator, without those that the graph does not have.

        Raises:
          FormatError, OSError: the file cannot be read any more.
        """
        return self.graph.described(names)


class StepView(ExecutionFiles):
    """One dumped execution of a graph.

    Attributes:
      pair: the graph. rank: its rank, or None.
      data_index: None where the folders do not say.
      load: 0, or how often the graph had been loaded before: a reload counts
        from 0 again.
      iteration: {"fit", "epoch", "batch"}, each from 0, or None.
      folders: absolute.
      records: the manifest's `Step`s, one per folder.
    """

    def __init__(self, pair: PairView, data_index: Optional[int], load: int,
                 records: List[Step]):
        super().__init__(
            pair.graph, [pair.manifest.absolute(one.path) for one in records], data_index,
            next((one.iteration for one in records if one.iteration), None), pair.rank)
        self.pair = pair
        self.load = load
        self.records = records

    def __repr__(self) -> str:
        return "StepView(data_index=%s, rank=%s)" % (self.data_index, self.rank)

    @property
    def kinds(self) -> Dict[str, int]:
        """Files by kind: "dump", "stats", "overflow", ..."""
        kinds: Dict[str, int] = {}
        for one in self.records:
            for kind, count in one.kinds.items():
                kinds[kind] = kinds.get(kind, 0) + count
        return kinds

    def columns(self) -> Columns:
        """Statistics of every tensor, read from csv files or computed from tensors now.

        Returns:
          Columns: a numpy array per statistic, one row per tensor; files that cannot be
          read are in its `problems`.
        """
        return read_columns(self.folders, self.graph.file_names)

    def statistics(self, op: Optional[str] = None) -> StatisticsTable:
        """Statistics of this execution's tensors as one structured array.

        Args:
          op: regular expression; only operators of whose names, in the graph or in
            TensorFlow, a part matches.

        Returns:
          A `StatisticsTable`, a row per tensor in execution order.

        Raises:
          InputError: `op` is no regular expression.
        """
        return statistics_of([self], op)

    def tensor(self, op: str, index: int = 0, io: str = "output", turn: int = -1
               ) -> np.ndarray:
        """Values of one tensor in the layout and shape that TensorFlow gave it.

        Args:
          op: name in the graph, the TensorFlow operator's name, or the name as
            in file names.
          index: of the output or input, from 0.
          io: "output" or "input".
          turn: which run of an operator in a loop; the last one by default.

        Returns:
          A numpy array with the dtype of the dump; bfloat16 and 8-bit floats become float32.

        Raises:
          InputError: not dumped, or only as statistics. FormatError: broken file.
        """
        return find_tensor(self, op, index, io, turn).values()


def _steps_of(pair: PairView) -> List[StepView]:
    return [StepView(pair, folders[0].data_index, load, folders)
            for load, folders in pair.record.executions()]


def pairs_of(manifest: Manifest, path: str, cache: GraphCache) -> List[PairView]:
    """The manifest's pairs, in its order, and behind them folders that have no graph."""
    pairs = [PairView(manifest, one, cache, one.confidence) for one in manifest.pairs]
    if any(problem.code in ("no-pair", "no-graph", "unreadable") for problem in manifest.problems):
        pairs.extend(_unpaired(manifest, path, cache))
    return pairs


def _unpaired(manifest: Manifest, path: str, cache: GraphCache) -> List[PairView]:
    if os.path.isfile(path):
        path = manifest.dump_path
    known = {manifest.absolute(step.path) for pair in manifest.pairs for step in pair.steps}
    groups: Dict[Tuple[Optional[str], Optional[int], Optional[str]], List[DumpFolder]] = {}
    for folder in scan_tree(path, Problems()).folders:
        if folder.path not in known and folder.count:
            groups.setdefault((folder.time, folder.device, folder.model_name), []).append(folder)
    found = []
    for (time, device, name), folders in groups.items():
        loads = loads_of(folders)
        steps = [Step(one.data_index, one.model_name, one.model_id, one.path, one.count,
                      one.bytes, one.kinds, load=loads[one.model_name, one.model_id])
                 for one in folders]
        steps.sort(key=lambda one: (-1 if one.data_index is None else one.data_index,
                                    one.load or 0, one.model_id or 0))
        found.append(PairView(manifest, Pair(
            "", time, device, _rank_of(manifest, device), [name or ""], _role(manifest, name), "",
            [], steps), cache, None))
    return found


def _rank_of(manifest: Manifest, device: Optional[int]) -> Optional[int]:
    ranks = {run.rank for run in manifest.runs if run.device == device}
    return ranks.pop() if len(ranks) == 1 else None


def _role(manifest: Manifest, model_name: Optional[str]) -> str:
    """What a graph file of this name would be for: a graph that cannot be the
    folder's own still tells the purpose of the function."""
    roles = {graph.role for graph in manifest.graphs if graph.dump_name == model_name}
    if len(roles) == 1:
        return roles.pop()
    return role_of(model_name)
