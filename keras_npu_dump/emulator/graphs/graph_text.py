"""A flat graph as GE's Build graph: Data, Variable, IteratorV2, operators, NetOutput.

Types stay TensorFlow's: GE's lowering and fusion are not imitated. What has no
operator in GE goes: reading a variable becomes an edge from the variable, NoOps become
edges between what they stood between.
"""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import opinfo
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.functions.shapes import UNKNOWN_RANK, Shapes
from keras_npu_dump.emulator.graphs import node_attrs, tf_layouts
from keras_npu_dump.emulator.tracer.values import dtype_name
from keras_npu_dump.formats.graph.edges import connect
from keras_npu_dump.formats.graph.ge_graph import Desc, Graph, GraphOp
from keras_npu_dump.op_types.graph_parts import EDGE_TYPES

# A NoOp that joins more than this stays in the graph: its edges would multiply.
_MAX_JOIN = 64


class Argument:
    """What a Build graph has in place of an argument of the function.

    Attributes:
      kind: "Data", "Variable", "IteratorV2" or "" (nothing: a handle that only deletes).
      name: of the operator.
      dtype: of what it holds, number of TensorFlow.
      shape: of what it holds; -1 is an unknown dimension, (-2,) an unknown rank.
    """

    def __init__(self, kind: str, name: str, dtype: int, shape: Tuple[int, ...]):
        self.kind = kind
        self.name = name
        self.dtype = dtype
        self.shape = shape


def build(root: Flat, name: str, arguments: Sequence[Argument], shapes: Shapes,
          with_values: bool, attrs: Optional[Dict[str, Any]] = None,
          files: Optional[Dict[int, Dict[str, Any]]] = None) -> List[Graph]:
    """The graphs of a Build file.

    Args:
      root: the graph.
      name: what GE calls it.
      arguments: an Argument for each argument of `root`.
      shapes: see `shapes.infer`.
      with_values: whether constants keep their values.
      attrs: attributes of the root graph.
      files: id of a flat graph -> attributes that tell its dump files, see `dump_plan.files_of`.

    Returns:
      The root first, then every body, named after the node that holds it and numbered, so
      that no two have the same name.
    """
    names = {id(root): name}
    for number, flat in enumerate(root.walk()):
        for (node, role), body in flat.bodies.items():
            place = flat_lib.roles(flat.by_name[node]).index(role)
            names[id(body)] = "%s%d%s%d" % (node, place, body.name, number)
    graphs = []
    for flat in root.walk():
        maker = _Maker(flat, arguments if flat is root else None, shapes, with_values, names)
        graphs.append(maker.graph())
        graphs[-1].attrs.update((files or {}).get(id(flat), {}))
    graphs[0].attrs.update(attrs or {})
    return graphs


