"""Pairs and their dumped executions, as views that read when asked."""
from __future__ import annotations

import functools
import os
import re
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from keras_npu_dump.analysis.columns import Columns, read_columns
from keras_npu_dump.analysis.graph.file_operators import FileNames
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.collector.scan.dump_tree import scan_tree
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import open_text
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.graph.ge_graph import GraphOp
from keras_npu_dump.op_types.graph_names import role_of
from keras_npu_dump.records.manifest import Manifest, Pair, Step
from keras_npu_dump.records.problems import Problems


class GraphCache:
    """Graph files that were read; equal files of several ranks are one."""

    def __init__(self) -> None:
        self._of_path: Dict[str, Tuple[Operators, FileNames]] = {}
        self._of_size: Dict[int, List[str]] = {}
        self._digests: Dict[str, bytes] = {}

    def get(self, path: Optional[str], bare: str) -> Tuple[Operators, FileNames]:
        """Operators of a graph file, and the index of their dump files.

        Args:
          path: None where there is no graph; then pairs of one `bare` name share
            an empty table that their files fill.

        Raises:
          FormatError, OSError: the file cannot be read.
        """
        place = path if path is not None else "\0" + bare
        if place not in self._of_path:
            twin = None if path is None else self._twin(path)
            if twin is not None:
                self._of_path[place] = self._of_path[twin]
            else:
                table = Operators() if path is None else Operators(
                    graph_reader.read_graphs(path),
                    functools.partial(graph_reader.iter_ops, path))
                self._of_path[place] = (table, FileNames(table))
        return self._of_path[place]

    def _twin(self, path: str) -> Optional[str]:
        """A file with the same bytes that was read before."""
        others = self._of_size.setdefault(os.stat(path).st_size, [])
        twin = next((one for one in others if one in self._of_path
                     and self._digest(one) == self._digest(path)), None)
        if twin is None:
            others.append(path)
        return twin

    def _digest(self, path: str) -> bytes:
        if path not in self._digests:
            import hashlib
            digest = hashlib.sha1()
            fd, _ = open_text(path)
            with os.fdopen(fd, "rb") as stream:
                for chunk in iter(lambda: stream.read(1 << 20), b""):
                    digest.update(chunk)
            self._digests[path] = digest.digest()
        return self._digests[path]


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
        self._cache = cache
        self._read: Optional[Tuple[Operators, FileNames]] = None
        self._steps: Optional[List[StepView]] = None
        self._described: Dict[str, GraphOp] = {}
        self.graph_error: Optional[str] = None

    def __repr__(self) -> str:
        return "PairView(%s, rank %s, %d executions)" % (
            "/".join(self.record.model_names), self.rank, len(self.steps))

    @property
    def rank_key(self) -> Union[int, str]:
        return "device:%s" % self.device if self.rank is None else self.rank

    @property
    def graph_name(self) -> Optional[str]:
        for graph in self.manifest.graphs:
            if graph.file == self.record.graph:
                return graph.name
        return None

    @property
    def run_record(self) -> Any:
        """The manifest's RunRecord of the process, or None."""
        # Whole names: 2026_pid7 is not 2026_pid7_1, which a second run of that pid has.
        words = set(re.findall(r"[^\s,;:()]+", " ".join(self.record.evidence)))
        same = [run for run in self.manifest.runs if run.rank == self.rank]
        named = [run for run in same if run.run_id in words]
        found = named or same
        return found[0] if found else None

    def _table(self) -> Tuple[Operators, FileNames]:
        if self._read is None:
            bare = "/".join(self.record.model_names)
            try:
                self._read = self._cache.get(self.graph_path, bare)
            except (FormatError, OSError) as error:
                # What the files say is still worth reading.
                self.graph_error = str(error)
                self._read = self._cache.get(None, bare)
        return self._read

    @property
    def operators(self) -> Operators:
        """In execution order; without a graph, as known from the files read so far."""
        return self._table()[0]

    @property
    def file_names(self) -> FileNames:
        return self._table()[1]

    @property
    def steps(self) -> List["StepView"]:
        """Executions in the order in which they ran."""
        if self._steps is None:
            self._steps = _steps_of(self)
        return self._steps

    def described(self, names: List[str]) -> Dict[str, GraphOp]:
        """Operators of the graph with their descriptions; reads the file again for them."""
        missing = {name for name in names if name not in self._described}
        if missing and self.graph_path is not None and self.graph_error is None:
            for _, op in graph_reader.iter_ops(self.graph_path):
                if op.name in missing:
                    self._described[op.name] = op
                    missing.discard(op.name)
                    if not missing:
                        break
        return {name: self._described[name] for name in names if name in self._described}


