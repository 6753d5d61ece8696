"""Steps that were asked for against steps that were dumped, each gap with its cause."""
from __future__ import annotations

import difflib
import itertools
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.checks import deleted_output, run_ending
from keras_npu_dump.collector.checks.gap_causes import Cause, RunDump, StepGap, cause_of
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.config.steps import StepSet
from keras_npu_dump.records.journal_lines import RecordedSection
from keras_npu_dump.records.problems import INFO, WARNING, Problems
from keras_npu_dump.records.reading import RecordedRun, parse_steps

# A list of single steps longer than this is told as a count.
_MANY = 50


def check_run(dump: RunDump, problems: Problems) -> None:
    """Tells what a run asked for and did not get; nothing where its dump was off.

    Args:
      dump: the run, and what there is of its dump.
      problems: are told of layers that no operator is called, of steps that were not
        reached, and of steps that were executed and have no folder.
    """
    run, session = dump.run, dump.session
    asked = run.asked
    if asked is None:
        return
    no_layer_known = check_layers(run.layers, dump.trained, dump.graphs, problems)
    counts = [section.last + 1 for section in run.sections if section.last is not None]
    if not counts and _tell_uncounted(StepGap(dump, None, no_layer_known), asked, problems):
        return
    _tell_not_reached(run, asked, counts, problems)
    by_section = {pair.section.number: pair for pair in dump.trained if pair.section is not None}
    for section in run.sections:
        pair = by_section.get(section.number)
        _check_section(section, asked, StepGap(dump, pair, no_layer_known), problems)
    if session is None and any(section.noted for section in run.sections):
        cause = _raised_at_once(run, problems) or cause_of(StepGap(dump, None, no_layer_known))
        problems.add("not-dumped", "nothing was dumped by run %s although asked steps were "
                     "executed: %s" % (run.run_id, cause.text), hint=cause.hint, path=run.folder)


def _raised_at_once(run: RecordedRun, problems: Problems) -> Optional[Cause]:
    """All executions that were asked for were left by exceptions."""
    asked = [(section.number, index) for section in run.sections for index in section.noted]
    raised = run.raised
    if not all(one in raised for one in asked):
        return None
    first = raised[asked[0]]
    return Cause(first.how(brief=problems.have_told(first)))


def _tell_uncounted(gap: StepGap, asked: StepSet, problems: Problems) -> bool:
    """What can be said of a run whose journal counted no execution.

    Returns:
      Whether that is all; False leaves the steps to be told as not reached.
    """
    dump, run = gap.dump, gap.dump.run
    if dump.trained:
        _compare_with_folders(run, asked, [folder for pair in dump.trained
                                           for match in pair.matches
                                           for folder in match.unit.folders], problems)
    elif dump.session is not None and run_ending.is_uncounted_loop(run):
        _compare_with_folders(run, asked, dump.session.folders, problems)
    elif _tell_built(gap, asked, problems) or _tell_untrained(dump, asked, problems):
        return True
    elif dump.session is None and asked.is_all:
        ending = run_ending.of(run, [], problems)
        problems.add("not-dumped", "nothing was dumped: the journal of %s has no execution of a "
                     "training graph%s" % (run.run_id, ending.text), path=run.folder,
                     hint=ending.hint)
    else:
        return False
    return True


def _tell_built(gap: StepGap, asked: StepSet, problems: Problems) -> bool:
    """A training graph was built to be executed, nobody counted, and none of it was dumped.

    Returns:
      Whether that is so, and is told; not where the process itself knows how it ended.
    """
    run = gap.dump.run
    built = [graph.name for graph in gap.dump.graphs if graph.role == "train"]
    knows = run.alive or run.status == "failed" or run.document.get("opened") is False
    if knows or not built or gap.dump.session is not None:
        return False
    names = ", ".join(map(str, built[:3]))
    if asked.is_all or 0 in asked:
        cause = cause_of(gap)
        problems.add("not-dumped", "nothing was dumped although %s was built: %s" % (
            names, cause.text), hint=cause.hint, path=run.folder)
        return True
    for which in asked.unreached(0):
        problems.add(
            "step-not-reached", "%s: no folder; %s was built, and nobody counted how often it "
            "ran" % (which, names), path=run.folder, hint="data_index counts executions from 0, "
            "it may have run less often; " + run_ending.STEP_HINT)
    return True


