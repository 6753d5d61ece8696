"""Sees executions of functions, in whatever loop a script has written.

Each concrete function that runs outside of any other is a graph on the device, with a counter
of its own (adapter npu_device.cpp; GE davinci_model.cc). TensorFlow runs every one of them,
also backward functions and what a tf.function has traced, through `ConcreteFunction._call_flat`,
in 2.6 as in the newest versions; it is also called while an outer function is traced. It is
private to TensorFlow: where it is not found, loops are counted as their steps tell, as before.
"""
import sys
from typing import Any, Callable, List, NamedTuple, Optional

from keras_npu_dump import messages
from keras_npu_dump.capture.model.train_function import describe_concrete
from keras_npu_dump.errors import DumpError
from keras_npu_dump.op_types.training import is_gradient, is_optimizer

# Where the generations of TensorFlow have their ConcreteFunction, and whether it runs eagerly.
_CLASSES = ("tensorflow.python.eager.polymorphic_function.concrete_function",
            "tensorflow.python.eager.function")
_CONTEXT = "tensorflow.python.eager.context"
_NOTE = "_keras_npu_dump_known"


class Known(NamedTuple):
    """What is known of a concrete function, read once.

    Attributes:
      name: that the graph on the device has, too; None where TensorFlow does not tell.
      trains: whether it computes gradients, or updates by an optimizer.
      operators: names of its compute operators; empty for what does not train.
    """

    name: Optional[str]
    trains: bool
    operators: List[str]


class Listener:
    """Hears of executions; does nothing by itself."""

    def begins(self, known: Known) -> Any:
        """An execution begins, of a function that trains or of any other.

        Args:
          known: its function.

        Returns:
          What the other two are called with; None where they need not be.

        Raises:
          DumpError: it must not run.
        """

    def ended(self, execution: Any) -> None:
        """It has ended well."""

    def raised(self, execution: Any, error: BaseException) -> None:
        """It was left by an exception."""

    def gave_up(self) -> None:
        """It hears of no more executions, for a fault of ours."""


class _Watch:
    """Of this process: who listens, and whether calls are seen."""

    def __init__(self) -> None:
        self.listener: Optional[Listener] = None
        self.installed = False


_WATCH = _Watch()


def listen(listener: Listener) -> None:
    """From now on `listener` hears of executions, in place of the last one."""
    _WATCH.listener = listener
    install()


def are_seen() -> bool:
    """Whether executions are seen at all, and somebody hears of them."""
    return _WATCH.installed and _WATCH.listener is not None


def install() -> None:
    """Begins to see calls, once TensorFlow is imported; a second call does nothing."""
    if _WATCH.installed:
        return
    eagerly = getattr(sys.modules.get(_CONTEXT), "executing_eagerly", None)
    for name in _CLASSES:
        found = getattr(sys.modules.get(name), "ConcreteFunction", None)
        if callable(eagerly) and callable(getattr(found, "_call_flat", None)):
            _WATCH.installed = True
            _watch(found, eagerly)
            return


def _watch(function_class: Any, executing_eagerly: Callable[[], bool]) -> None:
    original = function_class._call_flat
    state = _WATCH

    def _call_flat(self: Any, *args: Any, **kwargs: Any) -> Any:
        listener = state.listener  # another thread may give up meanwhile
        if listener is None or not executing_eagerly():
            return original(self, *args, **kwargs)
        execution = _begin(listener, self)
        if execution is None:
            return original(self, *args, **kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _safely(listener.raised, execution, error)
            raise
        _safely(listener.ended, execution)
        return result

    function_class._call_flat = _call_flat


def _begin(listener: Listener, function: Any) -> Any:
    try:
        known = function.__dict__.get(_NOTE)
        if known is None:
            known = function.__dict__[_NOTE] = _look_into(function)
        return listener.begins(known)
    except DumpError:
        raise
    except Exception as error:
        _give_up(error)
        return None


def _safely(tell: Callable[..., None], *values: Any) -> None:
    try:
        tell(*values)
    except Exception as error:
        _give_up(error)


def _give_up(error: Exception) -> None:
    """A fault of ours ends no training."""
    listener, _WATCH.listener = _WATCH.listener, None
    if listener is not None:
        listener.gave_up()
    messages.warning("Executions are not counted any more, which is a fault of keras_npu_dump:"
                     " %s: %s", type(error).__name__, error)


def _look_into(function: Any) -> Known:
    trains = _trains(function.graph)
    name, operators = describe_concrete(function, trains)
    return Known(name, trains, operators)


def _trains(graph: Any) -> bool:
    """Whether there are gradients or updates in a graph, or in the bodies of what it calls."""
    waiting, seen = [graph], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if any(is_gradient(op.type, (op.name,)) or is_optimizer(op.type)
               for op in one.get_operations()):
            return True
        bodies = getattr(one, "_functions", None) or {}
        waiting += [body.graph for body in list(bodies.values())
                    if getattr(body, "graph", None) is not None]
    return False
