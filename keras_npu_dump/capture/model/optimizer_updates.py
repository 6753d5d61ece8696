"""Executions that nobody told us of: train_on_batch, or a fit without the callback.

Keras 2 runs train_on_batch through the training function of fit, so with batches of
equal shape it raises the counter of the same graph. The optimizer counts every update,
whoever asked for it: what it counted more than we did was unseen. It is a lower bound,
as a loss scale may skip updates, and a restored checkpoint changes the count as well.
"""
from typing import Any, NamedTuple, Optional

from keras_npu_dump.capture.model import train_function

_BETWEEN = ("the optimizer counted %d updates that this callback did not see (train_on_batch, or a"
            " fit without the callback); they are counted here as executions of the same graph")
_ELSEWHERE = ("the optimizer counted %d updates that this callback did not see (train_on_batch, or"
              " a fit without the callback), some of them in another trace of the function")
_BEFORE = ("the training function ran before this callback counted (train_on_batch, or a fit"
           " without the callback); the optimizer's %d updates are counted here as executions of"
           " the same graph")


def updates(model: Any) -> Optional[int]:
    """How often the model's optimizer has updated it; None where that cannot be read."""
    counter: Any = getattr(getattr(model, "optimizer", None), "iterations", None)
    try:
        return int(counter.numpy())
    except Exception:
        # No optimizer, an unusual one, or a variable spread over replicas.
        return None


def shares_function(model: Any) -> bool:
    """Whether train_on_batch runs what fit runs: Keras 2 has one function for both."""
    return train_function.is_graph(getattr(model, "train_function", None))


class Updates:
    """What the optimizer counted, fit by fit of one model.

    Attributes:
      last: its count at the end of the last fit; None before the first.
      traced: how often the training function was traced by then.
    """

    __slots__ = ("last", "traced")

    def __init__(self) -> None:
        self.last: Optional[int] = None
        self.traced = 0


class Unseen(NamedTuple):
    """What the optimizer counted and nobody told us of.

    Attributes:
      updates: how many of them were executions of the training function.
      reason: why the indices may be off for it, in words.
    """

    updates: int
    reason: str


def unseen_before(model: Any, now: Optional[int], traced: int, known: Updates) -> Optional[Unseen]:
    """What ran since the last fit of a model, or before its first.

    Args:
      model: the Keras model, whose next fit begins.
      now: the count of its optimizer; None where it cannot be read.
      traced: how often its training function was traced.
      known: what was counted by the end of its last fit.

    Returns:
      None where nothing did, or where it ran in another function.
    """
    if not now or not shares_function(model):
        return None
    if known.last is None:
        # A checkpoint sets the optimizer's count too, but does not trace.
        return Unseen(now, _BEFORE % now) if traced else None
    extra = now - known.last
    if extra <= 0:
        return None
    if traced != known.traced:
        return Unseen(0, _ELSEWHERE % extra)
    return Unseen(extra, _BETWEEN % extra)


def unseen_within(model: Any, before: Optional[int], after: Optional[int],
                  seen: int) -> Optional[Unseen]:
    """What ran inside a fit, by other callbacks or in another thread.

    Args:
      model: the Keras model.
      before: the count of its optimizer when the fit began; None where it cannot be read.
      after: the same at its end.
      seen: how many updates the fit itself made.

    Returns:
      None where nothing did, or where it ran in another function.
    """
    if after is None or before is None or not shares_function(model):
        return None
    extra = after - before - seen
    return Unseen(extra, _BETWEEN % extra) if extra > 0 else None
