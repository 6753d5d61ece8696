"""One tensor of a dump: found by its operator's name, read in its original layout."""
from __future__ import annotations

import difflib
import os
from typing import List, NamedTuple, Optional

import numpy as np

from keras_npu_dump.analysis.dump_files import ExecutionFiles
from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.errors import InputError
from keras_npu_dump.formats.names import sanitise
from keras_npu_dump.formats.tensor import dump_file, layouts
from keras_npu_dump.formats.tensor.message import TensorEntry

# Names that an error shows; tables up to which the nearest name is looked for.
_SHOWN, _SEARCHED = 8, 20000


class FoundTensor(NamedTuple):
    """Where a tensor lies.

    Attributes:
      step: the execution. position, op, op_type: of its operator.
      path: the dump file. entry: its description there. turn: see `Run.tensor`.
    """

    step: ExecutionFiles
    position: int
    op: str
    op_type: str
    path: str
    entry: TensorEntry
    turn: int

    def original(self) -> layouts.Original:
        """Values, the name of their layout, and why they stayed in the device's, if so.

        Raises:
          FormatError: the file is broken.
        """
        values = dump_file.read_array(self.path, self.entry)
        return layouts.to_original(values, self.entry, self._origin_format())

    def values(self) -> np.ndarray:
        """Values in the layout and shape that TensorFlow gave them, where GE tells these.

        Raises:
          FormatError: the file is broken.
        """
        return self.original().values

    def _origin_format(self) -> Optional[str]:
        described = self.step.graph.described([self.op]).get(self.op)
        if described is None:
            return None
        if self.entry.kind == "output":
            descs = described.output_descs
            return descs[self.entry.index].origin_format if self.entry.index < len(descs) else None
        slots = len(described.data_inputs)
        desc = described.input_desc_of(self.entry.index) if self.entry.index < slots else None
        return None if desc is None else desc.origin_format


def find_tensor(step: ExecutionFiles, op: str, index: int = 0, io: str = "output",
                turn: int = -1) -> FoundTensor:
    """The tensor of an operator in one execution.

    Args:
      step: the execution.
      op, index, io, turn: see `Run.tensor`.

    Raises:
      InputError: no such operator, not dumped, or only its statistics were.
      FormatError: its file is broken.
    """
    if io not in ("input", "output"):
        raise InputError("io: expected 'input' or 'output'. Received: %r" % io)
    # Files first: what they know and the graph does not becomes an operator by it.
    listings = [(folder, step.graph.file_names.list(folder)) for folder in step.folders]
    positions = find_operators(step.graph.operators, op)
    mine = [(position, listed.times[number], os.path.join(folder, listed.names[number]),
             listed.stats[number])
            for folder, listed in listings for number, position in enumerate(listed.ops)
            if position in positions]
    if not mine:
        raise InputError("%s was not dumped in data_index %s" % (op, step.data_index))
    position = min(one[0] for one in mine)
    dumps = sorted(one[1:3] for one in mine if one[0] == position and not one[3])
    if not dumps:
        raise InputError("of %s only statistics were dumped (dump_data=stats)" % op)
    found = []
    for _, path in dumps:
        entry = dump_file.read_header(path).entry(io, index)
        if entry is not None:
            found.append((path, entry))
    if not found:
        header = dump_file.read_header(dumps[-1][1])
        raise InputError("%s has no %s %d in the dump; it has %d inputs and %d outputs" % (
            op, io, index, len(header.inputs), len(header.outputs)))
    if not -len(found) <= turn < len(found):
        raise InputError("%s ran %d times in data_index %s. Received: turn %d" % (
            op, len(found), step.data_index, turn))
    table = step.graph.operators
    path, entry = found[turn]
    return FoundTensor(step, position, table.names[position], table.types[position], path, entry,
                       turn % len(found))


def find_operators(table: Operators, name: str) -> List[int]:
    """Positions of the operator of that name: the graph's, else TensorFlow's, else sanitised.

    Where there is none, "dense/MatMul" is "model/dense/MatMul", a whole end of one
    operator's name. The backward pass repeats the names of the forward pass: of both
    the forward operator is meant.

    Args:
      table: of the graph. name: of the operator, or the end of its name.

    Returns:
      Ascending; several where TensorFlow's operator became several of GE's.

    Raises:
      InputError: there is none, or several end so; the text names them, or the nearest.
    """
    for names in (table.names, None, [sanitise(one) for one in table.names]):
        if names is None:
            found = [position for position, originals in enumerate(table.originals)
                     if name in originals]
        else:
            found = [position for position, one in enumerate(names) if one == name]
        if found:
            return found
    ends = [position for position, one in enumerate(table.names)
            if one.endswith("/" + name)
            or any(other.endswith("/" + name) for other in table.originals[position])]
    found = [position for position in ends if not table.is_gradient(position)] or ends
    several = list(dict.fromkeys(table.names[position] for position in found))
    if len(several) == 1:
        return found
    if several:
        raise InputError("several operators' names end in %r: %s%s" % (
            "/" + name, ", ".join(several[:_SHOWN]), ", ..." if len(several) > _SHOWN else ""))
    near = difflib.get_close_matches(name, table.names, 3, 0.5) if len(table) < _SEARCHED else []
    raise InputError("no operator is called %r%s" % (
        name, "; near it: " + ", ".join(near) if near else ""))