class StepView:
    """One dumped execution.

    Attributes:
      data_index: None where the folders do not say.
      load: 0, or how often the graph had been loaded before: a reload counts
        from 0 again.
      iteration: {"fit", "epoch", "batch"} or None.
      records: the manifest's `Step`s, one per folder.
    """

    def __init__(self, pair: PairView, data_index: Optional[int], load: int,
                 records: List[Step]):
        self.pair = pair
        self.data_index = data_index
        self.load = load
        self.records = records
        self.iteration = next((one.iteration for one in records if one.iteration), None)

    def __repr__(self) -> str:
        return "StepView(data_index=%s, rank=%s)" % (self.data_index, self.pair.rank)

    @property
    def folders(self) -> List[str]:
        """Absolute."""
        return [self.pair.manifest.absolute(one.path) for one in self.records]

    @property
    def kinds(self) -> Dict[str, int]:
        """Files by kind: "dump", "stats", "overflow", ..."""
        kinds: Dict[str, int] = {}
        for one in self.records:
            for kind, count in one.kinds.items():
                kinds[kind] = kinds.get(kind, 0) + count
        return kinds

    def columns(self) -> Columns:
        """Statistics of every tensor, read or computed now.

        Raises:
          OSError: a folder cannot be read.
        """
        return read_columns(self.folders, self.pair.file_names)

    def statistics(self, op: Optional[str] = None) -> Any:
        """See `Run.statistics`."""
        from keras_npu_dump.analysis.statistics import statistics_of
        return statistics_of([self], op)

    def tensor(self, op: str, index: int = 0, io: str = "output", turn: int = -1
               ) -> np.ndarray:
        """See `Run.tensor`."""
        from keras_npu_dump.analysis.tensors import find_tensor
        return find_tensor(self, op, index, io, turn).values()


def _steps_of(pair: PairView) -> List[StepView]:
    loads: Dict[Optional[str], List[Optional[int]]] = {}
    for one in pair.record.steps:
        ids = loads.setdefault(one.model_name, [])
        if one.model_id not in ids:
            ids.append(one.model_id)
    for ids in loads.values():
        ids.sort(key=lambda number: -1 if number is None else number)
    groups: Dict[Tuple[int, int], List[Step]] = {}
    for one in pair.record.steps:
        load = loads[one.model_name].index(one.model_id)
        index = -1 if one.data_index is None else one.data_index
        groups.setdefault((load, index), []).append(one)
    return [StepView(pair, None if index < 0 else index, load, records)
            for (load, index), records in sorted(groups.items())]


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
    groups: Dict[Tuple, Pair] = {}
    for folder in scan_tree(path, Problems()).folders:
        if folder.path in known or not folder.count:
            continue
        key = (folder.time, folder.device, folder.model_name)
        if key not in groups:
            rank = _rank_of(manifest, folder.device)
            groups[key] = Pair("", folder.time, folder.device, rank, [folder.model_name or ""],
                               _role(manifest, folder.model_name), "", [], [])
        groups[key].steps.append(Step(folder.data_index, folder.model_name, folder.model_id,
                                      folder.path, folder.count, folder.bytes, folder.kinds))
    for record in groups.values():
        record.steps.sort(key=lambda one: (
            -1 if one.data_index is None else one.data_index, one.model_id or 0))
    return [PairView(manifest, record, cache, None) for record in groups.values()]


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
