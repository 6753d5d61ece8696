"""How a tensor becomes a file (`Form`), and what an export did (`ExportResult`)."""
from __future__ import annotations

import dataclasses
from typing import Callable, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

# Layout in the framework of (op_name, "input" or "output", index).
OriginFormats = Mapping[Tuple[str, str, int], str]


@dataclasses.dataclass
class ExportResult:
    """What an export did.

    Attributes:
      files: dump files that were read.
      written, bytes: files written and their size.
      skipped: files that were there already, complete.
      passed: files below the path that hold no tensors (statistics, foreign).
      raw: tensors written as bytes, because their type has no documented
        values: (source, "output:0", "DT_STRING").
      kept_layout: tensors left in the device's layout: (source, "output:0",
        why).
      problems: (path, reason) of files that could not be read.
    """
    files: int = 0
    written: int = 0
    bytes: int = 0
    skipped: int = 0
    passed: int = 0
    raw: List[Tuple[str, str, str]] = dataclasses.field(default_factory=list)
    kept_layout: List[Tuple[str, str, str]] = dataclasses.field(
        default_factory=list)
    problems: List[Tuple[str, str]] = dataclasses.field(default_factory=list)


class Form(NamedTuple):
    """How a tensor becomes a file.

    Attributes:
      name: (base, kind, index, shape, dtype, layout) -> file name.
      head: (dtype, shape) -> bytes in front of the values.
      suffix: of the file name.
    """
    name: Callable[[str, str, int, Sequence[int], np.dtype, str], str]
    head: Callable[[np.dtype, Sequence[int]], bytes]
    suffix: str
