"""Files that should be there and are not, or are there and should not be, or are broken."""
from __future__ import annotations

import os
import time
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.checks import missing_files
from keras_npu_dump.collector.pairing.match import Paired
from keras_npu_dump.collector.processes.sessions import Session
from keras_npu_dump.collector.rules.content import dump_options
from keras_npu_dump.collector.scan.folders import DUMP_KINDS, DumpFolder
from keras_npu_dump.collector.scan.headers import Content, SoundCheck, read_content
from keras_npu_dump.files.progress import Progress
from keras_npu_dump.records.problems import Problems
from keras_npu_dump.sizes import human_bytes

_LOW_DISK = 100 * 1000 ** 2  # bytes

# The file at a position of a folder, and what is wrong with it.
Fault = Tuple[Session, DumpFolder, int, Content]


def check_files(sessions: Sequence[Session], budget: Optional[int], problems: Problems,
                progress: Optional[Progress] = None,
                sleep: Callable[[float], None] = time.sleep) -> Set[str]:
    """Tells empty, truncated, foreign and unexplained files, and step folders without any.

    Args:
      sessions: whose folders are looked at.
      budget: how many files are opened at most, spread evenly; None opens all.
      problems: are told.
      progress: called as ("headers", files opened, files to open).
      sleep: called with the seconds to wait before the second look at what seems broken.

    Returns:
      The paths of the folders with empty or broken files, and of those without any.
    """
    faults: List[Fault] = []
    work: List[Tuple[Session, DumpFolder, List[int]]] = []
    for session in sessions:
        for folder in session.folders:
            work.append((session, folder, _look_at_names(session, folder, faults, problems)))
    total = sum(len(positions) for _, _, positions in work)
    step = 1 if budget is None or total <= budget else -(-total // max(budget, 1))
    opened = 0
    turn = 0
    check = SoundCheck()
    for session, folder, positions in work:
        # The stride runs on from folder to folder, so that of a repeated step
        # not always the same operators are looked at.
        chosen = positions[(-turn) % step::step]
        turn += len(positions)
        for position, content in check.faults(folder, chosen):
            faults.append((session, folder, position, content))
        opened += len(chosen)
        if progress is not None:
            progress("headers", opened, -(-total // step))
    if step > 1:
        problems.add("sampled", "of %d files %d were opened, every %d. of each folder" % (
            total, opened, step), hint="`keras-npu-dump collect --verify` opens all of them")
    bare = missing_files.without_files(sessions)
    _tell_faults(faults, problems, sleep, bool(bare))
    missing_files.tell_without(bare, problems)
    return {folder.path for _, folder, _, content in faults if content.fault != "foreign"}.union(
        folder.path for _, folder in bare)


def _look_at_names(session: Session, folder: DumpFolder, faults: List[Fault],
                   problems: Problems) -> List[int]:
    """Tells what names and sizes show; returns the positions worth opening."""
    positions = []
    foreign = []
    unmapped = set(folder.unmapped)
    for position, fact in enumerate(folder.facts):
        if fact.kind in DUMP_KINDS:
            if folder.sizes[position]:
                positions.append(position)
            else:
                faults.append((session, folder, position, Content([], [], None, "empty")))
        elif fact.kind == "foreign" or fact.kind == "graph":
            foreign.append(folder.names[position])
        elif fact.kind == "digits" and folder.names[position] in unmapped:
            _tell_unmapped(folder, position, problems)
    if foreign:
        problems.add("foreign-file", "%d files that are no dump, such as %s" % (
            len(foreign), foreign[0]), path=os.path.join(folder.path, foreign[0]))
    return positions


def _tell_unmapped(folder: DumpFolder, position: int, problems: Problems) -> None:
    content = read_content(folder, position)
    said = ("; its header names the operator %s" % content.op_name if content.op_name
            else "; statistics carry no operator name inside" if content.fault is None else "")
    problems.add("unmapped-name", "mapping.csv has no line for %s%s" % (
        folder.names[position], said), path=os.path.join(folder.path, folder.names[position]))


def _tell_faults(faults: List[Fault], problems: Problems, sleep: Callable[[float], None],
                 wait: bool) -> None:
    """Tells what the second look shows as well; files that grew are counted by folder.

    `wait`: take the second look later in any case, for the folders without files.
    """
    maybe = [one for one in faults if one[3].fault in ("empty", "truncated")]
    if wait or any(not one[0].alive for one in maybe):
        sleep(missing_files.LOOK_AGAIN)
    growing: Dict[str, int] = {}
    for session, folder, position, content in faults:
        name = folder.names[position]
        path = os.path.join(folder.path, name)
        if content.fault in ("empty", "truncated") and (
                session.alive or _size(path) != folder.sizes[position]):
            growing[folder.path] = growing.get(folder.path, 0) + 1
        elif content.fault == "empty":
            problems.add("empty-file", "%s is empty" % name, path=path,
                         hint="a full disk, or a process that was ended, leaves such files")
        elif content.fault == "truncated":
            problems.add("truncated-file", "%s is cut off: %s" % (name, content.reason), path=path)
        elif content.fault == "foreign":
            problems.add("foreign-file", "%s has the name of a dump file and is none: %s" % (
                name, content.reason), path=path)
        else:
            problems.add("unreadable", "cannot read %s: %s" % (name, content.reason), path=path)
    for path, count in growing.items():
        problems.add("still-growing", "%d files are still being written" % count, path=path,
                     hint="collect again when the training has ended")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def check_operators(pair: Paired, problems: Problems) -> None:
    """Tells operators that left no file in any step, and files without an operator.

    Args:
      pair: a graph with its folders. An overflow dump owes no files.
      problems: are told of `operator-missing` and `operator-foreign`.
    """
    body = pair.graph.body
    if body is None or missing_files.is_overflow(pair):
        return
    mode, layers = dump_options(pair.session, pair.graph)
    owed = body.owed(mode, layers)
    have: Set[str] = set()
    foreign: Dict[FrozenSet[str], List[str]] = {}
    steps = missing_files.executions_of([match.unit for match in pair.matches])
    for step in steps:
        operators = step.operators
        have |= operators
        extra = frozenset(key for key in operators if key not in body.keys)
        if extra:
            foreign.setdefault(extra, []).append(step.path)
    # Of an emulated dump more is known: `missing_files` tells it, as an error.
    gone = owed.difference(have, *[part.keys for part in body.parts])
    if gone and have and not pair.session.alive:
        problems.add("operator-missing", "%d of %d operators of %s left no file in %d steps, "
                     "such as %s" % (len(gone), len(owed), pair.graph.name, len(steps),
                                     missing_files.some(gone, body)), path=steps[0].path)
    for extra, places in foreign.items():
        problems.add("operator-foreign", "%d files are of operators that %s does not have, such "
                     "as %s" % (len(extra), pair.graph.name, ", ".join(sorted(extra)[:3])),
                     path=places[0])


def check_disk(dump_path: str, faulty: Set[str], problems: Problems) -> None:
    """Tells a disk with less than 100 MB free, or less than 1 GB where files are broken.

    Args:
      dump_path: a folder on that disk; one that cannot be asked is passed over.
      faulty: folders with empty or broken files.
      problems: are told of `disk-low`.
    """
    try:
        status = os.statvfs(dump_path)
    except OSError:
        return
    free = status.f_bavail * status.f_frsize
    if free < _LOW_DISK or (faulty and free < 10 * _LOW_DISK):
        problems.add("disk-low", "%s are free on the disk of %s" % (human_bytes(free), dump_path),
                     hint="a dump that runs out of disk leaves empty and cut off files")
