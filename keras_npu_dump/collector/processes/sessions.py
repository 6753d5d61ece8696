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
from typing import Dict, List, Optional, Set, Tuple

from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.formats.names import sanitise
from keras_npu_dump.records.reading import RecordedRun

# Clocks of one machine, read by two programs, and times cut to seconds.
SLACK = 5.0
_QUARTER = 900


@dataclasses.dataclass
class Session:
    """All dump folders of one `{time}/{deviceid}`.

    `root` is the folder that holds the time folder: the dump path, or one of
    several below it, as where the dump paths of hosts were copied side by side.
    `run` is the run record of its process, None where none fits; `launch` numbers the
    launch it belongs to.
    """

    time: Optional[str]
    device: Optional[int]
    folders: List[DumpFolder]
    root: str = ""
    run: Optional[RecordedRun] = None
    run_evidence: Optional[str] = None
    launch: int = 0

    @property
    def rank(self) -> Optional[int]:
        """0 for a run without RANK_ID; None without a run record."""
        if self.run is None:
            return None
        return 0 if self.run.rank is None else self.run.rank

    @property
    def alive(self) -> bool:
        """Its process runs: files may be on their way."""
        return self.run is not None and self.run.process_alive

    @property
    def first_dump(self) -> Optional[float]:
        """Seconds since the epoch of the first dump file, by the device's clock."""
        times = [one.first_time for one in self.folders if one.first_time]
        return min(times) / 1e6 if times else None

    @property
    def last_dump(self) -> Optional[float]:
        """Seconds since the epoch of the last dump file, by the device's clock."""
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
        """`{time}/{deviceid}`, for messages."""
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


def group_sessions(folders: List[DumpFolder], dump_path: str) -> List[Session]:
    """Sessions in order of time and device.

    Args:
      folders: all dump folders of the tree.
      dump_path: the root of sessions whose folders have no time.
    """
    groups: Dict[Tuple[str, Optional[str], Optional[int]], Session] = {}
    for folder in folders:
        key = (folder.prefix, folder.time, folder.device)
        if key not in groups:
            groups[key] = Session(folder.time, folder.device, [], folder.root(dump_path))
        groups[key].folders.append(folder)
    return sorted(groups.values(), key=lambda one: (
        one.time or "", -1 if one.device is None else one.device, one.root))


def link_runs(sessions: List[Session], runs: List[RecordedRun]) -> None:
    """Gives each session the run record of its process, where one fits.

    A record is begun before its device is opened, so of several runs on one
    device the last session belongs to the run that began last, and so on back.

    Args:
      sessions: `run` and `run_evidence` of each are set where a run fits.
      runs: all run records; each belongs to one session at most.
    """
    taken = set()
    own_roots = {run.root for run in runs}
    for session in sorted(sessions, key=lambda one: -(local_seconds(one.time) or 0.0)):
        fits = [(fit, run) for fit, run in ((_fit(session, run, own_roots), run) for run in runs)
                if fit is not None and id(run) not in taken]
        if fits:
            fit, run = min(fits, key=lambda one: (one[0], one[1].run_id))
            taken.add(id(run))
            session.run = run
            session.run_evidence = "run record %s: same device, %s" % (
                run.run_id, ("session time within the run", "dump times within the run",
                             "no times to compare")[fit[0]])


def _fit(session: Session, run: RecordedRun,
         own_roots: Set[str]) -> Optional[Tuple[int, int, float]]:
    """A sort key, best first; None where the run cannot be the session's."""
    if None not in (session.device, run.device) and session.device != run.device:
        return None
    if run.root != session.root and session.root in own_roots:
        return None
    # A record without a device may be anybody's.
    differences = _differences(session, run) + (session.device is not None and run.device is None)
    started, ended = run.started, run.ended
    local = local_seconds(session.time)
    if started is None or (local is None and session.first_dump is None):
        return (2, differences, 0.0)
    if local is not None and run.utc_offset is not None:
        # Both times are cut to seconds: the record may seem one second later.
        level, begin = 0, local - run.utc_offset + 1.0
    elif session.first_dump is not None:
        level, begin = 1, session.first_dump + SLACK
    else:
        return (2, differences, 0.0)
    if begin < started or (ended is not None and begin > ended + 2 * SLACK):
        return None
    return (level, differences, -started)


def _differences(session: Session, run: RecordedRun) -> int:
    """How many of two things speak against the run: names, and numbers of folders."""
    names = {sanitise(one.graph_name) for one in run.sections if one.graph_name}
    models = {one.model_name for one in session.folders if one.model_name}
    strange = bool(names) and not any(
        model == name or model.startswith(name + "_") for model in models for name in names)
    there = {one.data_index for one in session.folders}
    return strange + (not all(one.indices_if(True) <= there or one.indices_if(False) <= there
                              for one in run.sections))
