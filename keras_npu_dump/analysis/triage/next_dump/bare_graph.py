"""A training graph of which nothing was dumped, as a series without executions."""
from __future__ import annotations

from typing import List, Optional, Sequence

from keras_npu_dump.analysis.dump_files import GraphCache
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.views import PairView
from keras_npu_dump.records.manifest import Manifest, Pair
from keras_npu_dump.records.reading import RecordedRun


def series_of(manifest: Manifest, run: RecordedRun, name: Optional[str],
              group: Sequence[Series]) -> Optional[Series]:
    """The series of a training graph: that was read, or one that has the graph alone.

    Args:
      manifest: of the job. run: that executed the graph.
      name: of the graph; None for the first.
      group: what was dumped.

    Returns:
      None where no such graph is known.
    """
    for series in group:
        record = series.pair.run_record
        if name in (None, series.pair.graph_name) and (
                record is None or record.run_id == run.run_id):
            return series
    return next(iter(bare_series(manifest, run, name)), None)


def bare_series(manifest: Manifest, run: RecordedRun, name: Optional[str] = None) -> List[Series]:
    """The training graphs without executions.

    Args:
      manifest: of the job. run: that executed them.
      name: of the only one that is asked for; None for all.
    """
    found = []
    for graph in manifest.graphs:
        if graph.role == "train" and name in (None, graph.name):
            pair = Pair(graph.file, None, run.device, run.rank, [graph.dump_name or ""],
                        graph.role, "", [], [])
            found.append(Series(PairView(manifest, pair, GraphCache(), None), [], []))
    return found
