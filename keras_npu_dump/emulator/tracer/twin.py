"""The instrumented twin of a function: built once, run in its place.

The twin takes the same arguments and does the same work once, so counters, iterators,
captured variables and random state go on as if nothing had happened; its first outputs
are the original's. Its name is internal; `watch.py` keeps it out of errors.
"""
from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, List, Optional, Tuple

from keras_npu_dump.emulator.functions.flat import Flat
from keras_npu_dump.emulator.tracer.dump_plan import Plan
from keras_npu_dump.emulator.tracer.instrument import Instrumented

_NUMBERS = itertools.count()


class Activation:
    """The values of a run of a graph or body.

    Attributes:
      flat: the graph.
      values: tensor -> eager tensor, or the array of it once that was made; values are let
        go from here after their last use.
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
                       Instrumented(root, plan.wanted, self.name, plan.reads, gated))
        self._gate = (_constant(False), _constant(True)) if gated else ()
        for definition in self._parts.definitions:
            context.add_function_def(definition)
        _check(self._parts.definitions)
        self._first = len(root.ret)
        self.count = self._first + len(self._parts.slots)

    def run(self, execute: Callable[..., Any], let_out: bool = True
            ) -> Tuple[List[Any], List[Any]]:
        """Executes the twin.

        Args:
          execute: (name, number of outputs, further arguments) -> outputs of the function of
            that name, called with the call's arguments and the further ones.
          let_out: of a gated twin, whether the values are wanted this time.

        Returns:
          (the original outputs, the values that came out besides), eager tensors.

        Raises:
          tf.errors.OpError: the function's own error.
        """
        gate = self._gate[let_out:][:1]
        outputs = list(execute(self.name, self.count, gate) or ())
        return outputs[:self._first], outputs[self._first:]

    def unpack(self, values: List[Any]) -> Activation:
        """Sorts the values of one run by graph and body.

        Args:
          values: what `run` returned beside the outputs; emptied, so that nothing else keeps
            the tensors alive.

        Returns:
          The run of the outermost graph.
        """
        root = _unpack(self._parts, self._root, values, None)
        del values[:]
        return root


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


def _constant(value: bool) -> Any:
    from tensorflow.python.framework import constant_op
    return constant_op.constant(value)


def _unpack(parts: Instrumented, flat: Flat, values: List[Any],
            parent: Optional[Activation]) -> Activation:
    own = parts.own(flat)
    activation = Activation(
        flat, {tensor: values[index] for index, (tensor, _) in enumerate(own)}, parent)
    first = len(own)
    for key, body in flat.bodies.items():
        slots = parts.slots_of(body)
        if not slots:
            continue
        lists = [_elements(values[first + index], slot.dtype if not slot.depth else None)
                 for index, slot in enumerate(slots)]
        first += len(slots)
        activation.children[key] = [
            _unpack(parts, body, [column[row] for column in lists], activation)
            for row in range(len(lists[0]))]
    return activation


def _elements(handle: Any, dtype: Any) -> List[Any]:
    """The tensors of a list, which share its memory."""
    from tensorflow.python.framework import dtypes
    from tensorflow.python.ops import gen_list_ops
    count = int(gen_list_ops.tensor_list_length(handle))
    element = dtypes.variant if dtype is None else dtypes.as_dtype(dtype)
    return [gen_list_ops.tensor_list_get_item(handle, index, -1, element)
            for index in range(count)]
