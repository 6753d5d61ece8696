"""Names of graphs: those around training, and what a name says of a graph's role."""
from __future__ import annotations

import re
from typing import Optional

DP_INIT = "dp_init_"
"""How the graph that fills an iterator's queue is called (adapter make_iterator_op.cpp)."""

DP_PROVIDER = "dp_provider_"
"""How the graph that feeds it is called (adapter npu_device.cpp)."""

SET_LOOP_CONDITIONS = "set_npu_loop_conditions"
SET_LOOP_SIZE = "set_loop_var"
"""The two graphs with which the adapter tells the device a loop size (adapter npu_device.cpp)."""

_INITIALIZE = "initialize_variables"

BESIDE_TRAINING = (
    "AssignVariableOp", "ReadVariableOp", "VarHandleOp", "VarIsInitializedOp", DP_INIT,
    SET_LOOP_CONDITIONS, SET_LOOP_SIZE, "__inference_" + _INITIALIZE)
"""How the graphs begin that run beside the training graph. The adapter names the graph of an
eager operator after its type (adapter npu_resource_op.cpp)."""

KERAS_3_STEPS = ("one_step_on_data", "multi_step_on_iterator", "one_step_on_data_distributed",
                 "multi_step_on_data")
"""Functions that Keras 3 hands to tf.function, for training and evaluation alike."""

_ROLES = (
    ("iterator", re.compile(r"%s|%s|.*Iterator" % (DP_INIT, DP_PROVIDER))),
    ("train", re.compile(r".*(train_function|train_step|one_step_on_data_\d+$)")),
    ("eval", re.compile(r".*(test_function|test_step|evaluate)")),
    ("predict", re.compile(r".*(predict_function|predict_step|one_step_on_data_distributed)")),
    ("init", re.compile(r"(AssignVariableOp|VarHandleOp|Assign|VarIsInitialized|%s|%s|.*%s"
                        r"|init(ializ|$))" % (SET_LOOP_SIZE, SET_LOOP_CONDITIONS, _INITIALIZE))),
)


def role_of(name: Optional[str]) -> str:
    """The role that a graph's name tells.

    Args:
      name: of the graph, as in its Build file: the concrete function's (adapter
        npu_concrete_graph.h); None where it is not known.

    Returns:
      "iterator", "train", "eval", "predict" or "init"; "unknown" where it tells none.
    """
    for role, pattern in _ROLES:
        if name and pattern.match(name):
            return role
    return "unknown"
