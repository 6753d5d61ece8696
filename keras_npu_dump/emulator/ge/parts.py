"""The parts of a dynamic graph that GE loads as models of their own.

In a dynamic graph the operators of known shape form clusters. Each is a model that runs with the
root's step, so that its files lie under an id of their own and the root's data_index: under the
root's model name in GE of 2022 and the first runtime of 2026 (known_node_executor.cc), under
`<root>_sub_<n>_know` in the second one (dynamic_shape_partition.cc).

Which operators GE puts together is not imitated. Here a part is a run of neighbours in the order
of execution, all of known shape: neighbours in that order can always be taken out as one.
"""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

from keras_npu_dump.emulator.functions import opinfo, shapes, tf_dtypes
from keras_npu_dump.emulator.functions.flat import Flat, split_control
from keras_npu_dump.emulator.ge import dump_writer
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.tracer.dump_plan import DumpedOp, Plan
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.emulator.tracer.values import Values

# Operators that leave files, below which a run of neighbours stays with the root.
_FEWEST = 2


class Parts:
    """The parts of a graph.

    Args:
      numbers: name of an operator of the outermost graph -> number of its part, from 1.

    Attributes:
      model_ids: of the parts, by number from 1; set when they are loaded.
    """

    def __init__(self, numbers: Dict[str, int]):
        self.numbers = numbers
        self.model_ids: List[int] = []

    @property
    def count(self) -> int:
        """How many parts there are."""
        return len(set(self.numbers.values()))

    def folders(self, session: GeSession, ge_name: str, model_id: int, data_index: int
                ) -> List[str]:
        """Where the files of an execution go: the root's, then those of each part.

        Args:
          session: knows how parts are called.
          ge_name, model_id: of the root.
          data_index: of the execution.
        """
        own = session.generation.parts == "own"
        return [session.folder(ge_name, model_id, data_index)] + [
            session.folder("%s_sub_%d_know" % (ge_name, number) if own else ge_name, one,
                           data_index)
            for number, one in enumerate(self.model_ids)]


def of_graph(flat: Flat, known: shapes.Shapes) -> Parts:
    """The parts of a graph; there may be none.

    Args:
      flat: the outermost graph.
      known: see `shapes.infer`.
    """
    numbers: Dict[str, int] = {}
    part = 0
    run: List[Any] = []
    for node in [*flat.nodes, None]:
        if node is not None and _is_known(flat, node, known):
            run.append(node)
            continue
        if sum(1 for one in run if opinfo.dumped(one)) >= _FEWEST:
            part += 1
            numbers.update((one.name, part) for one in run)
        run = []
    return Parts(numbers)


def _is_known(flat: Flat, node: Any, known: shapes.Shapes) -> bool:
    """Whether all that an operator takes and gives has a known shape; none with bodies is."""
    if any(name == node.name for name, _ in flat.bodies):
        return False
    data, _ = split_control(node.input)
    tensors = [*zip(data, opinfo.input_dtypes(node)), *opinfo.outputs(node)]
    return all(dtype in tf_dtypes.OPAQUE
               or min(known.get((id(flat), tensor), shapes.UNKNOWN_RANK), default=0) >= 0
               for tensor, dtype in tensors)


def write_execution(folders: Sequence[str], parts: Parts, plan: Plan, activation: Activation,
                    args: Sequence[Any], constants: Dict[Any, Any], session: GeSession) -> int:
    """Writes all files of one execution and returns how many.

    Args:
      folders: see `Parts.folders`.
      parts: of the graph.
      plan, activation, args, constants, session: see `dump_writer.write_execution`.

    Raises:
      OSError: a folder or file cannot be made or written.
    """
    return _PartsWriter(folders, parts, plan, Values(plan, args, constants), session).write(
        activation)


class _PartsWriter(dump_writer.ExecutionWriter):
    """Changes the folder with the part of each operator."""

    def __init__(self, folders: Sequence[str], parts: Parts, plan: Plan, values: Values,
                 session: GeSession):
        super().__init__(folders[0], plan, values, session)
        self._folders = folders
        self._parts = parts

    def _write_op(self, op: DumpedOp, activation: Activation) -> None:
        inner = activation.flat is not self._plan.root
        self._folder = self._folders[0 if inner else self._parts.numbers.get(op.node.name, 0)]
        super()._write_op(op, activation)
