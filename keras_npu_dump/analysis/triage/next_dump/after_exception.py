"""The next dump where an execution raised: the exception is the answer, and what can be dumped is
what its operator was given, in the execution before; the one that raises may leave nothing."""
from __future__ import annotations

import re
from typing import List, Optional, Sequence

from keras_npu_dump.analysis.dump_size import DumpForm
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.next_dump.at_hand import Place, or_look
from keras_npu_dump.analysis.triage.next_dump.bare_graph import series_of
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump, makers, unwritable
from keras_npu_dump.analysis.triage.next_dump.series_size import size_of
from keras_npu_dump.analysis.triage.next_dump.spread import statistics_of, without
from keras_npu_dump.failure import Failure
from keras_npu_dump.records.manifest import Manifest
from keras_npu_dump.records.reading import RecordedRun

# How TensorFlow names the operators of a branch or a loop's body: by the operator that calls it.
_IN_A_BODY = re.compile(r"/(?:then|else|cond|body|branch\d*)/_\d+/")


def raised_in(run: RecordedRun) -> Optional[Failure]:
    """The exception that ended a run inside an execution; None where none did.

    Args:
      run: with its journal.
    """
    failure = run.failure
    if run.status != "failed" or failure is None or failure.is_signal:
        return None
    return None if failure.data_index is None or failure.tracing else failure


def plan_after(run: RecordedRun, failure: Failure, manifest: Manifest, group: Sequence[Series],
               path: str, limit: int) -> NextDump:
    """What can be dumped before the execution that raised.

    Args:
      run: that ended so. failure: by `raised_in`.
      manifest: of the job. group: what was dumped.
      path: as triage was asked. limit: of operators.

    Returns:
      A NextDump; its `why` says that the exception is the answer.
    """
    index = failure.data_index or 0
    answer = "the exception is the answer (%s)" % failure.how(brief=True)
    if not index:
        return NextDump(why=answer + "; no execution ran before it that could be dumped")
    name = next((one.graph_name for one in run.sections if one.number == failure.section), None)
    series = series_of(manifest, run, name, group)
    if series is None:
        return NextDump(why=answer)
    feeders = _feeders(series, failure.operator, limit)
    if feeders:
        table = series.operators
        size = size_of(series).of_operators(feeders, DumpForm("tensor"))
        planned = NextDump(
            dump_layer=[table.names[one] for one in feeders], dump_step=str(index - 1),
            estimated_bytes=size.bytes, at_least=size.unknown > 0,
            why="%s; what feeds that operator, in the execution before" % answer)
        iteration = next((one.iteration for one in series.steps if one.data_index == index - 1),
                         None)
        return or_look(planned, Place(series, index - 1, iteration, series.pair.rank_key), group,
                       path, "train")
    before = without([(0, index - 1)], {
        step.data_index for step in series.steps if step.data_index is not None})
    if not before:
        return NextDump(why="%s; all %d executions before it were dumped and read" % (
            answer, index) if index > 1 else answer + "; the execution before it was dumped and"
            " read")
    planned = statistics_of([series], before, "before it that were not dumped")
    planned.why = "%s; %s" % (answer, planned.why)
    return planned


def _feeders(series: Series, operator: Optional[str], limit: int) -> List[int]:
    """The operators that make the inputs of the one that raised."""
    position = None if operator is None else _found(series.operators, operator)
    if position is None:
        return []
    return [one for one in makers(series, position)
            if unwritable(series.operators.names[one]) is None][:limit]


def _found(table: Operators, operator: str) -> Optional[int]:
    """Its position; of what runs in a branch or a body, that of the operator that calls it."""
    names = [operator, *(operator[:match.start()] for match in reversed(list(
        _IN_A_BODY.finditer(operator))))]
    for name in names:
        position = table.by_name(name)
        if position is None:
            position = next((one for one in range(table.known) if name in table.originals[one]),
                            None)
        if position is not None:
            return position
    return None
