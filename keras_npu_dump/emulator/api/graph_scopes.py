"""Scopes that mark the operators made inside, for the graph engine (adapter utils/scope.py).

The marks are attributes of nodes, so they are there in functions only: an operator that runs
eagerly has no node. Here they are seen in the graph files and have no other effect: nothing
changes dtypes, recomputes, or arranges updates.
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterator


@contextlib.contextmanager
def marked(**attributes: Any) -> Iterator[None]:
    """Operators made inside get these attributes.

    Args:
      attributes: name -> integer, boolean or bytes.
    """
    from tensorflow.core.framework import attr_value_pb2
    from tensorflow.python.framework import ops
    values = {}
    for name, value in attributes.items():
        kind = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "s"
        values[name] = attr_value_pb2.AttrValue(**{kind: value})
    with ops.get_default_graph()._attr_scope(values):
        yield


@contextlib.contextmanager
def keep_dtype_scope() -> Iterator[None]:
    """Operators made inside keep their dtype whatever precision_mode says: `_keep_dtype`."""
    with marked(_keep_dtype=1):
        yield


@contextlib.contextmanager
def npu_optimizer_scope() -> Iterator[None]:
    """Operators made inside belong to the optimizer: `_optimizer`."""
    with marked(_optimizer=True):
        yield


@contextlib.contextmanager
def npu_gradients_scope() -> Iterator[None]:
    """Operators made inside belong to the backward pass: `_backward`."""
    with marked(_backward=True):
        yield


@contextlib.contextmanager
def npu_recompute_scope() -> Iterator[None]:
    """Outputs of operators made inside may be computed again for gradients: `_recompute`."""
    with marked(_recompute=True):
        yield
