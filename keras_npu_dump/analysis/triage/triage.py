"""Where a training first goes wrong, and what to dump next."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, Dict, List, Optional, Union

from keras_npu_dump.analysis.graph.operators import fusion_pass
from keras_npu_dump.analysis.run import Run, open_run
from keras_npu_dump.analysis.triage.findings import coverage
from keras_npu_dump.analysis.triage.findings.gaps import Gap, Selection, gaps_of, nothing_known
from keras_npu_dump.analysis.triage.findings.series import Series
from keras_npu_dump.analysis.triage.findings.suspects import LOW, Suspect, in_time, merged
from keras_npu_dump.analysis.triage.first_bad_place import show_places
from keras_npu_dump.analysis.triage.merge import explained_by_others
from keras_npu_dump.analysis.triage.next_dump import at_hand, flagfile, planning
from keras_npu_dump.analysis.triage.rules import (
    gradients,
    jump,
    nonfinite,
    overflow_events,
    precision,
    rank_differences,
)
from keras_npu_dump.analysis.views import PairView
from keras_npu_dump.collector.graphs.roles import ROLES
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.sizes import plural

SCHEMA = "keras_npu_dump.triage/1"
MAX_SUSPECTS = 20
_OF_DATA = ("nan", "infinity", "saturation", "underflow", "jump", "zero-gradient",
            "vanishing-gradient", "constant-output", "ranks-disagree")
_OF_GRAPH = ("zero-gradient", "vanishing-gradient", "constant-output")



@dataclasses.dataclass(repr=False)
class Triage:
    """The answer.

    Attributes:
      verdict: "suspect"; "incomplete" where nothing of what was read is suspect, and
        something that was asked for was not read; "healthy".
      suspects: of high and medium confidence, in time: the first cause first.
      next: the next dump.
      checked: what was looked at: "ranks", "executions", "counted" (executions as
        the journals count them, or None), "data_indices", "not_seen" (sentences),
        "incomplete" (what was asked for and not read: "code" as in a manifest's
        problems, "message", "path"),
        "operators", "files", "tensors", "dump_data", "graph", "rules" and
        "not_checked" (rule: why), "observations" (what looks odd and is of low
        confidence, as suspects), "neighbours" (operator: its producers,
        consumers, fusion_pass, what says the same, the executions in which it goes
        wrong itself, and those that inherit its "consequences"), "unreadable".
      observations: the suspects of low confidence.
    """

    verdict: str
    suspects: List[Suspect]
    next: planning.NextDump
    checked: Dict[str, Any]
    observations: List[Suspect] = dataclasses.field(default_factory=list)

    def __repr__(self) -> str:
        first = "" if not self.suspects else ", first %s (%s)" % (
            self.suspects[0].op, self.suspects[0].reason)
        return "<Triage: %s, %s%s>" % (self.verdict, plural(len(self.suspects), "suspect"), first)

    def to_json(self) -> Dict[str, Any]:
        """The document of the schema `keras_npu_dump.triage/1`."""
        return {"schema": SCHEMA, "verdict": self.verdict,
                "suspects": [one.to_json() for one in self.suspects],
                "next": self.next.to_json(), "checked": self.checked}


def triage(path: Union[str, Run, "os.PathLike[str]"], role: str = "train",
           rank: Optional[Union[int, str]] = None, limit: int = planning.LIMIT,
           write: Union[bool, str] = True, progress: Optional[Progress] = None) -> Triage:
    """Looks at every dumped execution and names the operators where it first goes wrong.

    Args:
      path: a dump, as for `open_run`, or a Run.
      role: of the graphs to look at, or "all"; without a training graph, others are
        taken.
      rank: look at one rank only.
      limit: operators in the next dump_layer.
      write: writes the flagfile of the next dump, if there is one to make, to
        `{dump_path}/next.flags`; a text is another path for it, False writes nothing.
      progress: called as (stage, done, total or None).

    Returns:
      A Triage; its `verdict` is "suspect" if there is a suspect of high or
      medium confidence, else "incomplete" if something that was asked for was not
      read: "healthy" is said of what was read only, and never of nothing.

    Raises:
      InputError: no trace of a dump there, an unknown role or rank, no dump of that
        role, no operators asked for.
      FormatError: a manifest.json that is none.
    """
    if role not in ROLES + ("all",):
        raise InputError("role: expected one of %s, all. Received: %r" % (", ".join(ROLES), role))
    if limit < 1:
        raise InputError("limit: expected at least 1 operator. Received: %r" % limit)
    run = path if isinstance(path, Run) else open_run(path, progress=progress)
    groups = run.groups(role)
    if rank is not None and (rank in groups or rank not in {
            one.rank for one in run.manifest.runs}):
        groups = {rank: run.select(rank, role)}
    elif rank is not None:
        groups = {}  # nothing came of a rank that trained
    work = _Work(run, role, progress)
    for key, pairs in groups.items():
        for ordinal, pair in enumerate(pairs):
            work.read(key, ordinal, pair)
    chosen = [pair for pairs in groups.values() for pair in pairs]
    known = {id(pair) for pair in chosen}
    gaps = gaps_of(run.manifest, Selection(
        chosen, [pair for pair in run.pairs if id(pair) not in known], role, rank), work.problems)
    if not work.series and (nothing_known(run.manifest, run.pairs, gaps)
                            or not (gaps or _overflow_only(run))):
        raise InputError("no dump data below %s to look at%s" % (
            run.path, "" if not run.pairs else ": no %s graph was dumped" % (
                "training" if role == "train" else role)))
    return work.answer(limit, write, gaps)


def _name_fusion_pass(suspect: Suspect) -> None:
    described = suspect.series.pair.described([suspect.op]).get(suspect.op)
    if described is not None:
        suspect.fusion_pass = fusion_pass(described)


def _overflow_only(run: Run) -> bool:
    return any(one.options.get("enable_dump_debug") for one in run.manifest.runs)


class _Work:
    """One triage: reads, applies the rules, and sums up."""

    def __init__(self, run: Run, role: str, progress: Optional[Progress]):
        self.run = run
        self.role = role
        self.progress = progress
        self.series: List[Series] = []
        self.by_ordinal: Dict[int, List[Series]] = {}
        self.problems: List[Any] = []
        self.files = 0
        self.events = 0

    def read(self, key: Union[int, str], ordinal: int, pair: PairView) -> None:
        series = Series.read(pair, ordinal, self._tell)
        if not series.columns and not any(one.kinds.get("overflow") for one in pair.steps):
            return
        if pair.graph_error is not None:
            self.problems.append((pair.graph_path, pair.graph_error))
        self.series.append(series)
        self.by_ordinal.setdefault(ordinal, []).append(series)
        for columns in series.columns:
            self.problems.extend(columns.problems)
        self.events += sum(one.kinds.get("overflow", 0) for one in pair.steps)

    def _tell(self, files: int) -> None:
        self.files += files
        if self.progress is not None:
            self.progress("files", self.files, None)

    def answer(self, limit: int, write: Union[bool, str], gaps: List[Gap]) -> Triage:
        found: List[Suspect] = []
        for series in self.series:
            found.extend(self._of_one(series))
        for group in self.by_ordinal.values():
            found.extend(rank_differences.find(group))
        everything = explained_by_others(merged(found))
        suspects = [one for one in everything if one.confidence != LOW]
        observations = in_time([one for one in everything if one.confidence == LOW])
        more = len(suspects) - MAX_SUSPECTS
        suspects = in_time(suspects[:MAX_SUSPECTS])
        for one in suspects:
            _name_fusion_pass(one)
        for one in suspects[:3]:
            show_places(one)
        ranks = list(dict.fromkeys(one.pair.rank_key for one in self.series))
        covered = coverage.coverage(self.series)
        planned = planning.plan(suspects, ranks, limit)
        if suspects:
            planned = at_hand.or_look(planned, suspects[0], self.series, self.run.path, self.role)
        elif not self.events:
            planned = planning.plan_unseen(self.series, covered.missing)
        if planned.dump_step is not None:
            self._write(planned, suspects, write)
        checked = self._checked(ranks, suspects, observations, covered)
        if not (gaps or checked["tensors"] or self.events or _overflow_only(self.run)):
            gaps = [Gap("not-dumped", "no tensor was read", None)]
        checked["incomplete"] = [one.to_json() for one in gaps]
        if more > 0:
            checked["more_suspects"] = more
        verdict = "suspect" if suspects else "incomplete" if gaps else "healthy"
        return Triage(verdict, suspects, planned, checked, observations)

    def _of_one(self, series: Series) -> List[Suspect]:
        if any(one.kinds.get("overflow") for one in series.pair.steps):
            events = overflow_events.find(series, self.problems)
            if events:
                return events
        return (nonfinite.find(series) + jump.find(series)
                + precision.find(series) + gradients.find(series))

    def _write(self, planned: planning.NextDump, suspects: List[Suspect],
               write: Union[bool, str]) -> None:
        first = suspects[0] if suspects else None
        record = (first.series if first is not None else self.series[0]).pair.run_record
        stated = flagfile.dump_path_of(record, self.run.dump_path)
        what = "nothing found yet" if first is None else "%s (%s) at data_index %s" % (
            first.op, first.reason, first.step)
        planned.text = flagfile.flagfile_text(
            planned, [flagfile.next_path(one) for one in dict.fromkeys(
                [stated, self.run.dump_path])], bool(record is not None and record.emulated),
            "keras-npu-dump triage: %s, %s" % (what, planned.why))
        if write and planned.text:
            flagfile.write_flagfile(planned, write if isinstance(write, str)
                                    else os.path.join(self.run.dump_path, flagfile.NAME))

    def _checked(self, ranks: List[Any], suspects: List[Suspect],
                 observations: List[Suspect], covered: coverage.Coverage) -> Dict[str, Any]:
        kinds = {kind for one in self.series for step in one.steps for kind in step.kinds}
        not_checked = self._not_checked(ranks)
        indices = sorted({step.data_index for one in self.series for step in one.steps
                          if step.data_index is not None})
        unseen = [coverage.not_dumped(covered, max(indices, default=None))]
        if not self.series:
            unseen = [coverage.overflow_limit(self.run.manifest.runs)]
        return {
            "ranks": ranks,
            "executions": sum(len(one.steps) for one in self.series),
            "counted": covered.counted,
            "data_indices": indices,
            "operators": coverage.operators_seen(self.series),
            "files": self.files,
            "tensors": sum(len(columns.key) for one in self.series for columns in one.columns),
            "dump_data": [name for kind, name in (("stats", "stats"), ("dump", "tensor"),
                                                  ("overflow", "overflow")) if kind in kinds],
            "graph": bool(self.series) and all(one.operators.known for one in self.series),
            "rules": [rule for rule in ("overflow-event",) + _OF_DATA if rule not in not_checked],
            "not_checked": not_checked,
            "not_seen": [text for text in unseen if text],
            "observations": [one.to_json() for one in observations[:MAX_SUSPECTS]],
            "neighbours": {one.op: {
                "producers": one.producers[:12], "consumers": one.consumers[:12],
                "fusion_pass": one.fusion_pass, "also": one.also[:12],
                "ranks": one.ranks, "data_indices": one.steps,
                "consequences": one.consequences} for one in suspects},
            "unreadable": [{"path": str(path), "reason": reason}
                           for path, reason in self.problems[:MAX_SUSPECTS]],
        }

    def _not_checked(self, ranks: List[Any]) -> Dict[str, str]:
        """Rules that this dump gives nothing for, and why."""
        reasons: Dict[str, str] = {}
        counts = [len(one.columns) for one in self.series]
        if self.events or not any(counts):
            return dict.fromkeys(_OF_DATA, "an overflow dump holds only what overflowed")
        reasons["overflow-event"] = "no overflow records (enable_dump_debug)"
        if max(counts) < 2:
            reasons["jump"] = "one execution has nothing before it"
            reasons["vanishing-gradient"] = "one execution proves nothing"
        if not any(one.operators.known for one in self.series):
            reasons.update(dict.fromkeys(_OF_GRAPH, "no graph"))
        elif all(one.partial for one in self.series):
            reasons.update(dict.fromkeys(_OF_GRAPH, "only chosen operators were dumped"))
        if len(ranks) < 2:
            reasons["ranks-disagree"] = "one rank"
        return reasons
