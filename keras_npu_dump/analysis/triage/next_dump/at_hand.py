"""A next dump whose data is there already: what to look at it with."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.next_dump.plan import NextDump
from keras_npu_dump.analysis.views import Rank, StepView
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.files.quoting import shell_command

_SHOWN = 3


class Place(NamedTuple):
    """The execution that a next dump is planned for.

    Attributes:
      series: of its graph and rank.
      step: data_index. iteration: {"fit", "epoch", "batch"} or None.
      rank: see `Suspect`.
    """

    series: Series
    step: Optional[int]
    iteration: Optional[Dict[str, int]]
    rank: Rank


def or_look(planned: NextDump, first: Place, group: Sequence[Series], path: str,
            role: str) -> NextDump:
    """`planned`, or how to look at its tensors if this dump holds all of them.

    Args:
      first: the execution that it is planned for.
      group: all that was dumped.
      path, role: as triage was asked.
    """
    if planned.dump_step is None or not planned.dump_layer or not _holds(planned, first, group):
        return planned
    return NextDump(
        why="%s: this dump holds them as tensors, no other one is needed" % planned.why,
        commands=_commands(planned, first, path, role), left_out=planned.left_out)


def _holds(planned: NextDump, first: Place, group: Sequence[Series]) -> bool:
    alike = [one for one in group if one.ordinal == first.series.ordinal and (
        planned.ranks is None or one.pair.rank_key in planned.ranks)]
    ranks = {one.pair.rank_key for one in alike}
    if not alike or not ranks.issuperset(planned.ranks or ()):
        return False
    for series in alike:
        positions = {series.operators.by_name(name) for name in planned.dump_layer}
        record = series.pair.run_record
        if None in positions or record is not None and record.options.get("dump_mode") in (
                "input", "output"):
            return False
        steps = {step.data_index: step for step in series.steps if not step.load}
        for data_index in StepSet.parse(str(planned.dump_step)):
            if data_index not in steps or not positions <= _as_tensors(steps[data_index]):
                return False
    return True


def _as_tensors(step: StepView) -> Set[Optional[int]]:
    found: Set[Optional[int]] = set()
    for folder in step.folders:
        files = step.pair.file_names.list(folder)
        found.update(op for op, stats in zip(files.ops, files.stats) if not stats)
    return found


def _commands(planned: NextDump, first: Place, path: str, role: str) -> List[str]:
    series: Series = first.series
    number = next((number for number, step in enumerate(series.steps)
                   if step.data_index == first.step), 0)
    step = series.steps[number]
    step_text = str(first.step)
    if series.ordinal and first.iteration is not None:
        # An earlier graph may have an execution of the same number.
        step_text = "%(fit)s:%(epoch)s:%(batch)s" % first.iteration
    where = _option("--step", step_text)
    if len(series.pair.manifest.training) > 1:
        where += _option("--rank", str(first.rank))
    if role != "train":
        where += ["--role", role]
    commands = [["inspect", path] + where + _option("--tensor", tensor) for tensor in
                [_tensor(series, number, name) for name in planned.dump_layer[:_SHOWN]]]
    commands.append(["export", step.folders[0], "--to", "npy",
                     "--output", "data_index_%s_npy" % first.step])
    return ["keras-npu-dump " + shell_command(*one) for one in commands]


def _option(name: str, value: str) -> List[str]:
    """`--tensor=-name` where the value would look like an option."""
    return ["%s=%s" % (name, value)] if value.startswith("-") else [name, value]


def _tensor(series: Series, number: int, name: str) -> str:
    """The first bad output as `inspect --tensor` names it, or the first; or else an input."""
    position = series.operators.by_name(name)
    for output in (True, False):
        values = [] if position is None or not series.columns else series.values(
            number, position, output)
        values.sort(key=lambda value: not value.bad)
        if values:
            if not output:
                return "%s:input:%d" % (name, values[0].index)
            return name if not values[0].index else "%s:%d" % (name, values[0].index)
    return name
