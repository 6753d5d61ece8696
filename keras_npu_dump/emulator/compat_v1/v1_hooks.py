"""Hooks of sessions (adapter estimator/npu/npu_hook.py), for one worker.

Their bases are TensorFlow's, so the classes are made when they are asked for (PEP 562).
"""
from __future__ import annotations

import functools
import os
from typing import Any, Callable, Dict, List

from keras_npu_dump.emulator.compat_v1 import v1_hccl
from keras_npu_dump.emulator.distribute import workers


def npu_hooks_append(hooks_list: Any = ()) -> List[Any]:
    """Adds the adapter's hook to a list of hooks.

    Args:
      hooks_list: a list, which is changed; anything else is replaced by a new list.

    Returns:
      The list, with NPUBroadcastGlobalVariablesHook(0, RANK_ID) at its end.
    """
    hooks = hooks_list if isinstance(hooks_list, list) else []
    hooks.append(_made("NPUBroadcastGlobalVariablesHook")(0, int(os.environ.get("RANK_ID", "0"))))
    return hooks


def _empty(v1: Any) -> Any:
    class NpuEmptyHook(v1.train.SessionRunHook):  # type: ignore[misc]
        """A hook that does nothing."""
    return NpuEmptyHook


def _broadcast(v1: Any) -> Any:
    class NPUBroadcastGlobalVariablesHook(v1.train.SessionRunHook):  # type: ignore[misc]
        """Sends variables from one worker to all others: nothing in a job of one.

        Args:
          root_rank: whose variables are sent.
          index: this worker's rank.

        Raises:
          NotImplementedError: at `begin`, there are several workers.
        """

        def __init__(self, root_rank: Any = None, index: Any = None):
            self._root_rank = root_rank
            self._index = index

        def begin(self) -> None:
            """Called before the session is made."""
            workers.need_one("npu_device.compat.v1...NPUBroadcastGlobalVariablesHook",
                             v1_hccl.get_rank_size())
    return NPUBroadcastGlobalVariablesHook


def _saver(v1: Any) -> Any:
    class NPUCheckpointSaverHook(v1.train.CheckpointSaverHook):  # type: ignore[misc]
        """TensorFlow's, with the same arguments."""
    return NPUCheckpointSaverHook


def _iterations(v1: Any) -> Any:
    class SetIterationsVarHook(v1.train.SessionRunHook):  # type: ignore[misc]
        """Would tell the device how many iterations a call makes: here always one.

        Args:
          iterations_per_loop: without effect.
        """

        def __init__(self, iterations_per_loop: Any = None):
            self._iterations_per_loop = iterations_per_loop
    return SetIterationsVarHook


def _output(v1: Any) -> Any:
    class NPUOutputTensorHook(v1.train.LoggingTensorHook):  # type: ignore[misc]
        """Hands values to a function, those of every few calls together.

        Args:
          tensors: name -> tensor; None for none.
          dependencies: what has to run before them.
          output_fn: called with a list of {name: value}.
          output_every_n_steps: after how many calls.
        """

        def __init__(self, tensors: Any, dependencies: Any = None, output_fn: Any = None,
                     output_every_n_steps: int = 0):
            self._output_fn = output_fn
            self._every = output_every_n_steps
            self._kept: List[Any] = []
            self._count = 0
            self._has_tensors = tensors is not None
            if dependencies is not None and tensors is not None:
                if not isinstance(dependencies, (tuple, list)):
                    dependencies = [dependencies]
                with v1.control_dependencies(dependencies):
                    tensors = {name: v1.identity(one) for name, one in tensors.items()}
            if self._has_tensors:
                super().__init__(tensors, every_n_iter=1 << 31)

        def begin(self) -> None:
            """Called before the session is made."""
            if self._has_tensors:
                super().begin()

        def before_run(self, run_context: Any) -> Any:
            """Asks for the values."""
            del run_context
            return v1.train.SessionRunArgs(self._current_tensors) if self._has_tensors else None

        def after_run(self, run_context: Any, run_values: Any) -> None:
            """Keeps them, and hands them over when it is time."""
            del run_context
            if self._has_tensors:
                self._kept.append({tag: run_values.results[tag] for tag in self._tag_order})
            self._count += 1
            if self._count % self._every == 0:
                self._hand_over()

        def end(self, session: Any) -> None:
            """Hands over what is left."""
            del session
            if self._kept:
                self._hand_over()

        def _hand_over(self) -> None:
            self._output_fn(self._kept)
            del self._kept[:]
    return NPUOutputTensorHook


def _step_or_loss(v1: Any) -> Any:
    class TellMeStepOrLossHook(v1.train.SessionRunHook):  # type: ignore[misc]
        """Puts step and loss into the environment: STEP_NOW, TOTAL_STEP, LOSS_NOW, TARGET_LOSS.

        Args:
          step, loss: tensors; at least one of them.
          total_step, final_loss: numbers to be reached.

        Raises:
          ValueError: neither step nor loss.
        """

        def __init__(self, step: Any = None, total_step: Any = None, loss: Any = None,
                     final_loss: Any = None):
            if step is None and loss is None:
                raise ValueError("One of step or loss must be specified")
            self._fetches = {name: one for name, one in
                             (("STEP_NOW", step), ("LOSS_NOW", loss)) if one is not None}
            first = {"STEP_NOW": None if step is None else "0", "TOTAL_STEP": total_step,
                     "LOSS_NOW": None if loss is None else "0.0", "TARGET_LOSS": final_loss}
            os.environ.update({name: str(value) for name, value in first.items()
                               if value is not None})

        def before_run(self, run_context: Any) -> Any:
            """Asks for the values."""
            del run_context
            return v1.train.SessionRunArgs(fetches=self._fetches)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            """Puts them into the environment."""
            del run_context
            os.environ.update({name: str(value) for name, value in run_values.results.items()})
    return TellMeStepOrLossHook


_MAKERS: Dict[str, Callable[[Any], Any]] = {
    "NpuEmptyHook": _empty, "NPUBroadcastGlobalVariablesHook": _broadcast,
    "NPUCheckpointSaverHook": _saver, "SetIterationsVarHook": _iterations,
    "NPUOutputTensorHook": _output, "TellMeStepOrLossHook": _step_or_loss}


@functools.lru_cache(maxsize=None)
def _made(name: str) -> Any:
    import tensorflow as tf
    return _MAKERS[name](tf.compat.v1)


def __getattr__(name: str) -> Any:
    if name in _MAKERS:
        return _made(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
