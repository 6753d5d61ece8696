"""Steps without files, and steps with fewer files than they must have.

What a step must have is told by the other steps of the same graph on the same device:
each operator that runs in every execution leaves as many files in each. Branches and
loops run any number of times, so their operators tell nothing. The graphs of an emulated
dump state what each leaves each time it runs (`Body.parts`); there the comparison
needs no other step. Only names are compared, which were listed before: no file is
opened.
"""
from __future__ import annotations

import collections
import os
import time
from typing import Any, Callable, Counter, Dict, FrozenSet, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.body import Body, EmulatedPart
from keras_npu_dump.collector.pairing.loads import loads_of
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit
from keras_npu_dump.collector.scan.folders import DUMP_KINDS, DumpFolder, FileFact
from keras_npu_dump.op_types.graph_parts import SWITCH_TYPES
from keras_npu_dump.records.problems import ERROR, WARNING, Problems

# Seconds between the two looks at a step that seems to lack files, or a file its end.
LOOK_AGAIN = 0.3
_HINT = "a full disk, or a process that was ended, leaves such steps"


class Execution:
    """The folders of an execution: a single folder, or of a dynamic graph one for each part.

    Attributes:
      load: how often the graph had been loaded before.
      data_index: as in the path, None where that level is missing.
      folders: of the parts; `units` has the unit of each.
      counts: files of each operator ("type.name"), of the kinds that are dump data.
    """

    __slots__ = ("counts", "data_index", "folders", "load", "units")

    def __init__(self, load: int, data_index: Optional[int]):
        self.load = load
        self.data_index = data_index
        self.folders: List[DumpFolder] = []
        self.units: List[Unit] = []
        self.counts: Dict[str, int] = {}

    @property
    def path(self) -> str:
        """The folder to show for the execution."""
        return self.folders[0].path

    @property
    def operators(self) -> FrozenSet[str]:
        """The "type.name" of every operator that has a file in one of the folders."""
        return frozenset().union(*[one.operators for one in self.folders])

    @property
    def nameless(self) -> int:
        """Files of digits without a line in mapping.csv: each is some operator's."""
        return sum(len(one.unmapped) for one in self.folders)


def executions_of(units: Sequence[Unit]) -> List[Execution]:
    """The executions of one graph; the parts of a dynamic graph count as one."""
    found: Dict[Tuple[int, Optional[int]], Execution] = {}
    loads = loads_of([folder for unit in units for folder in unit.folders])
    for unit in units:
        for folder in unit.folders:
            key = (loads[unit.model_name, unit.model_id], folder.data_index)
            step = found.setdefault(key, Execution(*key))
            step.folders.append(folder)
            step.units.append(unit)
    return list(found.values())


def is_overflow(pair: Paired) -> bool:
    """An overflow dump owes nothing: only operators that overflowed have files."""
    body = pair.graph.body
    return ((body is not None and body.options.get("ge.exec.enableDumpDebug") == "1")
            or _has_overflow([match.unit for match in pair.matches]))


def _has_overflow(units: Sequence[Unit]) -> bool:
    run = units[0].session.run
    return ((run is not None and bool(run.options.get("enable_dump_debug")))
            or any(fact.kind == "overflow" for unit in units
                   for folder in unit.folders for fact in set(folder.facts)))


# --- steps without files

def without_files(sessions: Sequence[Session]) -> List[Tuple[Session, DumpFolder]]:
    """Step folders without a dump file."""
    return [(session, folder) for session in sessions for folder in session.folders
            if folder.data_index is not None and not folder.count]


def tell_without(bare: Sequence[Tuple[Session, DumpFolder]], problems: Problems) -> None:
    """Tells those that are as empty as before, and whose process is gone."""
    for session, folder in bare:
        what = "step %d of %s" % (folder.data_index or 0, folder.model_name or "an unknown graph")
        if session.alive or _has_changed(folder):
            problems.add("still-growing", "%s has no file yet" % what, path=folder.path)
        else:
            problems.add("step-missing", "%s has a folder without any %sfile" % (
                what, "dump " if folder.names else ""), path=folder.path, hint=_HINT)


def _has_changed(folder: DumpFolder) -> bool:
    try:
        with os.scandir(folder.path) as entries:
            names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    except OSError:
        return False
    return bool(names.difference(folder.names))


