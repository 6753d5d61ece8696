"""What GE would do: graphs, their numbers, their counters, and when they are dumped.

Each concrete function is a graph, known by its name (adapter npu_device.cpp). Graph ids
count from 0 over the process, model ids are given by `model_ids.py`, and every loaded
graph has a counter from 0 that rises with each execution, dumped or not: it is the
data_index (GE davinci_model.cc, runtime dump_task.cpp).
"""
from __future__ import annotations

import collections
import contextlib
import itertools
import os
import threading
from typing import Any, Deque, Dict, Iterator, List, Optional, Set, Tuple

from keras_npu_dump import messages, outages, sigterm
from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import shapes
from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.functions.flatten import flatten
from keras_npu_dump.emulator.functions.reentrancy import own_work
from keras_npu_dump.emulator.ge import device_loops, dump_writer, overflow, parts, unread
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.ge.loaded_graph import LoadedGraph
from keras_npu_dump.emulator.ge.model_ids import ModelIds
from keras_npu_dump.emulator.ge.rebuilds import Rebuilds
from keras_npu_dump.emulator.graphs import arguments, build_file, graph_folder, handles
from keras_npu_dump.emulator.graphs.call import Call
from keras_npu_dump.emulator.tracer import value_sizes
from keras_npu_dump.emulator.tracer.dump_plan import Plan
from keras_npu_dump.emulator.tracer.twin import Activation, Twin
from keras_npu_dump.files import streams

# Runs of small graphs that are kept in mind: an eager loop makes thousands.
_REMEMBERED = 10000


