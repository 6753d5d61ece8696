"""Run records and journals, read: what a training process wrote about itself.

`runs/{run_id}/run.json` has options, environment and process (`run_record`); the journal
`runs/{run_id}/iterations.jsonl` has one event a line (`journal_lines`): fits, sections (a
section is one executed training function with its own counter from 0), executions that
were to be dumped, corrections, counts, and the operators of the traced function. A torn last
line of the journal is what a killed process leaves, and is ignored.
"""
from __future__ import annotations

import dataclasses
import itertools
import os
import socket
from typing import Any, Dict, Iterable, List, Optional, Tuple

from keras_npu_dump.config.flag_origin import is_name
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import ConfigError, FormatError
from keras_npu_dump.failure import Failure, by_execution, of_json
from keras_npu_dump.files.read_limited import MAX_RUN_RECORD, read_json
from keras_npu_dump.files.regular import NotRegularError, kind_of
from keras_npu_dump.files.timestamps import parse_offset, parse_time
from keras_npu_dump.liveness import is_running
from keras_npu_dump.records.field_kinds import MOST_FAULTS, Faults
from keras_npu_dump.records.journal_lines import (
    RecordedExecution,
    RecordedSection,
    lines_of,
    sections_of,
)
from keras_npu_dump.records.layout import JOURNAL_FILE, RUN_FILE, RUNS, root_of, run_folder
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.run_record import LAUNCHER, check_run

_MANY = 10000  # executions that are believed without a line of the journal


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
        return root_of(self.folder)

    @property
    def rank(self) -> Optional[int]:
        """Number of the process in its job."""
        return self._number("rank")

    @property
    def device(self) -> Optional[int]:
        """Logical number of its device."""
        return self._number("device")

    @property
    def pid(self) -> Optional[int]:
        """Its process id on its host."""
        return self._number("pid")

    def _number(self, name: str) -> Optional[int]:
        value = self.document.get(name)
        return value if isinstance(value, int) else None

    def _text(self, name: str) -> Optional[str]:
        value = self.document.get(name)
        return value if isinstance(value, str) else None

    @property
    def host(self) -> Optional[str]:
        """The name of its host."""
        return self._text("host")

    @property
    def options(self) -> Dict[str, Any]:
        """The dump options of its device; empty where they are not known."""
        return self.document.get("options") or {}

    @property
    def environment(self) -> Dict[str, str]:
        """The variables that decided about graphs and dumps; empty where they are not known."""
        return self.document.get("environment") or {}

    @property
    def status(self) -> Optional[str]:
        """"running", "ended" or "failed"."""
        return self._text("status")

    @property
    def cause(self) -> Optional[str]:
        """Why a failed run ended, such as "interrupted by SIGINT"; None where nobody knows."""
        return self._text("cause") or None

    @property
    def by_launcher(self) -> bool:
        """Whether `keras-npu-dump run` has started the script."""
        return LAUNCHER in (self.document.get("asked_by") or ())

    @property
    def failure(self) -> Optional[Failure]:
        """The exception or signal that ended it, in its own words; None where nobody knows."""
        return of_json(self.document.get("failure"))

    @property
    def raised(self) -> Dict[Tuple[int, int], Failure]:
        """Executions that were left by an exception or a signal, by section and data_index."""
        return by_execution([*(self.document.get("raised") or ()), self.document.get("failure")])

    def raised_at(self, section: RecordedSection, index: int) -> Optional[Failure]:
        """What left the execution of a data_index; None where nothing did."""
        found = self.raised.get((section.number, section.number_of(index)))
        return None if found is None else found._replace(data_index=index)

    @property
    def how_it_ended(self) -> Optional[str]:
        """`cause` with the words of the exception, where they are known."""
        return self.how_it_ended_told()

    def how_it_ended_told(self, brief: bool = False) -> Optional[str]:
        """The same.

        Args:
          brief: without the exception's words, where they were told before.
        """
        failure = self.failure
        if failure is None:
            return self.cause
        several = sum(1 for one in self.sections if one.last is not None) > 1
        names = {one.number: one.graph_name for one in self.sections if several}
        return failure.how(names.get(-1 if failure.section is None else failure.section), brief)


    @property
    def outages(self) -> List[str]:
        """Why something that the process wanted to write could not be written."""
        return list(self.document.get("outages") or ())

    @property
    def started(self) -> Optional[float]:
        """Seconds since the epoch, None where the record does not say."""
        return parse_time(self.document.get("started"))

    @property
    def ended(self) -> Optional[float]:
        """Seconds since the epoch, None where it has not, or the record does not say."""
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
        return self.died_told()

    def died_told(self, brief: bool = False) -> Optional[str]:
        """The same.

        Args:
          brief: without the exception's words, where they were told before.
        """
        if "ended" not in self.document or self.over and self.ended is None:
            return None
        if self.document["ended"] is None:
            if self.process_alive:
                return None
            return "its record has no end: killed, a full disk" + (
                "" if self.host == socket.gethostname() else ", or still runs on %s" % (
                    self.host or "another machine"))
        cause = self.cause or "it failed"
        if self.status != "failed" or cause.startswith("interrupted"):
            return None
        return self.how_it_ended_told(brief) or cause

    @property
    def utc_offset(self) -> Optional[int]:
        """Seconds that the process's local time is ahead of UTC."""
        return parse_offset(self.document.get("timezone"))

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


