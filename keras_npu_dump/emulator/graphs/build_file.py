"""Writes Build graphs, as GE does when it has built a model."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List

from keras_npu_dump import messages, outages
from keras_npu_dump.emulator.functions import shapes
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.graphs import arguments, graph_folder, graph_text
from keras_npu_dump.emulator.graphs.call import Call
from keras_npu_dump.emulator.tracer.dump_plan import files_of
from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph.ge_graph import Graph, NamedAttrs
from keras_npu_dump.formats.graph.graph_writer import write_graphs

SESSION_ID = 0
_SAID: List[bool] = []
# Option -> key of GE (adapter npu_wrapper.cpp); dump_data and exception dump are global.
_SESSION_KEYS = {
    "enable_dump": "ge.exec.enableDump", "dump_path": "ge.exec.dumpPath",
    "dump_step": "ge.exec.dumpStep", "dump_mode": "ge.exec.dumpMode",
    "enable_dump_debug": "ge.exec.enableDumpDebug",
    "dump_debug_mode": "ge.exec.dumpDebugMode", "dump_layer": "ge.exec.dumpLayer",
}
_GLOBAL_KEYS = {"dump_data": "ge.exec.dumpData",
                "enable_exception_dump": "ge.exec.enable_exception_dump"}


def wanted(session: Any) -> bool:
    """Whether a Build graph would be written now.

    Args:
      session: GeSession.

    With a dump path it comes always (GE graph_manager.cc); else DUMP_GE_GRAPH,
    DUMP_GRAPH_LEVEL and DUMP_GRAPH_FORMAT decide.
    """
    level = graph_folder.dump_level(session.generation.switch)
    asked = bool(level) and graph_folder.stage_wanted()
    if asked and not graph_folder.format_wanted("ge_proto") and not _SAID:
        _SAID.append(True)
        messages.warning("emulator: DUMP_GRAPH_FORMAT asks for %s; only ge_proto is emulated.",
                        os.environ.get("DUMP_GRAPH_FORMAT"))
    return session.has_dump_path or (asked and graph_folder.format_wanted("ge_proto"))


def write(folder: graph_folder.GraphFolder, session: Any, graph: Any,
          make: Callable[[bool, Dict[str, Any]], List[Graph]]) -> None:
    """Writes `ge_proto_..._Build.txt`.

    Args:
      folder: where to, and which number comes next.
      session: GeSession, for options, device and generation.
      graph: LoadedGraph.
      make: (whether constants keep their values, attributes of the root) -> the graphs.
        With a dump path the values stay, whatever the level (GE graph_utils.cc), but in
        the oldest generation.
    """
    level = graph_folder.dump_level(session.generation.switch)
    always = session.has_dump_path and session.generation.keeps_constants
    made = make(always or level == 1, _attrs(session, graph, level))
    prefix = folder.prefix(session.device_id)
    generation = session.generation
    name = names.format_graph_name(names.GraphName(
        "ge_proto", folder.next_index("ge_proto"),
        graph.graph_id if generation.graph_id == "yes" else None, "Build",
        index_width=int(generation.index)))
    try:
        write_graphs(os.path.join(prefix, name), made)
    except OSError as error:
        # GE logs it and goes on.
        outages.tell("graphs and executions of the emulator", error,
                     "emulator: graph %s cannot be written", name)


def write_function(folder: graph_folder.GraphFolder, session: Any, graph: Any, flat: Flat,
                   call: Call, inferred: shapes.Shapes) -> None:
    """Writes the Build graph of a function that is about to run for the first time.

    Args:
      folder, session, graph: see `write`.
      flat: the function's graph.
      call: the execution that is about to happen.
      inferred: see `shapes.infer`.
    """
    def make(with_values: bool, attrs: Dict[str, Any]) -> List[Graph]:
        return graph_text.build(flat, graph.ge_name, arguments.describe(flat, call), inferred,
                                with_values, attrs, files_of(graph, session))
    write(folder, session, graph, make)


def _attrs(session: Any, graph: Any, level: int) -> Dict[str, Any]:
    attrs: Dict[str, Any] = {
        "_session_graph_id": "%d_%d" % (SESSION_ID, graph.graph_id),
        "_emulated_by": "keras_npu_dump",
    }
    if level in (1, 2):
        attrs["GraphOptions"] = NamedAttrs("", {})
        for key, table in (("SessionOptions", _SESSION_KEYS), ("GlobalOptions", _GLOBAL_KEYS)):
            attrs[key] = NamedAttrs("", {ge: session.options[name] for name, ge in table.items()
                                         if name in session.options})
    return attrs

