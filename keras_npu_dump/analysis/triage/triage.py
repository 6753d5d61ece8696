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
from keras_npu_dump.analysis.triage.findings.suspects import (
    LOW,
    MAX_SUSPECTS,
    Suspect,
    in_time,
    merged,
)
from keras_npu_dump.analysis.triage.first_bad_place import show_places
from keras_npu_dump.analysis.triage.material import Material
from keras_npu_dump.analysis.triage.merge import explained_by_others
from keras_npu_dump.analysis.triage.next_dump import at_hand, flagfile, plan
from keras_npu_dump.analysis.triage.next_dump.not_dumped import Looked, plan_rest, records_of
from keras_npu_dump.analysis.triage.rules import (
    gradients,
    jump,
    nonfinite,
    overflow_events,
    precision,
    rank_differences,
)
from keras_npu_dump.analysis.triage.summary import checked
from keras_npu_dump.analysis.views import Rank
from keras_npu_dump.collector.graphs.roles import ROLES
from keras_npu_dump.config.flag_origin import Origin
from keras_npu_dump.errors import InputError
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.manifest import ManifestRun
from keras_npu_dump.records.reading import record_fields
from keras_npu_dump.sizes import plural

SCHEMA = "keras_npu_dump.triage/1"
# Suspects of which the tensors are opened, for the first bad place in them.
_SHOWN_PLACES = 3


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
    next: plan.NextDump
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
           rank: Optional[Rank] = None, limit: int = plan.LIMIT,
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
    material = Material(progress)
    for pairs in groups.values():
        for ordinal, pair in enumerate(pairs):
            material.read(ordinal, pair)
    chosen = [pair for pairs in groups.values() for pair in pairs]
    known = {id(pair) for pair in chosen}
    others = [pair for pair in run.pairs if id(pair) not in known]
    gaps = gaps_of(run.manifest, Selection(chosen, others, role, rank), material.problems)
    if not material.series and (nothing_known(run.manifest, run.pairs, gaps)
                                or not (gaps or _overflow_only(run))):
        raise InputError("no dump data below %s to look at%s" % (
            run.path, "" if not run.pairs else ": no %s graph was dumped" % (
                "training" if role == "train" else role)))
    everything = _found(material)
    suspects = [one for one in everything if one.confidence != LOW]
    more = len(suspects) - MAX_SUSPECTS
    suspects = in_time(suspects[:MAX_SUSPECTS])
    observations = in_time([one for one in everything if one.confidence == LOW])
    for one in suspects:
        _name_fusion_pass(one)
    for one in suspects[:_SHOWN_PLACES]:
        show_places(one)
    covered = coverage.coverage(material.series)
    if not (gaps or material.tensors or material.events or _overflow_only(run)):
        gaps = [Gap("not-dumped", "no tensor was read", None)]
    read = Looked(run, material.series, covered, gaps, role, limit)
    planned = _planned(read, material, suspects)
    if planned.dump_step is not None:
        _write_flags(read, planned, suspects, write)
    summary = checked(material, run.manifest, suspects, observations, covered)
    summary["incomplete"] = [one.to_json() for one in gaps]
    if more > 0:
        summary["more_suspects"] = more
    verdict = "suspect" if suspects else "incomplete" if gaps else "healthy"
    return Triage(verdict, suspects, planned, summary, observations)


def _found(material: Material) -> List[Suspect]:
    """What all rules find, surest first, without what follows from another suspect."""
    found: List[Suspect] = []
    for series in material.series:
        found.extend(_found_in(series, material))
    for group in material.by_ordinal.values():
        found.extend(rank_differences.find(group))
    return explained_by_others(merged(found))


def _found_in(series: Series, material: Material) -> List[Suspect]:
    """What the rules for a single rank find; events that the device reported say it all."""
    if any(one.kinds.get("overflow") for one in series.pair.steps):
        events = overflow_events.find(series, material.problems)
        if events:
            return events
    return (nonfinite.find(series) + jump.find(series)
            + precision.find(series) + gradients.find(series))


def _name_fusion_pass(suspect: Suspect) -> None:
    described = suspect.series.pair.described([suspect.op]).get(suspect.op)
    if described is not None:
        suspect.fusion_pass = fusion_pass(described)


def _overflow_only(run: Run) -> bool:
    return any(one.options.get("enable_dump_debug") for one in run.manifest.runs)


def _planned(read: Looked, material: Material, suspects: List[Suspect]) -> plan.NextDump:
    """The next dump; of what was not dumped where nothing is suspect."""
    planned = plan.plan(suspects, material.ranks, read.limit)
    if suspects:
        first = suspects[0]
        place = at_hand.Place(first.series, first.step, first.iteration, first.rank)
        return at_hand.or_look(planned, place, material.series, read.run.path, read.role)
    return planned if material.events else plan_rest(read)


def _record_of(read: Looked, suspects: List[Suspect]) -> Optional[ManifestRun]:
    """The run whose dump is planned next."""
    if suspects or read.group:
        return (suspects[0].series if suspects else read.group[0]).pair.run_record
    ids = [one.run_id for one in records_of(read)]
    return next((one for one in read.run.manifest.runs if one.run_id in ids), None)


def _write_flags(read: Looked, planned: plan.NextDump, suspects: List[Suspect],
                 write: Union[bool, str]) -> None:
    """Puts the flags of the next dump into `planned`, and into a file if that is wished."""
    run = read.run
    what = "nothing found yet" if not suspects else "%s (%s) at data_index %s" % (
        suspects[0].op, suspects[0].reason, suspects[0].step)
    record = _record_of(read, suspects)
    stated = flagfile.dump_path_of(record, run.dump_path)
    planned.text = flagfile.flagfile_text(
        planned, [flagfile.next_path(one) for one in dict.fromkeys([stated, run.dump_path])],
        None if record is None else Origin(os.path.abspath(run.dump_path), record.run_id),
        "keras-npu-dump triage: %s, %s" % (what, planned.why))
    if record is not None:
        planned.python = flagfile.python_text(
            planned, record_fields(run.dump_path, record.run_id).get("asked_by") or ())
    if write and planned.text:
        flagfile.write_flagfile(planned, write if isinstance(write, str)
                                else os.path.join(run.dump_path, flagfile.NAME))
