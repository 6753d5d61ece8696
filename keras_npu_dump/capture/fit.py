"""One `fit()` as the journal sees it: what happens outside the hot path."""
import threading
from typing import Any, Optional

from keras_npu_dump.capture import train_function
from keras_npu_dump.capture.journal import Section
from keras_npu_dump.capture.process import Capture


class Fit:
    """Counts one fit of one model.

    The callback's batch hooks work on these attributes directly, since a call more per
    batch would be the largest part of their cost.

    Attributes:
      section: counter of the training function that the next batch executes.
      traces: asks how often that function was traced.
      traced: the answer that was last acted upon.
      fresh: no batch was seen yet.
    """

    __slots__ = ("begun", "capture", "describe_pending", "ended", "epoch", "fresh", "function",
                 "last", "lock", "number", "owner", "params", "section", "traced", "traces",
                 "unknown_size")

    def __init__(self, capture: Capture, owner: Any, model: Any, params: Optional[dict]):
        self.capture = capture
        self.owner = owner
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
        steps = (params or {}).get("steps")
        self.unknown_size = steps is None
        self.number = capture.journal.start_fit(model.name, (params or {}).get("epochs"), steps)
        capture.add_model(model)
        inner = steps_per_execution(model)
        if inner > 1 and self.section.uncertain is None:
            self.section.uncertain = "steps_per_execution=%d: that many batches from here" % inner

    def notice(self, index: int, batch: int) -> None:
        """A batch begins that is dumped, or the function was traced since the last one."""
        traced = self.traces()
        if traced != self.traced:
            # The first call of a function traces it; a later trace is a function of its own,
            # and it was the batch before this one that ran in it.
            if self.traced and not self.fresh:
                index = self._split_off_last()
            self.traced = traced
        if index >= self.section.next_wanted:
            self.capture.journal.execution(self.section, index, self._iteration(self.epoch, batch))
            self.describe_pending = not self.section.graph_known

    def _split_off_last(self) -> int:
        """Moves the last execution, and the one that begins now, to a new section."""
        old = self.section
        old.index -= 1  # the one that begins now was counted already
        new = self.capture.journal.retraced(old, self._iteration(*self.last))
        self.capture.journal.graph(new, *train_function.describe(self.function))
        self.capture.replace_section(old, new)
        index = new.index
        new.index += 1
        self.section = new
        return index

    def _iteration(self, epoch: int, batch: int) -> dict:
        return {"fit": self.number, "epoch": epoch, "batch": batch}

    def describe(self) -> None:
        """Notes name and operators of the executed graph; part of a dumped step."""
        self.describe_pending = False
        self.capture.note_graph(self.section, self.function)

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
            self.describe()
        self.capture.active_fit = None
        self.capture.journal.counts(final=False)


def begin_fit(capture: Capture, owner: Any, model: Any, params: Optional[dict]) -> Optional[Fit]:
    """Starts counting a fit; None where another callback of the same fit counts already."""
    active = capture.active_fit
    if active is not None:
        # Keras hands one and the same dict to all callbacks of a fit.
        if active.params is params and active.owner is not owner:
            return None
        if active.begun > active.ended:
            active.section.uncertain = (
                "an earlier fit was interrupted in a batch that may have run or not; the index"
                " may be lower by one")
    capture.active_fit = Fit(capture, owner, model, params)
    return capture.active_fit


def steps_per_execution(model: Any) -> int:
    """How many batches one execution takes; 1 where the model does not say."""
    for name in ("_steps_per_execution", "steps_per_execution"):
        value: Optional[Any] = getattr(model, name, None)
        if value is not None:
            try:
                return int(value.numpy() if hasattr(value, "numpy") else value)
            except (TypeError, ValueError):
                continue
    return 1
