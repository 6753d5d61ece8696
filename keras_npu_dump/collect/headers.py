"""What is inside the dump files: sound or broken, and of which dtypes and shapes."""
from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.collect.build_graph import HANDLES, Body, OpFact
from keras_npu_dump.collect.scan import DumpFolder
from keras_npu_dump.errors import FormatError
from keras_npu_dump.formats.dtypes import dtype_name
from keras_npu_dump.formats.header import read_header
from keras_npu_dump.formats.stats import parse_stats

# Files of one unit that are opened to compare its shapes with a graph's.
SAMPLE = 8
_MAX_STATS = 64 << 20
_UNSAID = ("DT_UNDEFINED", "-", "UNKNOW")

Tensors = List[Tuple[str, Tuple[int, ...]]]


class Content(NamedTuple):
    """A file's tensors, or what is wrong with it ("empty", "truncated", "foreign")."""

    inputs: Tensors
    outputs: Tensors
    op_name: Optional[str] = None
    fault: Optional[str] = None
    reason: Optional[str] = None


class HeaderCache:
    """Reads each file's header at most once per comparison; keeps what pairing asked for."""

    def __init__(self) -> None:
        self._kept: Dict[Tuple[str, str], Content] = {}

    def read(self, folder: DumpFolder, position: int) -> Content:
        key = (folder.path, folder.names[position])
        if key not in self._kept:
            self._kept[key] = read_content(folder, position)
        return self._kept[key]

    def compare(self, unit: Any, body: Body) -> Tuple[int, int]:
        """(files that agree with the graph, files that do not), of a sample."""
        equal = other = 0
        for folder, position in _sample(unit, body):
            content = self.read(folder, position)
            key = folder.facts[position].key
            if content.fault is None and key is not None:
                verdict = agrees(content, body.keys[key])
                equal += verdict is True
                other += verdict is False
        return equal, other


def _sample(unit: Any, body: Body) -> List[Tuple[DumpFolder, int]]:
    """Evenly spread files of operators that the graph has, of the fullest folder."""
    folder = max(unit.folders, key=lambda one: len(one.names))
    known = [position for position, fact in enumerate(folder.facts)
             if fact.kind in ("dump", "stats") and fact.key in body.keys]
    stride = max(1, len(known) // SAMPLE)
    return [(folder, position) for position in known[::stride][:SAMPLE]]


def agrees(content: Content, op: OpFact) -> Optional[bool]:
    """Whether a file's tensors can be those of the operator; None if nothing compares."""
    compared = False
    for found, stated in ((content.inputs, op.inputs), (content.outputs, op.outputs)):
        # A file has inputs, outputs or both; some versions leave out
        # unconnected inputs, so that only equal numbers can be lined up.
        if not found or len(found) != len(stated):
            continue
        for (dtype, shape), (stated_dtype, stated_shape) in zip(found, stated):
            if dtype in HANDLES or stated_dtype in HANDLES:
                continue  # a handle on one side is the variable itself on the other
            if stated_dtype not in ("DT_UNDEFINED", dtype) and dtype not in _UNSAID:
                return False
            if not _shapes_fit(shape, stated_shape):
                return False
            compared = True
    return True if compared else None


def _shapes_fit(shape: Tuple[int, ...], stated: Tuple[int, ...]) -> bool:
    if -2 in stated or -2 in shape:
        return True
    if len(shape) != len(stated):
        # A scalar is written as () by one side and as (1,) by the other.
        return sorted((tuple(shape), tuple(stated))) == [(), (1,)]
    return all(want < 0 or have == want for have, want in zip(shape, stated))


def read_content(folder: DumpFolder, position: int) -> Content:
    """Opens one dump or statistics file. Errors come back as `fault`."""
    name = folder.names[position]
    path = os.path.join(folder.path, name)
    try:
        if folder.facts[position].kind == "stats":
            return _stats(path)
        header = read_header(path)
    except FormatError as error:
        return Content([], [], None, fault_of(path, error), error.reason)
    except OSError as error:
        return Content([], [], None, "unreadable", error.strerror)
    return Content([(dtype_name(one.data_type), one.shape) for one in header.inputs],
                   [(dtype_name(one.data_type), one.shape) for one in header.outputs],
                   header.op_name or None)


def _stats(path: str) -> Content:
    with open(path, "rb") as stream:
        data = stream.read(_MAX_STATS)
    inputs: Tensors = []
    outputs: Tensors = []
    rows = parse_stats(data, path)
    if not data.endswith(b"\n"):
        # Cells may be complete to the eye; every row is written with its line end.
        raise FormatError(path, "the last row is cut off", len(data))
    for row in rows:
        shape = (-2,) if row["shape"] is None else row["shape"]
        (inputs if row["io"] == "Input" else outputs).append((row["data_type"], shape))
    return Content(inputs, outputs)


def fault_of(path: str, error: FormatError) -> str:
    """"empty", "truncated" or "foreign", by the size and the first bytes."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(64)
            size = os.fstat(stream.fileno()).st_size
    except OSError:
        return "unreadable"
    if not size:
        return "empty"
    if head.startswith(b"Input/Output,"[:len(head)]):
        return "truncated"
    length = int.from_bytes(head[:8], "little")
    # A header is a few hundred bytes and begins with field 1, version "2.0":
    # what begins like one and does not end like one was cut off.
    if len(head) < 8:
        return "truncated"
    if 0 < length < 1 << 26 and head[8:13] == b"\x0a\x032.0"[:len(head) - 8]:
        return "truncated"
    return "foreign"