# --- steps with fewer files than they must have

class _Lack:
    """A step that lacks files: `gone` has the operators, with how many files each."""

    def __init__(self, step: Execution, gone: Dict[str, int], exact: bool, doubt: bool,
                 name: str, pair: Optional[Paired]):
        self.step = step
        self.gone = gone
        self.exact = exact
        self.doubt = doubt
        self.name = name
        self.pair = pair


def check_steps(pairs: Sequence[Paired], unpaired: Sequence[Unit], problems: Problems,
                sleep: Callable[[float], None] = time.sleep) -> None:
    """Tells steps with fewer files than they must have.

    Args:
      pairs: graphs with their folders; each is compared with itself alone.
      unpaired: units without a graph; each is compared with itself alone.
      problems: are told.
      sleep: called with the seconds to wait before the second look.
    """
    lacks: List[_Lack] = []
    for pair in pairs:
        if not is_overflow(pair):
            aborted = [] if pair.section is None else pair.section.aborted
            name = pair.graph.name or pair.graph.file.path
            lacks += [one for one in _of_graph([match.unit for match in pair.matches],
                                               pair.graph.body, name, pair)
                      if one.step.data_index not in aborted or one.step.load]
    for unit in unpaired:
        if not _has_overflow([unit]):
            lacks += _of_graph([unit], None, unit.model_name or "an unknown graph", None)
    if any(not one.step.units[0].session.alive for one in lacks):
        sleep(LOOK_AGAIN)
    for one in lacks:
        _tell(one, problems)


def _tell(lack: _Lack, problems: Problems) -> None:
    step = lack.step
    count = sum(lack.gone.values())
    # Of a dynamic graph's parts show that whose other steps have the files.
    path = next((folder.path for folder, unit in zip(step.folders, step.units)
                 if not unit.operators.isdisjoint(lack.gone)), step.path)
    body = None if lack.pair is None else lack.pair.graph.body
    what = "step %d of %s lacks %d of its files, such as %s" % (
        step.data_index or 0, lack.name, count, some(frozenset(lack.gone), body))
    if step.units[0].session.alive or any(_has_changed(one) for one in step.folders):
        problems.add("still-growing", what, path=path,
                     hint="collect again when the training has ended")
        return
    ended = _has_ended(lack)
    problems.add(
        "step-partial", "%s: %s" % (
            what, "the emulator leaves them in every execution" if lack.exact
            else "other steps of this graph have them"),
        path=path, severity=ERROR if lack.exact or ended else WARNING,
        hint=_HINT if lack.exact or ended else "no journal tells that this execution ended")


def _has_ended(lack: _Lack) -> bool:
    """Whether the journal says so, without any doubt."""
    pair, index = lack.pair, lack.step.data_index
    if lack.doubt or pair is None or pair.section is None or index is None:
        return False
    if lack.step.load:
        return False  # the journal counted the first one
    run, section = pair.session.run, pair.section
    execution = section.executions.get(index)
    if run is None or (execution is not None and execution.in_doubt):
        return False
    if run.raised_at(section, index) is not None:
        return False
    return section.has_ended(index, run.over or (section.final and run.status != "failed"))


def _of_graph(units: Sequence[Unit], body: Optional[Body], name: str,
              pair: Optional[Paired]) -> List[_Lack]:
    """The steps of one graph that lack files."""
    steps = [one for one in executions_of(units) if one.data_index is not None
             and all(folder.count for folder in one.folders)]
    if not steps or (len(steps) == 1 and (body is None or not body.parts)):
        return []
    kinds = _count(steps)
    parts = [] if body is None else body.parts
    if len(kinds) == 1 and not parts:
        return []
    found = []
    relative = {} if len(kinds) == 1 else _relative(steps, body)
    sure = body is not None and not SWITCH_TYPES.intersection(body.types)
    for step in steps:
        exact = _lacking(step.counts, parts)
        gone = exact or relative.get(id(step), ({}, False))[0]
        if gone and sum(gone.values()) > step.nameless:
            found.append(_Lack(step, gone, bool(exact),
                               not sure or relative.get(id(step), ({}, False))[1], name, pair))
    return found


