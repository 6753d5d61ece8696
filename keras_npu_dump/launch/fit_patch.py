"""Adds the callback to every `fit` of a script that knows nothing of it."""
import functools
import inspect
from typing import Any, Callable, List

from keras_npu_dump.launch.import_hook import when_imported

# Where the generations of Keras have their Model; a script may use more than one.
_MODELS = ("keras.engine.training", "keras.src.engine.training", "keras.src.models.model",
           "tf_keras.src.engine.training", "tf_keras.engine.training",
           "tensorflow.python.keras.engine.training")


def add_to_all_models(make_callback: Callable[[], Any]) -> None:
    """`add_to_every_fit` for each Keras, as soon as it is imported.

    Args:
      make_callback: see there.
    """
    def patch(module: Any) -> None:
        add_to_every_fit(module.Model, make_callback)

    for name in _MODELS:
        when_imported(name, patch)


def add_to_every_fit(model_class: Any, make_callback: Callable[[], Any]) -> None:
    """Wraps `model_class.fit`; a fit that has a callback of ours already is left alone.

    Args:
      model_class: tf.keras.Model; its subclasses come along.
      make_callback: called at the first fit, gives the callback for all fits; None leaves
        that fit alone.
    """
    original = model_class.fit
    signature = inspect.signature(original)
    made: List[Any] = []

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            return original(self, *args, **kwargs)  # Keras words that error best
        ours = made[0] if made else make_callback()
        if ours is None:
            return original(self, *args, **kwargs)
        if not made:
            made.append(ours)
        bound.arguments["callbacks"] = _with(bound.arguments.get("callbacks"), ours, self)
        return original(*bound.args, **bound.kwargs)

    model_class.fit = fit


def before_first_gradient(tensorflow: Any, check: Callable[[], None]) -> None:
    """Has a function called when the first gradient is computed: what then runs is a training.

    Args:
      tensorflow: the module.
      check: called before the gradient; where it raises, again before the next.
    """
    tape = getattr(tensorflow, "GradientTape", None)
    if tape is None:
        return  # a TensorFlow of before eager execution, or a module of that name
    original = tape.gradient

    @functools.wraps(original)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        check()
        tape.gradient = original
        return original(*args, **kwargs)

    tape.gradient = gradient


def _with(callbacks: Any, ours: Any, model: Any) -> Any:
    """The user's callbacks and ours.

    Args:
      callbacks: None, a callback, any sequence, a CallbackList.
      ours: the callback to add, unless a callback of ours is there.
      model: that is fitted.
    """
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
    """Whether a callback counts as ours does; the script's own flags may have switched it off."""
    return isinstance(callback, type(ours)) and callback.active
