"""Loss scaling that asks the device whether an overflow happened (adapter
train/optimizer/npu_loss_scale_optimizer.py).

In INF/NaN mode, the default of newer chips and of this emulator, overflow gives inf and NaN, and
the adapter leaves everything to Keras: `last_step_finite` stays False, whatever happens. In
saturation mode (`set_device_sat_mode(0)`), and always in releases of 2022 and before, it reads
the device's overflow flag; such a step is not applied, and `last_step_finite` tells. There is no
such flag here: the step overflowed if a gradient is infinite or NaN.
"""
from __future__ import annotations

import functools
from typing import Any, List

from keras_npu_dump.emulator.api import graph_scopes, npu_device
from keras_npu_dump.emulator.distribute.graph_functions import as_graph
from keras_npu_dump.emulator.ge import generation

# As Keras 2: LossScaleOptimizer(inner_optimizer, True).
_SCALE, _GROWTH_STEPS, _MULTIPLIER = 2.0 ** 15, 2000, 2.0
# Above this the adapter does not raise a scale any more, times the multiplier.
_LARGEST = 3.4e38


def _asks_the_device() -> bool:
    if npu_device.global_npu_ctx() is None:
        return False
    return not npu_device.is_inf_nan_enabled() or generation.current().options != "new"


@as_graph
def _npu_finite_status_after_executed(executed_ops: List[Any]) -> Any:
    """Whether the device has seen no overflow until these ran: boolean scalar."""
    import tensorflow as tf

    from keras_npu_dump.emulator.operators import gen_npu_ops
    with graph_scopes.marked(_npu_loss_scale=True):
        with tf.control_dependencies([one for one in executed_ops if one is not None]):
            status = gen_npu_ops.npu_get_float_status_v2()
        with tf.control_dependencies([status]):
            cleared = gen_npu_ops.npu_clear_float_status_v2()
        with tf.control_dependencies([one for one in (cleared,) if one is not None]):
            return tf.reduce_all(tf.equal(status, 0))


def _not_finite_yet() -> Any:
    import tensorflow as tf
    return tf.Variable(False, trainable=False, dtype=tf.bool, name="npu_last_step_finite")


def _refuse(further: Any) -> None:
    """Releases of 2022 took `experimental_aggregate_gradients`, too."""
    if further and generation.current().options == "new":
        raise TypeError("apply_gradients() got an unexpected keyword argument %r"
                        % next(iter(further)))


def _update_scale(state: Any, finite: Any) -> Any:
    """Moves Keras 2's dynamic loss scale: up after enough finite steps, down after another."""
    import tensorflow as tf
    scale, steps = state.current_loss_scale, state.counter + 1
    grows = tf.logical_and(finite, steps >= tf.cast(state.growth_steps, steps.dtype))
    raised = tf.where(scale < _LARGEST / state.multiplier, scale * state.multiplier, scale)
    lowered = tf.maximum(scale / state.multiplier, 1.0)
    new = tf.where(finite, tf.where(grows, raised, scale), lowered)
    counts = tf.where(tf.logical_and(finite, tf.logical_not(grows)), steps,
                      tf.zeros_like(steps))
    with tf.control_dependencies([new, counts]):
        return tf.group(scale.assign(new), state.counter.assign(counts))


def _over_keras_2(base: Any) -> Any:
    """A subclass of a LossScaleOptimizer of Keras 2 that asks the device."""
    import tensorflow as tf

    class AskingOptimizer(base):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(*args, **kwargs)
            self._last_step_finite = _not_finite_yet()

        @property
        def last_step_finite(self) -> Any:
            """Whether the last step was applied, as the device says it: boolean variable."""
            return self._last_step_finite

        def apply_gradients(self, grads_and_vars: Any, name: Any = None, **further: Any) -> Any:
            """Applies unscaled gradients, unless the device has seen an overflow.

            Args:
              grads_and_vars: (gradient, variable) pairs.
              name: of the operation.
              further: `experimental_aggregate_gradients`, in releases of 2022 and before.
            """
            _refuse(further)
            if not _asks_the_device():
                return super().apply_gradients(grads_and_vars, name, **further)
            pairs = tuple(grads_and_vars)
            finite = _npu_finite_status_after_executed([one for one, _ in pairs])
            updated = _update_scale(self._loss_scale, finite) if self.dynamic else tf.no_op()
            self._last_step_finite.assign(finite)
            inner = self.inner_optimizer
            applied = tf.__internal__.smart_cond.smart_cond(
                finite,
                lambda: inner.apply_gradients(pairs, name, experimental_aggregate_gradients=False),
                lambda: inner.iterations.assign_add(1, read_value=False))
            return tf.group(applied, updated)

    return AskingOptimizer


