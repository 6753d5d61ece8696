"""Run records and journals: what a training process wrote about itself.

`runs/{run_id}/run.json` has options, environment and process; the journal
`runs/{run_id}/iterations.jsonl` has one JSON object a line: fits, sections (a
section is one executed training function with its own counter from 0),
executions that were to be dumped, corrections, counts, and the operators of
the traced function. Both are written by capture; a torn last line of the
journal is what a killed process leaves, and is ignored.
"""
from __future__ import annotations

import calendar
import dataclasses
import itertools
import json
import os
import re
import socket
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import ConfigError, FormatError
from keras_npu_dump.files.read_limited import (
    MAX_JOURNAL,
    MAX_JOURNAL_LINE,
    MAX_RUN_RECORD,
    read_json,
    read_lines,
)
from keras_npu_dump.files.regular import NotRegularError, kind_of
from keras_npu_dump.records.liveness import is_running
from keras_npu_dump.records.problems import Problems

RUN_FILE = "run.json"
JOURNAL_FILE = "iterations.jsonl"
_MANY = 10000  # executions that are believed without a line of the journal


@dataclasses.dataclass
class RecordedExecution:
    """A dumped execution: its index on the device and the batch it was."""

    data_index: int
    iteration: Optional[Dict[str, int]]
    uncertain: Optional[str]

    @property
    def in_doubt(self) -> bool:
        """Whether the journal itself doubts the index; several batches in one are no doubt."""
        marks = (self.uncertain or "").split("; ")
        return any(mark and not mark.startswith("steps_per_execution") for mark in marks)


@dataclasses.dataclass
class RecordedSection:
    """One executed training function; `count` is None until the journal knows it.

    `count` is of executions that had begun; it is `final` at the end of the process.
    """

    number: int
    model: Optional[str] = None
    reason: Optional[str] = None
    graph_name: Optional[str] = None
    operators: Tuple[str, ...] = ()
    executions: Dict[int, RecordedExecution] = dataclasses.field(default_factory=dict)
    count: Optional[int] = None
    final: bool = False

    @property
    def last(self) -> Optional[int]:
        """The highest data_index known to have been executed."""
        known = list(self.executions)
        if self.count:
            known.append(self.count - 1)
        return max(known) if known else None

    def has_ended(self, index: int, all_is_over: bool) -> bool:
        """Whether the journal says that an execution has ended.

        A later one has begun; or it is the last, and then `all_is_over` says whether
        what had begun has ended.
        """
        if any(other > index for other in self.executions):
            return True
        return self.count is not None and self.count > index + (0 if all_is_over else 1)


