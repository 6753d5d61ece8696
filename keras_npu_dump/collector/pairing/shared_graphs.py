"""Graphs that several units lay claim to: equal builds, and files of shared folders."""
from __future__ import annotations

import os
from typing import Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.build_graph import BuildGraph
from keras_npu_dump.collector.pairing.loads import begin_of, loads_of
from keras_npu_dump.collector.pairing.match import Match
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.evidence import Unit


def share_out(matches: Sequence[Match]) -> None:
    """Gives several units that equal graphs are open to one graph each, in order.

    GE numbers graph files as it builds graphs, so the unit that was dumped first most likely
    wrote the first of them. Parts of one load of a graph have one file.

    Args:
      matches: of all units; their graphs, rivals, confidence and evidence are changed.
    """
    groups: Dict[Tuple[str, ...], List[Match]] = {}
    for match in matches:
        if len(match.tied) > 1:
            names = tuple(sorted(one.file.path for one in match.tied))
            groups.setdefault(names, []).append(match)
    for members in groups.values():
        graphs = sorted(members[0].tied, key=lambda one: (one.file.name.index, one.file.path))
        members.sort(key=_order)
        positions, count = _positions(members, graphs)
        rebuilt = _is_rebuild(members, graphs, count)
        for match, position in zip(members, positions):
            chosen = graphs[min(position, len(graphs) - 1)]
            match.graph = chosen
            if rebuilt:
                match.rivals, match.confidence = [], rebuilt
                match.evidence[-1] = "built again: load %d of %s, and file %d of that name" % (
                    position + 1, match.unit.model_name, position + 1)
                continue
            match.rivals = [one for one in graphs if one is not chosen] + [
                one for one in match.rivals if one not in graphs]
            match.evidence.append("chosen by order: graph files count up, and so do the times of"
                                  " dump files")


def _positions(members: Sequence[Match], graphs: Sequence[BuildGraph]) -> Tuple[List[int], int]:
    """For each unit the number of its graph, and how many there would have to be.

    Several ids of one model name are one graph that was loaded again, unless there are graphs
    enough for each load.
    """
    loads = [(id(one.unit.session), one.unit.model_name, 0) for one in members]
    if _are_builds(graphs) or len(set(loads)) < len(graphs):
        numbers = _loads(members)
        loads = [(id(one.unit.session), "" if _are_builds(graphs) else one.unit.model_name, load)
                 for one, load in zip(members, numbers)]
    places = list(dict.fromkeys(loads))
    return [places.index(one) for one in loads], len(places)


def _loads(members: Sequence[Match]) -> List[int]:
    """How often its graph had been loaded before each unit was, among those of its session."""
    sessions: Dict[int, List[Unit]] = {}
    for one in members:
        sessions.setdefault(id(one.unit.session), []).append(one.unit)
    known = {key: loads_of([folder for unit in units for folder in unit.folders])
             for key, units in sessions.items()}
    return [known[id(one.unit.session)][one.unit.model_name, one.unit.model_id]
            for one in members]


def _are_builds(graphs: Sequence[BuildGraph]) -> bool:
    """Whether the files are of one name and in one folder: one graph, built more than once."""
    return (len({one.name for one in graphs}) == 1
            and len({os.path.dirname(one.file.path) for one in graphs}) == 1)


def _is_rebuild(members: Sequence[Match], graphs: Sequence[BuildGraph], count: int
                ) -> Optional[str]:
    """The confidence, if these are the builds and loads of one graph of one process:
    as many files of one name in one folder as loads."""
    if (not _are_builds(graphs) or len({id(one.unit.session) for one in members}) > 1
            or count != len(graphs) or any(set(one.rivals) - set(graphs) for one in members)):
        return None
    levels = {one.level for one in members}
    return None if len(levels) != 1 else {3: "exact", 2: "id", 1: "id"}.get(levels.pop())


def _order(match: Match) -> Tuple[str, int, int]:
    unit = match.unit
    return (unit.session.time or "", unit.session.device or 0, begin_of(unit.folders))


def tell_shared(matches: Sequence[Match]) -> None:
    """Notes graph files that several sessions claim.

    A graph file is one process's. Those sessions shared a folder and overwrote each
    other's file, or it is another process's: without a name that is no more than a guess.

    Args:
      matches: of all units; their evidence and confidence are changed.
    """
    claims: Dict[int, Dict[int, Session]] = {}
    for match in matches:
        if match.graph is not None:
            claims.setdefault(id(match.graph), {})[id(match.unit.session)] = match.unit.session
    for match in matches:
        others = [one for one in claims.get(id(match.graph), {}).values()
                  if one is not match.unit.session]
        if others:
            match.evidence.append("the same file also fits %s: processes that share a graph "
                                  "folder overwrite each other's files" % ", ".join(
                                      one.label for one in others[:3]))
            if match.confidence == "content":
                match.confidence = "guess"