def _over_keras_3(base: Any) -> Any:
    """A subclass of Keras 3's LossScaleOptimizer with the arguments of Keras 2's."""
    import tensorflow as tf

    class AskingOptimizer(base):  # type: ignore[misc]
        def __init__(self, inner_optimizer: Any, dynamic: bool = True, initial_scale: Any = None,
                     dynamic_growth_steps: Any = None, **kwargs: Any):
            if not dynamic and (initial_scale is None or dynamic_growth_steps is not None):
                raise ValueError("A fixed scale (dynamic=False) needs initial_scale and takes no"
                                 " dynamic_growth_steps. Received: initial_scale=%s,"
                                 " dynamic_growth_steps=%s" % (initial_scale,
                                                               dynamic_growth_steps))
            super().__init__(
                inner_optimizer,
                initial_scale=_SCALE if initial_scale is None else float(initial_scale),
                dynamic_growth_steps=dynamic_growth_steps or _GROWTH_STEPS, **kwargs)
            self.dynamic = dynamic
            self._last_step_finite = _not_finite_yet()

        @property
        def last_step_finite(self) -> Any:
            """Whether the last step was applied, as the device says it: boolean variable."""
            return self._last_step_finite

        @property
        def loss_scale(self) -> Any:
            """The scale: float32 scalar."""
            return tf.convert_to_tensor(self.dynamic_scale if self.built else self.initial_scale)

        def check_finite(self, grads: Any) -> Any:
            """Whether the step may be applied: boolean scalar."""
            if not _asks_the_device():
                return super().check_finite(grads) if self.dynamic else tf.constant(True)
            finite = _npu_finite_status_after_executed(list(grads))
            self._last_step_finite.assign(finite)
            return finite

        def _stateful_handle_finite_grads(self, grads: Any, trainable_variables: Any) -> None:
            super()._stateful_handle_finite_grads(grads, trainable_variables)
            if not self.dynamic:
                self.dynamic_scale.assign(self.initial_scale)

        def _stateful_handle_non_finite_grads(self) -> None:
            if not _asks_the_device():
                super()._stateful_handle_non_finite_grads()
                return
            self.step_counter.assign(0)
            if self.dynamic:
                self.dynamic_scale.assign(tf.maximum(
                    tf.convert_to_tensor(self.dynamic_scale) / _MULTIPLIER, 1.0))
            self.inner_optimizer.iterations.assign_add(1)

        def get_config(self) -> Any:
            """The arguments that make this optimizer again."""
            config = dict(super().get_config(), dynamic=self.dynamic)
            if not self.dynamic:
                config["dynamic_growth_steps"] = None
            return config

    return AskingOptimizer


def _is_keras_2(base: Any) -> bool:
    return hasattr(base, "get_unscaled_gradients")


def _named(made: Any, name: str, text: str) -> Any:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = text
    return made


@functools.lru_cache(maxsize=None)
def _loss_scale_optimizer() -> Any:
    import tensorflow as tf
    base = tf.keras.mixed_precision.LossScaleOptimizer
    made = _over_keras_2(base) if _is_keras_2(base) else _over_keras_3(base)
    made._HAS_AGGREGATE_GRAD = True
    return _named(made, "NpuLossScaleOptimizer", """Keras's LossScaleOptimizer, on a device.

    Args:
      inner_optimizer: of Keras.
      dynamic: whether the scale moves. Defaults to True.
      initial_scale: its first value. Defaults to 32768; needed where it does not move.
      dynamic_growth_steps: finite steps before it is doubled. Defaults to 2000.
    """)


@functools.lru_cache(maxsize=None)
def _experimental_optimizer() -> Any:
    import tensorflow as tf
    experimental = getattr(tf.keras.mixed_precision, "experimental", None)
    if experimental is not None:
        made = _over_keras_2(experimental.LossScaleOptimizer)
    else:
        class FromScale(_loss_scale_optimizer()):  # type: ignore[misc]
            def __init__(self, optimizer: Any, loss_scale: Any, **kwargs: Any):
                if loss_scale == "dynamic":
                    super().__init__(optimizer, **kwargs)
                elif isinstance(loss_scale, (int, float)):
                    super().__init__(optimizer, dynamic=False, initial_scale=loss_scale, **kwargs)
                else:
                    raise TypeError("loss_scale: expected \"dynamic\" or a number (Keras 3 has no"
                                    " LossScale objects). Received: %r" % (loss_scale,))
        made = FromScale
    return _named(made, "NpuExperimentalLossScaleOptimizer",
                  """The same with the arguments of Keras's experimental class.

    Args:
      optimizer: of Keras.
      loss_scale: "dynamic", a number, or with Keras 2 a LossScale.
    """)


def __getattr__(name: str) -> Any:
    # Their base needs Keras, so the classes are made when they are asked for (PEP 562).
    if name == "NpuLossScaleOptimizer":
        return _loss_scale_optimizer()
    if name == "NpuExperimentalLossScaleOptimizer":
        return _experimental_optimizer()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