@dataclasses.dataclass
class RecordedRun:
    """A run record with its journal. Fields that the record lacks are None or empty.

    `lost` are the journal's notes of output that was deleted while the run went on; `over`
    is known where the run's own process asks, and nothing more will come: it neither trains
    now nor is anything on its way from the device.
    """

    folder: str
    run_id: str
    document: Dict[str, Any]
    sections: List[RecordedSection]
    lost: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    over: bool = False

    @property
    def root(self) -> str:
        """The folder that holds `runs`."""
        return os.path.dirname(os.path.dirname(self.folder))

    @property
    def rank(self) -> Optional[int]:
        return _integer(self.document.get("rank"))

    @property
    def device(self) -> Optional[int]:
        return _integer(self.document.get("device"))

    @property
    def pid(self) -> Optional[int]:
        return _integer(self.document.get("pid"))

    @property
    def host(self) -> Optional[str]:
        return self.document.get("host")

    @property
    def options(self) -> Dict[str, Any]:
        return self.document.get("options") or {}

    @property
    def environment(self) -> Dict[str, Any]:
        return self.document.get("environment") or {}

    @property
    def status(self) -> Optional[str]:
        return self.document.get("status")

    @property
    def cause(self) -> Optional[str]:
        """Why a failed run ended, such as "interrupted by SIGINT"; None where nobody knows."""
        cause = self.document.get("cause")
        return cause if isinstance(cause, str) and cause else None

    @property
    def outages(self) -> List[str]:
        """Why something that the process wanted to write could not be written."""
        found = self.document.get("outages")
        return [str(one) for one in found] if isinstance(found, list) else []

    @property
    def started(self) -> Optional[float]:
        """Seconds since the epoch, None where the record does not say."""
        return parse_time(self.document.get("started"))

    @property
    def ended(self) -> Optional[float]:
        return parse_time(self.document.get("ended"))

    @property
    def alive(self) -> bool:
        """The training goes on: the record has no end, and its process is there."""
        return self.document.get("ended") is None and self.process_alive

    @property
    def process_alive(self) -> bool:
        """The process that wrote the record still runs on this host.

        After the recorded end of the training only our own process is believed
        to be the one: other ids may have been given anew.
        """
        if self.over or self.host != socket.gethostname() or self.pid is None:
            return False
        if self.document.get("ended") is not None:
            return self.pid == os.getpid()
        return is_running(self.pid, self.started)

    @property
    def died(self) -> Optional[str]:
        """How the training died; None where it did not, or nobody knows. Who interrupts one
        has not made it crash."""
        if "ended" not in self.document or self.over and self.ended is None:
            return None
        if self.document["ended"] is None:
            if self.process_alive:
                return None
            return "its record has no end: killed, a full disk" + (
                "" if self.host == socket.gethostname() else ", or still runs on %s" % (
                    self.host or "another machine"))
        cause = self.cause or "it failed"
        return cause if self.status == "failed" and not cause.startswith("interrupted") else None

    @property
    def utc_offset(self) -> Optional[int]:
        """Seconds that the process's local time is ahead of UTC."""
        match = re.match(r"([+-])(\d\d):?(\d\d)$", str(self.document.get("timezone") or ""))
        if not match:
            return None
        seconds = int(match.group(2)) * 3600 + int(match.group(3)) * 60
        return -seconds if match.group(1) == "-" else seconds

    @property
    def asked(self) -> Optional[StepSet]:
        """The steps that were asked for; None where dump was off or nothing is known."""
        if not self.options.get("enable_dump"):
            return None
        return parse_steps(self.options.get("dump_step"))

    @property
    def layers(self) -> List[str]:
        """The names of `dump_layer`; empty where every operator was asked for."""
        value = self.options.get("dump_layer") or ""
        return value.split() if isinstance(value, str) else [str(one) for one in value]


def parse_steps(value: Any) -> Optional[StepSet]:
    """A StepSet of an option's value, None where the value is none of the grammar."""
    try:
        return StepSet.of(None if value in ("", None) else value)
    except (ConfigError, ValueError, TypeError):
        return None


