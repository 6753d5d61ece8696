"""Executions of training functions, each counted for its own graph, whoever has called it.

Fits and steps of a session say which batch an execution belongs to. What runs in neither is a
loop of the script's own: there a function's executions are its batches, and epochs are not
known. A function that has run in a fit keeps the counter of that fit: train_on_batch executes it,
too, and so does a fit that nobody counts.
"""
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.capture.counting.fit import END_OF_DATA, Fit
from keras_npu_dump.capture.model import function_calls
from keras_npu_dump.capture.model.optimizer_updates import Updates
from keras_npu_dump.capture.process import raised
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.errors import DumpError
from keras_npu_dump.failure import Failure
from keras_npu_dump.records.journal import Section
from keras_npu_dump.records.journal_lines import CALL

INTERRUPTED = ("an earlier call was interrupted, which may have run or not; the index may be lower"
               " by one")
_LOOP = ("NPU_LOOP_SIZE=%d: a function that is a loop and returns nothing takes that many indices"
         " in a call")
_GIVEN_UP = "its executions are not counted any more, which is a fault of keras_npu_dump"
_IN_NO_FIT = ("it ran in no fit that this callback has seen (train_on_batch, or a fit without the"
              " callback), its batch is not known")
_OUTSIDE = "it ran outside of `with dump.step():`, its batch is not known"

if TYPE_CHECKING:
    from keras_npu_dump.capture.counting.custom_loop import HandLoop


class RunningExecution(NamedTuple):
    """An execution that has begun.

    Attributes:
      section: of its function.
      data_index: its number on the device.
      fit: that it is a batch of, None for other loops.
      watched: it is dumped, and its files are looked for when it has ended.
    """

    section: Section
    data_index: int
    fit: Optional[Fit] = None
    watched: bool = False


class _OfFit(NamedTuple):
    """A function that has run in a fit.

    Attributes:
      section: that fits count it in.
      updates: what is known of the optimizer of its model.
      batches: how many an execution takes, and so how often it updates.
    """

    section: Section
    updates: Updates
    batches: int

    def ran(self, executions: int) -> None:
        """Outside of fits: the next fit of the model need not ask the optimizer for these."""
        if self.updates.last is not None:
            self.updates.last += executions * self.batches


