"""Which operator each file of a dump folder belongs to, told by the files' names."""
from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple

from keras_npu_dump.analysis.operators import Operators
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.header import read_header
from keras_npu_dump.formats.names import DumpName, parse_dump_name
from keras_npu_dump.formats.tree import list_files


class StepFiles(NamedTuple):
    """The dump files of one folder, told by their names.

    Attributes:
      names: as on disk. ops: position of the operator of each.
      stats: True for csv. times: microseconds of each, by the name.
    """

    names: List[str]
    ops: List[int]
    stats: List[bool]
    times: List[int]


class FileNames:
    """Which operator a file belongs to; each different name is looked at once.

    Args:
      operators: of the graph; grows by what files know and the graph does not.
    """

    def __init__(self, operators: Operators):
        self._operators = operators
        self._known: Dict[str, Tuple[int, ...]] = {}

    def list(self, folder: str) -> StepFiles:
        """The dump and statistics files of a folder, in the order of their names.

        Raises:
          OSError: the folder cannot be read.
        """
        listing = sorted(os.listdir(folder))
        if any(name.isdigit() for name in listing) or "mapping.csv" in listing:
            return self._slowly(folder)
        self._meet(listing)
        files = StepFiles([], [], [], [])
        unsure: List[Tuple[int, Tuple[int, ...]]] = []
        for name in listing:
            known = self._known.get(_stem(name))
            csv = name.endswith(".csv")
            if known is None or name.count(".") != 4 + csv:
                parsed = parse_dump_name(name)
                if parsed is None or parsed.is_overflow:
                    continue
                known = self._positions(parsed)
                time = parsed.timestamp
            else:
                text = name[-20:-4] if csv else name[-16:]
                if not text.isdigit():
                    # Converted files (.npy) carry their dump's name.
                    parsed = parse_dump_name(name)
                    if parsed is None:
                        continue
                    time = parsed.timestamp
                else:
                    time = int(text)
            if len(known) > 1:
                unsure.append((len(files.names), known))
            files.names.append(name)
            files.ops.append(known[0])
            files.stats.append(csv)
            files.times.append(time)
        return self._decide(folder, files, unsure) if unsure else files

    def _meet(self, listing: List[str]) -> None:
        """New operators in the order in which they ran: without a graph it is the only one."""
        new = [parse_dump_name(name) for name in listing if _stem(name) not in self._known]
        for parsed in sorted((one for one in new if one is not None and not one.is_overflow),
                             key=lambda one: one.timestamp):
            self._positions(parsed)

    def _slowly(self, folder: str) -> StepFiles:
        """With digits for long names, and links to them."""
        files = StepFiles([], [], [], [])
        unsure = []
        listed = [(file, file.dump) for file in list_files(folder)
                  if file.kind in ("dump", "stats") and file.dump is not None]
        self._meet([file.full_name for file, _ in listed])
        for file, name in listed:
            known = self._positions(name)
            if len(known) > 1:
                unsure.append((len(files.names), known))
            files.names.append(file.name)
            files.ops.append(known[0])
            files.stats.append(file.kind == "stats")
            files.times.append(name.timestamp)
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


def _stem(name: str) -> str:
    """"type.name" of a dump file's name."""
    return name[:name.find(".", name.find(".") + 1)]
