"""The lines of the journal: names of events, their fields, and what they tell when read.

Each line is one JSON object with "event" and the fields of that event. `journal` writes them.
"""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.read_limited import (
    MAX_JOURNAL,
    MAX_JOURNAL_LINE,
    parse_json,
    read_lines,
)
from keras_npu_dump.records import field_kinds as checked
from keras_npu_dump.records.field_kinds import Faults
from keras_npu_dump.records.problems import Problems

FIT = "fit"                # a fit or loop begins
SECTION = "section"        # a training function is seen first, with a counter from 0
EXECUTION = "execution"    # an execution that is dumped begins, or its index is in doubt
GRAPH = "graph"            # what a training function is called, and its operators
COUNT = "count"            # how many executions of a function there were so far
CORRECT = "correct"        # an execution was counted to another function than it was of
WITHDRAW = "withdraw"      # an execution that was noted at its begin never ran
END_OF_DATA = "end-of-data"  # the data ended in an execution, which trained nothing
LOST = "lost"              # something of the dump folder was deleted

# Why a section begins, beside "start", "model", "compile", "retrace" and "restart".
CALL = "call"              # its function ran in no fit and in no step: executions are its batches
FUNCTION = "function"      # one more function ran in the steps of a loop


class EventFields(NamedTuple):
    """The fields of an event, by name; the value says of which kind it is.

    Attributes:
      needed: without them a line says nothing.
      others: that may be missing or null.
    """

    needed: Dict[str, checked.Kind]
    others: Dict[str, checked.Kind]


_ITERATION = {"fit": checked.count, "epoch": checked.count, "batch": checked.count}
EVENTS: Dict[str, EventFields] = {
    FIT: EventFields({"fit": checked.count}, {
        "model": checked.text, "epochs": checked.plain, "steps": checked.plain}),
    SECTION: EventFields({"section": checked.count}, {
        "model": checked.text, "reason": checked.text}),
    EXECUTION: EventFields({"section": checked.count, "data_index": checked.count}, dict(
        _ITERATION, batches=checked.count, ends=checked.count, uncertain=checked.text)),
    GRAPH: EventFields({"section": checked.count}, {
        "name": checked.text, "operators": checked.list_of(checked.text)}),
    COUNT: EventFields({"section": checked.count, "count": checked.count}, {
        "final": checked.flag, "uncertain": checked.text, "steps": checked.count}),
    CORRECT: EventFields({"section": checked.count, "from_section": checked.count,
                    "data_index": checked.count, "to_index": checked.count}, dict(
                        _ITERATION, batches=checked.count, uncertain=checked.text)),
    WITHDRAW: EventFields({"section": checked.count, "data_index": checked.count}, {}),
    END_OF_DATA: EventFields({"section": checked.count, "data_index": checked.count}, {}),
    LOST: EventFields({"what": checked.text}, {
        "path": checked.text, "executions": checked.count,
        "data_index": checked.list_of(checked.count), "of_section": checked.count}),
}


def line(event: str, fields: Dict[str, Any]) -> bytes:
    """The line of an event, with its end.

    Args:
      event: one of EVENTS.
      fields: of the event, by name.
    """
    return (json.dumps(dict({"event": event}, **fields)) + "\n").encode()


def parse(content: bytes, faults: checked.Faults, where: str) -> Optional[Dict[str, Any]]:
    """The event of a line, with the fields that are what they should be.

    Args:
      content: the line.
      faults: get what is wrong with it.
      where: the place of the line, such as "line 3".

    Returns:
      The event and its fields. None for a line that says nothing, and for events of a later
      version, which are no fault.
    """
    try:
        document = parse_json(content)
    except RecursionError:
        faults.add(where, "an event", "lists nested too deep")
        return None
    except ValueError:
        faults.add(where, "a JSON object", content[:80].decode("utf-8", "replace"))
        return None
    name = document.get("event") if isinstance(document, dict) else None
    if not isinstance(name, str):
        faults.add(where, "an object with an event", document)
        return None
    event = EVENTS.get(name)
    if event is None:
        return None
    found = faults.fields(document, {**event.needed, **event.others}, where + ".")
    missing = [key for key in event.needed if found.get(key) is None]
    for key in missing:
        if document.get(key) is None:
            faults.add("%s.%s" % (where, key), "a value", None)
    return None if missing else dict(found, event=name)


