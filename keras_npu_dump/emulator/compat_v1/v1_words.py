"""The one sentence about TensorFlow 1: what a session runs is not dumped."""
from __future__ import annotations

import functools

from keras_npu_dump import messages


@functools.lru_cache(maxsize=None)
def say_sessions_are_not_dumped() -> None:
    """Says so, once per process."""
    messages.warning(
        "emulator: TensorFlow 1 graphs (npu_device.compat.v1, sessions, estimators) run on the"
        " CPU or GPU as TensorFlow runs them, and nothing of them is dumped; what runs through"
        " tf.function or Keras in TensorFlow 2 is.")
