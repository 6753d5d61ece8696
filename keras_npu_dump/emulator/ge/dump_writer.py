"""Writes the files of an execution: a file per operator and round, with rising time stamps."""
from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from keras_npu_dump.emulator.functions import flat as flat_lib
from keras_npu_dump.emulator.functions import opinfo
from keras_npu_dump.emulator.ge.ge_session import GeSession
from keras_npu_dump.emulator.tracer.dump_plan import DumpedOp, Plan, Source
from keras_npu_dump.emulator.tracer.runs import Keep
from keras_npu_dump.emulator.tracer.spool import Spool, Spooled
from keras_npu_dump.emulator.tracer.twin import Activation
from keras_npu_dump.emulator.tracer.values import Values, dtype_numbers
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.formats import mapping, names
from keras_npu_dump.formats.stats import stats_writer
from keras_npu_dump.formats.tensor import dump_file
from keras_npu_dump.formats.tensor.opdebug import INVALID_ID

# The `dfx_message` by which a dump file is known for emulated. The vendor's comparator takes the
# first attribute of a file for the description of a slice, and its class has no such field.
MARK = "emulated by keras_npu_dump"
STREAM_ID = 0  # There are no streams here; the number is made up.
# Of a file: a tensor, or the row that statistics have of it.
Entry = Union[dump_file.TensorValue, str]
ND = 2  # the format of a plain tensor, as a number of dump files


