"""Overflow dumps (enable_dump_debug): each record tied to its operator, first event first.

For every overflow the device writes two files with the same task and stream in
their names: the operator's own dump, and `Opdebug.Node_OpDebug.*` with a record
of the status registers (runtime `aicpusd_event_process.cpp`). The bits are those
that the vendor's precision_tool tells apart.
"""
from __future__ import annotations

import os
from typing import List, NamedTuple, Optional, Tuple

from keras_npu_dump.analysis.triage.findings import explain
from keras_npu_dump.analysis.triage.findings.series import Series, TensorStatistics
from keras_npu_dump.analysis.triage.findings.suspects import (
    HIGH,
    MEDIUM,
    Suspect,
    SuspectPlace,
    make_suspect,
)
from keras_npu_dump.analysis.views import PairView, StepView
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats import dtypes
from keras_npu_dump.formats.names import DumpName
from keras_npu_dump.formats.stats import stats_folder
from keras_npu_dump.formats.tensor.opdebug import OverflowRecord, read_overflow
from keras_npu_dump.formats.tree import DumpFile, list_files
from keras_npu_dump.op_types.training import OVERFLOW_CHECK_TYPES

_CORE_BITS = (
    (0x8, "the negative of the smallest signed integer"),
    (0x10, "integer arithmetic out of range"),
    (0x20, "floating point arithmetic out of range"),
    (0x80, "a negative number converted to an unsigned integer"),
    (0x100, "float32 or int32 converted to float16 out of range"),
    (0x400, "a sum in the cube unit out of range"),
)
# Where the code of a failed atomic addition stands; that of DHA begins with 9.
_DHA_SHIFT, _DHA_MASK, _DHA_FIRST = 8, 0xFF, 8
_L2_SHIFT, _L2_MASK = 16, 0x7
_ATOMIC = {1: "upwards", 2: "downwards", 3: "its source was no number",
           4: "its target was no number", 5: "neither source nor target was a number"}


class Event(NamedTuple):
    """One overflow.

    Attributes:
      number: of the execution among the pair's. time: microseconds, by the name.
      path: of the Opdebug file. record: what it says.
      dump: the operator's own file, or None.
    """

    number: int
    time: int
    path: str
    record: OverflowRecord
    dump: Optional[Tuple[str, DumpFile]]


def status_words(record: OverflowRecord) -> str:
    """The status register of a record in words.

    Args:
      record: its `status` words hold the bits.
    """
    status = 0
    for word in record.status:
        status |= word
    unknown = "status 0x%x" % status
    if record.source == "DHA Atomic Add":
        code = ((status >> _DHA_SHIFT) & _DHA_MASK) - _DHA_FIRST
        return "atomic addition: %s" % _ATOMIC.get(code, unknown)
    if record.source == "L2 Atomic Add":
        return "atomic addition in L2: %s" % _ATOMIC.get(
            (status >> _L2_SHIFT) & _L2_MASK, unknown)
    found = [text for bit, text in _CORE_BITS if status & bit]
    rest = status & ~sum(bit for bit, _ in _CORE_BITS)
    if rest or not found:
        found.append("status 0x%x" % (rest or status))
    return ", ".join(found)


def events_of(pair: PairView, problems: List[Tuple[str, str]]) -> List[Event]:
    """All events of a pair, in the order in which they happened.

    Args:
      pair: a graph on its rank.
      problems: (path, reason) of records and folders that cannot be read are added.
    """
    events: List[Event] = []
    for number, step in enumerate(pair.steps):
        if step.kinds.get("overflow"):
            for folder in step.folders:
                events.extend(_events_in(number, folder, problems))
    return sorted(events, key=lambda event: (event.number, event.time))


def _events_in(number: int, folder: str, problems: List[Tuple[str, str]]) -> List[Event]:
    try:
        files = list_files(folder)
    except (OSError, ValueError) as error:  # ValueError: no name that a folder can have
        problems.append((folder, getattr(error, "strerror", None) or str(error)))
        return []
    dumps = [file for file in files if file.kind == "dump" and file.dump is not None]
    events = []
    for file in files:
        if file.kind != "overflow" or file.dump is None:
            continue
        path = os.path.join(folder, file.name)
        try:
            records = read_overflow(path)
        except FormatError as error:
            problems.append((path, error.reason))
            continue
        for record in records:
            if record.valid and any(record.status):
                dump = _dump_of(record, file.dump, dumps)
                events.append(Event(number, file.dump.timestamp, path, record,
                                    None if dump is None else (folder, dump)))
    return events


