"""The small graphs around training: each is a single operator on variables or an iterator.

An eager operator on a variable of the device becomes a graph of its own, loaded, run and
removed each time: one graph id per operator and variable, one model id per run, and a
counter that never leaves 0 (adapter npu_resource_op.cpp, npu_concrete_graph.cpp). Making
an iterator runs a `dp_init_<iterator>` graph (make_iterator_op.cpp).

In TensorFlow 2.6 and 2.21 all eager operators pass the same C function; it is watched here.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions import tf_dtypes
from keras_npu_dump.emulator.functions.reentrancy import is_own_work, own_work
from keras_npu_dump.emulator.ge import dump_writer
from keras_npu_dump.emulator.ge.engine import ENGINE
from keras_npu_dump.emulator.ge.loaded_graph import LoadedGraph
from keras_npu_dump.emulator.graphs import build_file, eager_graphs, handles
from keras_npu_dump.emulator.tracer.values import as_array
from keras_npu_dump.op_types import graph_names, graph_parts

_graphs: Dict[Tuple[Any, ...], LoadedGraph] = {}
_kinds: Dict[str, str] = {}
_installed: List[bool] = []


def install() -> None:
    """Begins to watch eager operators, and how variables are called; once per process."""
    if _installed:
        return
    _installed.append(True)
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.ops import resource_variable_ops
    original = pywrap_tfe.TFE_Py_FastPathExecute

    def fast_path(context: Any, op: str, name: Any, *args: Any) -> Any:
        kind = _kinds.get(op)
        if kind is None:
            kind = _kinds[op] = _kind(op)
        if not kind or not ENGINE.active or is_own_work():
            return original(context, op, name, *args)
        run = functools.partial(original, context, op, name, *args)
        return _HANDLERS[kind](op, args, run)

    pywrap_tfe.TFE_Py_FastPathExecute = fast_path
    make_handle = resource_variable_ops._variable_handle_from_shape_and_dtype

    def named_handle(shape: Any, dtype: Any, shared_name: Any, name: Any, *args: Any,
                     **kwargs: Any) -> Any:
        handle = make_handle(shape, dtype, shared_name, name, *args, **kwargs)
        handles.note_variable(handle, name)
        return handle

    resource_variable_ops._variable_handle_from_shape_and_dtype = named_handle


def _kind(op: str) -> str:
    """What an operator's name asks for: "variable", "iterator", "init", or nothing."""
    if op in graph_parts.ANONYMOUS_ITERATOR_TYPES:
        return "iterator"
    if op in graph_parts.ITERATOR_START_TYPES:
        return "init"
    if op in graph_parts.ANSWERED_BY_ADAPTER_TYPES:
        return ""
    from tensorflow.python.framework import op_def_registry
    definition = op_def_registry.get(op)
    takes = definition is not None and any(
        arg.type == tf_dtypes.DT_RESOURCE for arg in definition.input_arg)
    return "variable" if takes and graph_parts.is_on_variable(op) else ""


