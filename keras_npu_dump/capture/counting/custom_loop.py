"""Loops that a script drives itself: DumpSession.step, and hooks called by hand.

There it is not known beforehand which functions run, nor how many batches they take: hooks
come once per batch, or once per call with the batch number jumping (`on_batch_begin(0)`,
`on_batch_end(99)`).
"""
from typing import Any, Dict, List, Optional, Tuple

from keras_npu_dump.capture.counting import calls
from keras_npu_dump.capture.counting.calls import INTERRUPTED
from keras_npu_dump.capture.device import loop_size
from keras_npu_dump.capture.model import function_calls
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.records.journal import Section
from keras_npu_dump.records.journal_lines import FUNCTION


class HandLoop:
    """Counts the calls of one training loop.

    Where executions are seen, each training function has its own counter, as on the device.
    The first that runs has the one of the loop, which counts steps until a function is known.

    Args:
      capture: of this process.
      owner: the session or callback, which has one counter all its life.
      model: the Keras model that is trained, where it is known; its counter is then used.

    Attributes:
      epoch: epoch of the next call.
      is_by_hand: the open step is one of hooks that are called by hand.
    """

    def __init__(self, capture: Capture, owner: Any, model: Any = None):
        self._capture = capture
        function_calls.install()
        self.section: Section = (None if model is not None or capture.calls is None else
                                 capture.calls.of_loops) or capture.section(
                                     owner if model is None else model, None)
        self.epoch = 0
        self._number = capture.start_fit(getattr(model, "name", None) or "loop", None, None)
        self._functions: List[Section] = []  # those of functions that ran in steps of this loop
        self._steps: Dict[int, int] = {} if capture.calls is None else capture.calls.steps
        self._before: Dict[int, int] = dict(self._steps)  # in loops that were entered earlier
        self._epochs = _Epochs()
        self._step = _OpenStep(0, None)
        self._is_open = self.is_by_hand = False
        if capture.calls is not None:
            capture.calls.leave_step()

    def begin(self, batch: int, batches: Optional[int] = None) -> None:
        """A call begins.

        Args:
          batch: number of its first batch, from 0.
          batches: how many it trains; None where only its end will tell.

        Raises:
          DumpError: in strict mode, if the dump of an earlier call is missing.
        """
        self._capture.raise_failure()
        if self._is_open:
            self._settle(1)
        self._epochs.begin_step(self.epoch)
        step = self._step = _OpenStep(batch, batches)
        # With loops on the device the indices depend on how many batches the call takes.
        step.deferred = batches is None and self._capture.loop_size.value > 1
        self._is_open, self.is_by_hand = True, batches is None
        if self._capture.calls is not None:
            self._capture.calls.step = self
        if not step.deferred and not self._is_open_question:
            step.ahead = True
            step.before = (self.section.index, self.section.calls)
            self._note(self.section)

    @property
    def _is_open_question(self) -> bool:
        """Whether it is not clear which function a step runs next."""
        if len(self._functions) > 1 or any(one.steps is not None for one in self._functions):
            return True
        known = self._capture.calls is not None and self._capture.calls.knows_functions
        return known and not self.section.graph_known

    def called(self, known: function_calls.Known) -> Any:
        """A training function is called in the open step.

        Args:
          known: what is known of it.

        Returns:
          What the watch over executions needs; see `calls.RunningExecution`.
        """
        section = self._section_of(known)
        if section not in self._functions:
            self._functions.append(section)
        step = self._step
        step.ran = True
        if not self.section.graph_known:
            self.section = section  # it has run before this loop, and brings its own counter
        if step.deferred:
            step.waiting.append(section)
            return None
        if step.ahead and section is self.section:
            step.ahead = False  # it was noted when the step began
        else:
            self._note(section)
        return calls.RunningExecution(section, section.index - 1)

    def _section_of(self, known: function_calls.Known) -> Section:
        counted = self._capture.calls
        section: Optional[Section] = counted.section(known)
        if section is not None:
            counted.take_over(section)
            return section
        if not self.section.graph_known:
            section = self.section
        else:
            section = self._capture.journal.start_section(self.section.model, FUNCTION)
        tied: Section = counted.tie(known, section)
        return tied

    def end(self, batch: Optional[int] = None) -> None:
        """The call ends.

        Args:
          batch: number of its last batch; None where `begin` was told how many there are.
        """
        step = self._step
        batches = 1
        if self._is_open and batch is not None:
            batches = max(1, batch - step.batch + 1)
        if not step.deferred and batches > 1 and step.written:
            reason = loop_size.predict(0, 0, self._capture.loop_size, batches).uncertain
            self._capture.journal.doubt([one for _, one in step.written], reason or "")
        self._settle(batches)
        if step.written:
            section, noted = step.written[0]
            # After an end of data the device may number it by a later one.
            self._capture.watch(section, int(self._capture.journal.next_wanted(
                noted["data_index"])), None)
        self._close()

    def _settle(self, batches: int) -> None:
        """What had to wait for the end of the step."""
        step = self._step
        if step.deferred:
            step.deferred, step.batches = False, batches
            step.ran = True
            for section in step.waiting or [self.section]:
                self._note(section)
        if step.ahead and self.section.graph_known:
            self._take_back()  # its function is known, and did not run in this step
        elif not step.ahead and not step.ran and not step.written and not self._functions:
            self._note(self.section)  # a step is all that is known of it

    def _close(self) -> None:
        self._step = _OpenStep(0, None)
        self._is_open = False
        if self._capture.calls is not None and self._capture.calls.step is self:
            self._capture.calls.step = None
        for section in self._functions:
            self._steps[section.number] = self._steps_of(section)
            if section.steps is not None:
                section.steps = self._steps_of(section)

    def _steps_of(self, section: Section) -> int:
        """How many steps there were in the loops in which a function ran."""
        return self._before.get(section.number, 0) + self._epochs.steps

    def interrupted(self, ran: Optional[bool]) -> None:
        """The call was left by an exception.

        Args:
          ran: whether it reached the device; None where nobody knows.
        """
        step = self._step
        if step.ahead and (ran is False or self.section.graph_known):
            self._take_back()
        elif step.ahead or (step.deferred and ran is not False):
            self._capture.journal.doubt(
                [one for _, one in step.written],
                "this call was interrupted, it may not have run")
            self.section.doubt(INTERRUPTED)
        if ran is False:
            self._epochs.take_back_step()
        self._close()

    def took_back(self, section: Section) -> None:
        """The data ended in an execution of the open step, which was no batch."""
        self._step.written = [one for one in self._step.written if one[0] is not section]
        self._epochs.take_back(section)

    def cut_short(self) -> None:
        """The process ends inside a step."""
        if self._is_open and self._step.ahead and self.section.graph_known:
            self._take_back()

    def _take_back(self) -> None:
        """The counter of the loop was ahead of its function, which did not run."""
        step, section, journal = self._step, self.section, self._capture.journal
        step.ahead = False
        journal.withdraw([one for other, one in step.written if other is section])
        step.written = [one for one in step.written if one[0] is not section]
        section.index, section.calls = step.before
        section.next_wanted = journal.next_wanted(section.index, section.ends)
        self._epochs.take_back(section)

    def _note(self, section: Section) -> None:
        """Counts an execution in the open step, and notes what of it is dumped."""
        step, size = self._step, self._capture.loop_size
        batches = step.batches or 1
        found = loop_size.predict(section.calls, section.index, size, batches)
        section.calls += 1
        section.index = end = found.first + found.rounds
        batch = self._batch_of(section)
        if size.changed:  # indices may have gone back
            section.next_wanted = self._capture.journal.next_wanted(found.first, section.ends)
        if section.next_wanted < end:
            self._capture.lookout.look()
        while section.next_wanted < end:
            index = int(section.next_wanted)
            iteration = {"fit": self._number, "epoch": self.epoch,
                         "batch": batch + min(index - found.first, batches - 1)}
            step.written.append((section, self._capture.journal.execution(
                section, index, iteration, found.batches, found.uncertain)))

    def _batch_of(self, section: Section) -> int:
        """The batch of an execution: that of the step, as long as each step has one of them."""
        before = self._epochs.count(section)
        if section.steps is None and before == self._epochs.in_epoch - 1:
            return self._step.batch
        section.steps = self._steps_of(section)
        return before


