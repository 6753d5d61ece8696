"""Writes the Build graph of one function, as GE does when it has built the model."""
from __future__ import annotations

import os
from typing import Any, Dict

from absl import logging

from keras_npu_dump.emulator import arguments, graph_files, graph_text, shapes
from keras_npu_dump.emulator.flat import Flat
from keras_npu_dump.formats import names
from keras_npu_dump.formats.graph import NamedAttrs
from keras_npu_dump.formats.graph_writer import write_graphs

SESSION_ID = 0
# Option -> key of GE (adapter npu_wrapper.cpp); dump_data and exception dump are global.
_SESSION_KEYS = {
    "enable_dump": "ge.exec.enableDump", "dump_path": "ge.exec.dumpPath",
    "dump_step": "ge.exec.dumpStep", "dump_mode": "ge.exec.dumpMode",
    "enable_dump_debug": "ge.exec.enableDumpDebug",
    "dump_debug_mode": "ge.exec.dumpDebugMode", "dump_layer": "ge.exec.dumpLayer",
}
_GLOBAL_KEYS = {"dump_data": "ge.exec.dumpData",
                "enable_exception_dump": "ge.exec.enable_exception_dump"}


def write(folder: graph_files.GraphFolder, session: Any, graph: Any, flat: Flat,
          call: Any) -> None:
    """Writes `ge_proto_..._Build.txt` if the session or the environment asks for it.

    With a dump path the file comes always, and with the constants' values (GE
    graph_manager.cc, graph_utils.cc); else DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL and
    DUMP_GRAPH_FORMAT decide.
    """
    level = graph_files.dump_level()
    asked = bool(level) and graph_files.stage_wanted() and graph_files.format_wanted("ge_proto")
    if not (session.has_dump_path or asked):
        return
    with_values = session.has_dump_path or level == 1
    made = graph_text.build(
        flat, graph.name, arguments.describe(flat, call),
        shapes.infer(flat, call.graph.inputs, call.lookup), with_values,
        _attrs(session, graph, level))
    prefix = folder.prefix(session.device_id)
    name = names.format_graph_name(names.GraphName(
        "ge_proto", folder.next_index("ge_proto"), graph.graph_id, "Build"))
    try:
        write_graphs(os.path.join(prefix, name), made)
    except OSError as error:
        # GE logs it and goes on.
        logging.error("emulator: graph %s cannot be written: %s", name, error)


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

