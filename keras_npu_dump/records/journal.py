"""The journal: which executions happened, on disk as they happen.

A *section* is one training function that runs on the device, with a counter of
its own from 0: that is how GE counts, per loaded graph, dumped or not
(ge, davinci_model.cc). compile() makes a new function, so a new section; a second
fit() of the same function goes on counting; evaluation and prediction are other
graphs and disturb nothing.

A dataset of unknown size ends in an execution that is aborted. Whether GE counts that one
differs between its versions and between static and dynamic graphs (ge, davinci_model.cc,
hybrid_model_executor.cc): here it is not counted, the place is noted, and executions after it
are noted if either way of counting dumps them. Whoever reads finds out which it was.
"""
import os
import threading
from typing import Any, Dict, List, Optional, Sequence

from keras_npu_dump import outages, sigterm
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.records import journal_lines
from keras_npu_dump.records.journal_file import JournalFile

NEVER = float("inf")
# Executions before a loop, of which the batch is taken back.
_MOST_TAKEN_OVER = 1000


class Section:
    """The counter of one training function.

    Attributes:
      index: the data_index of the next execution; also how many there were. After an end of
        data it is that of a device which does not count those.
      next_wanted: the next `index` that is dumped, `NEVER` after the last.
      ended_at: for each end of the data in an execution, the `index` that it came at.
      batches: how many batches one execution takes.
      doubts: why indices from here on may be off; they add up.
      calls: how often the function was called, where that differs from `index`.
      graph_name: of the function, where it is known.
      operators: its compute operators, where they are known.
      reason: why it is new, as `Journal.start_section` was told.
      steps: how many steps the loop had, where the function does not run once in each.
    """

    __slots__ = ("batches", "calls", "doubts", "ended_at", "graph_known", "graph_name", "index",
                 "model", "next_wanted", "number", "operators", "reason", "steps")

    def __init__(self, number: int, model: str, reason: str, next_wanted: Any):
        self.number = number
        self.model = model
        self.reason = reason
        self.steps: Optional[int] = None
        self.index = 0
        self.next_wanted = next_wanted
        self.batches = 1
        self.doubts: List[str] = []
        self.calls = 0
        self.ended_at: List[int] = []
        self.graph_known = False
        self.graph_name: Optional[str] = None
        self.operators: List[str] = []

    @property
    def ends(self) -> int:
        """How often the data has ended in an execution."""
        return len(self.ended_at)

    def doubt(self, reason: str) -> None:
        """From here on indices may be off, for this reason too."""
        if reason not in self.doubts:
            self.doubts.append(reason)