class Engine:
    """The graph engine of this process; it exists once, as `ENGINE`.

    Attributes:
      active: whether executions are watched: the device is the default, or in scope.
      graphs: name of a concrete function -> its graph.
      order: the same graphs, in the order in which they were loaded.
      small: (name, graph id, model id) of runs of graphs around training, the last ones.
      folder: where graph files go.
      loop_size: rounds of a sunk loop per call (`npu_device.set_npu_loop_size`).
    """

    def __init__(self) -> None:
        self._session: Optional[GeSession] = None
        self.active = False
        self.graphs: Dict[str, LoadedGraph] = {}
        self.order: List[LoadedGraph] = []
        self.small: Deque[Tuple[str, int, int]] = collections.deque(maxlen=_REMEMBERED)
        self.folder = graph_folder.GraphFolder()
        self._graph_ids: Iterator[int] = itertools.count()
        self._model_ids = ModelIds(counted=True)
        self._rebuilds: Optional[Rebuilds] = None
        self._lock = threading.RLock()
        self.loop_size = 1
        self._size_graphs = device_loops.SizeGraphs()
        self._missing: Set[str] = set()
        self.in_child = False

    @property
    def is_open(self) -> bool:
        """Whether a session has begun."""
        return self._session is not None

    @property
    def session(self) -> GeSession:
        """The session; only while `is_open`."""
        assert self._session is not None, "npu_device is not open"
        return self._session

    def open(self, session: GeSession) -> None:
        """Starts a session; graphs are watched once the device is the default.

        Args:
          session: its options, as of now.
        """
        self._session = session
        self.folder = graph_folder.GraphFolder(session.generation.folder)
        self._graph_ids = session.generation.graph_ids()
        self._model_ids = ModelIds(session.generation.models == "counted")
        self._rebuilds = Rebuilds() if session.generation.rebuild == "yes" else None
        self._missing = set(session.layers) if session.dump else set()

    def execute(self, call: Call) -> List[Any]:
        """Runs an outermost execution of a concrete function as the device would.

        Args:
          call: the execution that is about to happen.

        Returns:
          The outputs of the function.

        Raises:
          tf.errors.InternalError: the session's options are bad; nothing has run.
        """
        with self._lock:
            graph = self.graphs.get(call.name)
            if graph is None:
                graph = self._load(call)
            elif self._rebuilds is not None and self._rebuilds.take(graph):
                self._rebuild(graph, call)
            index = graph.count
            graph.count += self._counts(graph)
        try:
            return self._run(graph, index, call)
        except Exception as error:
            if type(error).__name__ == "OutOfRangeError":
                self._met_end(graph, index)
            raise

    def _counts(self, graph: LoadedGraph) -> int:
        """By how much a call raises the counter."""
        loop = graph.loop
        if loop is None:
            return 1
        if loop.kind == device_loops.BUILTIN:
            device_loops.say_builtin(graph.name, self.loop_size)
        if loop.kind == device_loops.NPU:
            self._size_graphs.set(self, self.loop_size)
        return self.loop_size if loop.kind == device_loops.HOST else 1

    def _indices(self, graph: LoadedGraph, index: int) -> Dict[int, int]:
        """Round -> data_index of what a call dumps; round 0 stands for a whole graph."""
        if graph.plan is None:
            return {}
        size = self.loop_size if graph.loop is not None and graph.loop.sunk else 1
        first = (index * size if graph.loop is not None and graph.loop.kind == device_loops.NPU
                 else index)
        return {number: first + number for number in range(size)
                if self.session.wants(first + number)}

    def _run(self, graph: LoadedGraph, index: int, call: Call) -> List[Any]:
        dumped = self._indices(graph, index)
        if not dumped and not graph.own_state:
            return self._run_undumped(graph, call)
        with self._lock:
            if graph.twin is None and graph.plan is not None:
                self._make_twin(graph, graph.plan, call)
        if graph.twin is None or graph.plan is None:
            return self._run_undumped(graph, call)
        if not dumped:
            return graph.twin.run(call.execute).outputs
        with dump_writer.keeper(self.session) as keep:
            done = graph.twin.run(call.execute, keep)
            # SIGTERM waits: half of an execution helps nobody.
            with sigterm.held_back(), own_work(), self.survives(
                    "an execution of %s cannot be dumped" % graph.ge_name):
                self._dump(graph, graph.plan, dumped, call, graph.twin.unpack(done))
        return done.outputs

    @staticmethod
    def _run_undumped(graph: LoadedGraph, call: Call) -> List[Any]:
        return call.plain() if graph.bare is None else graph.bare.run(call.execute).outputs

    @contextlib.contextmanager
    def survives(self, failure: str) -> Iterator[None]:
        """Around what the emulator writes: a failure is a message and does not end the training.

        Args:
          failure: begins the message.
        """
        streams.hold_places()  # the script may have closed some since
        try:
            yield
        except (OSError, MemoryError) as error:
            outages.tell("graphs and executions of the emulator", error, "emulator: %s", failure)
        except Exception as error:
            # A fault of ours, of any kind: the training is the user's.
            messages.error("emulator: %s, which is a fault of the emulator: %s: %s", failure,
                           type(error).__name__, str(error).partition("\n")[0])

    def _make_twin(self, graph: LoadedGraph, plan: Plan, call: Call) -> None:
        try:
            with own_work():
                graph.twin = Twin(call.context, plan.root, plan, graph.own_state)
        except Exception as error:
            # Whatever TensorFlow raises: a function that it does not take in its instrumented
            # form still trains.
            messages.warning("emulator: graph %s cannot be read out, and nothing of it is dumped"
                             " (%s).", graph.name, str(error).partition("\n")[0])
            graph.plan, graph.own_state = None, False

    def _met_end(self, graph: LoadedGraph, index: int) -> None:
        """The data ended inside this execution: whether it counts differs."""
        with self._lock:
            if graph.count == index + 1 and not self.session.generation.counts_end(graph.static):
                graph.count = index

    def fail_if_faulty(self, what: str) -> None:
        """What the first graph reports if the options of the session are bad.

        Args:
          what: the function or operator that is about to run.

        Raises:
          tf.errors.InternalError: the options are bad.
        """
        if self.session.fault is not None:
            from tensorflow.python.framework import errors
            raise errors.InternalError(
                None, None, "Graph engine Add graph:\n%s [Op:%s]" % (self.session.fault, what))

    def new_graph(self, name: str, one_shot: bool = False, load: bool = True) -> LoadedGraph:
        """A new graph.

        Args:
          name: of the function; of the operator, for a `one_shot` graph, whose name then
            gets its number (adapter npu_resource_op.cpp).
          one_shot: whether it is loaded, run and removed each time.
          load: whether it is loaded at once and gets a model id.
        """
        graph_id = next(self._graph_ids)
        if one_shot:
            name = "%s_%d" % (name, graph_id)
        graph = LoadedGraph(name, graph_id, 0, self.session.generation.graph_name(name, graph_id))
        if load:
            graph.model_id = self.next_model_id()
        return graph

    def ran_once(self, graph: LoadedGraph) -> None:
        """Notes a run of a graph that is loaded, run and removed.

        Args:
          graph: with the number of the model that was loaded for it.
        """
        self.small.append((graph.ge_name, graph.graph_id, graph.model_id))

    def next_model_id(self) -> int:
        """A number for a model that is being loaded."""
        return self._model_ids.load()

    def unload(self, graph: LoadedGraph) -> None:
        """Gives back the number of a graph's model.

        Args:
          graph: that was run and removed.
        """
        self._model_ids.unload(graph.model_id)

    def _load(self, call: Call) -> LoadedGraph:
        self.fail_if_faulty(call.name)
        graph = self.new_graph(call.name, load=False)
        with own_work(), self.survives("graph %s cannot be written" % graph.ge_name):
            self._describe(graph, call)
        graph.model_id = self.next_model_id()
        self._number_parts(graph)
        self.graphs[call.name] = graph
        self.order.append(graph)
        if self._rebuilds is not None:
            self._rebuilds.built(graph, [arg._id for arg in call.args
                                         if handles.variable_dtype(arg)])
        return graph

    def _rebuild(self, graph: LoadedGraph, call: Call) -> None:
        """Removes and adds a graph again, see `rebuilds`: a new file and model, the same twin."""
        with own_work(), self.survives("graph %s cannot be written" % graph.ge_name):
            if build_file.wanted(self.session):
                flat = (flatten(call.definition, call.lookup) if graph.plan is None
                        else graph.plan.root)
                build_file.write_function(self.folder, self.session, graph, flat, call,
                                          shapes.infer(flat, call.graph.inputs, call.lookup))
        # The new number first: whether the driver would give the old one again is not known.
        number = self.next_model_id()
        self.unload(graph)
        graph.model_id, graph.count = number, 0
        self._number_parts(graph)

    def _number_parts(self, graph: LoadedGraph) -> None:
        if graph.parts is not None:
            before = graph.parts.model_ids
            graph.parts.model_ids = [self.next_model_id() for _ in range(graph.parts.count)]
            for number in before:
                self._model_ids.unload(number)

    def _describe(self, graph: LoadedGraph, call: Call) -> None:
        """Looks into the function, and writes its graph where that is asked for."""
        write_graph = build_file.wanted(self.session)
        # As the device: whoever compiled it for XLA, it runs without; and loops whose rounds
        # draw numbers run them in order. With dump and without, or the two would differ.
        otherwise = call.uses_xla or flat_lib.keeps_state_in_rounds(call.definition, call.lookup)
        if not (self.session.has_dump_path or write_graph or otherwise):
            return
        flat = flatten(call.definition, call.lookup)
        if otherwise:
            graph.bare = Twin(call.context, flat, None)
        unread.report(flat)
        inferred = shapes.infer(flat, call.graph.inputs, call.lookup)
        graph.static = shapes.is_static(flat, inferred)
        graph.loop = device_loops.find(flat, arguments.iterators(flat), graph.static)
        if graph.loop is not None and graph.loop.kind == device_loops.NPU:
            self._size_graphs.set(self, self.loop_size)
        sunk = graph.loop is not None and graph.loop.sunk
        if self.session.generation.parts != "one" and not graph.static and not sunk:
            graph.parts = parts.of_graph(flat, inferred)
        if self.session.has_dump_path:
            self._plan(graph, flat, call, inferred)
        if write_graph:
            build_file.write_function(self.folder, self.session, graph, flat, call, inferred)

    def _plan(self, graph: LoadedGraph, flat: Flat, call: Call, inferred: shapes.Shapes) -> None:
        session = self.session
        if session.exception_dump and not graph.static:
            # GE executor_dumper.cc: of a dynamic graph one of the two takes effect.
            messages.warning(
                "emulator: graph %s has dynamic shapes; with enable_exception_dump=1 or"
                " NPU_COLLECT_PATH(_EXE) only exceptions of such graphs are dumped, and nothing of"
                " its data.", graph.name)
            return
        left = unread.of_conditions(flat, graph.loop, call.lookup)
        if session.debug:
            # Overflow detection knows neither steps nor modes nor layers (GE
            # dump_properties.cc): what overflows is dumped whole.
            plan = Plan(flat, call.variables(), "all", chosen=overflow.may_overflow,
                        unread=left)
        else:
            plan = Plan(flat, call.variables(), session.mode, session.layers, unread=left)
            self._missing -= plan.found
        if plan.empty:
            return
        if flat.has_v1_control:
            messages.warning("emulator: graph %s holds TF1 control flow; nothing of it is dumped.",
                            graph.name)
            return
        plan.sizes = value_sizes.of_plan(
            plan, inferred, [value_sizes.of_variable(arg) for arg in call.args])
        graph.plan = plan
        graph.own_state = flat_lib.keeps_state(flat, call.lookup)

    def _dump(self, graph: LoadedGraph, plan: Plan, dumped: Dict[int, int], call: Call,
              activation: Activation) -> None:
        session = self.session
        folders = {number: session.folder(graph.ge_name, graph.model_id, index)
                   for number, index in dumped.items()}
        if graph.loop is not None and graph.loop.sunk:
            rounds = activation.children.get((graph.loop.node, "body"), ())
            device_loops.check_rounds(graph.name, len(rounds), self.loop_size)
            device_loops.write_rounds(folders, graph.loop, plan, activation, call.args,
                                      graph.constants, session)
            return
        if graph.parts is not None and not session.debug:
            parts.write_execution(
                graph.parts.folders(session, graph.ge_name, graph.model_id, dumped[0]),
                graph.parts, plan, activation, call.args, graph.constants, session)
            return
        write = overflow.write_execution if session.debug else dump_writer.write_execution
        write(folders[0], plan, activation, call.args, graph.constants, session, graph.model_id)

    def forked(self) -> None:
        """In a forked child: its locks are free, and what is open is its parent's device.

        On an NPU it cannot be used there. Here what the child executes would be written over
        what its parent has dumped.
        """
        self._lock = threading.RLock()
        self.in_child = self.is_open
        self._missing = set()  # the parent tells

    def say_in_child(self) -> None:
        """Says, once, that the child's executions are not the device's."""
        if self.active:
            self.active = False
            messages.warning(
                "emulator: this process was forked after npu_device.open(), and the device is its"
                " parent's: it runs on the CPU, and nothing of it is dumped. Fork before open().")

    def close(self) -> None:
        """Ends the session at the end of the process."""
        if self._missing:
            messages.warning("emulator: dump_layer names no operator that ran: %s.",
                            ", ".join(sorted(self._missing)))
            self._missing = set()


ENGINE = Engine()
os.register_at_fork(after_in_child=ENGINE.forked)
