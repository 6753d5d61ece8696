"""A dump folder, and what the names of its files say."""
from __future__ import annotations

import array
import os
import re
import sys
from typing import Dict, FrozenSet, List, NamedTuple, Optional

from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.mapping import MAPPING, read_mapping, resolve
from keras_npu_dump.formats.names import classify, parse_dump_name
from keras_npu_dump.formats.tree import StepFolder
from keras_npu_dump.records.problems import Problems

# Of the names of one operator in many steps only the time differs; with the
# time blanked, 400,000 names are a few thousand different ones.
_STAMP = re.compile(r"\.([0-9]{16})(?=[.\0]|\Z)")
_BLANK = ".0000000000000000"
DUMP_KINDS = ("dump", "stats", "overflow")


class FileFact(NamedTuple):
    """What a file's name says: its kind, and "type.name" of its operator or None."""

    kind: str
    key: Optional[str]


class DumpFolder:
    """A folder of dump files, normally one data_index of one model.

    Attributes:
      path: absolute.
      time, device, model_name, model_id, data_index: as in the path, or None.
        `time` is the outermost of two time folders: that of the session.
      names, sizes, facts: of its files, in the order of their names.
      bytes: sum of the sizes.
      first_time, last_time: of the files' names, microseconds since the epoch.
      unmapped: names of digits that mapping.csv does not explain.
    """

    __slots__ = (
        "_operators",
        "bytes",
        "data_index",
        "device",
        "facts",
        "first_time",
        "last_time",
        "model_id",
        "model_name",
        "names",
        "path",
        "prefix",
        "sizes",
        "time",
        "unmapped",
    )

    def __init__(self, path: str, step: StepFolder, prefix: str, time: Optional[str]):
        self.path = path
        self.time = time
        self.prefix = prefix
        self.device = step.device
        self.model_name = step.model_name
        self.model_id = step.model_id
        self.data_index = step.data_index
        self.names: List[str] = []
        self.sizes = array.array("Q")
        self.facts: List[FileFact] = []
        self.bytes = 0
        self.first_time: Optional[int] = None
        self.last_time: Optional[int] = None
        self.unmapped: List[str] = []
        self._operators: Optional[FrozenSet[str]] = None

    def root(self, dump_path: str) -> str:
        """The folder that holds the time folder."""
        parts = [self.path]
        time = self.time
        while time is not None and os.path.basename(parts[-1]) != time:
            parts.append(os.path.dirname(parts[-1]))
            if parts[-1] == parts[-2]:
                return dump_path
        return dump_path if time is None else os.path.dirname(parts[-1])

    @property
    def operators(self) -> FrozenSet[str]:
        """The "type.name" of every operator that has a file here."""
        if self._operators is None:
            # Reading names is quick; 80 folders times 5,000 operators are not
            # kept twice: equal sets of neighbouring steps are shared by `scan`.
            self._operators = frozenset(
                fact.key for fact in set(self.facts)
                if fact.key is not None and fact.kind in ("dump", "stats"))
        return self._operators

    @property
    def kinds(self) -> Dict[str, int]:
        """How many files there are of each kind."""
        counts: Dict[str, int] = {}
        for fact in self.facts:
            counts[fact.kind] = counts.get(fact.kind, 0) + 1
        return dict(sorted(counts.items()))

    @property
    def count(self) -> int:
        """Dump files; mapping.csv and foreign files are none."""
        return sum(fact.kind in DUMP_KINDS or fact.kind == "digits" for fact in self.facts)


class Names:
    """Reads names, each different one once."""

    def __init__(self) -> None:
        self._known: Dict[str, FileFact] = {}

    def fill(self, folder: DumpFolder, names: List[str], sizes: "array.array[int]",
             problems: Problems) -> None:
        """Gives a folder its files, and what their names tell.

        Args:
          folder: its fields are set.
          names: of the files, in order.
          sizes: of each, bytes.
          problems: are told of a mapping.csv that cannot be read.
        """
        folder.names, folder.sizes, folder.bytes = names, sizes, sum(sizes)
        if not names:
            return
        joined = "\0".join(folder.names)
        known = self._known
        facts = []
        for stem in _STAMP.sub(_BLANK, joined).split("\0"):
            fact = known.get(stem)
            if fact is None:
                fact = known[stem] = _fact(stem)
            facts.append(fact)
        folder.facts = facts
        kinds = {fact.kind for fact in set(facts)}
        if "digits" in kinds:
            self._resolve(folder, problems)
        if not kinds.issubset(DUMP_KINDS):
            # Times in the names of foreign files are not the dump's.
            joined = "\0".join(name for name, fact in zip(folder.names, facts)
                               if fact.kind in DUMP_KINDS)
        stamps = _STAMP.findall(joined)
        if stamps:
            folder.first_time, folder.last_time = int(min(stamps)), int(max(stamps))

    def _resolve(self, folder: DumpFolder, problems: Problems) -> None:
        mapping: Dict[str, str] = {}
        try:
            mapping = read_mapping(folder.path)
        except (FormatError, OSError) as error:
            problems.unusable("the names of files,", error, os.path.join(folder.path, MAPPING))
        for position, fact in enumerate(folder.facts):
            if fact.kind != "digits":
                continue
            name = folder.names[position]
            resolved = _fact(resolve(name, mapping))
            if resolved.kind in DUMP_KINDS:
                folder.facts[position] = resolved
            else:
                folder.unmapped.append(name)


def _fact(name: str) -> FileFact:
    kind = classify(name)
    if kind not in DUMP_KINDS:
        return FileFact(kind, None)
    parsed = parse_dump_name(name)
    if parsed is None:
        return FileFact("foreign", None)
    return FileFact(kind, sys.intern("%s.%s" % (parsed.op_type, parsed.base_op_name)))
