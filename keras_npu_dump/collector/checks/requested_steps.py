"""Steps that were asked for against steps that were dumped, each gap with its cause."""
from __future__ import annotations

import difflib
import os
from typing import Iterable, List, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.checks import deleted_output, run_ending
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.records.problems import INFO, WARNING, Problems
from keras_npu_dump.records.reading import RecordedRun, RecordedSection, parse_steps

# A list of single steps longer than this is told as a count.
_MANY = 50


def check_run(run: RecordedRun, session: Optional[Session], trained: Sequence[Paired],
              unpaired: Sequence[Unit], graphs: Sequence[BuildGraph], faulty: Set[str],
              problems: Problems) -> None:
    """What a run asked for and did not get.

    Args:
      session: the run's dump folders, None where it left none.
      unpaired: units of the session that have no graph; they may be anything's.
      trained: the run's training graphs that have dump folders.
      graphs: Build graphs that may be the run's, read where their role is train.
      faulty: folders with empty or cut off files.
    """
    asked = run.asked
    if asked is None:
        return
    wrong_layers = check_layers(run.layers, trained, graphs, problems)
    counts = [section.last + 1 for section in run.sections if section.last is not None]
    if not counts and trained:
        _uncounted(run, asked, [folder for one in trained for match in one.matches
                                for folder in match.unit.folders], problems)
        return
    if not counts and session is not None and run_ending.is_uncounted_loop(run):
        _uncounted(run, asked, session.folders, problems)
        return
    if not counts and session is None and asked.is_all:
        ending = run_ending.of(run, counts)
        problems.add("not-dumped", "nothing was dumped: the journal of %s has no execution of a "
                     "training graph%s" % (run.run_id, ending.text), path=run.folder,
                     hint=ending.hint)
        return
    _not_reached(run, asked, counts, problems)
    by_section = {one.section.number: one for one in trained if one.section is not None}
    for section in run.sections:
        expected = sorted(index for index in section.executions if index in asked)
        if not expected:
            continue
        one = by_section.get(section.number)
        units = ([match.unit for match in one.matches] if one is not None else list(unpaired))
        if any(folder.data_index is None for unit in units for folder in unit.folders):
            # Without that level the files of all executions lie together.
            continue
        have = {index for unit in units for index in unit.indices}
        gone = [index for index in expected if index not in have]
        if gone and session is not None:
            cause, hint = _cause(run, session, one, graphs, faulty, wrong_layers)
            name = section.graph_name or (one.graph.name if one else "the training graph")
            for index in gone[:_MANY]:
                if deleted_output.took(run, section, index):
                    cause, hint = deleted_output.CAUSE, None
                # Where the step would lie: no other step is to be blamed.
                where = run.folder if one is None else os.path.join(
                    os.path.dirname(one.folder), str(index))
                problems.add("step-missing", "step %d of %s was executed and has no dump folder: "
                             "%s" % (index, name, cause), hint=hint, path=where,
                             severity=INFO if run.alive
                             else WARNING if section.executions[index].in_doubt else None)
    if session is None and any(section.executions for section in run.sections):
        cause, hint = _cause(run, None, None, graphs, faulty, wrong_layers)
        problems.add("not-dumped", "nothing was dumped by run %s although asked steps were "
                     "executed: %s" % (run.run_id, cause), hint=hint, path=run.folder)


def _uncounted(run: RecordedRun, asked: StepSet, folders: Sequence[DumpFolder],
               problems: Problems) -> None:
    """A loop that the journal did not count: the folders alone speak."""
    problems.add("index-uncertain", "the journal of %s counted no execution: which batch each "
                 "data_index was is not known" % run.run_id, path=run.folder,
                 hint=run_ending.EAGER_HINT if run.document.get("eager") else run_ending.STEP_HINT)
    have = {folder.data_index for folder in folders}
    for index in [] if asked.is_all or None in have else _first(asked, _MANY):
        if index not in have:
            problems.add("step-not-reached", "step %d has no folder, and no journal tells how many "
                         "executions ran" % index, path=run.folder)


def _not_reached(run: RecordedRun, asked: StepSet, counts: List[int], problems: Problems) -> None:
    beyond = [] if asked.is_all else asked.unreached(max(counts or [0]))
    ending = run_ending.of(run, counts)
    for which in beyond:
        problems.add("step-not-reached", "%s not reached%s" % (which, ending.text),
                     severity=ending.severity, path=run.folder, hint=ending.hint)


def _first(asked: StepSet, limit: int) -> List[int]:
    found = []
    for index in asked:
        found.append(index)
        if len(found) >= limit:
            break
    return found