class Journal:
    """Appends to `iterations.jsonl`, one JSON object a line.

    Args:
      path: the file; made with the first line, readable by its owner only.
      steps: which executions are dumped. None: no execution is.

    Attributes:
      lines: how many there were so far.
    """

    def __init__(self, path: str, steps: Optional[StepSet]):
        self.path = path
        self.sections: List[Section] = []
        self.fits = 0
        self.lines = 0
        self._left: Optional[bytes] = None  # by `close`
        self._steps = steps
        self._file = JournalFile(path)
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def write(self, event: str, **fields: Any) -> None:
        """Appends a line. A child that was forked inside a fit has no line in this journal.

        Args:
          event: one of `journal_lines.EVENTS`.
          **fields: of that event.
        """
        if os.getpid() != self._pid:
            return
        with sigterm.held_back(), self._lock:
            self.lines += 1
            try:
                line = journal_lines.line(event, fields)
            except MemoryError as error:
                outages.tell("lines of the journal", error, "An execution cannot be noted")
                self._file.lost += 1
                return
            self._file.append(line)

    @property
    def lost(self) -> int:
        """How many lines will never be in the file."""
        return self._file.lost + self.unwritten.count(b"\n")

    @property
    def unwritten(self) -> bytes:
        """Lines that a reader of the file must know beside it; none where all is well."""
        with self._lock:
            return self._file.unwritten() if self._left is None else self._left

    def is_in_place(self) -> bool:
        """Whether the file that is written to is still the one at its path."""
        with self._lock:
            return self._file.is_in_place()

    def next_wanted(self, index: int, ends: int = 0) -> Any:
        """The lowest number from `index` on that is dumped; `NEVER` where none is.

        Args:
          index: of an execution, ends of data not counted.
          ends: how many of those came before; a device may count them or not. Defaults to 0.
        """
        if self._steps is None:
            return NEVER
        found = [self._steps.next_from(index), self._steps.next_from(index + ends)]
        return min([NEVER if one is None else one - before
                    for one, before in zip(found, (0, ends))])

    def wants(self, index: int, ends: int = 0) -> bool:
        """Whether an execution is dumped, by either way of counting; see `next_wanted`."""
        return bool(self.next_wanted(index, ends) == index)

    def start_section(self, model: str, reason: str) -> Section:
        """Notes a training function with a counter of its own.

        Args:
          model: the name of its model.
          reason: why it is new: "start", "model", "compile", "retrace", or one of
            `journal_lines`.

        Returns:
          Its Section.
        """
        section = Section(len(self.sections), model, reason, self.next_wanted(0))
        self.sections.append(section)
        self.write(journal_lines.SECTION, section=section.number, model=model, reason=reason)
        return section

    def start_fit(self, model: str, epochs: Optional[int], steps: Optional[int]) -> int:
        """Notes that a fit or loop begins.

        Args:
          model: the name of its model.
          epochs: how many it will have; None where that is not known.
          steps: batches of an epoch; None where that is not known.

        Returns:
          Its number, from 0.
        """
        number = self.fits
        self.fits += 1
        self.write(journal_lines.FIT, fit=number, model=model, epochs=epochs, steps=steps)
        return number

    def execution(self, section: Section, data_index: int, iteration: Dict[str, Any],
                  batches: Optional[int] = None, doubt: Optional[str] = None) -> Dict[str, Any]:
        """Notes a dumped execution at its begin, so that a crash in it is seen.

        Args:
          section: of its training function.
          data_index: its number on the device.
          iteration: fit, epoch, batch; of its first batch.
          batches: how many batches it takes. Defaults to what the section says.
          doubt: why just this index may be off, beside the doubts of its section.

        Returns:
          What was noted, for `doubt` and `withdraw`.
        """
        marks = list(section.doubts)
        if batches is None:
            batches = section.batches
            if batches > 1:
                marks.insert(0, "steps_per_execution=%d: that many batches from here" % batches)
        fields = {"section": section.number, "data_index": data_index, "fit": iteration["fit"],
                  "epoch": iteration["epoch"], "batch": iteration["batch"], "batches": batches,
                  "uncertain": _joined(marks + [doubt])}
        if section.ends:
            fields["ends"] = section.ends
        self.write(journal_lines.EXECUTION, **fields)
        section.next_wanted = self.next_wanted(data_index + 1, section.ends)
        return fields

    def outside(self, section: Section, data_index: int, reason: str,
                ends: Optional[int] = None) -> None:
        """Notes a dumped execution that is a batch of no fit and of no step.

        Args:
          section: of its function.
          data_index: its number on the device.
          reason: why its batch is not known.
          ends: how often the data had ended before it. Defaults to all ends so far.
        """
        ends = section.ends if ends is None else ends
        self.write(journal_lines.EXECUTION, section=section.number, data_index=data_index,
                   batches=1, uncertain=reason, **({"ends": ends} if ends else {}))
        section.next_wanted = self.next_wanted(data_index + 1, section.ends)

    def take_over(self, section: Section, reason: str) -> None:
        """A function of reason CALL runs in steps from now on: what ran before is no batch.

        Args:
          section: of the function.
          reason: why batches before are not known.
        """
        section.reason = journal_lines.FUNCTION
        self.write(journal_lines.SECTION, section=section.number, model=section.model,
                   reason=section.reason)
        left, begin = _MOST_TAKEN_OVER, 0
        for ends, end in enumerate([*section.ended_at, section.index]):
            index = self.next_wanted(begin, ends)
            while index < end and left:
                self.outside(section, int(index), reason, ends)
                index = self.next_wanted(int(index) + 1, ends)
                left -= 1
            begin = end
        section.next_wanted = self.next_wanted(section.index, section.ends)

    def doubt(self, executions: List[Dict[str, Any]], reason: str) -> None:
        """Says of executions noted before that their indices may be off: the later line counts.

        Args:
          executions: what `execution` has returned.
          reason: why they may be off.
        """
        for noted in executions:
            if reason not in (noted["uncertain"] or ""):
                noted["uncertain"] = _joined([noted["uncertain"], reason])
                self.write(journal_lines.EXECUTION, **noted)

    def withdraw(self, executions: List[Dict[str, Any]]) -> None:
        """Takes back executions that were noted at their begin and never ran."""
        for one in executions:
            self.write(journal_lines.WITHDRAW, section=one["section"], data_index=one["data_index"])

    def end_of_data(self, section: Section, before: int) -> None:
        """The data ended in the last execution, which trained nothing.

        Args:
          section: of its training function.
          before: how many executions were counted before it.
        """
        self.withdraw([{"section": section.number, "data_index": index}
                       for index in range(before, section.index)
                       if self.wants(index, section.ends)])
        section.index = before
        section.ended_at.append(before)
        section.next_wanted = self.next_wanted(before, section.ends)
        self.write(journal_lines.END_OF_DATA, section=section.number, data_index=before)

    def graph(self, section: Section, name: Optional[str], operators: List[str]) -> None:
        """Notes what a training function is called, and what it computes with.

        Args:
          section: of the function.
          name: of the function, None where it is not known.
          operators: names of its compute operators.
        """
        section.graph_known = True
        section.graph_name, section.operators = name, operators
        self.write(journal_lines.GRAPH, section=section.number, name=name, operators=operators)

    def retraced(self, old: Section, iteration: Dict[str, Any]) -> Section:
        """The last execution of `old` turned out to be the first of a new function.

        Args:
          old: the section to which it was counted.
          iteration: fit, epoch, batch; of that execution.

        Returns:
          The section of the new function.
        """
        old.index -= 1
        old.next_wanted = self.next_wanted(old.index, old.ends)
        new = self.start_section(old.model, "retrace")
        new.index, new.batches = 1, old.batches
        self.write(journal_lines.CORRECT, from_section=old.number, data_index=old.index,
                   section=new.number, to_index=0)
        if self.wants(0):
            self.execution(new, 0, iteration)
        new.next_wanted = self.next_wanted(1)
        # Which of several traces runs a batch cannot be seen from here.
        new.doubt("the training function was traced again; an earlier trace may run too")
        old.doubt("the training function was traced again; what ran in this trace since then was"
                  " counted to the later one")
        self._count(old, final=False)
        return new

    def counts(self, final: bool) -> None:
        """Notes how many executions there were so far."""
        for section in self.sections:
            self._count(section, final)

    def _count(self, section: Section, final: bool) -> None:
        fields: Dict[str, Any] = {}
        if section.doubts:
            fields["uncertain"] = _joined(section.doubts)
        if section.steps is not None:
            fields["steps"] = section.steps
        self.write(journal_lines.COUNT, section=section.number, count=section.index, final=final,
                   **fields)

    def restart(self) -> None:
        """Writes again what was in a folder that was deleted, as far as it is known."""
        with sigterm.held_back(), self._lock:
            if self._file.restore():
                return
        for section in self.sections:
            self.write(journal_lines.SECTION, section=section.number, model=section.model,
                       reason="restart")
            if section.graph_known:
                self.graph(section, section.graph_name, section.operators)
        self.counts(final=False)

    def close(self) -> None:
        """Notes the final counts."""
        self.counts(final=True)
        with sigterm.held_back(), self._lock:
            self._left = self._file.unwritten()
            self._file.close()


def _joined(doubts: Sequence[Optional[str]]) -> Optional[str]:
    return "; ".join(doubt for doubt in doubts if doubt) or None
