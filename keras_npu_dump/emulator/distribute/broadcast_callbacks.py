"""How variables get the same first values on all workers (adapter distribute/npu_callbacks.py).

With one worker nothing is sent; what is registered, wrapped and counted is as in the adapter.
"""
from __future__ import annotations

import functools
import weakref
from typing import Any, Iterable, List, Optional

from keras_npu_dump.emulator.distribute import collectives

# Variables that were broadcast, by their id; they are kept no longer than by others.
broadcast_registry: Any = weakref.WeakValueDictionary()


def broadcast_helper(variables: Iterable[Any], root_rank: int = 0) -> None:
    """Broadcasts the variables that were not broadcast before.

    A variable that shows another dtype than it has (Keras's automatic cast) is passed over.

    Args:
      variables: of a model.
      root_rank: the adapter ignores it and sends from rank 0.

    Raises:
      NotImplementedError: there are several workers.
    """
    del root_rank
    fresh = [one for one in variables
             if not _casts(one) and id(one) not in broadcast_registry]
    if fresh:
        collectives.broadcast(fresh)
        broadcast_registry.update({id(one): one for one in fresh})


def _casts(variable: Any) -> bool:
    return hasattr(variable, "_cast_dtype") and variable._cast_dtype != variable.dtype


def broadcast_keras_model(model: Any, root_rank: int = 0) -> Any:
    """Broadcasts a model's trainable variables, if it is built.

    Args:
      model: of Keras; anything else is passed over.
      root_rank: see `broadcast_helper`.

    Returns:
      The model.

    Raises:
      NotImplementedError: there are several workers.
    """
    import tensorflow as tf
    if isinstance(model, tf.keras.Model) and model.built:
        broadcast_helper(model.trainable_variables, root_rank)
    return model


class NpuBroadcastScopeContext:
    """Around a strategy's scope: broadcasts what was made in it, once per process, at its end.

    Args:
      org_scope_ctx: the context manager of the scope itself, or None.
      model_trainable_variables: list that takes up trainable variables made inside.
    """

    _is_in_scope = False
    _is_broadcast = False

    def __init__(self, org_scope_ctx: Any, model_trainable_variables: List[Any]):
        import tensorflow as tf
        self.org_scope_ctx = org_scope_ctx
        self.model_trainable_variables = model_trainable_variables
        self.enter_scope_again_count = 0
        self.broadcast_scope = tf.variable_creator_scope(self._note)

    def _note(self, next_creator: Any, **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        if variable.trainable:
            self.model_trainable_variables.append(variable)
        return variable

    def __enter__(self) -> None:
        if NpuBroadcastScopeContext._is_in_scope:
            self.enter_scope_again_count += 1
        else:
            NpuBroadcastScopeContext._is_in_scope = True
            self.broadcast_scope.__enter__()
        if self.org_scope_ctx:
            self.org_scope_ctx.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.org_scope_ctx:
            self.org_scope_ctx.__exit__(*error)
        if not NpuBroadcastScopeContext._is_broadcast:
            NpuBroadcastScopeContext._is_broadcast = True
            broadcast_helper(self.model_trainable_variables)
        if self.enter_scope_again_count:
            self.enter_scope_again_count -= 1
            return
        self.broadcast_scope.__exit__(*error)
        NpuBroadcastScopeContext._is_in_scope = False


def npu_broadcast_scope_wrapper(strategy: Any) -> Any:
    """Makes `strategy.scope()` broadcast what is made in it; a second call changes nothing.

    Args:
      strategy: tf.distribute.Strategy; anything else is passed over.

    Returns:
      The strategy.
    """
    import tensorflow as tf
    if isinstance(strategy, tf.distribute.Strategy) \
            and not hasattr(strategy, "_npu_scope_wrapped"):
        scope = strategy.scope
        variables: List[Any] = []
        strategy.scope = lambda: NpuBroadcastScopeContext(scope(), variables)
        strategy._npu_scope_wrapped = True
    return strategy


def npu_callbacks_append(callbacks_list: Any = ()) -> List[Any]:
    """Adds the adapter's callback to a list of callbacks.

    Args:
      callbacks_list: a list, which is changed; anything else is replaced by a new list.

    Returns:
      The list, with NPUBroadcastGlobalVariablesCallback(0) at its end.
    """
    callbacks = callbacks_list if isinstance(callbacks_list, list) else []
    callbacks.append(_callback_class()(0))
    return callbacks


@functools.lru_cache(maxsize=None)
def _callback_class() -> Any:
    import tensorflow as tf
    base: Any = tf.keras.callbacks.Callback

    class NPUBroadcastGlobalVariablesCallback(base):  # type: ignore[misc]
        """Would send the variables of a worker to all others, and does nothing.

        So it is in the adapter, too: its hook is nested in `__init__` by mistake.

        Args:
          root_rank: whose variables would be sent.
        """

        def __init__(self, root_rank: int):
            super().__init__()
            self.root_rank = root_rank
            self.broadcast_done = False

    made: Any = NPUBroadcastGlobalVariablesCallback
    # Where pickle finds it.
    made.__module__, made.__qualname__ = "npu_device.distribute.npu_callbacks", made.__name__
    return made


def __getattr__(name: str) -> Optional[Any]:
    # Its base needs Keras, so the class is made when it is asked for (PEP 562).
    if name == "NPUBroadcastGlobalVariablesCallback":
        return _callback_class()
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