def _tell_untrained(dump: RunDump, asked: StepSet, problems: Problems) -> bool:
    """A script that trains nothing: what it evaluates and predicts has been dumped.

    Returns:
      Whether that is so, and is told.
    """
    others = [graph for graph in dump.graphs if graph.role in ("eval", "predict")]
    names = {graph.dump_name for graph in others}
    have = {folder.data_index for folder in (dump.session.folders if dump.session else ())
            if folder.model_name in names}
    if not have or any(graph.role == "train" for graph in dump.graphs):
        return False
    problems.add("not-dumped", "no training graph ran: what was dumped is of evaluation or "
                 "prediction (%s)" % ", ".join(str(graph.name) for graph in others[:3]),
                 path=dump.run.folder, severity=INFO,
                 hint="its data_index counts executions of each graph from 0")
    for index in [] if asked.is_all or None in have else _first(asked, _MANY):
        if index not in have:
            problems.add("step-not-reached", "step %d has no folder, and no journal tells how many "
                         "executions ran" % index, path=dump.run.folder, severity=INFO)
    return True


def _compare_with_folders(run: RecordedRun, asked: StepSet, folders: Sequence[DumpFolder],
                          problems: Problems) -> None:
    """A loop that the journal did not count: only the folders can tell what was dumped."""
    problems.add("index-uncertain", "the journal of %s counted no execution: which batch each "
                 "data_index was is not known" % run.run_id, path=run.folder,
                 hint=run_ending.EAGER_HINT if run.document.get("eager") else run_ending.STEP_HINT)
    have = {folder.data_index for folder in folders}
    for index in [] if asked.is_all or None in have else _first(asked, _MANY):
        if index not in have:
            problems.add("step-not-reached", "step %d has no folder, and no journal tells how many "
                         "executions ran" % index, path=run.folder)


def _tell_not_reached(run: RecordedRun, asked: StepSet, counts: List[int],
                      problems: Problems) -> None:
    beyond = [] if asked.is_all else asked.unreached(max(counts or [0]))
    for which in beyond:
        ending = run_ending.of(run, counts, problems)
        problems.add("step-not-reached", "%s not reached%s" % (which, ending.text),
                     severity=ending.severity, path=run.folder, hint=ending.hint)


def _check_section(section: RecordedSection, asked: StepSet, gap: StepGap,
                   problems: Problems) -> None:
    """Tells the executions of one section that were asked for and have no folder."""
    dump, pair = gap.dump, gap.pair
    units = [match.unit for match in pair.matches] if pair is not None else dump.unpaired
    if any(folder.data_index is None for unit in units for folder in unit.folders):
        # Without that level the files of all executions lie together.
        return
    have = {index for unit in units for index in unit.indices}
    _tell_ends(section, asked, gap, problems)
    gone = sorted(index for index in section.executions if index in asked and index not in have)
    if not gone or dump.session is None:
        return
    usual = cause_of(gap)
    name = section.graph_name or (pair.graph.name if pair else "the training graph")
    causes = [_cause_at(dump.run, section, index, usual, problems) for index in gone[:_MANY]]
    for first, last in _alike(gone[:_MANY], causes, section):
        cause = causes[gone.index(first)]
        # Where the step would lie: no other step is to be blamed.
        where = dump.run.folder if pair is None else os.path.join(
            os.path.dirname(pair.folder), str(first))
        problems.add("step-missing", ("step %d of %s was executed and has no dump folder: %s" % (
            first, name, cause.text) if first == last else
            "steps %d-%d of %s were executed and have no dump folders: %s" % (
                first, last, name, cause.text)), hint=cause.hint, path=where,
                     severity=INFO if dump.run.alive
                     else WARNING if section.executions[first].in_doubt else None)


def _cause_at(run: RecordedRun, section: RecordedSection, index: int, usual: Cause,
              problems: Problems) -> Cause:
    """Why an execution left nothing; `usual` where nothing is known of it alone."""
    if deleted_output.took(run, section, index):
        return Cause(deleted_output.CAUSE)
    raised = run.raised_at(section, index)
    return usual if raised is None else Cause(raised.how(brief=problems.have_told(raised)))