def _count(steps: Sequence[Execution]) -> List[Dict[str, int]]:
    """Counts the files of each operator in each step; returns the different counts.

    The names of neighbouring steps are mostly alike: those are counted once.
    """
    known: Dict[FrozenSet[Tuple[str, int]], Dict[str, int]] = {}
    facts: List[List[FileFact]] = []
    counts: Dict[str, int] = {}
    for step in steps:
        mine = [folder.facts for folder in step.folders]
        if mine != facts:
            counter: Counter[FileFact] = collections.Counter()
            for one in mine:
                counter.update(one)
            counts = {}
            for fact, number in counter.items():
                if fact[1] is not None and fact[0] in DUMP_KINDS:
                    counts[fact[1]] = counts.get(fact[1], 0) + number
            counts = known.setdefault(frozenset(counts.items()), counts)
            facts = mine
        step.counts = counts
    return list(known.values())


def _lacking(counts: Dict[str, int], parts: Sequence[EmulatedPart]) -> Dict[str, int]:
    """What the operators of an emulated graph left less than others of the same graph."""
    gone: Dict[str, int] = {}
    for part in parts:
        have = [counts.get(key, 0) for key in part.keys]
        runs = max(have + [1 if part.always else 0])
        if have and min(have) < runs:
            gone.update((key, runs - counts.get(key, 0)) for key in part.keys
                        if counts.get(key, 0) < runs)
    return gone


def _relative(steps: Sequence[Execution], body: Optional[Body]
              ) -> Dict[int, Tuple[Dict[str, int], bool]]:
    """id(step) -> (what it lacks, whether only steps of another load say so)."""
    found: Dict[int, Tuple[Dict[str, int], bool]] = {}
    loads: Dict[int, List[Execution]] = {}
    for step in steps:
        loads.setdefault(step.load, []).append(step)
    expected = {load: _usual(group, body) for load, group in loads.items()}
    sure = body is not None and not SWITCH_TYPES.intersection(body.types)
    for load, group in loads.items():
        others: Dict[str, int] = {}
        for other, usual in expected.items():
            # Loads without a common operator are parts of one execution.
            if other != load and body is not None and usual.keys() & expected[load].keys():
                others.update(usual)
        for step in group:
            gone = _less(step.counts, expected[load])
            if gone and not sure and not any(_is_within(step.counts, other.counts)
                                             for other in group):
                continue  # as where another branch ran
            if gone:
                found[id(step)] = (gone, False)
                continue
            gone = _less(step.counts, others)
            if gone and sure:
                found[id(step)] = (gone, True)
    return found


def _usual(steps: Sequence[Execution], body: Optional[Body]) -> Dict[str, int]:
    """How many files each operator leaves in an execution, by what most steps have.

    A folder into which two executions were written (indices may collide where the size
    of a loop on the device changes) counts as one execution.
    """
    numbers: Dict[str, Dict[int, int]] = {}
    kinds: Dict[int, List[Any]] = {}
    for step in steps:
        kinds.setdefault(id(step.counts), [step.counts, 0])[1] += 1
    for counts, weight in kinds.values():
        runs = min(counts.values()) if counts else 1
        for key, number in counts.items():
            if body is not None and (key not in body.keys or body.keys[key].conditional):
                continue
            seen = numbers.setdefault(key, {})
            seen[number // runs] = seen.get(number // runs, 0) + weight
    return {key: max(seen, key=lambda number: (seen[number], number))
            for key, seen in numbers.items()}


def _less(counts: Dict[str, int], usual: Dict[str, int]) -> Dict[str, int]:
    return {key: number - counts.get(key, 0) for key, number in usual.items()
            if counts.get(key, 0) < number}


def _is_within(counts: Dict[str, int], other: Dict[str, int]) -> bool:
    """Whether one step has all that the other has, and more."""
    return counts is not other and all(number <= other.get(key, 0)
                                       for key, number in counts.items())


def some(keys: FrozenSet[str], body: Optional[Body], count: int = 3) -> str:
    """The first `count` of some operators in alphabetic order, with commas between them.

    Args:
      keys: "type.name" as in dump file names.
      body: knows their names in the graph; without it the keys are shown.
      count: of operators.
    """
    return ", ".join(sorted(body.keys[key].name if body is not None and key in body.keys else key
                            for key in keys)[:count])
