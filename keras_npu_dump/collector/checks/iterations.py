"""Which Keras iterations of a training cannot be known for sure, and why."""
from __future__ import annotations

import re
from typing import Dict, List, Sequence

from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.records.journal_lines import CALL, RecordedSection
from keras_npu_dump.records.problems import INFO, Problems

STEPS_HINT = ("`with keras_npu_dump.DumpSession() as dump:` around the loop, `with dump.step():`"
              " around each step, and `dump.next_epoch()` between epochs, tie executions to"
              " batches")
FIT_HINT = "NpuDumpCallback() among the callbacks of fit() ties executions to batches"
_OF_FIT = re.compile(r"__inference_train_function_\d+")


def tell_uncertain(trained: Sequence[Paired], problems: Problems) -> None:
    """Tells, for each training graph of a session, what is uncertain about its iterations.

    Args:
      trained: the training graphs of one session, tied to their sections of the journal.
      problems: are told of `index-uncertain`.
    """
    for pair in trained:
        _tell_no_index(pair, problems)
        later = _later_loads(pair, trained)
        if later:
            problems.add(
                "index-uncertain", "%s was built again: the folders of model id %s count "
                "from 0 anew, the journal cannot tell which batches they are" % (
                    pair.graph.name, ", ".join(str(unit.model_id) for unit in later)),
                path=pair.folder)
        _tell_loop(pair, problems)
        if pair.section is not None:
            _tell_doubts(pair, problems)
            _tell_counting(pair, pair.section, problems)
        elif not later:
            _tell_no_section(pair, trained, problems)


def _tell_no_index(pair: Paired, problems: Problems) -> None:
    bare = [folder for match in pair.matches for folder in match.unit.folders
            if folder.data_index is None]
    if bare:
        problems.add(
            "index-uncertain", "the files of %s have no data_index: the graph has no step id, "
            "all its executions lie in one folder" % pair.graph.name, path=bare[0].path)


def _later_loads(pair: Paired, trained: Sequence[Paired]) -> List[Unit]:
    """Units whose counter began anew after the journal had counted an earlier load:
    of the pair itself, or all of it where another file of the same name was counted."""
    if pair.later or pair.section is not None:
        return pair.later
    if any(other.section is not None and other.graph.name == pair.graph.name
           for other in trained):
        return [match.unit for match in pair.matches]
    return []


def _tell_loop(pair: Paired, problems: Problems) -> None:
    """A loop on the device counts by its own arithmetic (runtime dump_task.cpp)."""
    run = pair.session.run
    size = str(run.environment.get("NPU_LOOP_SIZE") or "1") if run is not None else "1"
    marked = pair.section is not None and any(
        execution.uncertain for execution in pair.section.executions.values())
    if size != "1" and not marked:
        problems.add(
            "index-uncertain", "NPU_LOOP_SIZE=%s: data_index of %s counts iterations on the "
            "device (call * %s + position in the loop), not calls from Keras" % (
                size, pair.graph.name, size), path=pair.folder)


def _tell_counting(pair: Paired, section: RecordedSection, problems: Problems) -> None:
    """A function whose executions are not the steps of the loop, or whose loop has no steps."""
    if section.reason == CALL:
        # Keras names the function of fit() so (in Keras 3 the emulator does, as in Keras 2).
        fit = _OF_FIT.match(pair.graph.name or "")
        problems.add(
            "index-uncertain", "%s ran in %s: batch is the number of its execution, over all"
            " epochs, which are not known" % (
                pair.graph.name, "a fit() without NpuDumpCallback" if fit else
                "a loop of the script's own"),
            path=pair.folder, hint=FIT_HINT if fit else STEPS_HINT)
    elif section.steps is not None:
        problems.add(
            "index-uncertain", "%s is counted by its executions: %s ran in %d steps of the loop;"
            " batch is the number of its execution in the epoch, not that of the step" % (
                pair.graph.name, "an unknown number" if section.count is None else section.count,
                section.steps), path=pair.folder, severity=INFO)


def _tell_no_section(pair: Paired, trained: Sequence[Paired], problems: Problems) -> None:
    """The journal counted functions, and nothing ties one of them to this graph."""
    run = pair.session.run
    tied = [id(one.section) for one in trained if one.section is not None]
    counted = [] if run is None else [part for part in run.sections if part.executions]
    if counted and all(id(part) in tied for part in counted):
        problems.add(
            "index-uncertain", "executions of %s were not counted: which batches they were is not"
            " known" % pair.graph.name, path=pair.folder, hint=STEPS_HINT)
    elif counted:
        problems.add(
            "index-uncertain", "which of %d functions in the journal %s was cannot be "
            "told" % (len(counted), pair.graph.name), path=pair.folder)


def _tell_doubts(pair: Paired, problems: Problems) -> None:
    """What the journal itself doubts, each reason once with the indices it holds for."""
    executions = {} if pair.section is None else pair.section.executions
    reasons: Dict[str, List[int]] = {}
    for index in pair.indices:
        execution = executions.get(index)
        if execution is not None and execution.uncertain:
            reasons.setdefault(str(execution.uncertain), []).append(index)
    for reason, indices in reasons.items():
        problems.add(
            "index-uncertain", "epoch and batch of data_index %s of %s may be off: %s" % (
                ", ".join(str(index) for index in indices[:8]), pair.graph.name, reason),
            path=pair.folder)