class Calls(function_calls.Listener):
    """Hears of every execution of a training function in this process.

    Args:
      capture: of this process.

    Attributes:
      step: the loop of which a step is open, None outside of steps.
      steps: of the loops that have ended, for each section that ran in some of theirs.
    """

    def __init__(self, capture: Capture):
        self._capture = capture
        self._lock = threading.RLock()
        self._sections: Dict[Any, Section] = {}
        self._of_fits: Dict[Any, _OfFit] = {}
        self._loop_number: Optional[int] = None
        self._running: List[RunningExecution] = []
        # The last exception that left an execution: its id, for it must not be kept alive.
        self._last: Optional[Tuple[int, Failure]] = None
        self.step: "Optional[HandLoop]" = None
        self.steps: Dict[int, int] = {}

    def begins(self, known: function_calls.Known) -> Optional[RunningExecution]:
        """See Listener."""
        capture = self._capture
        if capture.pid != os.getpid():
            return None
        if capture.opened_options is None:
            capture.look_at_device()  # a name from before ours may have opened it
            if capture.opened_options is None:
                return None
        with self._lock:
            running = self._counted(known)
            if running is not None:
                self._running.append(running)
            return running

    def _counted(self, known: function_calls.Known) -> Optional[RunningExecution]:
        fit: Optional[Fit] = self._capture.active_fit
        key = known.name or id(known)
        while fit is not None:
            own = fit.names.get(key)  # of each batch: a call more is the largest part of its cost
            if own is None:
                own = fit.executes(known)
            if own and (fit.ran != fit.begun or not self._is_over(fit)):
                fit.ran, fit.seen = fit.begun, True
                if key not in self._of_fits:
                    self._of_fits[key] = _OfFit(
                        fit.section, self._capture.updates_of(fit.model), fit.inner)
                index = fit.section.index
                return RunningExecution(fit.section, index - 1 if index else 0, fit)
            fit = fit.outer
        of_fit = self._of_fits.get(key)
        if of_fit is not None:
            of_fit.ran(1)
            if not of_fit.section.graph_known:  # that fit was left before it told
                self._capture.journal.graph(of_fit.section, known.name, known.operators)
        elif not known.trains:
            return None
        if self.step is not None:
            called: Optional[RunningExecution] = self.step.called(known)
            return called
        return self._in_no_step(known) if of_fit is None else self._in_no_fit(of_fit.section)

    def _is_over(self, fit: Fit) -> bool:
        """Whether an exception has left a fit; nobody tells, until the next begins."""
        if not fit.caller.is_gone():
            return False
        inside: Optional[Fit] = self._capture.active_fit
        while inside is not None and inside is not fit.outer:
            inside.interrupted()
            inside = inside.outer
        return True

    def section(self, known: function_calls.Known) -> Optional[Section]:
        """The counter of a function, None before its first execution."""
        of_fit = self._of_fits.get(_key(known))
        return self._sections.get(_key(known)) if of_fit is None else of_fit.section

    def retraced(self, name: Optional[str], section: Section) -> None:
        """A function of a fit turned out to have a counter of its own.

        Args:
          name: of the function.
          section: its counter.
        """
        if name in self._of_fits:
            self._of_fits[name] = self._of_fits[name]._replace(section=section)

    @property
    def knows_functions(self) -> bool:
        """Whether a training function has run before."""
        return bool(self._sections or self._of_fits)

    @property
    def of_loops(self) -> Optional[Section]:
        """The counter of the first function that ran in a step of a loop, None before."""
        return next((one for one in self._sections.values() if one.reason != CALL), None)

    def take_over(self, section: Section) -> None:
        """A function that has run outside of steps runs in them from now on."""
        if section.reason == CALL:
            self._capture.journal.take_over(section, _OUTSIDE)

    def tie(self, known: function_calls.Known, section: Section) -> Section:
        """From now on executions of a function are counted in a section."""
        self._sections[_key(known)] = section
        self._capture.journal.graph(section, known.name, known.operators)
        return section

    def _in_no_fit(self, section: Section) -> RunningExecution:
        capture, journal = self._capture, self._capture.journal
        capture.raise_failure()
        index = section.index
        section.index = index + 1
        wanted = index >= section.next_wanted and journal.wants(index, section.ends)
        if wanted:
            capture.lookout.look()
            journal.outside(section, index, _IN_NO_FIT)
        return RunningExecution(section, index, None, wanted)

    def _in_no_step(self, known: function_calls.Known) -> RunningExecution:
        capture = self._capture
        capture.raise_failure()
        if self._loop_number is None:
            self._loop_number = capture.start_fit("loop", None, None)
        section = self.section(known) or self.tie(known, capture.journal.start_section(
            "loop", CALL))
        index = section.index
        section.index = index + 1
        wanted = index >= section.next_wanted
        if wanted:
            capture.lookout.look()
            if section.reason == CALL:
                size = capture.loop_size.value
                capture.journal.execution(
                    section, index, {"fit": self._loop_number, "epoch": 0, "batch": index}, 1,
                    _LOOP % size if size > 1 else None)
            else:
                capture.journal.outside(section, index, _OUTSIDE)
        return RunningExecution(section, index, None, wanted)

    def ended(self, execution: RunningExecution) -> None:
        """See Listener."""
        self._left(execution)
        if execution.watched:
            # After an end of data the device may number it by a later one.
            self._capture.watch(execution.section, int(
                self._capture.journal.next_wanted(execution.data_index)), None)

    def raised(self, execution: RunningExecution, error: BaseException) -> None:
        """See Listener."""
        self._left(execution)
        section = execution.section
        if raised.is_end_of_data(error):
            if execution.fit is None:
                self._end_of_data(execution)
            else:
                execution.fit.ran = END_OF_DATA
            return
        if execution.fit is None:
            section.doubt(INTERRUPTED)
            self.leave_step()
        failure = self._described(error, execution)
        self._last = (id(error), failure)
        self._capture.record.add_raised(failure)

    def _end_of_data(self, execution: RunningExecution) -> None:
        """The data ended in an execution of a loop, which was no batch."""
        section, size = execution.section, self._capture.loop_size.value
        if size > 1:
            section.doubt(_LOOP % size)
        self._capture.journal.end_of_data(section, execution.data_index)
        for of_fit in self._of_fits.values():
            if of_fit.section is section:
                of_fit.ran(-1)
                break
        if self.step is not None:
            self.step.took_back(section)

    def _left(self, execution: RunningExecution) -> None:
        with self._lock:
            self._running = [one for one in self._running if one is not execution]

    def _described(self, error: BaseException, execution: RunningExecution) -> Failure:
        section, index = execution.section.number, execution.data_index
        if isinstance(error, KeyboardInterrupt):
            return Failure("SIGINT", section=section, data_index=index)
        return raised.describe(error, self._capture.kept, section=section, data_index=index)

    def gave_up(self) -> None:
        """See Listener."""
        for section in self._sections.values():
            section.doubt(_GIVEN_UP)

    def leave_step(self) -> None:
        """Hooks by hand are not told that an exception left their step: what runs from here on
        is none of it, until its next begin."""
        if self.step is not None and self.step.is_by_hand:
            self.step = None

    def cut_short(self) -> None:
        """The process ends: what is noted ahead and did not run is taken back."""
        fit: Optional[Fit] = self._capture.active_fit
        while fit is not None:
            fit.cut_short()
            fit = fit.outer
        if self.step is not None:
            self.step.cut_short()

    def what_ended(self, error: Optional[BaseException]) -> Optional[Failure]:
        """What the record keeps of the exception or signal that has ended the process.

        Args:
          error: the exception; None for SIGTERM.
        """
        if error is None:
            running = self._running[-1:]
            return Failure("SIGTERM", None, None, running[0].section.number,
                           running[0].data_index) if running else None
        for one in raised.chain(error):
            if self._last is not None and self._last[0] == id(one) and (
                    isinstance(one, KeyboardInterrupt)
                    or self._last[1].type == type(one).__name__):
                return self._last[1]
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return None
        if isinstance(error, DumpError):
            return Failure(type(error).__name__)  # its words are ours, and told already
        fit: Optional[Fit] = self._capture.active_fit
        return raised.describe(error, self._capture.kept, tracing=raised.is_of_tracing(error) or (
            fit is not None and fit.was_tracing(error)))


def _key(known: function_calls.Known) -> Any:
    return known.name or id(known)


def follow(capture: Capture) -> None:
    """Has the executions of this process told to its capture.

    Args:
      capture: of this process.
    """
    capture.calls = Calls(capture)
    function_calls.listen(capture.calls)
