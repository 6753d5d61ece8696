"""The layout that a tensor of a TensorFlow operator has, as GE's parser names it."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

# Operator -> layouts of its inputs and outputs; "data" stands for data_format.
_D, _F, _N = "data", "filter", "ND"
_KNOWN: Dict[str, Tuple[List[str], List[str]]] = {
    "Conv2D": ([_D, _F], [_D]),
    "Conv2DBackpropInput": ([_N, _F, _D], [_D]),
    "Conv2DBackpropFilter": ([_D, _N, _D], [_F]),
    "DepthwiseConv2dNative": ([_D, _F], [_D]),
    "DepthwiseConv2dNativeBackpropInput": ([_N, _F, _D], [_D]),
    "DepthwiseConv2dNativeBackpropFilter": ([_D, _N, _D], [_F]),
    "Conv3D": ([_D, _F], [_D]),
    "Conv3DBackpropInputV2": ([_N, _F, _D], [_D]),
    "Conv3DBackpropFilterV2": ([_D, _N, _D], [_F]),
    "MaxPool": ([_D], [_D]),
    "MaxPoolGrad": ([_D, _D, _D], [_D]),
    "AvgPool": ([_D], [_D]),
    "AvgPoolGrad": ([_N, _D], [_D]),
    "FusedBatchNormV3": ([_D], [_D]),
    "FusedBatchNormGradV3": ([_D, _D], [_D]),
    "BiasAdd": ([_D], [_D]),
    "BiasAddGrad": ([_D], []),
}


def of(node: Any, rank: Optional[int] = None) -> Tuple[List[str], List[str]]:
    """The layouts of an operator's tensors; what lies beyond a list is ND.

    Args:
      node: NodeDef.
      rank: of the data tensor, where the operator takes several (BiasAdd);
        None where it is not known.

    Returns:
      (layouts of inputs, layouts of outputs), as "NHWC", "HWCN", "ND".
    """
    known = _KNOWN.get(node.op)
    if known is None:
        return [], []
    data = node.attr["data_format"].s.decode("ascii") or "NHWC"
    if rank is not None and rank != len(data):
        data = "ND"
    weights = "DHWCN" if len(data) == 5 else "HWCN"
    names = {_D: data, _F: weights, _N: "ND"}
    return [names[item] for item in known[0]], [names[item] for item in known[1]]


def pick(layouts: List[str], index: int) -> str:
    """The layout of the input or output `index`, from what `of` gave.

    Args:
      layouts: of all inputs, or of all outputs, from `of`.
      index: of the input or output.
    """
    return layouts[index] if index < len(layouts) else "ND"
