"""GE graphs: operators, tensor descriptions, attributes.

The parts of `ge.proto.ModelDef` (GE `ge_ir.proto`) that matching a dump needs,
as objects that are made by hand (the emulator does) or read from a file
(`graph_reader.py`), and written by `graph_writer.py`.

An attribute's value is what Python has for it:

    s: str    i: int    b: bool    f: float    bt: bytes    dt: DataType(int)
    list: AttrList (a list that knows its kind, also when empty)
    list_list_int, list_list_float: list of lists
    func: NamedAttrs    t: TensorAttr    td: Desc    anything else: Other
"""
from __future__ import annotations

from typing import (
    Any,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
)

_T = TypeVar("_T")

ORIGINAL_OP_NAMES = "_datadump_original_op_names"
ORIGIN_NAME = "_datadump_origin_name"
ORIGIN_INDEX = "_datadump_origin_output_index"
ORIGIN_FORMAT = "_datadump_origin_format"
ORIGIN_DATA_TYPE = "_datadump_origin_data_type"


class DataType(int):
    """A ge::DataType number in an attribute (`dt`), not an OutputDataType."""


class AttrList(List[Any]):
    """A list attribute.

    Attributes:
      kind: STRING, INT, FLOAT, BOOL, BYTES, ... (`val_type` without VT_LIST_);
        known also of an empty list. NONE where the file names none.
    """

    def __init__(self, values: Iterable[Any] = (), kind: str = "NONE"):
        super().__init__(values)
        self.kind = kind


class NamedAttrs(NamedTuple):
    """A `func` attribute: a name with attributes of its own."""
    name: str
    attrs: Dict[str, Any]


class TensorAttr(NamedTuple):
    """A constant inside an attribute; `data` None where it was not read."""
    desc: "Desc"
    data: Optional[bytes]


class Other(NamedTuple):
    """An attribute of a kind that is not interpreted (a graph, a formula)."""
    kind: str
    message: Any


class _Attributed:
    """What a description and an operator have alike: attributes and further fields.

    Each is None while it is in `_source`, the text of a file, and nobody has asked for it.
    """
    __slots__ = ("_attrs", "_fields", "_source")

    _attrs: Optional[Dict[str, Any]]
    _fields: Optional[Dict[str, Any]]
    _source: Any

    @property
    def attrs(self) -> Dict[str, Any]:
        """All attributes by key, parsed when first asked for; raises as `attr`."""
        if self._attrs is None:
            self._attrs = self._source.attrs()
        return self._attrs

    @property
    def fields(self) -> Dict[str, Any]:
        """Further plain fields by name, parsed when first asked for; raises as `attr`."""
        if self._fields is None:
            self._fields = self._source.fields()
        return self._fields

    def attr(self, key: str, default: Any = None) -> Any:
        """Value of a single attribute; others are not parsed.

        Args:
          key: of the attribute.
          default: what to return where there is none.

        Raises:
          FormatError: the attribute cannot be parsed.
        """
        if self._attrs is None:
            return self._source.attr(key, default)
        return self._attrs.get(key, default)