def parse_time(text: Any) -> Optional[float]:
    """Seconds since the epoch of an ISO time; without an offset it is UTC."""
    if not isinstance(text, str):
        return None
    match = re.match(
        r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$", text)
    if not match:
        return None
    seconds = float(calendar.timegm(tuple(int(match.group(i)) for i in range(1, 7))))
    if match.group(7):
        seconds += float(match.group(7))
    zone = match.group(8)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        shift = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        seconds += shift if zone[0] == "-" else -shift
    return seconds


def read_runs(dump_path: str, problems: Problems) -> List[RecordedRun]:
    """All run records below `{dump_path}/runs`, by run id. Broken ones are told, not raised."""
    folder = os.path.join(dump_path, "runs")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    runs = []
    for name in names:
        run = read_run(os.path.join(folder, name), problems)
        if run is not None:
            runs.append(run)
    return runs


def read_run(folder: str, problems: Problems,
             known: Optional[Dict[str, Any]] = None) -> Optional[RecordedRun]:
    """The run of `{dump_path}/runs/{run_id}`; None where there is no readable record.

    Args:
      folder: of the run.
      problems: where a broken record is told.
      known: what the run's own process knows beside its files, which may be gone or not
        written to the end: "record", the fields; "journal", lines; "closed", whether all
        was written that will be.
    """
    what = kind_of(folder)
    if what is not None and not what.endswith("a folder"):
        problems.not_a_file(NotRegularError(folder, "expected a run folder, this is %s" % what))
        return None
    path = os.path.join(folder, RUN_FILE)
    document: Dict[str, Any] = {}
    try:
        document = read_json(path, MAX_RUN_RECORD)
    except FileNotFoundError:
        if known is None and not os.path.exists(os.path.join(folder, JOURNAL_FILE)):
            return None
        problems.add("unreadable", "%s is missing, its journal is used alone" % path)
    except NotADirectoryError:
        if known is None:
            return None
    except (OSError, FormatError) as error:
        problems.unusable("the run record", error, path)
    if known is not None:
        document = dict(known["record"])
    if not isinstance(document, dict):
        document = {}
    run_id = str(document.get("run_id") or os.path.basename(folder))
    run = RecordedRun(folder, run_id, document, [], over=known is not None and known["closed"])
    lines = _lines_of(os.path.join(folder, JOURNAL_FILE), problems)
    if known is not None:
        lines = itertools.chain(lines, known["journal"].split(b"\n"))
    _read_lines(run, lines)
    return run


def read_journal(path: str, asked: Optional[StepSet] = None,
                 problems: Optional[Problems] = None) -> List[RecordedSection]:
    """The sections of a journal in order; an empty list where there is none.

    Args:
      path: of the journal.
      asked: the steps that the run dumps, where they are known.
      problems: are told of a journal that cannot be read.
    """
    return _sections(_lines_of(path, problems), asked, [])


def _lines_of(path: str, problems: Optional[Problems]) -> Iterator[bytes]:
    try:
        yield from read_lines(path, MAX_JOURNAL, MAX_JOURNAL_LINE)
    except FileNotFoundError:
        pass
    except (OSError, FormatError) as error:
        if problems is not None:
            problems.unusable("the journal", error, path)


def _read_lines(run: RecordedRun, lines: Iterable[bytes]) -> None:
    run.sections = _sections(lines, run.asked, run.lost)
    counts = run.document.get("counts")
    lost = run.document.get("lost_lines")
    if not lost or not isinstance(counts, list):
        return
    # The end of the record knows what the journal had no room for.
    known = {section.number: section for section in run.sections}
    for number, count in enumerate(counts):
        section = known.get(number)
        if section is None:
            section = RecordedSection(number)
            run.sections.append(section)
        if isinstance(count, int) and not section.final:
            section.count, section.final = count, True
        _fill(section, run.asked)
    run.sections.sort(key=lambda one: one.number)


def _fill(section: RecordedSection, asked: Optional[StepSet]) -> None:
    """Executions that the journal has lost: that they ran is known, not which batch they were."""
    ran = (section.count or 0) - 1
    intervals = [] if asked is None else [(0, ran)] if asked.is_all else asked.intervals
    for first, last in intervals:
        for index in range(first, min(last, ran, first + _MANY) + 1):
            section.executions.setdefault(index, RecordedExecution(
                index, None, "the journal could not be written"))


def _sections(lines: Iterable[bytes], asked: Optional[StepSet],
              lost: List[Dict[str, Any]]) -> List[RecordedSection]:
    sections: Dict[int, RecordedSection] = {}
    for line in lines:
        try:
            event = json.loads(line.decode("utf-8"))
            if event["event"] == "lost":
                lost.append(event)
                continue
            _apply(sections, event, asked)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # The torn last line of a killed process, or a line of a later version.
            continue
    return [sections[number] for number in sorted(sections)]


def _apply(sections: Dict[int, RecordedSection], event: Dict[str, Any],
           asked: Optional[StepSet]) -> None:
    kind = event["event"]
    if kind not in ("section", "execution", "graph", "count", "correct", "withdraw"):
        return
    number = int(event["section"])
    section = sections.setdefault(number, RecordedSection(number))
    if kind == "section":
        section.model = event.get("model")
        section.reason = event.get("reason")
    elif kind == "execution":
        _execute(section, int(event["data_index"]), event, None)
    elif kind == "withdraw":
        # Noted at its begin, and the call never reached the device.
        section.executions.pop(int(event["data_index"]), None)
    elif kind == "graph":
        section.graph_name = event.get("name") or section.graph_name
        section.operators = tuple(event.get("operators") or ()) or section.operators
    elif kind == "count":
        section.count = int(event["count"])
        section.final = bool(event.get("final"))
    else:
        # The journal counted an execution to one function and learned later
        # that it was the first of a retraced one, with a counter of its own.
        origin = sections.setdefault(int(event["from_section"]),
                                     RecordedSection(int(event["from_section"])))
        moved = origin.executions.pop(int(event["data_index"]), None)
        index = int(event["to_index"])
        if (moved is not None or "batch" in event) and (asked is None or index in asked):
            _execute(section, index, event, moved)


def _execute(section: RecordedSection, index: int, event: Dict[str, Any],
             moved: Optional[RecordedExecution]) -> None:
    iteration = None
    if event.get("fit") is not None and event.get("epoch") is not None:
        iteration = {key: int(event[key]) for key in ("fit", "epoch", "batch")}
    elif moved is not None:
        iteration = moved.iteration
    uncertain = event.get("uncertain") or (moved.uncertain if moved else None)
    section.executions[index] = RecordedExecution(index, iteration, uncertain)


def _integer(value: Any) -> Optional[int]:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