@dataclasses.dataclass
class RecordedExecution:
    """A dumped execution: its index on the device and the batch it was.

    `ends` is how often the data had ended before in an execution of the same function: a
    device that counts those is that far ahead.
    """

    data_index: int
    iteration: Optional[Dict[str, int]]
    uncertain: Optional[str]
    ends: int = 0

    @property
    def in_doubt(self) -> bool:
        """Whether the journal itself doubts the index; several batches in one are no doubt."""
        marks = (self.uncertain or "").split("; ")
        return any(mark and not mark.startswith("steps_per_execution") for mark in marks)

    def doubt(self, reason: str) -> None:
        """Its index may be off for this reason too."""
        self.uncertain = "; ".join(filter(None, [self.uncertain, reason]))


@dataclasses.dataclass
class RecordedSection:
    """One executed training function.

    A dataset of unknown size ends in an execution that is aborted. The journal numbers the
    others alone; whether the device counts the aborted ones too depends on its version, and is
    found out from its folders (`pairing/ends_of_data.py`). Until then they are taken as counted.

    Attributes:
      asked: the steps that the run dumps, where they are known.
      noted: executions by their number in the journal.
      executions: the same by data_index, as far as they are dumped.
      ran: how many had begun, by the journal; None until it knows. `final` at the end of the
        process.
      ends: for each end of the data how many executions the journal had counted before it.
      counts_ends: whether the device is taken to count the executions in which the data ended.
      steps: where executions are not one a step: how many steps the loop had.
    """

    number: int
    model: Optional[str] = None
    reason: Optional[str] = None
    graph_name: Optional[str] = None
    operators: Tuple[str, ...] = ()
    asked: Optional[StepSet] = None
    noted: Dict[int, RecordedExecution] = dataclasses.field(default_factory=dict)
    executions: Dict[int, RecordedExecution] = dataclasses.field(default_factory=dict)
    ran: Optional[int] = None
    final: bool = False
    ends: List[int] = dataclasses.field(default_factory=list)
    counts_ends: bool = True
    steps: Optional[int] = None

    def renumber(self, counts_ends: bool = True) -> None:
        """Numbers the executions as a device does that counts ends of the data, or does not.

        Args:
          counts_ends: whether it does. Defaults to True.
        """
        self.counts_ends = counts_ends
        if not self.ends:
            self.executions = self.noted
            return
        self.executions = {index: dataclasses.replace(noted, data_index=index)
                           for index, noted in self._numbered(counts_ends).items()}

    def indices_if(self, counts_ends: bool) -> Set[int]:
        """The data_index of what is dumped, by a device that counts ends of the data, or not."""
        return set(self._numbered(counts_ends))

    def _numbered(self, counts_ends: bool) -> Dict[int, RecordedExecution]:
        if not self.ends:
            return self.noted
        found = ((number + (noted.ends if counts_ends else 0), noted)
                 for number, noted in self.noted.items())
        return {index: noted for index, noted in found
                if self.asked is None or index in self.asked}

    def number_of(self, index: int) -> int:
        """The number in the journal of a data_index: less, where the device counts the ends."""
        return next((number for number, noted in self.noted.items()
                     if self.ends and self.counts_ends and number + noted.ends == index), index)

    def may_be(self, indices: Sequence[int]) -> bool:
        """Whether just these data_index are those of all dumped executions."""
        return set(indices) in (self.indices_if(True), self.indices_if(False))

    @property
    def aborted(self) -> List[int]:
        """The data_index at which the data ended, where the device counts that."""
        return [ran + before for before, ran in enumerate(self.ends)] if self.counts_ends else []

    @property
    def count(self) -> Optional[int]:
        """How many executions the device has counted up to the last that trained; None until
        the journal knows."""
        return self.count_if(self.counts_ends)

    def count_if(self, counts_ends: bool) -> Optional[int]:
        """`count` on a device that counts ends of the data, or does not."""
        if self.ran is None or not counts_ends:
            return self.ran
        return self.ran + sum(1 for before in self.ends if before < self.ran)

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


