"""The graph of a pair and the folders of an execution: where values come from."""
from __future__ import annotations

import functools
import os
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from keras_npu_dump.analysis.graph.file_operators import FileNames
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import open_text
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.graph.ge_graph import GraphOp

_BLOCK = 1 << 20


class GraphCache:
    """Graph files that were read; equal files of several ranks are read once."""

    def __init__(self) -> None:
        self._of_path: Dict[str, Tuple[Operators, FileNames]] = {}
        self._of_size: Dict[int, List[str]] = {}
        self._digests: Dict[str, bytes] = {}

    def get(self, path: Optional[str], bare: str) -> Tuple[Operators, FileNames]:
        """Operators of a graph file, and the index of their dump files.

        Args:
          path: None where there is no graph; then pairs of one `bare` name share
            an empty table that their files fill.
          bare: the model's name in the dump folder.

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
                for chunk in iter(lambda: stream.read(_BLOCK), b""):
                    digest.update(chunk)
            self._digests[path] = digest.digest()
        return self._digests[path]


class PairGraph:
    """The graph of a pair; read when it is first asked for.

    Args:
      path: of the graph file, absolute; None without a graph.
      bare: the model's name in the dump folder, for pairs without a graph.
      cache: of the run.

    Attributes:
      path: as given.
      error: why the graph could not be read; None if it could, or was not asked for yet.
    """

    def __init__(self, path: Optional[str], bare: str, cache: GraphCache):
        self.path = path
        self.error: Optional[str] = None
        self._bare = bare
        self._cache = cache
        self._read: Optional[Tuple[Operators, FileNames]] = None
        self._described: Dict[str, GraphOp] = {}

    def _table(self) -> Tuple[Operators, FileNames]:
        if self._read is None:
            try:
                self._read = self._cache.get(self.path, self._bare)
            except (FormatError, OSError) as error:
                # What the files say is still worth reading.
                self.error = str(error)
                self._read = self._cache.get(None, self._bare)
        return self._read

    @property
    def operators(self) -> Operators:
        """In execution order; without a graph, as known from the files read so far."""
        return self._table()[0]

    @property
    def file_names(self) -> FileNames:
        """Which operator a dump file belongs to."""
        return self._table()[1]

    def described(self, names: Iterable[str]) -> Dict[str, GraphOp]:
        """Operators with all that the file says of them; reads the file again for them.

        Args:
          names: as in the graph.

        Returns:
          Name -> operator, without those that the graph does not have.

        Raises:
          FormatError, OSError: the file cannot be read any more.
        """
        wanted = list(names)
        missing = {name for name in wanted if name not in self._described}
        if missing and self.path is not None and self.error is None:
            for _, op in graph_reader.iter_ops(self.path):
                if op.name in missing:
                    self._described[op.name] = op
                    missing.discard(op.name)
                    if not missing:
                        break
        return {name: self._described[name] for name in wanted if name in self._described}


class ExecutionFiles:
    """The folders of one dumped execution, and the graph that their files belong to.

    Attributes:
      graph: see `PairGraph`.
      folders: absolute; a dynamic graph has several.
      data_index: None where the folders do not say.
      iteration: {"fit", "epoch", "batch"} or None.
      rank: None where no run record tells it.
    """

    def __init__(self, graph: PairGraph, folders: Sequence[str], data_index: Optional[int],
                 iteration: Optional[Dict[str, int]], rank: Optional[int]):
        self.graph = graph
        self.folders = list(folders)
        self.data_index = data_index
        self.iteration = iteration
        self.rank = rank