class Desc(_Attributed):
    """An input or output of an operator (ge.proto.TensorDescriptor).

    Attributes:
      dtype: "DT_FLOAT" and so on; "DT_UNDEFINED" if not set.
      shape: dimensions in `layout`; () scalar, -1 unknown, (-2,) unknown rank.
      layout: "NHWC", "FRACTAL_Z", ...; "" if not set.
      attrs: by key; see the module.
      fields: further plain fields by name (size, device_type, real_dim_cnt).
    """
    __slots__ = ("dtype", "layout", "shape")

    def __init__(self, dtype: str = "DT_UNDEFINED",
                 shape: Sequence[int] = (), layout: str = "",
                 origin_format: Optional[str] = None,
                 origin_shape: Optional[Sequence[int]] = None,
                 origin_name: Optional[str] = None,
                 origin_index: Optional[int] = None,
                 attrs: Optional[Dict[str, Any]] = None,
                 fields: Optional[Dict[str, Any]] = None):
        self.dtype = dtype
        self.shape = tuple(shape)
        self.layout = layout
        self._source = None
        self._fields = dict(fields or {})
        self._attrs = dict(attrs or {})
        for key, value in (("origin_format", origin_format),
                           (ORIGIN_NAME, origin_name),
                           (ORIGIN_INDEX, origin_index)):
            if value is not None:
                self._attrs[key] = value
        if origin_shape is not None:
            self._attrs["origin_shape"] = AttrList(origin_shape, "INT")

    @property
    def origin_name(self) -> Optional[str]:
        """Framework operator whose output this is; None if the graph does not tell."""
        return _if(self.attr(ORIGIN_NAME), str)

    @property
    def origin_index(self) -> Optional[int]:
        """Output index at that operator; None if the graph does not tell."""
        return _if(self.attr(ORIGIN_INDEX), int)

    @property
    def origin_format(self) -> Optional[str]:
        """Layout in the framework ("NHWC"); None if the graph does not tell."""
        return _if(self.attr(ORIGIN_FORMAT), str) \
            or _if(self.attr("origin_format"), str)

    @property
    def origin_shape(self) -> Optional[Tuple[int, ...]]:
        """Shape in the framework; None if the graph does not tell."""
        value = self.attr("origin_shape")
        return tuple(value) if isinstance(value, list) else None

    @property
    def size(self) -> int:
        """Bytes in device memory by the graph; 0 if it does not tell."""
        return _if(self.fields.get("size"), int) or 0

    def __repr__(self) -> str:
        return "Desc(%s, %s, %s)" % (self.dtype, list(self.shape),
                                     self.layout or "no layout")

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Desc) and (
            self.dtype, self.shape, self.layout, self.attrs, self.fields) == (
            other.dtype, other.shape, other.layout, other.attrs, other.fields)

    # Equal by contents that can change: no hash.
    __hash__ = None  # type: ignore[assignment]  # typeshed wants a function


def _if(value: Any, kind: Type[_T]) -> Optional[_T]:
    return value if isinstance(value, kind) else None