class _Maker:
    """Makes the graph of a Flat; `arguments` are those of the root, None for a body."""

    def __init__(self, flat: Flat, arguments: Optional[Sequence[Argument]], shapes: Shapes,
                 with_values: bool, names: Dict[int, str]):
        self._flat = flat
        self._shapes = shapes
        self._values = with_values
        self._names = names
        self._arguments = arguments or self._body_arguments()
        self._edges: Dict[str, str] = {}
        self._joined: Dict[str, List[str]] = {}

    def graph(self) -> Graph:
        """The graph, connected."""
        ops = [self._argument(index, item) for index, item in enumerate(self._arguments)
               if item.kind]
        for (name, _), item in zip(self._flat.args, self._arguments):
            self._edges[name] = item.name + ":0"
        for node in self._flat.nodes:
            data, _ = flat_lib.split_control(node.input)
            for position, (tensor, _) in enumerate(opinfo.outputs(node)):
                edge = "%s:%d" % (node.name, position)
                if node.op == "ReadVariableOp" and data[0] in self._edges:
                    edge = self._edges[data[0]]
                self._edges[tensor] = edge
            if node.op not in EDGE_TYPES or len(self._controls(node)) > _MAX_JOIN:
                ops.append(self._op(node))
        ops.append(self._net_output())
        connect(ops)
        return Graph(self._names[id(self._flat)], ops)

    def _body_arguments(self) -> List[Argument]:
        flat = self._flat
        # cond and body, then and else have arguments of the same names.
        return [Argument("Data", "%s/%s/%s" % (flat.node, flat.role, name), dtype,
                         self._shapes.get((id(flat), name), UNKNOWN_RANK))
                for name, dtype in flat.args]

    def _argument(self, index: int, item: Argument) -> GraphOp:
        attrs: Dict[str, Any] = {}
        if item.kind == "Data":
            attrs["index"] = index
        if self._flat.parent is not None:
            shift = 0 if self._flat.role in ("cond", "body") else 1
            attrs["_parent_node_index"] = index + shift
        desc = describe_tensor(item.dtype, item.shape, "ND")
        return GraphOp(item.name, item.kind, output_descs=[desc], attrs=attrs,
                       input_descs=[desc] if item.kind == "Data" else [],
                       inputs=[""] if item.kind == "Data" else [])

    def _op(self, node: Any) -> GraphOp:
        data = self._data(node)
        shape = self._shape(data[0]) if data else UNKNOWN_RANK
        given, made = tf_layouts.of(node, None if shape == UNKNOWN_RANK else len(shape))
        inputs = [self._edges.get(tensor, tensor) for tensor in data]
        inputs += ["%s:-1" % name for name in self._controls(node)]
        input_descs = [
            describe_tensor(self._dtype(tensor, dtype), self._shape(tensor),
                            tf_layouts.pick(given, index))
            for index, (tensor, dtype) in enumerate(zip(data, opinfo.input_dtypes(node)))]
        output_descs = [
            describe_tensor(dtype, self._shape(tensor), tf_layouts.pick(made, index), node.name,
                            index)
            for index, (tensor, dtype) in enumerate(opinfo.outputs(node))]
        bodies = [self._names[id(self._flat.bodies[(node.name, role)])]
                  for role in flat_lib.roles(node)
                  if (node.name, role) in self._flat.bodies]
        return GraphOp(node.name, opinfo.op_type(node), inputs, input_descs, output_descs,
                       original_op_names=[node.name],
                       attrs=node_attrs.convert(node, self._values), subgraph_names=bodies)

    def _net_output(self) -> GraphOp:
        flat = self._flat
        inputs = [self._edges.get(tensor, tensor) for tensor in flat.ret]
        ends = self._expand(flat.control_ret)
        descs = []
        for index, tensor in enumerate(flat.ret):
            dtype = flat.definition.signature.output_arg[index].type
            desc = describe_tensor(dtype, self._shape(tensor), "ND")
            if flat.parent is not None:
                desc.attrs["_parent_node_index"] = index
            descs.append(desc)
        name = "NetOutput" if flat.parent is None else "%s_NetOutput" % self._names[id(flat)]
        return GraphOp(name, "NetOutput", inputs + ["%s:-1" % end for end in ends], descs,
                       descs if flat.parent is None else [])

    @staticmethod
    def _data(node: Any) -> List[str]:
        """What the operator of a node takes; a call that stands for one may take more."""
        data, _ = flat_lib.split_control(node.input)
        return data[:len(opinfo.input_dtypes(node))]

    def _controls(self, node: Any) -> List[str]:
        """Operators of the graph that `node` waits for beyond its data."""
        data, controls = flat_lib.split_control(node.input)
        taken = self._data(node)
        direct = {flat_lib.node_of(tensor) for tensor in taken}
        # What only the call takes, the operator waits for.
        controls += [flat_lib.node_of(tensor) for tensor in data[len(taken):]]
        return [name for name in self._expand(controls)
                if name not in direct and name != node.name]

    def _expand(self, names: Iterable[str]) -> List[str]:
        found: Dict[str, None] = {}
        for name in names:
            node = self._flat.by_name.get(name)
            if node is None:
                continue
            if node.op not in EDGE_TYPES:
                found[name] = None
                continue
            if name not in self._joined:
                inner = [flat_lib.node_of(tensor) for tensor in node.input]
                self._joined[name] = self._expand(inner)
            joined = self._joined[name]
            for item in [name] if len(joined) > _MAX_JOIN else joined:
                found[item] = None
        return list(found)

    def _shape(self, tensor: str) -> Tuple[int, ...]:
        argument = self._argument_of(tensor)
        if argument is not None:
            return argument.shape
        return self._shapes.get((id(self._flat), tensor), UNKNOWN_RANK)

    def _dtype(self, tensor: str, dtype: int) -> int:
        argument = self._argument_of(tensor)
        return argument.dtype if argument is not None else dtype

    def _argument_of(self, tensor: str) -> Optional[Argument]:
        head = flat_lib.node_of(tensor)
        index = self._flat.arg_index.get(head)
        return None if index is None else self._arguments[index]


def describe_tensor(dtype: int, shape: Tuple[int, ...], layout: str,
                    origin: Optional[str] = None, index: Optional[int] = None) -> Desc:
    """The description of a tensor that has TensorFlow's layout.

    Args:
      dtype: number of TensorFlow.
      shape: -1 is an unknown dimension, (-2,) an unknown rank (GE ge_ir.proto).
      layout: as "NHWC" or "ND".
      origin: for an output, the operator's name in TensorFlow.
      index: for an output, its position among the outputs of that operator.
    """
    return Desc(dtype_name(dtype), shape, layout, origin_format=layout, origin_shape=shape,
                origin_name=origin, origin_index=index)
