"""What can be seen of a Keras model's training function without touching it.

`model.train_function` is a tf.function on Keras 2; Keras 3 calls it from a closure. The
device executes one of its concrete functions, whose name is the graph's name (the
adapter names the compute graph after the function).
"""
import sys
from typing import Any, Callable, List, Optional, Tuple

from keras_npu_dump.op_types.training import LANDMARK_TYPES

MAX_OPERATORS = 2000


def of_model(model: Any) -> Any:
    """The tf.function that trains, a plain function with run_eagerly, None before fit."""
    function = getattr(model, "train_function", None)
    if is_graph(function):
        return function
    for cell in getattr(function, "__closure__", None) or ():
        try:
            if is_graph(cell.cell_contents):
                return cell.cell_contents
        except ValueError:  # an empty cell
            continue
    return function


def traces(function: Any) -> Callable[[], int]:
    """A cheap way to ask how often a tf.function was traced; 0 for anything else."""
    return getattr(function, "experimental_get_tracing_count", None) or (lambda: 0)


def is_graph(function: Any) -> bool:
    """False with run_eagerly=True, where no training graph is ever executed."""
    return hasattr(function, "experimental_get_tracing_count")


def runs_eagerly(function: Any) -> bool:
    """Whether a tf.function is run operator by operator: then no graph is executed."""
    return not is_graph(function) or functions_run_eagerly()


def functions_run_eagerly() -> bool:
    """Whether `tf.config.run_functions_eagerly(True)` was called; Keras 2 follows it, too."""
    config: Any = getattr(sys.modules.get("tensorflow"), "config", None)
    try:
        return bool(config.functions_run_eagerly())
    except AttributeError:
        return False


def steps_per_execution(model: Any) -> int:
    """How many batches one execution takes; 1 where the model does not tell."""
    for name in ("_steps_per_execution", "steps_per_execution"):
        value: Optional[Any] = getattr(model, name, None)
        if value is not None:
            try:
                return max(1, int(value.numpy() if hasattr(value, "numpy") else value))
            except (TypeError, ValueError):
                continue
    return 1


def describe(function: Any) -> Tuple[Optional[str], List[str]]:
    """Name of the executed concrete function and of its compute operators.

    The last trace is what runs: the first call of a Keras training function
    traces twice, as variables are created in the first trace.

    Returns:
      (name, operators); (None, []) where TensorFlow does not show them.
    """
    try:
        concrete = list(function._list_all_concrete_functions())[-1]
    except Exception:
        # Private to TensorFlow and only evidence; training must not suffer for it.
        return None, []
    return describe_concrete(concrete)


def names(function: Any) -> Optional[List[Optional[str]]]:
    """Names of all concrete functions of a tf.function; None where TensorFlow does not show them.

    Args:
      function: the tf.function. One with an `input_signature` is traced by the question, which
        may come while it is being traced: it is not asked.
    """
    if getattr(function, "input_signature", None) is not None:
        return None
    try:
        concrete = list(function._list_all_concrete_functions())
    except Exception:
        return None  # private to TensorFlow, as above
    return [describe_concrete(one, with_operators=False)[0] for one in concrete]


def describe_concrete(concrete: Any, with_operators: bool = True) -> Tuple[Optional[str],
                                                                           List[str]]:
    """Name of a concrete function, and of its compute operators: of those that are executed.

    A tape leaves operators of gradients that nobody takes; the device never gets them.

    Args:
      concrete: TensorFlow's ConcreteFunction.
      with_operators: whether they are read. Defaults to True.

    Returns:
      (name, operators); (None, []) where TensorFlow does not show them.
    """
    try:
        name = concrete.name
        operators = [op.name for op in _executed(concrete.graph)
                     if op.type in LANDMARK_TYPES][:MAX_OPERATORS] if with_operators else []
    except Exception:
        return None, []  # as above
    return name.decode() if isinstance(name, bytes) else str(name), operators


def _executed(graph: Any) -> List[Any]:
    """The operators that outputs and control outputs of a function need, as it has them."""
    waiting = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    needed = set()
    while waiting:
        op = waiting.pop()
        if op.name not in needed:
            needed.add(op.name)
            waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return [op for op in graph.get_operations() if op.name in needed]