def _alike(gone: List[int], causes: List[Cause],
           section: RecordedSection) -> List[Tuple[int, int]]:
    """First and last of neighbours that have their cause in common, and are as certain."""
    found: List[Tuple[int, int]] = []
    before = None
    for index, cause in zip(gone, causes):
        this = (cause, section.executions[index].in_doubt)
        if found and this == before and index == found[-1][1] + 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
        before = this
    return found


def _tell_ends(section: RecordedSection, asked: StepSet, gap: StepGap,
               problems: Problems) -> None:
    """Tells the asked steps that were no batches: in them the data ended."""
    for index in section.aborted if not asked.is_all else ():
        if index in asked and index <= (section.last or 0):
            problems.add(
                "end-of-data", "step %d of %s trained nothing: in it the data ended%s" % (
                    index, section.graph_name or "the training graph",
                    "" if gap.pair is not None else ", if the device counts that"),
                path=gap.dump.run.folder, severity=None if gap.pair is not None else WARNING,
                hint="a dataset of known size, steps_per_epoch or .repeat() leave no such step")


def _first(asked: StepSet, limit: int) -> List[int]:
    return list(itertools.islice(iter(asked), limit))


def check_layers(layers: Sequence[str], trained: Sequence[Paired],
                 graphs: Sequence[BuildGraph], problems: Problems) -> bool:
    """Tells names of dump_layer that no executed graph has.

    Args:
      layers: the names of dump_layer; empty where every operator was asked for.
      trained: training graphs with dump folders; where none of their bodies was read,
        those of `graphs` with the role train are asked.
      graphs: Build graphs that may be the run's.
      problems: are told of each unknown name, with real names close to it.

    Returns:
      Whether names were given and no graph that was read has any of them.
    """
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
    """Real names close to a wrong one, best first: those that end in it, then similar
    spelling, then those that contain it.

    Args:
      name: that nothing has.
      names: that there are.
      count: how many to return at most.
    """
    names = sorted(names)
    ends = [one for one in names if one.endswith("/" + name) or one.lower() == name.lower()]
    inside = [one for one in names if name in one and one not in ends]
    close = difflib.get_close_matches(name, names, count, 0.6)
    return list(dict.fromkeys(ends + close + inside))[:count]


def check_session(trained: Sequence[Paired], problems: Problems) -> None:
    """Steps of a session without run record: what the graphs' own options can tell.

    Args:
      trained: the session's training graphs with dump folders.
      problems: are told of each step of `ge.exec.dumpStep` that has no folder: as
        missing before the highest index that is there, else as not reached.
    """
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


def check_unasked(asked: Optional[StepSet], pair: Paired, problems: Problems) -> None:
    """Tells folders of steps that were not asked for.

    Args:
      asked: the steps of the request; None where dump was off or nothing is known.
      pair: a training graph with its folders.
      problems: are told of `step-unasked`.
    """
    if asked is None or asked.is_all:
        return
    extra = [index for index in pair.indices if index not in asked]
    if extra:
        problems.add("step-unasked", "%s has folders of steps that were not asked for: %s" % (
            pair.graph.name, ", ".join(str(index) for index in extra[:10])),
            path=os.path.dirname(pair.folder))


def manifest_executions(run: RecordedRun, trained: Sequence[Paired]) -> Dict[str, Any]:
    """`executions` of a run in the manifest.

    Args:
      run: the run record with its journal.
      trained: the run's training graphs; they name sections that the journal does not.

    Returns:
      {graph name: {"count": int, or None before the end of the process; "last": the
      highest data_index known to have been executed, or None; "dumped": [data_index]}}; and
      "aborted": [data_index], where the data ended in executions that the device counts.
    """
    names = {one.section.number: one.graph.name for one in trained if one.section is not None}
    found = {}
    for section in run.sections:
        name = section.graph_name or names.get(section.number) or "section %d" % section.number
        found[name] = {"count": section.count if section.final else None, "last": section.last,
                       "dumped": sorted(section.executions)}
        aborted = [index for index in section.aborted if index < (section.last or 0)]
        if aborted:
            found[name]["aborted"] = aborted
    return found
