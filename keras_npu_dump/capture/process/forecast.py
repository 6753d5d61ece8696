"""What is still to come, of all graphs that dump: a training graph is seldom alone.

Validation, a second training function, and the same function for a smaller last batch are graphs
with counters of their own, and each dumps the steps that were asked for.
"""
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.formats import tree
from keras_npu_dump.op_types.graph_names import BESIDE_TRAINING
from keras_npu_dump.sizes import human_bytes

# Graphs with less than this part of the training graph's files are not worth a word.
_SMALL = 0.05


class GraphDump(NamedTuple):
    """What a graph has dumped so far.

    Attributes:
      name: of the graph, as the folder has it.
      size: bytes of its largest step.
      last: data_index of its last step.
    """

    name: str
    size: int
    last: int


def remaining(steps: StepSet, index: int, end: Optional[int]) -> Optional[int]:
    """How many selected executions are still to come.

    Args:
      steps: the executions that are dumped.
      index: data_index of the last that was.
      end: the counter at the end of this fit; None where it is not known.

    Returns:
      A count; None where all executions are selected and nobody knows the end.
    """
    if steps.is_all:
        return None if end is None else max(0, end - index - 1)
    return sum(max(0, min(last, last if end is None else end - 1) - max(first, index + 1) + 1)
               for first, last in steps.intervals)


def other_graphs(folders: List[Any], training: str, least: int) -> Dict[str, GraphDump]:
    """The graphs that dump beside the training graph, by the folder of their model.

    Args:
      folders: the step folders of this process.
      training: a step folder of the training graph.
      least: bytes that a step has at least.
    """
    own = os.path.dirname(training)
    found: Dict[str, GraphDump] = {}
    for folder in folders:
        model, name = os.path.dirname(folder.path), folder.model_name or ""
        if model == own or folder.data_index is None or name.startswith(BESIDE_TRAINING):
            continue
        size = sum(file.size for file in tree.list_files(folder.path))
        before = found.get(model, GraphDump(name, 0, -1))
        found[model] = GraphDump(name, max(size, before.size), max(folder.data_index, before.last))
    return {model: one for model, one in found.items() if one.size >= max(least, 1)}


class Forecast:
    """Tells what further graphs will dump, each once, when it has dumped its first step.

    Args:
      steps: the executions that are dumped.
      list_folders: gives the step folders of this process.
      training: a step folder of the training graph.
      size: its bytes.
    """

    def __init__(self, steps: StepSet, list_folders: Callable[[], List[Any]], training: str,
                 size: int):
        self._steps = steps
        self._list_folders = list_folders
        self._training = training
        self._size = size
        self._known: Dict[str, GraphDump] = {}

    def at_once(self) -> Tuple[List[str], int]:
        """The graphs that dump already, which are told with the training graph: their names,
        and how many bytes are to come of them as far as that is known."""
        self.look()
        names, total = [], 0
        for model, one in self._known.items():
            names.append(one.name)
            total += one.size * (remaining(self._steps, one.last, None) or 0)
            self._known[model] = one._replace(last=-1)  # told
        return names, total

    def look(self) -> List[Tuple[str, Optional[int]]]:
        """What is new since the last look: for each graph words, and how many bytes are to
        come of it (None where nobody knows how many executions there will be)."""
        told = []
        now = other_graphs(self._list_folders(), self._training, int(_SMALL * self._size))
        for model, one in now.items():
            before = self._known.get(model)
            # A step is measured when it does not grow any more, so that it is not told too small.
            if before is not None and before.last >= 0 and before.size == one.size:
                more = remaining(self._steps, one.last, None)
                told.append(("%s dumps too: data_index %d, %s" % (
                    one.name, one.last, human_bytes(one.size)),
                    None if more is None else more * one.size))
                self._known[model] = one._replace(last=-1)  # told
            elif before is None or before.last >= 0:
                self._known[model] = one
        return told
