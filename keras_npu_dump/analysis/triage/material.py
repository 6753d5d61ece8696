"""What a triage has read: executions in series, and what could not be read."""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.views import PairView, Rank
from keras_npu_dump.files.progress import Progress


class Material:
    """The executions of the chosen graphs, read one graph after the other.

    Args:
      progress: called as ("files", done, None), or None.

    Attributes:
      series: one per graph and rank that holds anything to look at.
      by_ordinal: the same, by the graph's place among those of its rank: executions
        that ranks have in common.
      problems: (path, reason) of what could not be read; rules add to it.
      files: how many were read.
      events: how many overflow records there are.
    """

    def __init__(self, progress: Optional[Progress] = None):
        self.series: List[Series] = []
        self.by_ordinal: Dict[int, List[Series]] = {}
        self.problems: List[Tuple[str, str]] = []
        self.files = 0
        self.events = 0
        self._progress = progress

    def read(self, ordinal: int, pair: PairView) -> None:
        """Reads all executions of a graph.

        Args:
          ordinal: of the graph among those of its rank, in time.
          pair: the graph on its rank.
        """
        series = Series.read(pair, ordinal, self._count)
        if not series.columns and not any(one.kinds.get("overflow") for one in pair.steps):
            return
        if pair.graph_error is not None and pair.graph_path is not None:
            self.problems.append((pair.graph_path, pair.graph_error))
        self.series.append(series)
        self.by_ordinal.setdefault(ordinal, []).append(series)
        for columns in series.columns:
            self.problems.extend(columns.problems)
        self.events += sum(one.kinds.get("overflow", 0) for one in pair.steps)

    def _count(self, files: int) -> None:
        self.files += files
        if self._progress is not None:
            self._progress("files", self.files, None)

    @property
    def ranks(self) -> List[Rank]:
        """Ranks with anything to look at, in the order of their reading."""
        return list(dict.fromkeys(one.pair.rank_key for one in self.series))

    @property
    def tensors(self) -> int:
        """How many tensors, of all executions, were read."""
        return sum(len(columns.key) for one in self.series for columns in one.columns)