def read_runs(dump_path: str, problems: Problems, brief: bool = False) -> List[RecordedRun]:
    """All run records below `{dump_path}/runs`, in the order of their folders.

    Args:
      dump_path: that may have records.
      problems: are told of broken ones; none is raised.
      brief: tell one fault of each file, as at the end of a training that has a good record.
    """
    folder = os.path.join(dump_path, RUNS)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    runs = []
    for name in names:
        run = read_run(os.path.join(folder, name), problems, brief=brief)
        if run is not None:
            runs.append(run)
    _rename_twins(runs, problems)
    return runs


def _rename_twins(runs: List[RecordedRun], problems: Problems) -> None:
    """Runs that have the id of another one get the name of their folder, which is theirs."""
    known = {os.path.basename(run.folder) for run in runs}
    taken = set()
    for run in runs:
        own = os.path.basename(run.folder)
        if run.run_id != own and (run.run_id in known or run.run_id in taken):
            faults = Faults()
            faults.add("run_id", "an id that no other run has", run.run_id)
            faults.tell(problems, os.path.join(run.folder, RUN_FILE))
            run.run_id = own
        taken.add(run.run_id)


def record_fields(dump_path: str, run_id: str) -> Dict[str, Any]:
    """The fields of one run.json, those that are what they should be.

    Args:
      dump_path: whose `runs` has it. run_id: name of its folder there; another's word.

    Returns:
      Empty where there is none that can be read, or it is the name of no folder there.
    """
    if not is_name(run_id):
        return {}
    try:
        document = read_json(os.path.join(run_folder(dump_path, run_id), RUN_FILE), MAX_RUN_RECORD)
    except (OSError, ValueError, FormatError):
        return {}  # ValueError: half a character in the path
    return check_run(document, Faults())


def read_run(folder: str, problems: Problems,
             known: Optional[Dict[str, Any]] = None,
             brief: bool = False) -> Optional[RecordedRun]:
    """The run of `{dump_path}/runs/{run_id}`; None where there is no readable record.

    Args:
      folder: of the run.
      problems: where a broken record is told.
      known: what the run's own process knows beside its files, which may be gone or not
        written to the end: "record", the fields; "journal", lines; "closed", whether all
        was written that will be.
      brief: see `read_runs`.
    """
    what = kind_of(folder)
    if what is not None and not what.endswith("a folder"):
        problems.not_a_file(NotRegularError(folder, "expected a run folder, this is %s" % what))
        return None
    path = os.path.join(folder, RUN_FILE)
    faults = Faults()
    document: Dict[str, Any] = {}
    try:
        document = check_run(read_json(path, MAX_RUN_RECORD), faults)
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
        faults = Faults()
        document = check_run(known["record"], faults)
    faults.tell(problems, path, 1 if brief else MOST_FAULTS)
    run_id = document.get("run_id") or os.path.basename(folder)
    run = RecordedRun(folder, run_id, document, [],
                      over=known is not None and bool(known["closed"]))
    journal = os.path.join(folder, JOURNAL_FILE)
    lines = lines_of(journal, problems)
    if known is not None:
        lines = itertools.chain(lines, known["journal"].splitlines(True))
    journal_faults = Faults()
    _read_lines(run, lines, journal_faults)
    journal_faults.tell(problems, journal, 1 if brief else MOST_FAULTS)
    return run


def _read_lines(run: RecordedRun, lines: Iterable[bytes], faults: Faults) -> None:
    run.sections = sections_of(lines, run.asked, run.lost, faults)
    counts = run.document.get("counts")
    if not counts or not run.document.get("lost_lines"):
        return
    # The end of the record knows what the journal had no room for.
    known = {section.number: section for section in run.sections}
    for number, count in enumerate(counts):
        section = known.get(number)
        if section is None:
            section = RecordedSection(number, asked=run.asked)
            run.sections.append(section)
        if not section.final:
            section.ran, section.final = count, True
        _fill(section, run.asked)
        section.renumber()
    run.sections.sort(key=lambda one: one.number)


def _fill(section: RecordedSection, asked: Optional[StepSet]) -> None:
    """Executions that the journal has lost: that they ran is known, not which batch they were."""
    ran = (section.ran or 0) - 1
    intervals = [] if asked is None else [(0, ran)] if asked.is_all else asked.intervals
    for first, last in intervals:
        for index in range(first, min(last, ran, first + _MANY) + 1):
            section.noted.setdefault(index, RecordedExecution(
                index, None, "the journal could not be written"))


