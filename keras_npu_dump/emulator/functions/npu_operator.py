"""How an operator of the NPU stands in a graph: a call, with attributes that say what it is.

TensorFlow has no kernels for the adapter's operators, and Python cannot register any. So each
is a call of a function that calculates it (`emulator/operators`), and the node of the call
carries the operator's type and attributes. Whoever reads a graph takes the node for the
operator; whoever runs it runs the call.
"""
from __future__ import annotations

from typing import Any, Dict

TYPE = "_npu_operator"
"""Attribute of the node: the operator's type, as GE names it."""

_INPUTS = "_npu_inputs"
_ATTRIBUTE = "_npu_attr_"


def operator_type(node: Any) -> str:
    """The type of the NPU's operator that a node stands for; "" for all other nodes.

    Args:
      node: NodeDef.
    """
    return node.attr[TYPE].s.decode("utf-8") if TYPE in node.attr else ""


def attributes(node: Any) -> Dict[str, Any]:
    """The attributes of the NPU's operator that a node stands for: AttrValues by name.

    Args:
      node: NodeDef.
    """
    return {name[len(_ATTRIBUTE):]: value for name, value in node.attr.items()
            if name.startswith(_ATTRIBUTE)}


def input_count(node: Any) -> int:
    """How many of a call's data inputs, the first ones, are inputs of the NPU's operator.

    Args:
      node: NodeDef that stands for one.
    """
    return int(node.attr[_INPUTS].i)


def node_attributes(op_type: str, attrs: Dict[str, Any], inputs: int) -> Dict[str, Any]:
    """What a node has to carry to stand for an operator: AttrValues by name.

    Args:
      op_type: as GE names it.
      attrs: AttrValues by name.
      inputs: how many inputs the operator has; the call may take more.
    """
    from tensorflow.core.framework import attr_value_pb2
    found = {_ATTRIBUTE + name: value for name, value in attrs.items()}
    found[_INPUTS] = attr_value_pb2.AttrValue(i=inputs)
    found[TYPE] = attr_value_pb2.AttrValue(s=op_type.encode("utf-8"))
    return found
