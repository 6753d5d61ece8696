"""Adds the callback to every `fit` of a script that knows nothing of it."""
import functools
import inspect
from typing import Any, Callable


def add_to_every_fit(model_class: Any, make_callback: Callable[[], Any]) -> None:
    """Wraps `model_class.fit`; a fit that has a callback of ours already is left alone.

    Args:
      model_class: tf.keras.Model; its subclasses come along.
      make_callback: called at the first fit, gives the callback for all fits.
    """
    original = model_class.fit
    signature = inspect.signature(original)
    made: list = []

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            return original(self, *args, **kwargs)  # Keras words that error best
        if not made:
            made.append(make_callback())
        bound.arguments["callbacks"] = _with(bound.arguments.get("callbacks"), made[0], self)
        return original(*bound.args, **bound.kwargs)

    model_class.fit = fit


def _with(callbacks: Any, ours: Any, model: Any) -> Any:
    """The user's callbacks and ours: None, one callback, any sequence, a CallbackList."""
    if callbacks is None:
        return [ours]
    if hasattr(callbacks, "callbacks") and hasattr(callbacks, "append"):
        if not any(_counts(item, ours) for item in callbacks.callbacks):
            ours.set_model(model)
            ours.set_params(getattr(callbacks, "params", None))
            callbacks.append(ours)
        return callbacks
    items = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    if any(_counts(item, ours) for item in items):
        return callbacks
    return items + [ours]


def _counts(callback: Any, ours: Any) -> bool:
    """Whether it is one of ours; the script's own flags may have switched that one off."""
    return isinstance(callback, type(ours)) and callback.active
