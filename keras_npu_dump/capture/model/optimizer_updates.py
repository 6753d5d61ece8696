"""Executions that nobody told us of: train_on_batch, or a fit without the callback.

Keras 2 runs train_on_batch through the training function of fit, so with batches of
equal shape it raises the counter of the same graph. The optimizer counts every update,
whoever asked for it: what it counted more than we did was unseen. It is a lower bound,
as a loss scale may skip updates, and a restored checkpoint changes the count as well.
"""
from typing import Any, Optional

from keras_npu_dump.capture.model import train_function

BETWEEN = ("the optimizer counted %d updates that this callback did not see (train_on_batch, or a"
           " fit without the callback); they are counted here as executions of the same graph")
ELSEWHERE = ("the optimizer counted %d updates that this callback did not see (train_on_batch, or"
             " a fit without the callback), some of them in another trace of the function")
BEFORE = ("the training function ran before this callback counted (train_on_batch, or a fit"
          " without the callback); the optimizer's %d updates are counted here as executions of"
          " the same graph")


def updates(model: Any) -> Optional[int]:
    """How often the model's optimizer has updated it; None where that cannot be read."""
    counter = getattr(getattr(model, "optimizer", None), "iterations", None)
    try:
        return int(counter.numpy())  # type: ignore[union-attr]
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