class GraphOp(_Attributed):
    """An operator (ge.proto.OpDef).

    Attributes:
      name, type: raw, as in the graph.
      inputs: "name:index" per data edge, "" for an unconnected optional
        input, "name:-1" for control edges, which come last.
      input_descs, output_descs: Desc per registered slot.
      original_op_names: framework operators that this operator stands for; [] if
        GE inserted it, None if the graph does not tell (then it stands for itself).
      attrs: all attributes by key; `attr(key)` reads a single attribute.
      id, stream_id: 0 if not set.
      subgraph_names: graphs that this operator calls.
      fields: further plain fields by name (dst_name, src_index, ...), each a
        list or, for has_out_attr, a bool.
    """
    __slots__ = (
        "_input_descs",
        "_output_descs",
        "inputs",
        "name",
        "type",
    )

    def __init__(self, name: str = "", type: str = "",
                 inputs: Sequence[str] = (),
                 input_descs: Sequence[Desc] = (),
                 output_descs: Sequence[Desc] = (),
                 original_op_names: Optional[Sequence[str]] = None,
                 attrs: Optional[Dict[str, Any]] = None,
                 id: int = 0, stream_id: int = 0,
                 subgraph_names: Sequence[str] = (),
                 fields: Optional[Dict[str, Any]] = None):
        self.name = name
        self.type = type
        self.inputs = list(inputs)
        # None for what `_source` has and nobody has asked for yet.
        self._input_descs: Optional[List[Desc]] = list(input_descs)
        self._output_descs: Optional[List[Desc]] = list(output_descs)
        self._attrs = dict(attrs or {})
        if original_op_names is not None:
            self._attrs[ORIGINAL_OP_NAMES] = AttrList(original_op_names,
                                                      "STRING")
        self._fields = dict(fields or {})
        for key, value in (("id", id), ("stream_id", stream_id),
                           ("subgraph_name", list(subgraph_names))):
            if value:
                self._fields[key] = value
        self._source = None

    @property
    def input_descs(self) -> List[Desc]:
        """Desc per registered input, read when first asked for."""
        if self._input_descs is None:
            self._input_descs = self._source.descs("input_desc")
        return self._input_descs

    @property
    def output_descs(self) -> List[Desc]:
        """Desc per registered output, read when first asked for."""
        if self._output_descs is None:
            self._output_descs = self._source.descs("output_desc")
        return self._output_descs

    @property
    def original_op_names(self) -> Optional[List[str]]:
        """Framework operators of `_datadump_original_op_names`; None if not given."""
        if self._attrs is None:
            names = self._source.texts(ORIGINAL_OP_NAMES)
        else:
            names = self._attrs.get(ORIGINAL_OP_NAMES)
        if names is None:
            return None
        if not isinstance(names, (list, tuple)):
            names = [names]
        return [name for name in names if name and isinstance(name, str)]

    @property
    def origins(self) -> List[str]:
        """Framework operators by the vendor's rule: its own name if none are given."""
        names = self.original_op_names
        return [self.name] if names is None else names

    @property
    def id(self) -> int:
        """Number in the order that GE gave the operators; 0 if not set."""
        return _if(self.fields.get("id"), int) or 0

    @property
    def stream_id(self) -> int:
        """Device stream; 0 if not set."""
        return _if(self.fields.get("stream_id"), int) or 0

    @property
    def subgraph_names(self) -> List[str]:
        """Names of the graphs that this operator calls (branches, a loop's body)."""
        names = _if(self.fields.get("subgraph_name"), list)
        return [] if names is None else names

    @property
    def data_inputs(self) -> List[str]:
        """`inputs` without control edges."""
        return [edge for edge in self.inputs if not edge.endswith(":-1")]

    def input_desc_of(self, position: int) -> Optional[Desc]:
        """Description of a data input.

        Current GE writes one description per slot, unconnected ones too; old
        files may leave those out (the two counts tell which).

        Args:
          position: in `data_inputs`.

        Returns:
          Desc, or None where the file has none for it.
        """
        edges = self.data_inputs
        descs = self.input_descs
        if len(descs) != len(edges):
            if not edges[position]:
                return None
            position -= sum(1 for edge in edges[:position] if not edge)
        return descs[position] if position < len(descs) else None

    def __repr__(self) -> str:
        return "GraphOp(%s, %s)" % (self.name, self.type)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, GraphOp) and (
            self.name, self.type, self.inputs, self.input_descs,
            self.output_descs, self.attrs, self.fields) == (
            other.name, other.type, other.inputs, other.input_descs,
            other.output_descs, other.attrs, other.fields)

    # Equal by contents that can change: no hash.
    __hash__ = None  # type: ignore[assignment]  # typeshed wants a function


class Graph:
    """A graph (ge.proto.GraphDef).

    Attributes:
      name: raw; the root graph of a file comes first.
      ops: list of GraphOp.
      inputs, outputs: edges of the graph itself, mostly empty.
      attrs: by key.
      lacks: what this kind of file does not hold, a sentence each; ()
        for ge_proto.
    """
    __slots__ = ("attrs", "inputs", "lacks", "name", "ops", "outputs")

    def __init__(self, name: str = "", ops: Iterable[GraphOp] = (),
                 attrs: Optional[Dict[str, Any]] = None,
                 inputs: Sequence[str] = (), outputs: Sequence[str] = ()):
        self.name = name
        self.ops = list(ops)
        self.attrs = dict(attrs or {})
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.lacks: Tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Graph(%s, %d operators)" % (self.name, len(self.ops))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Graph) and (
            self.name, self.ops, self.attrs, self.inputs, self.outputs) == (
            other.name, other.ops, other.attrs, other.inputs, other.outputs)

    # Equal by contents that can change: no hash.
    __hash__ = None  # type: ignore[assignment]  # typeshed wants a function
