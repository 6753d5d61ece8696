"""What GE would do: graphs, their numbers, their counters, and when they are dumped.

One concrete function is one graph, known by its name (adapter npu_device.cpp). Graph ids
count from 0 over the process, model ids from 1 over loaded models, and every loaded
graph has a counter from 0 that rises with each execution, dumped or not: it is the
data_index (GE davinci_model.cc, runtime dump_task.cpp).
"""
from __future__ import annotations

import itertools
import os
import threading
from typing import Any, Dict, List, Optional

from absl import logging

from keras_npu_dump.emulator import flat as flat_lib
from keras_npu_dump.emulator import build_graph, graph_files, opinfo, writer
from keras_npu_dump.emulator.flat import Flat
from keras_npu_dump.emulator.plan import Plan
from keras_npu_dump.emulator.session import Session
from keras_npu_dump.emulator.twin import Twin
from keras_npu_dump.formats import names


class Graph:
    """One graph in GE.

    Attributes:
      name: of the graph; the model_name of its dump folder, once sanitised.
      graph_id, model_id: see the module.
      count: executions so far.
      plan: what a dumped execution writes; None where nothing is dumped.
      random: whether it draws from generators that belong to the instantiated function,
        so that the twin must run in every execution or in none.
    """

    def __init__(self, name: str, graph_id: int, model_id: int):
        self.name = name
        self.graph_id = graph_id
        self.model_id = model_id
        self.count = 0
        self.plan: Optional[Plan] = None
        self.random = False
        self.twin: Optional[Twin] = None
        self.constants: Dict[Any, Any] = {}


class Engine:
    """The graph engine of this process; it exists once, as `ENGINE`."""

    def __init__(self):
        self.session: Optional[Session] = None
        self.active = False
        self.graphs: Dict[str, Graph] = {}
        self.order: List[Graph] = []
        self.folder = graph_files.GraphFolder()
        self._graph_ids = itertools.count()
        self._model_ids = itertools.count(1)
        self._lock = threading.RLock()
        self._missing: Optional[set] = None

    def open(self, session: Session) -> None:
        """Starts the session; graphs are watched once the device is the default."""
        self.session = session
        self._missing = set(session.layers)

    def execute(self, call: Any) -> List[Any]:
        """Runs an outermost execution of a concrete function as the device would.

        Args:
          call: see `watch.Call`.

        Returns:
          The outputs of the function.

        Raises:
          tf.errors.InternalError: the session's options are bad; nothing has run.
        """
        with self._lock:
            graph = self.graphs.get(call.name)
            if graph is None:
                graph = self._load(call)
            index = graph.count
            graph.count += 1
        if graph.plan is None:
            return call.plain()
        dump = self.session.wants(index)
        if not dump and not graph.random:
            return call.plain()
        with self._lock:
            if graph.twin is None:
                graph.twin = Twin(call.context, graph.plan.root, graph.plan)
        outputs, values = graph.twin.run(call.execute)
        if dump:
            self._dump(graph, index, call, values)
        return outputs

    def fail_if_faulty(self, what: str) -> None:
        """What the first graph reports if the options of the session are bad."""
        if self.session.fault is not None:
            from tensorflow.python.framework import errors
            raise errors.InternalError(
                None, None, "Graph engine Add graph:\n%s [Op:%s]" % (self.session.fault, what))

    def _load(self, call: Any) -> Graph:
        self.fail_if_faulty(call.name)
        graph = Graph(call.name, next(self._graph_ids), next(self._model_ids))
        if self.session.dump or self.session.debug or graph_files.dump_level():
            flat = flat_lib.flatten(call.definition, call.lookup)
            self._report_unread(flat)
            build_graph.write(self.folder, self.session, graph, flat, call)
            if self.session.dump:
                self._plan(graph, flat, call)
        self.graphs[call.name] = graph
        self.order.append(graph)
        return graph

    def _plan(self, graph: Graph, flat: Flat, call: Any) -> None:
        plan = Plan(flat, call.variables(), self.session.mode, self.session.layers)
        self._missing -= plan.found
        if not plan.empty:
            graph.plan = plan
            graph.random = any(opinfo.has_random_state(node)
                               for inner in flat.walk() for node in inner.nodes)

    def _report_unread(self, flat: Flat) -> None:
        for inner in flat.walk():
            for node, why in inner.unread:
                logging.warning("emulator: what happens inside %s cannot be dumped (%s).",
                                node, why)

    def _dump(self, graph: Graph, index: int, call: Any, values: List[Any]) -> None:
        session = self.session
        folder = os.path.join(session.path, session.time_folder, str(session.device_id),
                              names.sanitise(graph.name), str(graph.model_id), str(index))
        writer.write_execution(folder, graph.plan, graph.twin.unpack(values), call.args,
                               graph.constants, session.stats)

    def close(self) -> None:
        """Ends the session at the end of the process."""
        if self._missing:
            logging.warning("emulator: dump_layer names no operator that ran: %s.",
                            ", ".join(sorted(self._missing)))
            self._missing = None


ENGINE = Engine()
