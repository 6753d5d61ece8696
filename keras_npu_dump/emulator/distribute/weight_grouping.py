"""Updates shared out over workers by the bytes of variables (adapter weight_update_grouping.py).

A job of one applies all gradients itself; the sharing-out is computed for any number of workers,
the broadcasts that it needs raise.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, List

from keras_npu_dump.emulator.distribute import workers
from keras_npu_dump.emulator.distribute.graph_functions import as_graph


class _Share:
    """A variable, its bytes (0 for a scalar), and the worker that updates it (-1: none yet)."""

    def __init__(self, var: Any):
        self.var = var
        self.size = 0
        self.root_rank_id = -1
        if len(var.shape):
            self.size = int(_dtype_bytes(var))
            for length in var.shape:
                self.size *= int(length)


def _dtype_bytes(var: Any) -> int:
    import tensorflow as tf
    return int(tf.as_dtype(var.dtype).size)


class GroupingVars:
    """Which worker updates which variable: neighbours together, about the same bytes for each.

    Args:
      variables: in order; None is passed over.
      rank_size: number of workers.

    Raises:
      ValueError: more workers than variables, or less than none.
    """

    def __init__(self, variables: Iterable[Any], rank_size: int):
        self._vars = [_Share(one) for one in variables if one is not None]
        if not 0 <= rank_size <= len(self._vars):
            raise ValueError(
                "'number' is greater than the number of vars or 'number' is less than 0. ")
        if rank_size == len(self._vars):
            for rank, share in enumerate(self._vars):
                share.root_rank_id = rank
            return
        first = 0
        for rank in range(rank_size):
            first = _fill(self._vars, first, rank, rank_size - rank)

    def get_gid_by_var(self, var: Any) -> int:
        """The worker that updates a variable; -1 for one that is not among them.

        Args:
          var: the same object as at the beginning; the last one counts.
        """
        ranks = [share.root_rank_id for share in self._vars if share.var is var]
        return ranks[-1] if ranks else -1


def _fill(shares: List[_Share], first: int, rank: int, ranks_left: int) -> int:
    """Gives a worker its variables, from `first` on; returns where the next one begins.

    A worker takes variables while they stay within the average of what is left, and one more
    if that goes over it by no more than it lacks; at least one variable stays for each worker
    that comes after.
    """
    average = _average(shares[first:], ranks_left)
    taken = 0
    for place in range(first, len(shares) - ranks_left + 1):
        size = shares[place].size
        if taken + size <= average:
            shares[place].root_rank_id = rank
            taken += size
            first = place + 1
            continue
        if taken <= 0 or taken + size - average <= average - taken:
            shares[place].root_rank_id = rank
            first = place + 1
        break
    return first


def _average(shares: List[_Share], ranks: int) -> int:
    """Bytes for each of the workers, after those that one large variable alone occupies."""
    total = sum(share.size for share in shares)
    if ranks == 1:
        return total
    large: List[_Share] = []
    while True:
        left = ranks - len(large)
        if left <= 1:
            return total
        average = total // left
        found = False
        for share in shares:
            if share not in large and share.size > total - share.size:
                total -= share.size
                large.append(share)
                found = True
        if not found:
            return average


@as_graph
def grouping_gradients_apply(apply_func: Callable[..., Any], grads_and_vars: Any, *args: Any,
                             **kwargs: Any) -> Any:
    """Applies the gradients; called eagerly, in a graph of this name.

    Args:
      apply_func: called with the rest of the arguments, as `optimizer.apply_gradients`.
      grads_and_vars: (gradient, variable) pairs.

    Returns:
      What `apply_func` returns.

    Raises:
      NotImplementedError: there are several workers.
    """
    if not workers.alone():
        workers.need_one("npu_device.distribute.grouping_gradients_apply")
    return apply_func(grads_and_vars, *args, **kwargs)


@as_graph
def grouping_broadcast(variables: Any) -> Any:
    """The values of the variables: there is nobody to send to.

    Args:
      variables: a list.

    Returns:
      Their values, as the graph function of the adapter returns them.

    Raises:
      NotImplementedError: there are several workers.
    """
    if not workers.alone():
        workers.need_one("npu_device.distribute.grouping_broadcast")
    return variables
