"""`npu_device.compat.v1.estimator.npu.util`: checks of arguments, and loops of sessions."""
from __future__ import annotations

import os
from typing import Any, Dict, Optional, Sequence

from keras_npu_dump.emulator.api import missing

_AOE_MODES = ("1", "2", "4")
_PROFILING = ("training_trace", "task_time", "op_trace")
_VALUES: Dict[str, Any] = {}


def check_not_none(value: Any, name: str) -> None:
    """Raises ValueError where a value is None."""
    if value is None:
        raise ValueError("%s must not be None" % name)


def _check_integer(value: Any, name: str) -> None:
    if not isinstance(value, int):
        raise TypeError("%s must be int, got %s" % (name, type(value)))


def check_positive_integer(value: Any, name: str) -> None:
    """Raises TypeError or ValueError where a value is no integer above 0."""
    _check_integer(value, name)
    if value <= 0:
        raise ValueError("%s must be positive, got %s" % (name, value))


def check_nonnegative_integer(value: Any, name: str) -> None:
    """Raises TypeError or ValueError where a value is no integer from 0 on."""
    _check_integer(value, name)
    if value < 0:
        raise ValueError("%s must be nonnegative, got %s" % (name, value))


def check_bool_type(value: Any, name: str) -> None:
    """Raises TypeError where a value is no bool."""
    if not isinstance(value, bool):
        raise TypeError("%s must be True or False, got %s" % (name, value))


def convert_bool_to_int(value: Any) -> int:
    """1 for True, 0 for False, -1 for anything else."""
    return int(value) if isinstance(value, bool) else -1


def format_string(value: Optional[str], name: str) -> str:
    """A text; "" for None. Raises TypeError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError("%s must be string, got %s" % (name, type(value)))
    return value


def check_path(path: str) -> str:
    """The real path of a folder that can be read and written. Raises ValueError for any other."""
    if not os.path.exists(path):
        raise ValueError("path:%s is not exists." % path)
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        raise ValueError("path:%s is not directory." % path)
    if not os.access(real, os.R_OK | os.W_OK):
        raise ValueError("path:%s is not read and write permissions." % path)
    return real


def check_aoe_mode(aoe_mode: Any) -> None:
    """Raises ValueError where a mode of tuning is none of "1", "2", "4"."""
    if aoe_mode not in _AOE_MODES:
        raise ValueError("aoe_mode:%s is invalid, should be in %s" % (aoe_mode, list(_AOE_MODES)))


def check_profiling_options(profiling_options: Sequence[str] = ()) -> str:
    """The options with a colon between. Raises ValueError for none, or one that is not known."""
    if not profiling_options or any(one not in _PROFILING for one in profiling_options):
        raise ValueError(
            "profiling options must be in `training_trace`, `task_time` or `op_trace`")
    return ":".join(profiling_options)


def global_dict_init() -> None:
    """Forgets what `set_value` has kept."""
    _VALUES.clear()


def set_value(key: str, value: Any) -> None:
    """Keeps a value of the process under a name."""
    _VALUES[key] = value


def get_value(key: str, def_value: Any = None) -> Any:
    """What was kept under a name, or the default."""
    return _VALUES.get(key, def_value)


def variable_initializer_in_host(var_list: Any) -> Any:
    """The operation that initializes variables, named as the adapter names it."""
    import tensorflow as tf
    return tf.compat.v1.initializers.variables(var_list, name="var_in_host")


def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> Any:
    """The training operation itself, for one iteration a call.

    Args:
      sess: a session.
      train_op: the operation that trains.
      iterations_per_loop: 1.

    Raises:
      ValueError: no operation, or a number below 1.
      NotImplementedError: more iterations: the device's loop over a session's graph.
    """
    import tensorflow as tf
    del sess
    if not isinstance(train_op, tf.Operation):
        raise ValueError("The incoming 'train_op' type is '%s', and the need type is 'Operation'"
                         % type(train_op).__name__)
    check_positive_integer(iterations_per_loop, "iterations_per_loop")
    if iterations_per_loop > 1:
        raise missing.needs(
            "npu_device.compat.v1...util.set_iteration_per_loop",
            "the emulator does not run graphs of sessions, so it has no loop of %d iterations"
            % iterations_per_loop, "Rehearse with 1.")
    return train_op


class IterationPerLoop:
    """The same in two calls."""

    def create_iteration_per_loop_var(self, train_op: Any) -> Any:
        """The training operation in a group of the adapter's name.

        Raises:
          ValueError: no operation.
        """
        import tensorflow as tf
        return tf.group(set_iteration_per_loop(None, train_op), name="IterationOp")

    def load_iteration_per_loop_var(self, sess: Any, iterations_per_loop: int = 1) -> None:
        """Accepts one iteration a call; see `set_iteration_per_loop`."""
        import tensorflow as tf
        with tf.Graph().as_default():
            set_iteration_per_loop(sess, tf.no_op(), iterations_per_loop)
