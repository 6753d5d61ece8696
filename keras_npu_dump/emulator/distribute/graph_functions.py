"""Helpers of the adapter that are graphs of their own when they are called eagerly."""
from __future__ import annotations

import functools
from typing import Any, Callable, List

from keras_npu_dump.emulator.api import npu_device


def as_graph(body: Callable[..., Any]) -> Callable[..., Any]:
    """What the adapter writes as `@npu_compat_function`; made at the first call.

    Args:
      body: of the function; its graph has its name.
    """
    made: List[Any] = []

    @functools.wraps(body)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(npu_device.npu_compat_function(body))
        return made[0](*args, **kwargs)
    return call
