"""What operators do to the numbers that pass through them; names of TensorFlow and of GE."""
from __future__ import annotations

from keras_npu_dump.op_types.training import FLOAT_STATUS_TYPES

SAME_VALUE_TYPES = frozenset((
    "Identity", "IdentityN", "StopGradient", "PreventGradient", "CheckNumerics", "Snapshot",
    "ReadVariableOp", "MemcpyAddrAsync", "Reshape", "ExpandDims", "Squeeze", "ReFormat"))
"""Hand on what they are given, bit by bit."""

SETTLES_INFINITY_TYPES = frozenset((
    "Softmax", "SoftmaxV2", "LogSoftmax", "Exp", "Sigmoid", "Tanh", "Relu", "Relu6", "Max",
    "ReduceMax", "ReduceMaxD", "Min", "ReduceMin", "ReduceMinD", "Maximum", "Minimum",
    "ClipByValue", "ArgMax", "ArgMin", "TopKV2", "Reciprocal", "Atan", "Erf"))
"""Give true, finite answers for infinite inputs: their mathematical limit."""

SETTLES_ANY_TYPES = FLOAT_STATUS_TYPES | frozenset((
    "IsFinite", "IsInf", "IsNan", "Select", "SelectV2", "Where", "Greater", "GreaterEqual",
    "Less", "LessEqual", "Equal", "NotEqual", "DivNoNan", "MulNoNan", "XlogyNoNan", "Xlogy",
    "Xlog1py", "DropOutDoMask", "DropOutDoMaskV3"))
"""Give true, finite answers for infinite inputs and for NaN: checks, and choices."""

ACCUMULATING_TYPES = frozenset((
    "MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Sum", "ReduceSum",
    "ReduceSumD", "Add", "AddV2", "AddN", "BiasAdd", "BiasAddGrad", "Mul", "Square", "Cast",
    "SquareSumV1", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D",
    "DepthwiseConv2dNative", "Mean", "ReduceMean", "ReduceMeanD"))
"""Sums, products and casts: they reach the largest number of a type by adding up, and no limit
of their own stops them there."""

# --- what gives infinity or NaN from finite numbers, by the reason

LOGARITHM_TYPES = frozenset(("Log", "Log1p", "LogSoftmax", "Xlogy"))
"""Of zero and of negative numbers."""

DIVISION_TYPES = frozenset((
    "RealDiv", "Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "RealDivGrad", "Xdivy"))
"""By zero: the divisor is the second input."""

INVERSE_TYPES = frozenset(("Reciprocal", "Inv", "Rsqrt"))
"""Of zero."""

ROOT_TYPES = frozenset(("Sqrt", "Rsqrt"))
"""Of negative numbers."""

ROOT_GRADIENT_TYPES = frozenset(("SqrtGrad", "RsqrtGrad"))
"""At zero; the first input is the root itself."""

EXPONENTIAL_TYPES = frozenset(("Exp", "Expm1", "Sinh", "Cosh"))
"""Of large numbers."""
