"""Loops on the device: which data_index an execution gets when one call is many batches.

The adapter (npu_concrete_graph.cpp, npu_utils.cpp) knows four kinds of functions. A function
whose only work is a loop over the iterator, and which returns nothing, is sunk: the
device runs NPU_LOOP_SIZE rounds per call and counts each of them, so that round i of
call c is data_index c * size + i. A loop in a function that returns something (Keras
with steps_per_execution) stays in the graph and counts once per call, and without a
loop each call counts once too. Which one it is cannot always be seen from outside.
"""
import os
import sys
from typing import Any, Mapping, NamedTuple, Optional, Tuple

from keras_npu_dump import messages


class LoopSize:
    """How many rounds a sunk loop makes per call: NPU_LOOP_SIZE, then set_npu_loop_size.

    Attributes:
      value: the size now.
      changed: whether it was set to another value while the process ran.
    """

    def __init__(self, environment: Optional[Mapping[str, str]] = None):
        text = (os.environ if environment is None else environment).get("NPU_LOOP_SIZE", "")
        # The adapter reads the variable once, when it is loaded.
        self.value = int(text) if text.strip().isdigit() and int(text) > 0 else 1
        self.changed = False

    def set(self, size: Any) -> None:
        """What npu_device.set_npu_loop_size takes; it ignores nonsense with a log line."""
        try:
            size = int(size)
        except (TypeError, ValueError):
            return
        if size > 0 and size != self.value:
            self.value = size
            self.changed = True


def watch_loop_size(module: Any) -> LoopSize:
    """Follows `npu_device.set_npu_loop_size`, which has no way to ask back.

    Args:
      module: npu_device.

    Returns:
      The size, kept up to date; the same object for every caller.
    """
    known: Optional[LoopSize] = getattr(module, "_keras_npu_dump_loop_size", None)
    if known is not None:
        return known
    size = LoopSize()
    holders: Tuple[Any, ...] = (module, sys.modules.get(module.__name__ + ".npu_device"))
    for holder in holders:
        original = getattr(holder, "set_npu_loop_size", None)
        if callable(original):
            holder.set_npu_loop_size = _following(original, size)
    module._keras_npu_dump_loop_size = size
    return size


def _following(original: Any, size: LoopSize) -> Any:
    def set_npu_loop_size(loop_size: int) -> Any:
        result = original(loop_size)
        size.set(loop_size)
        return result

    set_npu_loop_size.__doc__ = original.__doc__
    return set_npu_loop_size


class Prediction(NamedTuple):
    """The indices of one call.

    Attributes:
      first: data_index of the call, or of its first round.
      rounds: how many indices the call takes.
      batches: how many batches each index stands for.
      uncertain: why the indices may be others, or None.
    """

    first: int
    rounds: int
    batches: int
    uncertain: Optional[str]


def predict(calls: int, index: int, size: LoopSize, batches: int) -> Prediction:
    """The indices of a call of a training function that nobody can look into.

    Args:
      calls: how many calls there were before.
      index: the counter before the call.
      size: of loops on the device.
      batches: how many batches the call trains.

    Returns:
      A Prediction.
    """
    rounds = size.value
    if batches <= 1:
        # No loop in the function, or one round of it: one more execution.
        return Prediction(index, 1, 1, None)
    if rounds <= 1:
        return Prediction(index, 1, batches, "%d batches in one execution: that many from here"
                          % batches)
    reason = ("NPU_LOOP_SIZE=%d: each batch has an index of its own where the training function"
              " returns nothing; where it returns something, each call of it has one" % rounds)
    if batches != rounds:
        reason += "; the call trains %d batches, the device makes %d rounds" % (batches, rounds)
    if size.changed:
        reason += "; the loop size was changed while training, indices before it may come again"
    return Prediction(calls * rounds, rounds, 1, reason)


def check_steps_per_execution(inner: int, size: LoopSize) -> None:
    """Tells the user if the device is fed another number of batches than Keras takes.

    Args:
      inner: Keras's steps_per_execution.
      size: of loops on the device.
    """
    if inner > 1 and size.value != inner:
        messages.warning(
            "steps_per_execution=%d takes %d batches per execution, but the device is fed"
            " NPU_LOOP_SIZE=%d of them: call npu_device.set_npu_loop_size(%d) before fit(), or set"
            " NPU_LOOP_SIZE=%d before the process starts.",
            inner, inner, size.value, inner, inner)