def _cause(run: RecordedRun, session: Optional[Session], one: Optional[Paired],
           graphs: Sequence[BuildGraph], faulty: Set[str],
           wrong_layers: bool) -> Tuple[str, Optional[str]]:
    """(cause, hint) of steps that ran and left nothing."""
    if wrong_layers:
        return "no operator has a name of dump_layer", None
    bodies = [graph.body for graph in graphs if graph.role == "train" and graph.body is not None]
    if one is not None and one.graph.body is not None:
        bodies = [one.graph.body]
    for body in bodies:
        if body.options.get("ge.exec.enableDump") == "0":
            return ("the device was opened without dump (the graph's options say enableDump 0): "
                    "settings came after npu_device.open()",
                    "apply the settings before npu_device.open(), or use keras-npu-dump run")
    if one is None and bodies and not any(body.has_step or body.parts for body in bodies):
        return ("the graph has no step id (no ge_global_step), and with dump_step set the device "
                "then dumps nothing of it", "try once without dump_step")
    names = [graph.name for graph in graphs if graph.role == "train"]
    if (one is not None and one.reloaded) or len(set(names)) < len(names):
        return "the graph was built again and counted from 0 anew", None
    if faulty:
        return "the disk was full, or writing broke off: files before it are empty or cut off", (
            "free space, or dump fewer steps, dump_data='stats', or a dump_layer")
    if run.outages:
        return "not everything could be written: %s" % "; ".join(run.outages), None
    if run.alive:
        return "the process still runs, files may be on their way", None
    if run.document.get("opened") is False:
        return ("npu_device was not opened with these settings",
                "apply the settings before npu_device.open(), or use keras-npu-dump run")
    if run.ended is None and not run.over:
        return "the process was ended before the files were written", None
    if session is None:
        return ("no folder of any graph is there; the device may have been opened before the "
                "settings were made",
                "apply the settings before npu_device.open(), or use keras-npu-dump run")
    return "cause unknown", "look for disk and dump errors in the device's log of that time"


def check_layers(layers: Sequence[str], trained: Sequence[Paired],
                 graphs: Sequence[BuildGraph], problems: Problems) -> bool:
    """Tells names of dump_layer that no executed graph has. True if none is known."""
    if not layers:
        return False
    bodies = [one.graph.body for one in trained if one.graph.body is not None]
    bodies = bodies or [graph.body for graph in graphs
                        if graph.role == "train" and graph.body is not None]
    if not bodies:
        return False
    names = set().union(*[body.names_of_operators() for body in bodies])
    unknown = [name for name in layers if name not in names]
    for name in unknown:
        near = nearest(name, names)
        problems.add("layer-unknown", "dump_layer: no operator of the training graph is called "
                     "%r" % name, hint="nearest: " + ", ".join(near) if near else None)
    return len(unknown) == len(layers)


def nearest(name: str, names: Iterable[str], count: int = 3) -> List[str]:
    """Real names close to a wrong one: the same ending first, then similar spelling."""
    names = sorted(names)
    ends = [one for one in names if one.endswith("/" + name) or one.lower() == name.lower()]
    inside = [one for one in names if name in one and one not in ends]
    close = difflib.get_close_matches(name, names, count, 0.6)
    return list(dict.fromkeys(ends + close + inside))[:count]


def check_session(trained: Sequence[Paired], problems: Problems) -> None:
    """Steps of a session without record: what the graphs' own options can tell."""
    texts = [one.graph.body.options.get("ge.exec.dumpStep") for one in trained
             if one.graph.body is not None]
    asked = parse_steps(next((text for text in texts if text), None))
    if asked is None or asked.is_all:
        return
    have = {index for one in trained for index in one.indices}
    for index in _first(asked, _MANY):
        if index not in have:
            code = "step-missing" if have and index < max(have) else "step-not-reached"
            problems.add(code, "step %d was asked for by the graph's options and has no folder; "
                         "no journal tells whether it was executed" % index,
                         path=trained[0].folder)


def check_unasked(asked: Optional[StepSet], one: Paired, problems: Problems) -> None:
    if asked is None or asked.is_all:
        return
    extra = [index for index in one.indices if index not in asked]
    if extra:
        problems.add("step-unasked", "%s has folders of steps that were not asked for: %s" % (
            one.graph.name, ", ".join(str(index) for index in extra[:10])),
            path=os.path.dirname(one.folder))


def executions_of(run: RecordedRun, trained: Sequence[Paired]) -> dict:
    """`executions` of a run in the manifest, by graph name."""
    names = {one.section.number: one.graph.name for one in trained if one.section is not None}
    found = {}
    for section in run.sections:
        name = section.graph_name or names.get(section.number) or "section %d" % section.number
        found[name] = _execution(run, section)
    return found


def _execution(run: RecordedRun, section: RecordedSection) -> dict:
    return {"count": section.count if section.final else None, "last": section.last,
            "dumped": sorted(section.executions)}
