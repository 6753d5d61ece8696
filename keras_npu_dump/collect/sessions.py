"""Sessions, and the processes they belong to.

A session is one `{time}/{deviceid}` of the dump tree. GE names the time folder
when its session starts, during `npu_device.open()`, once for each process
(GE dump_properties.cc, inner_session.cc), in the process's local time. Ranks
that start in the same second share the time folder and differ in the device;
containers that share a path may even share both numbers.
"""
from __future__ import annotations

import calendar
import dataclasses
import re
from typing import Dict, List, Optional

from keras_npu_dump.collect.records import Run
from keras_npu_dump.collect.scan import DumpFolder

# Clocks of one machine, read by two programs, and times cut to seconds.
SLACK = 5.0
_QUARTER = 900


@dataclasses.dataclass
class Session:
    """All dump folders of one `{time}/{deviceid}`."""

    time: Optional[str]
    device: Optional[int]
    folders: List[DumpFolder]
    run: Optional[Run] = None
    run_evidence: Optional[str] = None
    launch: int = 0

    @property
    def rank(self) -> Optional[int]:
        if self.run is None:
            return None
        return 0 if self.run.rank is None else self.run.rank

    @property
    def first_dump(self) -> Optional[float]:
        """Seconds since the epoch of the first dump file, by the device's clock."""
        times = [one.first_time for one in self.folders if one.first_time]
        return min(times) / 1e6 if times else None

    @property
    def last_dump(self) -> Optional[float]:
        times = [one.last_time for one in self.folders if one.last_time]
        return max(times) / 1e6 if times else None

    @property
    def start(self) -> Optional[float]:
        """Seconds since the epoch when the session began, None if unknown.

        The folder's name is local time of an unknown zone. The run record
        knows the zone; without one the first dump file, which carries a time
        since the epoch and came soon after, tells it to a quarter of an hour.
        """
        local = local_seconds(self.time)
        if local is None:
            return None
        if self.run is not None and self.run.utc_offset is not None:
            return local - self.run.utc_offset
        first = self.first_dump
        if first is None:
            return None
        # The latest start that is not after the first dump, over all zones.
        quarters = -((first - local) // -_QUARTER)
        start = local + quarters * _QUARTER
        return start - _QUARTER if start > first + SLACK else start

    @property
    def label(self) -> str:
        return "%s/%s" % (self.time or "?", "?" if self.device is None else self.device)


def local_seconds(time: Optional[str]) -> Optional[float]:
    """`YYYYMMDDHHMMSS` as if it were UTC; None where it is no time."""
    match = re.match(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$", time or "")
    if not match:
        return None
    try:
        return float(calendar.timegm(tuple(int(part) for part in match.groups())))
    except (ValueError, OverflowError):
        return None


def group_sessions(folders: List[DumpFolder]) -> List[Session]:
    """Folders by (time, device), in order of time and device."""
    groups = {}  # type: Dict[object, Session]
    for folder in folders:
        key = (folder.time, folder.device)
        if key not in groups:
            groups[key] = Session(folder.time, folder.device, [])
        groups[key].folders.append(folder)
    return sorted(groups.values(), key=lambda one: (
        one.time or "", -1 if one.device is None else one.device))


def link_runs(sessions: List[Session], runs: List[Run]) -> None:
    """Gives each session the run record of its process, where one fits."""
    fits = []
    for position, session in enumerate(sessions):
        for run in runs:
            fit = _fit(session, run)
            if fit is not None:
                fits.append((fit, position, session, run))
    taken = set()
    for fit, _, session, run in sorted(fits, key=lambda one: (one[0], one[1], one[3].run_id)):
        if session.run is None and id(run) not in taken:
            session.run = run
            session.run_evidence = "run record %s: same device, %s" % (
                run.run_id, "session time within the run" if fit[0] < 2
                else "no times to compare")
            taken.add(id(run))


def _fit(session: Session, run: Run):
    """A sort key, best first; None where the run cannot be the session's."""
    if None not in (session.device, run.device) and session.device != run.device:
        return None
    started = run.started
    local = local_seconds(session.time)
    ended = run.ended
    agreement = _index_agreement(session, run)
    if started is None:
        return (2, 0.0, agreement)
    candidates = []
    if local is not None and run.utc_offset is not None:
        candidates.append((0, local - run.utc_offset))
    elif session.first_dump is not None:
        candidates.append((1, session.first_dump))
    elif local is None:
        return (2, 0.0, agreement)
    for level, start in candidates:
        if start >= started - SLACK and (ended is None or start <= ended + SLACK):
            return (level, agreement, abs(start - started))
    return None


def _index_agreement(session: Session, run: Run) -> int:
    """0 if the folders have what the journal says was dumped, 1 if not."""
    journal = {index for section in run.sections for index in section.executions}
    return 0 if journal <= {one.data_index for one in session.folders} else 1
