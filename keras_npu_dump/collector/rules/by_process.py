"""Rules about the process that wrote graph and dump: pid, device, time, journal."""
from __future__ import annotations

import os
from typing import Optional, Sequence

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import (
    AGAINST,
    EXCLUDED,
    FOR,
    SHOWN,
    Context,
    Evidence,
    Unit,
    rule,
)
from keras_npu_dump.records.journal_lines import RecordedSection


@rule("pid")
def pid(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The pid in the name of the graph's folder against the run record's.

    Another pid excludes the graph where a run record has it: the graph is that run's.
    Where no record has it, it only speaks against the graph: records may be lost.
    """
    run, number = unit.session.run, graph.file.pid
    if run is None or run.pid is None or number is None:
        return None
    if run.pid == number:
        return Evidence("pid", FOR, "process: graph folder and run record both say pid %d" % number)
    others = [one.run_id for one in context.runs if one.pid == number]
    text = "process: the graph is of pid %d, the run %s of pid %d" % (number, run.run_id, run.pid)
    return Evidence("pid", EXCLUDED if others else AGAINST, text)


@rule("device")
def device(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The device in the name of the graph's folder against that in the dump's path: a
    process has a single device, so that another number excludes the graph."""
    ours, theirs = unit.session.device, graph.file.device
    if ours is None or theirs is None:
        return None
    if ours == theirs:
        return Evidence("device", FOR, "device: graph folder and dump folder both say %d" % ours)
    return Evidence("device", EXCLUDED, "device: the graph is of device %d, the dump of %d"
                    % (theirs, ours))


@rule("place")
def place(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Which of several dump paths side by side the graph file lies in: they were copied
    from several hosts, and each has its own graphs."""
    inside = [root for root in context.roots if graph.file.path.startswith(root + os.sep)]
    if len(context.roots) < 2 or not inside:
        return None
    nearest = max(inside, key=len)
    if nearest == unit.session.root:
        return Evidence("place", FOR, "place: graph and dump lie below %s"
                        % os.path.basename(nearest))
    if unit.session.root.startswith(nearest + os.sep):
        return None  # beside all of them
    return Evidence("place", EXCLUDED, "place: the graph lies below %s, the dump below %s" % (
        nearest, unit.session.root))


@rule("age")
def age(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """Which launch the graph file was written in, by its time on disk.

    GE writes a graph when it builds it, before its first execution: an older file is not
    of this session. A later time only speaks against the graph, as copies have later times.
    """
    launch = context.launches.of(graph.file.mtime)
    run = unit.session.run
    if launch is None or (run is not None and run.pid is not None and run.pid == graph.file.pid
                          and launch != unit.session.launch):
        # A copy changes times, not the pid.
        return None
    if launch == unit.session.launch:
        return Evidence("age", FOR, "time: the graph file was written during this launch")
    if launch < unit.session.launch:
        return Evidence("age", EXCLUDED, "time: the graph file is older than the session")
    return Evidence("age", AGAINST, "time: the graph file was written by a later launch")


@rule("journal")
def journal(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    """The executions that the journal counted against the data_index folders.

    Of graphs that the journals name. Equal numbers speak for the graph; some of them are
    only shown, as steps may have been lost; others speak against it. A graph that only
    another run counted is excluded.
    """
    if not context.counted_by(graph):
        return None
    section = section_of(unit.session, graph)
    if section is None:
        return _others_journal(unit, graph, context)
    found = unit.indices
    # Whether the device counts ends of the data is not known yet; most often it is one of both.
    expected = max((sorted(section.indices_if(counts)) for counts in (True, False)),
                   key=lambda one: (one == found, len(set(one) & set(found))))
    if not found:
        return None
    if section.final and section.count is not None and max(found) >= section.count:
        return Evidence("journal", AGAINST, "journal: %d executions of %s, but a folder %d" % (
            section.count, graph.name, max(found)))
    if expected == found:
        return Evidence("journal", FOR, "journal: dumped executions %s are the folders"
                        % _short(expected), 2.0)
    if set(found) <= set(expected) or set(expected) <= set(found):
        return Evidence("journal", SHOWN, "journal: dumped executions %s, folders %s" % (
            _short(expected), _short(found)))
    return Evidence("journal", AGAINST, "journal: dumped executions %s, but folders %s" % (
        _short(expected), _short(found)))


def _others_journal(unit: Unit, graph: BuildGraph, context: Context) -> Optional[Evidence]:
    own = unit.session.run
    # Another rank's function of the same name is another graph.
    others = [run for run in context.counted_by(graph)
              if run is not own and graph.may_be_of(run, context.runs)]
    if not others or own is None or not any(section.graph_name for section in own.sections):
        return None
    if not any(graph.is_called(one.graph_name) for run in others for one in run.sections):
        return None
    return Evidence("journal", EXCLUDED, "journal: %s was counted by the run %s" % (
        graph.name, others[0].run_id))


def section_of(session: Session, graph: BuildGraph) -> Optional[RecordedSection]:
    """The journal's section that counted this graph, by the function's name."""
    for section in (session.run.sections if session.run is not None else ()):
        if graph.is_called(section.graph_name):
            return section
    return None


def _short(numbers: Sequence[int]) -> str:
    texts = [str(one) for one in numbers[:8]]
    return "|".join(texts) + ("|..." if len(numbers) > 8 else "") if texts else "none"
