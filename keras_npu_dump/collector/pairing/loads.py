"""Which model ids of one graph are parts of one execution, and which are later builds of it.

A dynamic graph leaves several model ids. The second runtime of 2026 names the known-shape parts
of it for themselves; GE of 2022 (known_node_executor.cc) and the first runtime of 2026 give them
the root's model name, ids of their own and the same data_index: parts hold different operators.
A graph that is built again (adapter npu_concrete_graph.cpp, IsGraphNeedRebuild) leaves the same
operators under another id, and counts from 0.

Nothing here goes by the order of model ids: in 2026 they come from the driver, in any order, and
may be used again. The times in the files' names say what came first.
"""
from __future__ import annotations

from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.collector.scan.folders import DumpFolder

# (model_name, model_id)
Model = Tuple[Optional[str], Optional[int]]
_NEVER = 1 << 63  # later than any time; of names without one
# Of two models of one name, the share of the smaller one's operators that only a second build
# has in common: a graph that took other branches since still shares more, parts share none.
_SAME_BUILD = 0.5
_NEAR = 32


def loads_of(folders: Sequence[DumpFolder]) -> Dict[Model, int]:
    """How often the graph had been loaded before each of its models was.

    Args:
      folders: of one graph in one session.

    Returns:
      Number from 0 of each model's load. Models of one number are parts of one graph.
    """
    models: Dict[Model, List[DumpFolder]] = {}
    for folder in folders:
        models.setdefault((folder.model_name, folder.model_id), []).append(folder)
    if len(models) < 2:
        return dict.fromkeys(models, 0)
    found = [_model(key, mine) for key, mine in models.items()]
    found.sort(key=lambda one: one.begin)
    loads: List[_Load] = []
    for model in found:
        # Parts of one load come near each other; of graphs built any number of times only the
        # last builds are looked at.
        fitting = [load for load in loads[-_NEAR:] if load.may_hold(model)]
        if fitting:
            min(fitting, key=lambda load: load.distance(model)).add(model)
        else:
            loads.append(_Load(model))
    return {model.key: number for number, load in enumerate(loads) for model in load.models}


def begin_of(folders: Sequence[DumpFolder]) -> int:
    """When the first of the files was written, microseconds since 1970; a number beyond all
    times where no name tells.

    Args:
      folders: of one or more models.
    """
    return min((one.first_time for one in folders if one.first_time is not None), default=_NEVER)


class _Model(NamedTuple):
    """What a model id left; `times` has the first time of each data_index."""

    key: Model
    begin: int
    operators: FrozenSet[str]
    times: Dict[int, int]


def _model(key: Model, folders: Sequence[DumpFolder]) -> _Model:
    times = {folder.data_index: folder.first_time for folder in folders
             if folder.data_index is not None and folder.first_time is not None}
    return _Model(key, begin_of(folders),
                  frozenset().union(*{one.operators for one in folders}), times)


class _Load:
    """The parts of one load of a graph.

    Args:
      model: the first of them.
    """

    def __init__(self, model: _Model):
        self.models = [model]
        # data_index -> when its first and its last part began.
        self._spans = {index: (time, time) for index, time in model.times.items()}
        self._operators = set(model.operators)

    def add(self, model: _Model) -> None:
        """Takes in a further part."""
        self.models.append(model)
        self._spans = _joined(self._spans, model)
        self._operators |= model.operators

    def may_hold(self, model: _Model) -> bool:
        """Whether a model may be a further part: it has other operators than those of its name,
        and its executions came when the others did."""
        if not self._operators.isdisjoint(model.operators) and any(
                _is_same_build(one, model) for one in self.models if one.key[0] == model.key[0]):
            return False
        alone = {index: (time, time) for index, time in model.times.items()}
        # Where a loop's size was changed, indices do not rise with time, and tell nothing.
        return (_in_order(_joined(self._spans, model))
                or not _in_order(self._spans) or not _in_order(alone))

    def distance(self, model: _Model) -> int:
        """Microseconds between what a model and the others have of the same executions."""
        common = [min(abs(time - end) for end in self._spans[index])
                  for index, time in model.times.items() if index in self._spans]
        ends = [end for span in self._spans.values() for end in span]
        return min(common or [abs(model.begin - end) for end in ends] or [0])


def _joined(spans: Dict[int, Tuple[int, int]], model: _Model) -> Dict[int, Tuple[int, int]]:
    found = dict(spans)
    for index, time in model.times.items():
        first, last = found.get(index, (time, time))
        found[index] = min(first, time), max(last, time)
    return found


def _in_order(spans: Dict[int, Tuple[int, int]]) -> bool:
    """Whether each execution began after every part of those before it had begun."""
    ordered = [spans[index] for index in sorted(spans)]
    return all(before[1] < after[0] for before, after in zip(ordered, ordered[1:]))


def _is_same_build(one: _Model, other: _Model) -> bool:
    shared = len(one.operators & other.operators)
    return bool(shared) and shared >= _SAME_BUILD * min(len(one.operators), len(other.operators))
