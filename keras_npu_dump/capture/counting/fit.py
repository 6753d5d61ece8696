"""One `fit()` as the journal sees it: what happens outside the hot path."""
import threading
from typing import Any, Dict, Iterator, List, Optional

from keras_npu_dump import messages
from keras_npu_dump.capture.counting import nested_fits
from keras_npu_dump.capture.device import loop_size
from keras_npu_dump.capture.model import function_calls, optimizer_updates, train_function
from keras_npu_dump.capture.process import raised
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.records.journal import NEVER, Section

# Dumped executions of one fit that are kept in mind, to take back their certainty.
_KEPT = 1000
# In place of the number of a batch: an execution found the end of the data, and was none.
END_OF_DATA = None


class Fit:
    """Counts one fit of one model.

    The callback's batch hooks work on these attributes directly, since a call more per
    batch would be the largest part of their cost.

    Attributes:
      section: counter of the training function that the next batch executes.
      traces: asks how often that function was traced.
      traced: the answer that was last acted upon.
      fresh: no batch was seen yet.
      describe_pending: the end of this batch has something to do.
    """

    __slots__ = ("aborted", "begun", "caller", "capture", "describe_pending", "ended", "epoch",
                 "first", "first_epoch", "fresh", "function", "inner", "last", "lock", "model",
                 "names", "number", "outer", "owner", "params", "ran", "section", "seen", "traced",
                 "traces", "updates", "written")

    def __init__(self, capture: Capture, owner: Any, model: Any, params: Optional[Dict[str, Any]],
                 caller: nested_fits.Caller, outer: "Optional[Fit]"):
        self.capture = capture
        function_calls.install()
        self.caller = caller
        self.outer = outer
        self.owner = owner
        self.model = model
        self.params = params
        self.function = train_function.of_model(model)
        self.section: Section = capture.section(model, self.function)
        self.traces = train_function.traces(self.function)
        self.traced = self.traces()
        self.fresh = True
        self.epoch = 0
        self.first_epoch: Optional[int] = None
        self.last = (0, 0)
        self.begun = self.ended = self.aborted = 0
        self.ran: Optional[int] = 0  # `begun` when an execution was last seen to begin
        self.seen = False  # whether one ever was
        self.names: Dict[Any, bool] = {}  # of functions that ran meanwhile: is it this fit's?
        self.lock = threading.Lock()
        self.describe_pending = False
        self.written: List[Dict[str, Any]] = []
        steps = (params or {}).get("steps")
        self.inner = train_function.steps_per_execution(model)
        self.number = capture.start_fit(model.name, (params or {}).get("epochs"), steps)
        capture.add_model(model)
        loop_size.check_steps_per_execution(self.inner, capture.loop_size)
        self.section.batches = self.inner
        self.updates = optimizer_updates.updates(model)
        self._count_unseen_before()
        self.first = self.section.index
        if capture.calls is not None:
            capture.calls.leave_step()

    @property
    def end_index(self) -> Optional[int]:
        """The counter at the end of this fit, if nothing cuts it short; None if unknown."""
        params = self.params or {}
        epochs, steps = params.get("epochs"), params.get("steps")
        if not epochs or not steps or self.first_epoch is None:
            return None
        return self.first + int(epochs - self.first_epoch) * -(-int(steps) // self.inner)

    def begin_epoch(self, epoch: int) -> None:
        """An epoch begins; `epoch` is its number as Keras gives it."""
        self.epoch = epoch
        if self.first_epoch is None:
            self.first_epoch = epoch  # initial_epoch, which no hook is told of
            self._tell_if_out_of_reach()

    def _tell_if_out_of_reach(self) -> None:
        end, wanted = self.end_index, self.section.next_wanted
        if end is not None and end <= wanted < NEVER:
            messages.warning(
                "This fit makes executions %d to %d, and data_index %d is the next to be dumped:"
                " it dumps nothing.", self.section.index, end - 1,
                self.capture.journal.next_wanted(end))

    def executes(self, known: function_calls.Known) -> bool:
        """Whether a function that runs in this fit is the fit's own, whatever it computes.

        Callbacks and other threads run training functions, too. An own one may still be called
        by train_on_batch, which the optimizer's count tells of. `names` has the answer from now
        on, where there is one.
        """
        names = train_function.names(self.function)
        if names is None or known.name is None:
            return known.trains and self.ran != self.begun  # the first is taken for it
        own = self.names[known.name] = known.name in names
        return own

    def _count_unseen_before(self) -> None:
        """Executions between the fits, which the optimizer knows of."""
        known = self.capture.updates_of(self.model)
        if any(one.model is self.model for one in self._around()):
            # What ran since the last fit is counted by the fit around this one.
            known.last, known.traced = self.updates, self.traced
            return
        unseen = optimizer_updates.unseen_before(self.model, self.updates, self.traced, known)
        if unseen is not None:
            self._count_unseen(unseen)

    def _count_unseen_within(self) -> None:
        """Executions inside this fit, by other callbacks or another thread."""
        known = self.capture.updates_of(self.model)
        known.last, known.traced = optimizer_updates.updates(self.model), self.traces()
        unseen = optimizer_updates.unseen_within(
            self.model, self.updates, known.last,
            self.begun * self.inner + self.aborted * (self.inner - 1))
        if unseen is not None:
            self._count_unseen(unseen)
            self.capture.journal.doubt(self.written, unseen.reason)

    def _count_unseen(self, unseen: optimizer_updates.Unseen) -> None:
        self.section.doubt(unseen.reason)
        self._set_index(self.section.index + -(-unseen.updates // self.inner))

    def _set_index(self, index: int) -> None:
        self.section.index = index
        self.section.next_wanted = self.capture.journal.next_wanted(index, self.section.ends)

    def notice(self, batch: int) -> None:
        """Counts a batch that is dumped, or before which the function was traced again.

        The callback counts all others itself.

        Args:
          batch: its number in the epoch, from 0.

        Raises:
          DumpError: in strict mode, if the dump of an earlier batch is missing; this batch
            does not run then, and is not counted.
        """
        if self.capture.failure is not None:
            self._set_index(self.section.index)  # the watcher had asked to be heard
            self.capture.raise_failure()
        traced = self.traces()
        if traced != self.traced:
            # The first call of a function traces it; a later trace is a function of its own,
            # and it was the batch before this one that ran in it.
            if self.traced and not self.fresh:
                self._split_off_last()
            self.traced = traced
        index = self.section.index
        self.section.index = index + 1
        self.begun += 1
        if self.capture.journal.wants(index, self.section.ends):
            self._note(index, batch)

    def _note(self, index: int, batch: int) -> None:
        """A batch begins that is dumped."""
        self.capture.lookout.look()
        noted = self.capture.journal.execution(
            self.section, index, self._iteration(self.epoch, batch))
        if len(self.written) >= _KEPT:
            del self.written[0]
        self.written.append(noted)
        self.describe_pending = not (self.section.graph_known and self.capture.watching)

    def _split_off_last(self) -> None:
        """Moves the last execution to a new section."""
        old = self.section
        new = self.capture.journal.retraced(old, self._iteration(*self.last))
        name, operators = train_function.describe(self.function)
        self.capture.journal.graph(new, name, operators)
        if self.capture.calls is not None:
            self.capture.calls.retraced(name, new)
        self.capture.replace_section(old, new)
        self.written = []
        self.section = new

    def _iteration(self, epoch: int, batch: int) -> Dict[str, int]:
        return {"fit": self.number, "epoch": epoch, "batch": batch}

    def describe(self) -> None:
        """A dumped batch has ended: notes its graph, and has its files looked for.

        On Keras 3 the ends of several batches come in as many threads.
        """
        with self.lock:
            if not self.describe_pending:
                return
            self.describe_pending = False
            self._note_graph()
            last = self.written[-1] if self.written else None
        if last is not None:
            index = last["data_index"]
            if last.get("ends"):  # the device may number it by a later one
                index = self.capture.journal.next_wanted(index)
            self.capture.watch(self.section, index, self.end_index)

    def _note_graph(self) -> None:
        if not self.section.graph_known:
            self.capture.note_graph(self.section, self.function)

    def end_epoch(self) -> None:
        """An epoch has ended; the end of the data may have been met by an execution."""
        self.capture.lookout.look()
        with self.lock:
            is_end = self.begun == self.ended + 1
        if is_end:
            # A dataset of unknown size, or one that is shorter than steps_per_epoch.
            self._end_of_data()

    def _end_of_data(self) -> None:
        """The last batch that has begun was none, as there was no more data."""
        section, journal = self.section, self.capture.journal
        noted = [one for one in self.written[-1:] if one["data_index"] == section.index - 1]
        self.written = [one for one in self.written if one not in noted]
        self.describe_pending = False
        ran, begun, is_told = self.ran, self.begun, self._is_told
        self.ran = self.begun = begun - 1
        if ran == begun:
            # With steps_per_execution Keras 3 asks in the graph whether there is more: the
            # execution ended well, without a step, and counts as any other.
            journal.withdraw(noted)
        elif ran == END_OF_DATA or not is_told:
            self.aborted += 1  # of several steps in one execution the first have trained
            journal.end_of_data(section, section.index - 1)
        else:
            journal.withdraw(noted)  # nothing was executed
            self._set_index(section.index - 1)

    def end(self) -> None:
        """The fit has ended well; those inside it that have not were left by exceptions."""
        inside = self.capture.active_fit
        while inside is not None and inside is not self:
            inside.interrupted()
            inside = inside.outer
        if self.begun and self.traces() != self.traced and self.traced:
            self._split_off_last()
        if self.begun:
            with self.lock:
                self._note_graph()
        self._count_unseen_within()
        self._leave()
        self.capture.lookout.look()
        self.capture.journal.counts(final=False)

    def _leave(self) -> None:
        """Gives way to the fit around, which has seen none of the batches of this one."""
        self.capture.active_fit = self.outer
        after = optimizer_updates.updates(self.model)
        for one in self._around():
            if one.function is self.function:
                one.section, one.traced, one.fresh = self.section, self.traces(), True
            if one.model is self.model and not (
                    after is None or self.updates is None or one.updates is None):
                one.updates += after - self.updates

    def _around(self) -> "Iterator[Fit]":
        """The fits around this one, the innermost first."""
        outer = self.outer
        while outer is not None:
            yield outer
            outer = outer.outer

    def was_tracing(self, error: BaseException) -> bool:
        """Whether a batch has begun, and its function was traced and not executed.

        Args:
          error: what has left this fit. Of a first trace that fails the newest TensorFlow
            counts nothing; what else may raise there is a hook.
        """
        return self._is_not_executed and (self.traces() != self.traced or (
            not self.traces() and not raised.is_of_hook(error)))

    @property
    def _is_told(self) -> bool:
        """Whether executions of this fit are told of: none of a second batch was, if they are not.
        """
        return function_calls.are_seen() and (self.seen or self.begun <= 1)

    @property
    def _is_not_executed(self) -> bool:
        """Whether the last batch has begun, and it is known that its execution has not."""
        return self.begun > self.ended and (
            self.ran not in (self.begun, END_OF_DATA) if self._is_told else not self.traces())

    def cut_short(self) -> None:
        """The process ends inside this fit: a batch that was not executed is not counted."""
        if self._is_not_executed:
            self.capture.journal.withdraw(
                [one for one in self.written if one["data_index"] == self.section.index - 1])
            self._set_index(self.section.index - 1)
            self.begun -= 1

    def interrupted(self) -> None:
        """This fit was left by an exception, as is seen when the next begins."""
        known = self.capture.updates_of(self.model)
        known.last, known.traced = optimizer_updates.updates(self.model), self.traces()
        self._leave()
        if self.begun <= self.ended:
            return
        noted = [one for one in self.written if one["data_index"] == self.section.index - 1]
        if known.last is not None and self.updates is not None and (
                known.last == self.updates + (self.begun - 1) * self.inner):
            self.section.doubt(
                "an earlier fit was interrupted; by the optimizer's count its last batch did not"
                " run any more")
            self.capture.journal.withdraw(noted)
            self._set_index(self.section.index - 1)
        else:
            self.section.doubt(
                "an earlier fit was interrupted in a batch that may have run or not; the index"
                " may be lower by one")
            self.capture.journal.doubt(noted, "this batch was interrupted, it may not have run")


def begin_fit(capture: Capture, owner: Any, model: Any, params: Optional[Dict[str, Any]],
              caller: nested_fits.Caller) -> Optional[Fit]:
    """Starts counting a fit.

    Args:
      capture: of this process.
      owner: the callback that counts.
      model: the Keras model that is trained.
      params: what Keras tells callbacks of the fit; one dict for all of them.
      caller: who calls the hooks.

    Returns:
      The count; None where another callback of the same fit counts already.
    """
    active = capture.active_fit
    # Keras hands the same dict to all callbacks of a fit.
    if active is not None and active.params is params and active.owner is not owner:
        return None
    unwind(capture, caller)
    fit = capture.active_fit = Fit(capture, owner, model, params, caller, capture.active_fit)
    return fit


def unwind(capture: Capture, caller: nested_fits.Caller, itself: bool = False) -> None:
    """Ends the fits that were left by an exception.

    Args:
      capture: of this process.
      caller: of the fit that goes on; those that it runs in stay.
      itself: whether the count of that fit stays, too. Defaults to False.
    """
    fit = capture.active_fit
    while fit is not None and not fit.caller.holds(caller) and not (
            itself and fit.caller.is_same(caller)):
        fit.interrupted()
        fit = fit.outer
