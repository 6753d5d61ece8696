"""How training shows in a graph: gradients, updates, collectives, overflow checks, layers."""
from __future__ import annotations

import re
from typing import Iterable

# ReluGrad, Conv2DBackpropFilterD, BNTrainingUpdateGrad; not StopGradient.
_GRADIENT_TYPE = re.compile(r"Grad(?!ient)|Backprop")
# Scopes that tf.GradientTape and tf.gradients give to what they add.
_GRADIENT_NAME = re.compile(r"(^|/)(gradient_tape|gradients)(_\d+)?/")
# ApplyAdamD, ResourceApplyMomentum, SparseApplyAdagrad ...
_APPLY = r"(Resource|Sparse|ResourceSparse|Fused)?Apply[A-Z]"
_ASSIGN = r"Assign(Add|Sub)?(VariableOp)?$"
_OPTIMIZER_TYPE = re.compile(
    _APPLY + r"|AdamApply|Lamb(Apply|Next|Update)|LarsV?2?Update|FusedSgd")
_ASSIGN_TYPE = re.compile(_ASSIGN)
_UPDATE_TYPE = re.compile(_APPLY + "|" + _ASSIGN + r"|(Resource)?Scatter(Add|Sub|Update)")
# What initializers are made of.
_FILL_TYPE = re.compile(r"(Random|Truncated|StatelessRandom|StatelessTruncated|Fill|Zeros|Ones"
                        r"|Cast|TransData|Mul|Add|Sub|Initializer)")


def is_gradient(op_type: str, names: Iterable[str] = ()) -> bool:
    """Whether an operator belongs to the backward pass.

    Args:
      op_type: of TensorFlow or GE.
      names: its name, and the names of TensorFlow's operators that it stands for.
    """
    return bool(_GRADIENT_TYPE.search(op_type)) or any(
        _GRADIENT_NAME.search(name) for name in names)


def is_optimizer(op_type: str) -> bool:
    """Whether an operator calculates the step of an optimizer.

    Fused ones of GE, such as AdamApplyOne and LambNextMV, as a rule only calculate it, and an
    assignment follows: `is_update` does not know them.

    Args:
      op_type: name of the type.
    """
    return bool(_OPTIMIZER_TYPE.match(op_type))


def is_assign(op_type: str) -> bool:
    """Whether an operator does nothing but assign, add or subtract, in a variable.

    Args:
      op_type: name of the type.
    """
    return bool(_ASSIGN_TYPE.match(op_type))


def is_update(op_type: str) -> bool:
    """Whether an operator changes a variable, its first input; output 0, if any, is the new
    value. Of TensorFlow (ResourceApplyAdam, AssignSubVariableOp) and of GE (ApplyAdamD, Assign).

    Args:
      op_type: name of the type.
    """
    return bool(_UPDATE_TYPE.match(op_type))


def is_fill(op_type: str) -> bool:
    """Whether an operator may be part of an initializer, and so shows no forward pass.

    Args:
      op_type: name of the type.
    """
    return bool(_FILL_TYPE.match(op_type))


# --- several ranks

COLLECTIVE_PREFIX = "Hcom"
"""How the types of all collectives begin, as HcomAllReduce and HcomReduceScatter. Every rank
gets what any of them gave: bad outputs from good inputs come from another rank."""

SAME_TO_ALL_PREFIXES = ("HcomAllReduce", "HcomBroadcast", "HcomAllGather")
"""How the types of those begin that give the same values to every rank."""


def is_collective(op_type: str) -> bool:
    """Whether an operator exchanges values with other ranks.

    Args:
      op_type: name of the type.
    """
    return op_type.startswith(COLLECTIVE_PREFIX)


def gives_all_the_same(op_type: str) -> bool:
    """Whether a collective gives the same values to every rank.

    Args:
      op_type: name of the type.
    """
    return op_type.startswith(SAME_TO_ALL_PREFIXES)


# --- checks for overflow

FLOAT_STATUS_TYPES = frozenset((
    "NPUGetFloatStatus", "NPUGetFloatStatusV2", "NpuGetFloatStatus", "NpuGetFloatStatusV2",
    "GetFloatStatus"))
"""Operators that read the float status registers, for a loss scale (npu_get_float_status_v2 of
the adapter, which its NpuLossScaleOptimizer uses, and other spellings of it)."""

OVERFLOW_CHECK_TYPES = FLOAT_STATUS_TYPES | frozenset(("IsFinite",))
"""Operators with which a loss scale looks for overflow: with them it is expected to occur."""

# --- layers

LANDMARK_TYPES = frozenset((
    "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv2DBackpropFilter",
    "MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "FusedBatchNormV3",
    "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "GatherV2",
    "ResourceGather", "MaxPool", "AvgPool"))
"""TensorFlow's operators by which a person recognises a network; the vendor's second method
of finding the graph takes the name of one of them as the keyword."""

LAYER_TYPES = frozenset((
    "MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "BiasAdd",
    "DepthwiseConv2dNative", "FullyConnection", "FusedBatchNormV3", "BNTrainingUpdate", "BatchNorm",
    "LayerNorm", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Gelu", "FastGelu", "Sigmoid", "Tanh",
    "Softplus", "Softmax", "SoftmaxV2", "MaxPool", "AvgPool", "Pooling", "DynamicRNN"))
"""Operators, TensorFlow's and GE's, that a forward pass is made of: their outputs vary with the
batch. Without gradients and losses, which LANDMARK_TYPES has, and with activations."""

BIAS_GRADIENT_TYPES = frozenset(("BiasAddGrad", "Sum", "ReduceSum", "ReduceSumD"))
"""Operators that give the gradient of a bias: a sum over the batch."""
