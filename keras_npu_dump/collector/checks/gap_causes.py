"""Why a step that was executed left no dump: the causes, each with what shows it."""
from __future__ import annotations

import dataclasses
from typing import Callable, List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.graphs.body import Body
from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.records.reading import RecordedRun

_BEFORE_OPEN = "apply the settings before npu_device.open(), or use keras-npu-dump run"
_NOT_BY_OPEN = ("keras-npu-dump run applies the settings when npu_device.open() is called: was the "
                "device opened in another way, or before the script began?")


@dataclasses.dataclass
class RunDump:
    """A run, and what there is of its dump.

    Attributes:
      run: the run record with its journal.
      session: the run's dump folders, None where it left none.
      trained: the run's training graphs that have dump folders.
      unpaired: units of the session that no training graph is known of; each may belong
        to a section of the journal.
      graphs: Build graphs that may be the run's, their bodies read where the role is
        train.
      faulty: paths of folders with empty or cut off files, of all checked runs.
    """

    run: RecordedRun
    session: Optional[Session]
    trained: Sequence[Paired]
    unpaired: Sequence[Unit]
    graphs: Sequence[BuildGraph]
    faulty: Set[str]

    def training_bodies(self, pair: Optional[Paired]) -> List[Body]:
        """The body of the pair's graph, else those of all training graphs that were read."""
        if pair is not None and pair.graph.body is not None:
            return [pair.graph.body]
        return [graph.body for graph in self.graphs
                if graph.role == "train" and graph.body is not None]


def _before_open(run: RecordedRun) -> str:
    """What helps against settings that came too late; who uses `run` already is not told to."""
    return _NOT_BY_OPEN if run.by_launcher else _BEFORE_OPEN


class Cause(NamedTuple):
    """Why files are not there, and what to do about it (None: nothing to advise)."""

    text: str
    hint: Optional[str] = None


class StepGap(NamedTuple):
    """Executed steps without a folder: the run, and where known the pair they belong to.

    `no_layer_known`: no name of `dump_layer` is an operator of the training graph.
    """

    dump: RunDump
    pair: Optional[Paired]
    no_layer_known: bool


def cause_of(gap: StepGap) -> Cause:
    """The first cause that applies: what the settings and the graph show for certain
    comes before what may have happened to the process or the disk."""
    for applies in _CAUSES:
        cause = applies(gap)
        if cause is not None:
            return cause
    return Cause("cause unknown", "look for disk and dump errors in the device's log of that time")


def _layers_unknown(gap: StepGap) -> Optional[Cause]:
    """Every name of dump_layer is wrong: the device selects no operator."""
    return Cause("no operator has a name of dump_layer") if gap.no_layer_known else None


def _opened_without_dump(gap: StepGap) -> Optional[Cause]:
    """The options that GE keeps in the graph are those the device was opened with."""
    for body in gap.dump.training_bodies(gap.pair):
        if body.options.get("ge.exec.enableDump") == "0":
            return Cause("the device was opened without dump (the graph's options say enableDump "
                         "0): settings came after npu_device.open()", _before_open(gap.dump.run))
    return None


def _without_step_id(gap: StepGap) -> Optional[Cause]:
    """No training graph counts its steps, so that the device cannot compare with dump_step.

    Where a training graph has files, a missing step id keeps none of them away, and an emulated
    graph needs none.
    """
    bodies = gap.dump.training_bodies(gap.pair)
    if gap.pair is None and not gap.dump.trained and bodies and not any(
            body.has_step or body.parts for body in bodies):
        return Cause("the graph has no step id (no ge_global_step), and with dump_step set the "
                     "device then dumps nothing of it", "try once without dump_step")
    return None


def _built_again(gap: StepGap) -> Optional[Cause]:
    """A second load of the model, or two training graphs of one name: a counter began anew."""
    names = [graph.name for graph in gap.dump.graphs if graph.role == "train"]
    if (gap.pair is not None and gap.pair.later) or len(set(names)) < len(names):
        return Cause("the graph was built again and counted from 0 anew")
    return None


def _writing_broke_off(gap: StepGap) -> Optional[Cause]:
    """Files that are there are empty or cut off."""
    if not gap.dump.faulty:
        return None
    return Cause("the disk was full, or writing broke off: files before it are empty or cut off",
                 "free space, or dump fewer steps, dump_data='stats', or a dump_layer")


def _outages(gap: StepGap) -> Optional[Cause]:
    """The process itself noted what it could not write."""
    if not gap.dump.run.outages:
        return None
    return Cause("not everything could be written: %s" % "; ".join(gap.dump.run.outages))


def _still_running(gap: StepGap) -> Optional[Cause]:
    return Cause("the process still runs, files may be on their way") if gap.dump.run.alive \
        else None


def _never_opened(gap: StepGap) -> Optional[Cause]:
    """The record notes whether capture saw the device opened."""
    if gap.dump.run.document.get("opened") is not False:
        return None
    return Cause("npu_device was not opened with these settings", _before_open(gap.dump.run))


def _ended_early(gap: StepGap) -> Optional[Cause]:
    """The record has no end, and nothing more will come."""
    if gap.dump.run.ended is not None or gap.dump.run.over:
        return None
    return Cause("the process was ended before the files were written")


def _no_folder_at_all(gap: StepGap) -> Optional[Cause]:
    if gap.dump.session is not None:
        return None
    return Cause("no folder of any graph is there; the device may have been opened before the "
                 "settings were made", _before_open(gap.dump.run))


_CAUSES: Tuple[Callable[[StepGap], Optional[Cause]], ...] = (
    _layers_unknown, _opened_without_dump, _without_step_id, _built_again, _writing_broke_off,
    _outages, _still_running, _never_opened, _ended_early, _no_folder_at_all)
