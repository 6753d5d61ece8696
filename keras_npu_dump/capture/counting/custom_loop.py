"""Loops that a script drives itself: DumpSession.step, and hooks called by hand.

There it is not known which function runs, nor how many batches it takes: hooks come once
per batch, or once per call with the batch number jumping (`on_batch_begin(0)`,
`on_batch_end(99)`).
"""
from typing import Any, Dict, List, Optional

from keras_npu_dump.capture.device import loop_size
from keras_npu_dump.capture.process.capture import Capture
from keras_npu_dump.records.journal import Section


class HandLoop:
    """Counts the calls of one training loop.

    Args:
      capture: of this process.
      owner: the session or callback, which has one counter all its life.
      model: the Keras model that is trained, where it is known; its counter is then used.

    Attributes:
      epoch: epoch of the next call.
    """

    def __init__(self, capture: Capture, owner: Any, model: Any = None):
        self._capture = capture
        self.section: Section = capture.section(owner if model is None else model, None)
        self.epoch = 0
        self._number = capture.start_fit(getattr(model, "name", None) or "loop", None, None)
        self._begun: Optional[int] = None
        self._before = (0, 0)  # the section's index and calls, before this call
        self._deferred = False
        self._written: List[Dict[str, Any]] = []

    def begin(self, batch: int, batches: Optional[int] = None) -> None:
        """A call begins.

        Args:
          batch: number of its first batch, from 0.
          batches: how many it trains; None where only its end will tell.

        Raises:
          DumpError: in strict mode, if the dump of an earlier call is missing.
        """
        self._capture.raise_failure()
        if self._deferred:
            self._note(self._begun or 0, 1)
        self._begun, self._written = batch, []
        self._before = (self.section.index, self.section.calls)
        # With loops on the device the indices depend on how many batches the call takes.
        self._deferred = batches is None and self._capture.loop_size.value > 1
        if not self._deferred:
            self._note(batch, batches or 1)

    def end(self, batch: Optional[int] = None) -> None:
        """The call ends.

        Args:
          batch: number of its last batch; None where `begin` was told how many there are.
        """
        batches = 1
        if self._begun is not None and batch is not None:
            batches = max(1, batch - self._begun + 1)
        if self._deferred:
            self._deferred = False
            self._note(self._begun or 0, batches)
        elif batches > 1 and self._written:
            reason = loop_size.predict(0, 0, self._capture.loop_size, batches).uncertain
            self._capture.journal.doubt(self._written, reason or "")
        if self._written:
            self._capture.watch(self.section, self._written[0]["data_index"], None)
        self._begun = None

    def interrupted(self, ran: Optional[bool]) -> None:
        """The call was left by an exception.

        Args:
          ran: whether it reached the device; None where nobody knows.
        """
        journal, section = self._capture.journal, self.section
        self._begun, self._deferred = None, False
        if ran is False:
            journal.withdraw(self._written)
            section.index, section.calls = self._before
            section.next_wanted = journal.next_wanted(section.index)
        else:
            journal.doubt(self._written, "this call was interrupted, it may not have run")
            section.doubt("an earlier call was interrupted, which may have run or not; the index"
                          " may be lower by one")
        self._written = []

    def _note(self, batch: int, batches: int) -> None:
        section, size = self.section, self._capture.loop_size
        found = loop_size.predict(section.calls, section.index, size, batches)
        section.calls += 1
        section.index = end = found.first + found.rounds
        if size.changed:  # indices may have gone back
            section.next_wanted = self._capture.journal.next_wanted(found.first)
        if section.next_wanted < end:
            self._capture.lookout.look()
        while section.next_wanted < end:
            index = int(section.next_wanted)
            iteration = {"fit": self._number, "epoch": self.epoch,
                         "batch": batch + min(index - found.first, batches - 1)}
            self._written.append(self._capture.journal.execution(
                section, index, iteration, found.batches, found.uncertain))
