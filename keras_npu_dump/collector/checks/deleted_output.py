"""Output that was deleted while its training ran, as the journal has noted it."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.records.journal_lines import RecordedSection
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.records.reading import RecordedRun

_KINDS = {"all": "the dump folder", "records": "records, which were written again",
          "graphs": "graph files", "steps": "dump data"}
CAUSE = "deleted while the training ran"
_HINT = "who clears folders while a training runs: its script, or a job of this machine?"


def tell(run: RecordedRun, problems: Problems) -> None:
    """A single problem for a run of which anything was deleted; what follows from that is
    told elsewhere."""
    if not run.lost:
        return
    what: Dict[str, List[str]] = {}
    for event in run.lost:
        kind = _KINDS.get(str(event.get("what")), "output")
        what.setdefault(kind, []).append(str(event.get("path")))
    problems.add(
        "output-deleted", "while %s ran, something was deleted: %s" % (
            run.run_id, "; ".join("%s (%s)" % (kind, ", ".join(list(dict.fromkeys(paths))[:3]))
                                  for kind, paths in what.items())),
        path=run.folder, hint=_HINT)


def took(run: RecordedRun, section: RecordedSection, index: int) -> bool:
    """Whether the dump of an execution was there, or on its way, when its folder was deleted.

    Args:
      run: whose journal noted the deletions, with the executions that had run by then.
      section: that the execution belongs to.
      index: its data_index.
    """
    return any(_took(event, section, index) for event in run.lost)


def _took(event: Dict[str, Any], section: RecordedSection, index: int) -> bool:
    ran = event.get("executions")
    if ran is None or index >= ran:
        return False
    if event.get("what") == "all":
        return True
    return event.get("what") == "steps" and event.get("of_section") == section.number


def took_graphs(run: Optional[RecordedRun]) -> bool:
    """Whether graph files of the run are gone."""
    return run is not None and any(event.get("what") in ("all", "graphs") for event in run.lost)


def tell_graphs(session: Session, units: Sequence[Unit], problems: Problems) -> None:
    """A single problem for all dump folders of a session whose graph files are gone.

    Args:
      session: with a run that noted the deletion.
      units: one for each model name and reason, at least one in all.
      problems: are told of `no-graph`.
    """
    first = units[0]
    problems.add(
        "no-graph", "%s of %s %s no graph file: they were deleted while the training ran" % (
            first.label if len(units) == 1 else "%d graphs, such as %s," % (
                len(units), first.model_name), session.label,
            "has" if len(units) == 1 else "have"), path=first.folders[0].path)
