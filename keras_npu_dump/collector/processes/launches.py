"""Launches: which sessions and processes were started together, and when.

A folder may hold the dumps of several days. Each launch is kept apart, and the
last one is the job that the manifest's `training` speaks of.
"""
from __future__ import annotations

import dataclasses
import time
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.processes.sessions import SLACK, Session, local_seconds
from keras_npu_dump.records.reading import RecordedRun

# Ranks of one launch open their devices within this many seconds.
GAP = 300.0
# Zones reach from 12 hours behind UTC to 14 ahead: a folder's local time says
# no more than this without a run record.
_AHEAD = 14 * 3600.0


@dataclasses.dataclass
class Launch:
    """Processes that were started together.

    Attributes:
      number: from 0, in order of time.
      sessions, runs: of the launch; a process may have left only one of the two.
      begin: seconds of the first process, by whatever clock is known, to order launches.
      start: seconds since the epoch of the first process, None where only the order is
        known, not the zone.
      last_dump: seconds since the epoch of the last dump file, None without any.
    """

    number: int
    sessions: List[Session]
    runs: List[RecordedRun]
    begin: float
    start: Optional[float]
    last_dump: Optional[float]


class Launches:
    """All launches of a tree, in order of time."""

    def __init__(self, launches: List[Launch]):
        self.launches = launches

    @property
    def last(self) -> Optional[Launch]:
        """The launch that is checked; None where nothing ran."""
        return self.launches[-1] if self.launches else None

    def of(self, mtime: float) -> Optional[int]:
        """Number of the launch in which a file of that time was written.

        -1 is before all of them. None where the time says nothing: after the
        last dump of all, as after a copy that does not keep times.
        """
        if not self.launches:
            return None
        ends = [one.last_dump for one in self.launches if one.last_dump is not None]
        if ends and mtime > max(ends) + SLACK and not self._open(mtime):
            return None
        number = -1
        for position, launch in enumerate(self.launches):
            if mtime >= self._boundary(position):
                number = launch.number
        if number == -1 and self.launches[0].start is None and not self._surely_older(mtime):
            return None
        return number

    def _open(self, mtime: float) -> bool:
        """The last launch has left no dump, and was not over at that time."""
        last = self.launches[-1]
        over = [run.ended for run in last.runs if run.ended is not None]
        return last.last_dump is None and not (
            over and len(over) == len(last.runs) and mtime > max(over) + SLACK)

    def _boundary(self, position: int) -> float:
        launch = self.launches[position]
        if launch.start is not None:
            return launch.start - SLACK
        before = self.launches[position - 1].last_dump if position else None
        if before is not None:
            return before + SLACK
        return launch.begin - _AHEAD

    def _surely_older(self, mtime: float) -> bool:
        return mtime < self.launches[0].begin - _AHEAD


def find_launches(sessions: Sequence[Session], runs: Sequence[RecordedRun]) -> Launches:
    """Groups sessions and runs into launches and numbers the sessions.

    One launch is the processes that were started together: their devices or
    ranks differ, and they began close to each other or ran at the same time.
    A process that left no dump counts too: it may be the last one.

    Args:
      sessions: linked to their runs; `launch` of each is set.
      runs: all run records.
    """
    launches: List[Launch] = []
    present: Set[Tuple[str, Optional[int]]] = set()
    end = begun = 0.0
    for begin, last, who, session, run in _members(sessions, runs):
        apart = begin > begun + GAP and begin > end
        # The same device again is the next launch, unless both ran at the
        # same time: then it is another container.
        again = who in present and begin > end
        if not launches or apart or again:
            launches.append(Launch(len(launches), [], [], begin, None, None))
            end, present = last, set()
        launch = launches[-1]
        begun, end = begin, max(end, last)
        present.add(who)
        if run is not None:
            launch.runs.append(run)
        if session is not None:
            session.launch = launch.number
            launch.sessions.append(session)
            dumped = session.last_dump
            if dumped is not None:
                launch.last_dump = max(dumped, launch.last_dump or dumped)
        start = _exact_start(session, run)
        if start is not None:
            launch.start = start if launch.start is None else min(start, launch.start)
    return Launches(launches)


class _Member(NamedTuple):
    """A process: by its session, its run, or both. Times are seconds; `who` is its rank,
    or without one its device."""

    begin: float
    last: float
    who: Tuple[str, Optional[int]]
    session: Optional[Session]
    run: Optional[RecordedRun]


def _members(sessions: Sequence[Session], runs: Sequence[RecordedRun]) -> List[_Member]:
    """All processes, in order of time."""
    members: List[_Member] = []
    for session in sessions:
        run = session.run
        begin = run.started if run is not None else None
        if begin is None:
            begin = session.start
        if begin is None:
            begin = local_seconds(session.time) or 0.0
        last = max(session.last_dump or begin, _end(run) if run is not None else begin)
        members.append(_Member(begin, last, _who(session.rank, session.device), session, run))
    linked = {id(session.run) for session in sessions}
    for run in runs:
        if id(run) not in linked:
            begin = run.started or 0.0
            members.append(_Member(begin, max(begin, _end(run)), _who(run.rank, run.device),
                                   None, run))
    return sorted(members, key=lambda one: (one.begin, str(one.who)))


def _end(run: RecordedRun) -> float:
    if run.ended is not None:
        return run.ended
    return time.time() if run.alive else 0.0


def _exact_start(session: Optional[Session], run: Optional[RecordedRun]) -> Optional[float]:
    """When the process may first have written a graph, by a clock with a zone."""
    if run is None:
        return None
    if run.started is not None:
        return run.started
    return session.start if session is not None and run.utc_offset is not None else None


def _who(rank: Optional[int], device: Optional[int]) -> Tuple[str, Optional[int]]:
    return ("rank", rank) if rank is not None else ("device", device)