def _dump_of(record: OverflowRecord, name: DumpName, dumps: List[DumpFile]
             ) -> Optional[DumpFile]:
    """The operator's file: the same task and stream, of several the nearest in time."""
    task = record.task_id if record.task_id is not None else name.task_id
    stream = record.stream_id if record.stream_id is not None else name.stream_id
    same = []
    for file in dumps:
        mine = file.dump
        if mine is None or mine.task_id != task:
            continue
        if stream is not None and mine.stream_id is not None and mine.stream_id != stream:
            continue
        same.append((abs(mine.timestamp - name.timestamp), file.name, file))
    return min(same)[2] if same else None


def find(series: Series, problems: List[Tuple[str, str]]) -> List[Suspect]:
    """Suspects of one rank: events whose operator had finite inputs, first event first.

    An operator that was given infinities overflows because of them: it is counted
    with the event before it.

    Args:
      series: the executions of a graph on that rank.
      problems: (path, reason) of records that cannot be read are added.
    """
    pair = series.pair
    found: List[Suspect] = []
    count = 0
    for event in events_of(pair, problems):
        count += 1
        position, values = _operator(series, event)
        text = "%s reports an overflow: %s" % (event.record.source, status_words(event.record))
        if position is None:
            found.append(_unknown(series, event, text))
            continue
        inputs = [value for output, value in values if not output]
        outputs = [value for output, value in values if output]
        if any(value.bad for value in inputs) and found:
            found[-1].downstream += 1
            continue
        known = next((one for one in found if one.position == position), None)
        if known is not None:
            continue
        # Columns are read for executions with operators' dumps only; the
        # number is the pair's.
        text = "%s; %s" % (text, _values_text(inputs, outputs))
        confidence = HIGH if inputs else MEDIUM
        settled = _is_checked(series, position)
        if settled:
            text += "; a check for such gradients is there, which skips the update"
            confidence = MEDIUM
        suspect = _suspect(series, event, position, text, confidence)
        suspect.place = suspect.place._replace(number=event.number, order=count)
        suspect.hints.settled = settled
        found.append(suspect)
    return found


def _is_checked(series: Series, position: int) -> bool:
    """A gradient on whose way to the update a loss scale looks for overflows."""
    table = series.operators
    if position >= table.known or position not in table.gradients:
        return False
    return any(table.types[one] in OVERFLOW_CHECK_TYPES for one in table.reach([position]))


def _values_text(inputs: List[TensorStatistics], outputs: List[TensorStatistics]) -> str:
    bad = [one for one in outputs if one.bad]
    parts = []
    if inputs:
        parts.append(explain.ranges_of(inputs))
    if bad:
        parts.append("it gives %s" % explain.amount(bad))
    elif outputs:
        parts.append("output 0 is %s" % explain.span(outputs[0]))
    return "; ".join(parts) or "its dump holds no values"


def _operator(series: Series, event: Event
              ) -> Tuple[Optional[int], List[Tuple[bool, TensorStatistics]]]:
    if event.dump is None or event.dump[1].dump is None:
        return None, []
    folder, file = event.dump
    name = event.dump[1].dump
    positions = series.operators.of_file(name.op_type, name.op_name)
    position = positions[0] if positions else series.operators.add_file(
        name.op_type, name.op_name)
    read = stats_folder.compute_folder_stats(folder, [file.name])
    values = []
    for row in read.rows:
        values.append((row["io"] == "Output", TensorStatistics(
            int(row["index"]), 0, dtypes.dtype_number(row["data_type"]) or 0, int(row["count"]),
            float(row["max"]), float(row["min"]), float(row["avg"]), int(row["nan"]),
            int(row["neg_inf"]), int(row["pos_inf"]))))
    return position, values


def _suspect(series: Series, event: Event, position: int, message: str,
             confidence: str) -> Suspect:
    step: StepView = series.pair.steps[event.number]
    shown = Series(series.pair, [step], [], series.ordinal)
    return make_suspect(shown, 0, position, "overflow-event", message, confidence)


def _unknown(series: Series, event: Event, text: str) -> Suspect:
    record = event.record
    name = "task %s, stream %s" % (record.task_id, record.stream_id)
    step = series.pair.steps[event.number]
    return Suspect(
        op=name, op_type="", original_ops=[], step=step.data_index, iteration=step.iteration,
        rank=series.pair.rank_key, reason="overflow-event",
        message="%s; no dump of that task is there" % text, confidence=MEDIUM, downstream=0,
        ranks=[series.pair.rank_key], steps=[step.data_index],
        place=SuspectPlace(series, series.ordinal, event.number, 0, -1))