def read_journal(path: str, asked: Optional[StepSet] = None,
                 problems: Optional[Problems] = None) -> List[RecordedSection]:
    """The sections of a journal in order; an empty list where there is none.

    Args:
      path: of the journal.
      asked: the steps that the run dumps, where they are known.
      problems: are told of a journal that cannot be read.
    """
    faults = Faults()
    sections = sections_of(lines_of(path, problems), asked, [], faults)
    if problems is not None:
        faults.tell(problems, path)
    return sections


def lines_of(path: str, problems: Optional[Problems]) -> Iterator[bytes]:
    """The lines of a journal, each with its end; none where there is no journal.

    Args:
      path: of the journal.
      problems: are told of one that cannot be read.
    """
    try:
        yield from read_lines(path, MAX_JOURNAL, MAX_JOURNAL_LINE)
    except FileNotFoundError:
        pass
    except (OSError, FormatError) as error:
        if problems is not None:
            problems.unusable("the journal", error, path)


def sections_of(lines: Iterable[bytes], asked: Optional[StepSet], lost: List[Dict[str, Any]],
                faults: Faults) -> List[RecordedSection]:
    """The sections that lines tell of, by number.

    Args:
      lines: of a journal, each with its end.
      asked: the steps that the run dumps, where they are known.
      lost: gets the events that tell of deleted output.
      faults: get what is wrong with the lines.
    """
    sections: Dict[int, RecordedSection] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (not line.endswith(b"\n") and len(line) < MAX_JOURNAL_LINE):
            # The torn last line of a killed process; but a whole one may lack just its end.
            event = parse(line, Faults(), "")
        else:
            event = parse(line, faults, "line %d" % number)
        if event is None:
            continue
        if event["event"] == LOST:
            lost.append(event)
        elif "section" in event:
            _apply(sections, event, asked)
    _join_calls(sections)
    for section in sections.values():
        section.renumber()
    return [sections[number] for number in sorted(sections)]


def _join_calls(sections: Dict[int, RecordedSection]) -> None:
    """A function that ran by itself before a fit took it has one counter, and the fit's knows
    of all its executions."""
    of_fits = {one.graph_name: one for one in sections.values()
               if one.reason != CALL and one.graph_name is not None}
    for number, one in list(sections.items()):
        fit = None if one.reason != CALL or one.graph_name is None else of_fits.get(
            one.graph_name)
        if fit is not None:
            del sections[number]
            # They are batches of no fit.
            before = {index: dataclasses.replace(execution, iteration=None)
                      for index, execution in one.noted.items()}
            fit.noted = {**before, **fit.noted}


def _apply(sections: Dict[int, RecordedSection], event: Dict[str, Any],
           asked: Optional[StepSet]) -> None:
    kind = event["event"]
    number = event["section"]
    section = sections.setdefault(number, RecordedSection(number, asked=asked))
    if kind == SECTION:
        section.model = event.get("model")
        section.reason = event.get("reason")
    elif kind == EXECUTION:
        _execute(section, event["data_index"], event, None)
    elif kind == WITHDRAW:
        # Noted at its begin, and the call never reached the device.
        section.noted.pop(event["data_index"], None)
    elif kind == GRAPH:
        section.graph_name = event.get("name") or section.graph_name
        section.operators = tuple(event.get("operators") or ()) or section.operators
    elif kind == COUNT:
        section.ran = event["count"]
        section.final = bool(event.get("final"))
        section.steps = event.get("steps")
    elif kind == END_OF_DATA:
        section.ends.append(event["data_index"])
    elif kind == CORRECT:
        # The journal counted an execution to one function and learned later
        # that it was the first of a retraced one, with a counter of its own.
        origin = sections.setdefault(event["from_section"],
                                     RecordedSection(event["from_section"], asked=asked))
        moved = origin.noted.pop(event["data_index"], None)
        index = event["to_index"]
        if (moved is not None or "batch" in event) and (asked is None or index in asked):
            _execute(section, index, event, moved)


def _execute(section: RecordedSection, index: int, event: Dict[str, Any],
             moved: Optional[RecordedExecution]) -> None:
    iteration = moved.iteration if moved is not None else None
    batch = {key: event[key] for key in _ITERATION if event.get(key) is not None}
    if len(batch) == len(_ITERATION):
        iteration = batch
    uncertain = event.get("uncertain") or (moved.uncertain if moved else None)
    section.noted[index] = RecordedExecution(index, iteration, uncertain, event.get("ends") or 0)