class Clock:
    """Microseconds since 1970 that never repeat within the process."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def now(self) -> int:
        """The time, or the next microsecond that was not given yet."""
        with self._lock:
            self._last = max(self._last + 1, int(time.time() * 1000000))
            return self._last


CLOCK = Clock()


def write_execution(folder: str, plan: Plan, activation: Activation, args: Sequence[Any],
                    constants: Dict[Any, Any], session: GeSession, model_id: int = 0) -> int:
    """Writes all files of one execution and returns how many.

    Args:
      folder: `.../{model_name}/{model_id}/{data_index}`, made if missing, mode 0700.
      plan: of the graph.
      activation: the values that came out.
      args: eager tensors, the arguments of the call.
      constants: cache of decoded constants, see `Values`.
      session: says whether data or statistics, and the form of names.
      model_id: not needed here; `overflow.write_execution` takes it in the same place.

    Raises:
      OSError: a folder or file cannot be made or written.
    """
    del model_id
    return ExecutionWriter(folder, plan, Values(plan, args, constants), session).write(activation)


@contextlib.contextmanager
def keeper(session: GeSession) -> Iterator[Keep]:
    """Around an execution and the writing of its files: what becomes of its large values.

    Args:
      session: says whether data or statistics.
    """
    if as_rows(session):
        yield functools.partial(_row, session)
    elif session.debug:
        # Of all that is looked at hardly anything overflows: none of it goes to the disk.
        yield _copy
    else:
        with Spool(session.path) as spool:
            yield spool.put


def _copy(array: Any, dtype: int) -> Any:
    del dtype
    return array.copy()


def as_rows(session: GeSession) -> bool:
    """Whether nothing but a row of statistics is needed of a value.

    Args:
      session: its options.
    """
    return session.stats and not session.debug


def _row(session: GeSession, array: Any, dtype: int) -> str:
    return stats_writer.row_of(value_of(array, dtype), session.generation.csv)


def write_operator(folder: str, session: GeSession, op_type: str, op_name: str, task_id: int,
                   inputs: Sequence[Entry], outputs: Sequence[Entry]) -> str:
    """Writes the file of one operator; returns its path.

    Args:
      folder: made if missing, mode 0700.
      session: says whether data or statistics, and the form of names.
      op_type, op_name: of the operator; sanitised for the file's name (runtime dump_task.h).
      task_id: its number in the graph.
      inputs, outputs: entries of the file, in order; of a file of statistics also rows.

    Raises:
      OSError: the folder or file cannot be made or written.
    """
    make_private(folder)
    stamp = CLOCK.now()
    name = names.DumpName(op_type, op_name, task_id, STREAM_ID, stamp, csv=session.stats)
    if session.generation.files == "a2":
        # The highest id means "none" (runtime dump_task.cpp).
        name = name._replace(task_type=names.FFTS_PLUS, context_id=task_id % INVALID_ID,
                             thread_id=0, device_id=session.device_id)
    path = mapping.create_dump_file(folder, names.format_dump_name(name))
    if session.stats:
        stats_writer.write_stats(path, inputs, outputs, session.generation.csv)
    else:
        dump_file.write_file(path, op_name, inputs, outputs, stamp, dfx_message=MARK)
    return path


class ExecutionWriter:
    """Walks through an execution; see `write_execution`.

    Args:
      folder: where its files go.
      plan: of the graph.
      values: of the execution.
      session: says whether data or statistics, and the form of names.
    """

    def __init__(self, folder: str, plan: Plan, values: Values, session: GeSession):
        self._folder = folder
        self._plan = plan
        self._values = values
        self._session = session
        self._rows = as_rows(session)
        self._row_of: Dict[int, str] = {}
        self._files = 0

    def write(self, activation: Activation) -> int:
        """Writes operators in executable order, a body's rounds where its node stands.

        Args:
          activation: the run of a graph or body.

        Returns:
          How many files were written so far.

        Raises:
          OSError: a folder or file cannot be made or written.
        """
        ops = {op.node.name: op for op in self._plan.ops[id(activation.flat)]}
        for node in activation.flat.nodes:
            if node.name in ops:
                self._write_op(ops[node.name], activation)
            for inner in self._inner(activation, node):
                self.write(inner)
        return self._files

    def _inner(self, activation: Activation, node: Any) -> Iterator[Activation]:
        """The runs of a node's bodies, in order: a loop's condition before each round."""
        rounds = [activation.children.get((node.name, role), ()) for role in flat_lib.roles(node)]
        for together in itertools.zip_longest(*rounds):
            for inner in together:
                if inner is not None:
                    yield inner

    def _write_op(self, op: DumpedOp, activation: Activation) -> None:
        self._write(op, self.inputs(op, activation), self.outputs(op, activation))

    def _write(self, op: DumpedOp, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> None:
        write_operator(self._folder, self._session, opinfo.op_type(op.node), op.node.name,
                       op.task_id, inputs, outputs)
        self._files += 1

    def inputs(self, op: DumpedOp, activation: Activation) -> List[Entry]:
        """File entries of the inputs of an operator in one run, as far as the plan has them.

        Args:
          op: the operator.
          activation: the run of its graph or body.
        """
        return [self._value(source, activation) for source in op.inputs]

    def outputs(self, op: DumpedOp, activation: Activation) -> List[Entry]:
        """File entries of the outputs of an operator in one run, as far as the plan has them.

        Args:
          op: the operator.
          activation: the run of its graph or body.
        """
        return [self._value(source, activation, (op.node.name, index))
                for index, source in enumerate(op.outputs)]

    def _value(self, source: Source, activation: Activation,
               origin: Optional[Tuple[str, int]] = None) -> Entry:
        found = self._values.get(source, activation)
        if self._rows:
            return self._row(source, found)
        if found is None:
            return opaque(source.dtype, origin)
        array = found.array() if isinstance(found, Spooled) else found
        return value_of(array, source.dtype, origin)

    def _row(self, source: Source, found: Any) -> str:
        """The row of a value, made once for all operators that have it."""
        if isinstance(found, str):
            return found
        key = -source.dtype if found is None else id(found)
        if key not in self._row_of:
            self._row_of[key] = (
                stats_writer.row_of(opaque(source.dtype), self._session.generation.csv)
                if found is None else _row(self._session, found, source.dtype))
        return self._row_of[key]


def opaque(dtype: int, origin: Optional[Tuple[str, int]] = None) -> dump_file.TensorValue:
    """An entry for what has no bytes (handles, strings, lists), so that the entries behind it
    keep their positions.

    Args:
      dtype: number of TensorFlow.
      origin: for an output, the operator's name in TensorFlow and the output's index.
    """
    number, ge_number = dtype_numbers(dtype)
    return dump_file.TensorValue(b"", number, shape=(0,), original_op=_original(origin, ge_number))


def _original(origin: Optional[Tuple[str, int]], ge_number: int) -> Optional[dump_file.OriginalOp]:
    return None if origin is None else dump_file.OriginalOp(origin[0], origin[1], ge_number, ND)


def value_of(array: Any, dtype: int,
             origin: Optional[Tuple[str, int]] = None) -> dump_file.TensorValue:
    """An entry for an array.

    Args:
      array: numpy array, of any shape.
      dtype: of it, number of TensorFlow.
      origin: for an output, the operator's name in TensorFlow and the output's index.
    """
    number, ge_number = dtype_numbers(dtype)
    shape = array.shape
    return dump_file.TensorValue(array, number, ND, shape, shape, _original(origin, ge_number))
