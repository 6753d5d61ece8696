"""One `fit()` as the journal sees it: what happens outside the hot path."""
import threading
from typing import Any, Dict, List, Optional

from absl import logging

from keras_npu_dump.capture import loops, train_function, unseen
from keras_npu_dump.capture.journal import NEVER, Section
from keras_npu_dump.capture.process import Capture

# Dumped executions of one fit that are kept in mind, to take back their certainty.
_KEPT = 1000


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

    __slots__ = ("begun", "capture", "describe_pending", "ended", "epoch", "first", "fresh",
                 "function", "inner", "last", "lock", "model", "number", "owner", "params",
                 "section", "traced", "traces", "unknown_size", "updates", "written")

    def __init__(self, capture: Capture, owner: Any, model: Any, params: Optional[dict]):
        self.capture = capture
        self.owner = owner
        self.model = model
        self.params = params
        self.function = train_function.of_model(model)
        self.section: Section = capture.section(model, self.function)
        self.traces = train_function.traces(self.function)
        self.traced = self.traces()
        self.fresh = True
        self.epoch = 0
        self.last = (0, 0)
        self.begun = self.ended = 0
        self.lock = threading.Lock()
        self.describe_pending = False
        self.written: List[Dict[str, Any]] = []
        steps = (params or {}).get("steps")
        self.unknown_size = steps is None
        self.inner = train_function.steps_per_execution(model)
        self.number = capture.start_fit(model.name, (params or {}).get("epochs"), steps)
        capture.add_model(model)
        loops.check_steps_per_execution(self.inner, capture.loop_size)
        if self.inner > 1 and self.section.uncertain is None:
            self.section.uncertain = ("steps_per_execution=%d: that many batches from here"
                                      % self.inner)
        self.updates = unseen.updates(model)
        self._count_unseen_before()
        self.first = self.section.index
        self._tell_if_out_of_reach()

    @property
    def end_index(self) -> Optional[int]:
        """The counter at the end of this fit, if nothing cuts it short; None if unknown."""
        params = self.params or {}
        epochs, steps = params.get("epochs"), params.get("steps")
        if not epochs or not steps:
            return None
        return self.first + epochs * -(-steps // self.inner)

    def _tell_if_out_of_reach(self) -> None:
        end, wanted = self.end_index, self.section.next_wanted
        if end is not None and end <= wanted < NEVER:
            logging.warning(
                "This fit makes executions %d to %d, and data_index %d is the next to be dumped:"
                " it dumps nothing.", self.section.index, end - 1, wanted)

    def _count_unseen_before(self) -> None:
        """Executions between the fits, which the optimizer knows of."""
        known = self.capture.updates_of(self.model)
        section, reason, extra = self.section, None, 0
        if known.last is None:
            # A checkpoint sets the optimizer's count too, but does not trace.
            if self.traced and self.updates and unseen.shares_function(self.model):
                extra, reason = self.updates, unseen.BEFORE % self.updates
        elif self.updates is not None and self.updates > known.last:
            extra = self.updates - known.last
            if unseen.shares_function(self.model):
                same = self.traced == known.traced
                reason = (unseen.BETWEEN if same else unseen.ELSEWHERE) % extra
                extra = extra if same else 0
        if reason is not None:
            section.uncertain = reason
            section.index += -(-extra // self.inner)
            section.next_wanted = self.capture.journal.next_wanted(section.index)

    def _count_unseen_within(self) -> None:
        """Executions inside this fit, by other callbacks or another thread."""
        known = self.capture.updates_of(self.model)
        after = unseen.updates(self.model)
        known.last, known.traced = after, self.traces()
        if after is None or self.updates is None or not unseen.shares_function(self.model):
            return
        extra = after - self.updates - self.begun * self.inner
        if extra > 0:
            reason = unseen.BETWEEN % extra
            self.section.uncertain = reason
            self.section.index += -(-extra // self.inner)
            self.section.next_wanted = self.capture.journal.next_wanted(self.section.index)
            self.capture.journal.doubt(self.section, self.written, reason)

    def notice(self, index: int, batch: int) -> None:
        """A batch begins that is dumped, or the function was traced since the last one.

        Raises:
          DumpError: in strict mode, if the dump of an earlier one is missing.
        """
        if self.capture.failure is not None:
            self.section.index -= 1
            self.begun -= 1
            self.section.next_wanted = self.capture.journal.next_wanted(self.section.index)
            self.capture.raise_failure()
            self.section.index += 1
            self.begun += 1
        traced = self.traces()
        if traced != self.traced:
            # The first call of a function traces it; a later trace is a function of its own,
            # and it was the batch before this one that ran in it.
            if self.traced and not self.fresh:
                index = self._split_off_last()
            self.traced = traced
        if self.capture.journal.wants(index):
            iteration = self._iteration(self.epoch, batch)
            self.capture.journal.execution(self.section, index, iteration)
            if len(self.written) < _KEPT:
                self.written.append(dict(iteration, data_index=index))
            self.describe_pending = not (self.section.graph_known and self.capture.watching)

    def _split_off_last(self) -> int:
        """Moves the last execution, and the one that begins now, to a new section."""
        old = self.section
        old.index -= 1  # the one that begins now was counted already
        new = self.capture.journal.retraced(old, self._iteration(*self.last))
        self.capture.journal.graph(new, *train_function.describe(self.function))
        self.capture.replace_section(old, new)
        self.written = []
        index = new.index
        new.index += 1
        self.section = new
        return index

    def _iteration(self, epoch: int, batch: int) -> dict:
        return {"fit": self.number, "epoch": epoch, "batch": batch}

    def describe(self) -> None:
        """A dumped batch has ended: notes its graph, and has its files looked for."""
        self.describe_pending = False
        if not self.section.graph_known:
            self.capture.note_graph(self.section, self.function)
        if self.written:
            self.capture.watch(self.section, self.written[-1]["data_index"], self.end_index)

    def end_epoch(self) -> None:
        if self.begun > self.ended and self.unknown_size:
            # The end of the data was found by an execution that was aborted. Whether GE counts
            # it differs between its versions (semantics of the iterator count at end of data).
            self.section.uncertain = (
                "dataset of unknown size: one aborted execution per end of data, which some"
                " versions count; the index may be lower by one or more")

    def end(self) -> None:
        if self.begun and self.traces() != self.traced and self.traced:
            self.section.index += 1
            self._split_off_last()
            self.section.index -= 1
        if self.begun and not self.section.graph_known:
            self.capture.note_graph(self.section, self.function)
        self._count_unseen_within()
        self.capture.active_fit = None
        self.capture.journal.counts(final=False)


    def interrupted(self) -> None:
        """Called when the next fit begins and this one was left by an exception."""
        known = self.capture.updates_of(self.model)
        known.last, known.traced = unseen.updates(self.model), self.traces()
        if self.begun <= self.ended:
            return
        self.section.uncertain = (
            "an earlier fit was interrupted in a batch that may have run or not; the index"
            " may be lower by one")
        if known.last is not None and self.updates is not None and (
                known.last == self.updates + (self.begun - 1) * self.inner):
            self.section.uncertain = (
                "an earlier fit was interrupted; by the optimizer's count its last batch did not"
                " run any more")
            self.section.index -= 1
            self.section.next_wanted = self.capture.journal.next_wanted(self.section.index)


def begin_fit(capture: Capture, owner: Any, model: Any, params: Optional[dict]) -> Optional[Fit]:
    """Starts counting a fit; None where another callback of the same fit counts already."""
    active = capture.active_fit
    if active is not None:
        # Keras hands one and the same dict to all callbacks of a fit.
        if active.params is params and active.owner is not owner:
            return None
        active.interrupted()
    capture.active_fit = Fit(capture, owner, model, params)
    return capture.active_fit