def _make_iterator(op: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    del op, args
    made = run()
    handles.note_iterator(made[0] if isinstance(made, (tuple, list)) else made)
    return made


def _init_iterator(op: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    del op
    name = handles.iterator_name(args[1])
    ENGINE.fail_if_faulty(graph_names.DP_INIT + name)
    result = run()
    graph = ENGINE.new_graph(graph_names.DP_INIT + name)
    graph.count = 1
    ENGINE.ran_once(graph)
    if build_file.wanted(ENGINE.session):
        with ENGINE.survives("graph %s cannot be written" % graph.ge_name):
            build_file.write(ENGINE.folder, ENGINE.session, graph, functools.partial(
                eager_graphs.iterator_graph, graph.ge_name, name))
    return result


def _on_variable(op: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    inputs = _inputs(op, args)
    variables = [value for value in inputs if handles.variable_dtype(value)]
    if not variables:
        return run()
    ENGINE.fail_if_faulty(op)
    graph = _graph_of(op, variables)
    session = ENGINE.session
    # Each run is of a new model, so it is always execution 0.
    dump = session.dump and session.wants(0) and (not session.layers or op in session.layers)
    before: Optional[List[Any]] = None
    with own_work(), ENGINE.survives("%s cannot be dumped" % graph.ge_name):
        before = _values(op, inputs) if dump and session.mode != "output" else []
    result = run()
    ENGINE.ran_once(graph)
    if build_file.wanted(session):
        with own_work(), ENGINE.survives("graph %s cannot be written" % graph.ge_name):
            described = eager_graphs.describe(inputs, handles.variable_name)
            build_file.write(ENGINE.folder, session, graph, functools.partial(
                eager_graphs.variable_graph, graph.ge_name, op, described))
    # Reading is an edge in the graph: there is no operator that could leave a file.
    if dump and op != "ReadVariableOp" and before is not None:
        with own_work(), ENGINE.survives("%s cannot be dumped" % graph.ge_name):
            _dump(graph, op, inputs, before, result)
    ENGINE.unload(graph)
    return result


def _graph_of(op: str, variables: Sequence[Any]) -> LoadedGraph:
    """The graph of an operator and its variables, loaded once more."""
    key = (op, *(handle._id for handle in variables))
    graph = _graphs.get(key)
    if graph is None:
        graph = _graphs[key] = ENGINE.new_graph(op, one_shot=True)
    else:
        graph.model_id = ENGINE.next_model_id()
    graph.count = 1
    return graph


def _inputs(op: str, args: Sequence[Any]) -> List[Any]:
    """The inputs among the arguments of the C function; attributes follow in pairs."""
    from tensorflow.python.framework import op_def_registry
    return list(args[:len(op_def_registry.get(op).input_arg)])


def _read(handle: Any) -> Any:
    from tensorflow.python.framework import dtypes
    from tensorflow.python.ops import gen_resource_variable_ops
    dtype = dtypes.as_dtype(handles.variable_dtype(handle))
    return gen_resource_variable_ops.read_variable_op(handle, dtype)


def _entry(tensor: Any, origin: Optional[Tuple[str, int]] = None) -> Any:
    dtype = tensor.dtype.as_datatype_enum
    if dtype in tf_dtypes.OPAQUE:
        return dump_writer.opaque(dtype, origin)
    return dump_writer.value_of(as_array(tensor), dtype, origin)


def _values(op: str, inputs: Sequence[Any]) -> List[Any]:
    """File entries of the inputs, variables as they are now."""
    from tensorflow.python.framework import ops
    entries: List[Any] = []
    for value in inputs:
        if handles.variable_dtype(value):
            # A plain assignment does not read, and may be the variable's first value.
            entries.append(dump_writer.opaque(tf_dtypes.DT_RESOURCE) if op == "AssignVariableOp"
                           else _entry(_read(value)))
        else:
            entries.append(_entry(ops.convert_to_tensor(value)))
    return entries


def _dump(graph: LoadedGraph, op: str, inputs: Sequence[Any], before: List[Any],
          result: Any) -> None:
    """Writes the file of an eager operator.

    Args:
      graph: of the operator.
      op: its type.
      inputs: its inputs; variables have their new values.
      before: file entries of the inputs, from before it ran.
      result: what it returned, a tensor, several, or None.
    """
    session = ENGINE.session
    outputs = []
    if session.mode != "input":
        made = result if isinstance(result, (list, tuple)) else [result]
        outputs = [_entry(item, (op, index)) for index, item in enumerate(made)
                   if hasattr(item, "dtype")]
        if graph_parts.changes_handle(op):
            outputs += [_entry(_read(handle), (op, len(outputs))) for handle in inputs
                        if handles.variable_dtype(handle)]
    if before or outputs:
        dump_writer.write_operator(session.folder(graph.ge_name, graph.model_id, 0), session, op,
                                   op, 1, before, outputs)


_HANDLERS: Dict[str, Callable[[str, Sequence[Any], Callable[[], Any]], Any]] = {
    "variable": _on_variable, "iterator": _make_iterator, "init": _init_iterator}
