"""Which operator each file of a dump folder belongs to, told by the files' names."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from keras_npu_dump.analysis.graph.operators import Operators
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.names import DumpName, parse_dump_name
from keras_npu_dump.formats.tensor.header import read_header
from keras_npu_dump.formats.tree import list_files

# The time in a name, the only part of it that differs from step to step.
_STAMP = re.compile(r"\.([0-9]{16})(?=\.csv(?:\0|\Z)|\0|\Z)")


class Times(Sequence[int]):
    """Times of files, read when asked: they matter where an operator has several files."""

    def __init__(self, texts: List[str]):
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: Any) -> Any:
        return int(self._texts[number])


class StepFiles(NamedTuple):
    """The dump files of one folder, told by their names.

    Attributes:
      names: as on disk. ops: position of the operator of each.
      stats: True for csv. times: microseconds of each, by the name.
      unreadable: why the folder could not be listed, or None; what in it is no file is
        told by `collect`.
    """

    names: List[str]
    ops: List[int]
    stats: List[bool]
    times: Sequence[int]
    unreadable: Optional[FormatError] = None


def _files_of(folder: str) -> List[str]:
    """Names of the files, in order, without what is no file."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if _is_file(entry))


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False  # a link that leads to itself


class FileNames:
    """Which operator a file belongs to; each different name is looked at once.

    Args:
      operators: of the graph; grows by what files know and the graph does not.
    """

    def __init__(self, operators: Operators):
        self._operators = operators
        self._known: Dict[str, Tuple[int, ...]] = {}
        # By the whole name with its time blanked: (position, csv), None where
        # it is no dump file or needs a closer look.
        self._plain: Dict[str, Optional[Tuple[int, bool]]] = {}

    def list(self, folder: str) -> StepFiles:
        """The dump and statistics files of a folder, in the order of their names.

        Args:
          folder: of an execution, absolute. Where it is gone, or cannot be read, there are
            no files, and `unreadable` says why.
        """
        try:
            listing = _files_of(folder)
            if any(name.isdigit() for name in listing) or "mapping.csv" in listing:
                return self._slowly(folder)
        except (OSError, ValueError) as error:  # ValueError: no name that a folder can have
            return StepFiles([], [], [], [], FormatError(
                folder, getattr(error, "strerror", None) or str(error)))
        return self._quickly(folder, listing)

    def _quickly(self, folder: str, listing: List[str]) -> StepFiles:
        joined = "\0".join(listing)
        stamps = _STAMP.findall(joined)
        stems = _STAMP.sub(".", joined).split("\0") if len(stamps) == len(listing) else None
        if stems is not None:
            found = list(map(self._plain.get, stems))
            if None not in found:
                # A step like the one before, and all of its names are plain.
                return StepFiles(listing, [one[0] for one in found if one is not None],
                                 [one[1] for one in found if one is not None], Times(stamps))
        return self._closely(folder, listing, stems)

    def _closely(self, folder: str, listing: List[str], stems: Optional[List[str]]
                 ) -> StepFiles:
        files = StepFiles([], [], [], [])
        times: List[int] = []
        unsure: List[Tuple[int, Tuple[int, ...]]] = []
        names = [parse_dump_name(name) for name in listing]
        self._meet(names)
        for number, (name, parsed) in enumerate(zip(listing, names)):
            if parsed is None or parsed.is_overflow:
                continue
            known = self._positions(parsed)
            if len(known) > 1:
                unsure.append((len(files.names), known))
            elif stems is not None:
                self._plain[stems[number]] = (known[0], parsed.csv)
            files.names.append(name)
            files.ops.append(known[0])
            files.stats.append(parsed.csv)
            times.append(parsed.timestamp)
        files = files._replace(times=times)
        return self._decide(folder, files, unsure) if unsure else files

    def _meet(self, names: Sequence[Optional[DumpName]]) -> None:
        """New operators in the order in which they ran: without a graph it is the only one."""
        new = [one for one in names if one is not None and not one.is_overflow
               and "%s.%s" % (one.op_type, one.op_name) not in self._known]
        for one in sorted(new, key=lambda one: one.timestamp):
            self._positions(one)

    def _slowly(self, folder: str) -> StepFiles:
        """With digits for long names, and links to them."""
        files = StepFiles([], [], [], [])
        unsure = []
        times: List[int] = []
        listed = [(file, file.dump) for file in list_files(folder)
                  if file.kind in ("dump", "stats") and file.dump is not None]
        self._meet([name for _, name in listed])
        for file, name in listed:
            known = self._positions(name)
            if len(known) > 1:
                unsure.append((len(files.names), known))
            files.names.append(file.name)
            files.ops.append(known[0])
            files.stats.append(file.kind == "stats")
            times.append(name.timestamp)
        files = files._replace(times=times)
        return self._decide(folder, files, unsure) if unsure else files

    def _positions(self, name: DumpName) -> Tuple[int, ...]:
        key = "%s.%s" % (name.op_type, name.op_name)
        if key not in self._known:
            found = tuple(self._operators.of_file(name.op_type, name.op_name))
            if not found:
                found = (self._operators.add_file(name.op_type, name.op_name),)
            self._known[key] = found
        return self._known[key]

    def _decide(self, folder: str, files: StepFiles,
                unsure: List[Tuple[int, Tuple[int, ...]]]) -> StepFiles:
        """Operators whose names became equal: a tensor file names its own inside;
        statistics are taken in the order in which they were written."""
        ops = list(files.ops)
        waiting: Dict[Tuple[int, ...], List[int]] = {}
        for number, candidates in unsure:
            if files.stats[number]:
                waiting.setdefault(candidates, []).append(number)
                continue
            try:
                header = read_header(os.path.join(folder, files.names[number]))
            except (FormatError, OSError):
                continue
            for position in candidates:
                if self._operators.names[position] == header.op_name:
                    ops[number] = position
        for candidates, numbers in waiting.items():
            numbers.sort(key=lambda number: files.times[number])
            turns = max(1, len(numbers) // len(candidates))
            for place, number in enumerate(numbers):
                ops[number] = candidates[min(place // turns, len(candidates) - 1)]
        return files._replace(ops=ops)

