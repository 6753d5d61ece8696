"""The instrumented twin of a function: built once, run in its place.

The twin takes the same arguments and does the same work once, so counters, iterators,
captured variables and random state go on as if nothing had happened; its first outputs
are the original's. Its name is internal; `watch.py` keeps it out of errors.
"""
from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.tracer import runs
from keras_npu_dump.emulator.tracer.dump_plan import Plan
from keras_npu_dump.emulator.tracer.instrument import Instrumented
from keras_npu_dump.emulator.tracer.runs import Keep, Reading

_NUMBERS = itertools.count()


class Activation:
    """The values of a run of a graph or body.

    Attributes:
      flat: the graph.
      values: tensor -> its array, or what was kept of it; see `runs.py`.
      parent: the run of the graph around it, None for the outermost.
      children: (node, attribute) -> runs of that body, in order.
    """

    def __init__(self, flat: Flat, values: Dict[str, Any], parent: Optional["Activation"] = None):
        self.flat = flat
        self.values = values
        self.parent = parent
        self.children: Dict[Tuple[str, str], List["Activation"]] = {}


class Twin:
    """A registered instrumented function.

    Args:
      context: TensorFlow's eager context, where functions are registered.
      root: the flat graph.
      plan: what is to come out; None for nothing beyond the function's own outputs.
      gated: whether executions can be told to let nothing out; see `Instrumented`.

    Attributes:
      name: of the twin.
      count: of its outputs, the original ones first.

    Raises:
      Exception: TensorFlow does not take the function; nothing has run.
    """

    def __init__(self, context: Any, root: Flat, plan: Optional[Plan],
                 gated: bool = False):
        self.name = "__npu_dump_twin_%d" % next(_NUMBERS)
        self._root = root
        self._parts = (Instrumented(root, {}, self.name) if plan is None else
                       Instrumented(root, plan.wanted, self.name, plan.reads, gated, plan.sizes))
        self._gated = gated
        for definition in self._parts.definitions:
            context.add_function_def(definition)
        _check(self._parts.definitions)
        self._first = len(root.ret)
        self._takes_run = bool(self._parts.slots)
        self.count = self._first + len(self._parts.slots)

    def run(self, execute: Callable[..., Any], keep: Optional[Keep] = None) -> "TwinRun":
        """Executes the twin.

        Args:
          execute: (name, number of outputs, further arguments) -> outputs of the function of
            that name, called with the call's arguments and the further ones.
          keep: what becomes of values that go out as they come; None where no values are
            wanted this time, for which the twin must be gated or have no plan.

        Raises:
          tf.errors.OpError: the function's own error; what came out before it is dropped.
        """
        run = None if keep is None or not self._takes_run else runs.RUNS.begin(keep)
        number = runs.OFF if run is None else run.number
        try:
            outputs = list(execute(self.name, self.count, [runs.number_tensor(number)]
                                   if self._takes_run else ()) or ())
        finally:
            if run is not None:
                runs.RUNS.end(run)
        return TwinRun(outputs[:self._first], outputs[self._first:], run)

    def unpack(self, done: "TwinRun") -> Activation:
        """Sorts the values of one run by graph and body.

        Args:
          done: of `run`, with values.

        Returns:
          The run of the outermost graph.

        Raises:
          Exception: a value could not be kept.
        """
        return _unpack(self._parts, self._root, done.places, None, done.run)


class TwinRun(NamedTuple):
    """What a run of a twin left.

    Attributes:
      outputs: of the function itself, eager tensors.
      places: eager tensors that say where values are kept.
      run: which keeps them; None where none were wanted.
    """

    outputs: List[Any]
    places: List[Any]
    run: Optional[Reading]


def _check(definitions: List[Any]) -> None:
    """Lets TensorFlow build each function, which registering does not: a twin that it does
    not take must show now, not in the middle of a training.

    Raises:
      Exception: whatever TensorFlow finds.
    """
    from tensorflow.python.framework import func_graph, function_def_to_graph
    for definition in definitions:
        graph = function_def_to_graph.function_def_to_graph(definition)
        func_graph.dismantle_func_graph(graph)  # its parts hold each other


def _unpack(parts: Instrumented, flat: Flat, places: List[Any],
            parent: Optional[Activation], run: Any) -> Activation:
    first = 0
    values: Dict[str, Any] = {}
    if parts.wanted(flat):
        first = 1
        values = runs.values_of(run, int(places[0]), parts.names(flat), parts.groups(flat))
    activation = Activation(flat, values, parent)
    for key, body in flat.bodies.items():
        slots = parts.slots_of(body)
        if not slots:
            continue
        lists = [_elements(places[first + index], slot.depth)
                 for index, slot in enumerate(slots)]
        first += len(slots)
        activation.children[key] = [
            _unpack(parts, body, [column[row] for column in lists], activation, run)
            for row in range(len(lists[0]))]
    return activation


def _elements(handle: Any, depth: int) -> Sequence[Any]:
    """The places in a list, or the lists in it where it is one of lists."""
    from tensorflow.python.framework import dtypes
    from tensorflow.python.ops import gen_list_ops
    if not depth:
        places = gen_list_ops.tensor_list_stack(handle, _no_dims(), dtypes.int64)
        return places.numpy().tolist()  # type: ignore[no-any-return]
    return [gen_list_ops.tensor_list_get_item(handle, index, -1, dtypes.variant)
            for index in range(int(gen_list_ops.tensor_list_length(handle)))]


@functools.lru_cache(maxsize=None)
def _no_dims() -> Any:
    from tensorflow.python.framework import constant_op, dtypes
    return constant_op.constant([], dtypes.int32)