class _OpenStep:
    """What is known of the step that is open.

    Attributes:
      batch: number of its first batch.
      batches: how many it trains, None where that is not known yet.
      deferred: nothing is noted before its end; `waiting` are the functions that were called.
      ahead: the loop's own counter was raised, and its function was not called yet.
      ran: a training function was called.
      before: index and calls of the loop's own counter, before it was raised.
      written: sections, with the lines of executions that are dumped.
    """

    def __init__(self, batch: int, batches: Optional[int]):
        self.batch = batch
        self.batches = batches
        self.deferred = self.ahead = self.ran = False
        self.before = (0, 0)
        self.waiting: List[Section] = []
        self.written: List[Tuple[Section, Dict[str, Any]]] = []


class _Epochs:
    """How many steps and executions there were in this epoch.

    Attributes:
      steps: of all epochs, with the open one.
      in_epoch: of this epoch.
    """

    def __init__(self) -> None:
        self.steps = self.in_epoch = 0
        self._epoch = 0
        self._counts: Dict[int, int] = {}

    def begin_step(self, epoch: int) -> None:
        """A step of this epoch begins."""
        if epoch != self._epoch:
            self._epoch, self.in_epoch, self._counts = epoch, 0, {}
        self.steps += 1
        self.in_epoch += 1

    def count(self, section: Section) -> int:
        """How many executions a function had in this epoch before; this is one more."""
        before = self._counts.get(section.number, 0)
        self._counts[section.number] = before + 1
        return before

    def take_back(self, section: Section) -> None:
        """The last execution of a function was none."""
        self._counts[section.number] = self._counts.get(section.number, 1) - 1

    def take_back_step(self) -> None:
        """Nothing ran in the last step."""
        self.steps -= 1
        self.in_epoch -= 1
