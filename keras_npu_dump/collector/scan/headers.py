"""What is inside the dump files: sound or broken, and of which dtypes and shapes."""
from __future__ import annotations

import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from keras_npu_dump.collector.graphs.body import Body, OpFact, Tensors
from keras_npu_dump.collector.scan.folders import DumpFolder
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import NotRegularError, open_regular
from keras_npu_dump.formats.dtypes import dtype_name
from keras_npu_dump.formats.stats.stats_file import parse_stats, read_bytes
from keras_npu_dump.formats.tensor.header import MAX_FILE, read_header
from keras_npu_dump.op_types.graph_parts import HANDLE_DTYPES

# Files of one unit that are opened to compare its shapes with a graph's.
SAMPLE = 8
# First bytes of a file that are read to compare its header with known ones.
_HEAD = 2048
_VERSION_AND_TIME = b"\x0a\x032.0\x10"
# Of 300 bytes each; a larger job starts over.
_MAX_SOUND = 1 << 16
_UNSAID = ("DT_UNDEFINED", "-", "UNKNOW")

class Content(NamedTuple):
    """A file's tensors, or what is wrong with it.

    Attributes:
      inputs, outputs: (dtype name, shape) of each tensor.
      op_name: as the header names the operator, None where it does not.
      fault: None, "empty", "truncated", "foreign" or "unreadable"; `reason` in words.
      size: bytes that the header says the file has.
    """

    inputs: Tensors
    outputs: Tensors
    op_name: Optional[str] = None
    fault: Optional[str] = None
    reason: Optional[str] = None
    size: Optional[int] = None


class HeaderCache:
    """Reads each file's header at most once per comparison; keeps what pairing asked for."""

    def __init__(self) -> None:
        self._kept: Dict[Tuple[str, str], Content] = {}

    def read(self, folder: DumpFolder, position: int) -> Content:
        """The content of the file at a position of a folder."""
        key = (folder.path, folder.names[position])
        if key not in self._kept:
            self._kept[key] = read_content(folder, position)
        return self._kept[key]

    def compare(self, folders: Sequence[DumpFolder], body: Body) -> Tuple[int, int]:
        """(files that agree with the graph, files that do not), of a sample.

        Args:
          folders: of one unit; the fullest is sampled.
          body: of the graph, whose dtypes and shapes are compared with the files'.
        """
        equal = other = 0
        for folder, position in _sample(folders, body):
            content = self.read(folder, position)
            key = folder.facts[position].key
            if content.fault is None and key is not None:
                verdict = agrees(content, body.keys[key])
                equal += verdict is True
                other += verdict is False
        return equal, other


def _sample(folders: Sequence[DumpFolder], body: Body) -> List[Tuple[DumpFolder, int]]:
    """Evenly spread files of operators that the graph has, of the fullest folder."""
    folder = max(folders, key=lambda one: len(one.names))
    known = [position for position, fact in enumerate(folder.facts)
             if fact.kind in ("dump", "stats") and fact.key in body.keys
             and body.keys[fact.key].described]
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
            if dtype in HANDLE_DTYPES or stated_dtype in HANDLE_DTYPES:
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
    except NotRegularError as error:
        return Content([], [], None, "foreign", error.reason)
    except FormatError as error:
        return Content([], [], None, fault_of(path), error.reason)
    except OSError as error:
        return Content([], [], None, "unreadable", error.strerror)
    return Content([(dtype_name(one.data_type), one.shape) for one in header.inputs],
                   [(dtype_name(one.data_type), one.shape) for one in header.outputs],
                   header.op_name or None, size=header.file_size)


class SoundCheck:
    """Looks whether dump files are whole, each different header read once.

    The headers of one operator in several executions differ in their time
    alone, as long as the device uses the same addresses: what is the same but
    for the time, and has the same number of bytes behind it, is as sound.
    """

    def __init__(self) -> None:
        self._sound: Set[Tuple[int, bytes]] = set()

    def faults(self, folder: DumpFolder, positions: Sequence[int]
               ) -> Iterator[Tuple[int, Content]]:
        """(position, content) of the files that are not sound."""
        try:
            handle = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            yield from ((position, Content([], [], None, "unreadable", error.strerror))
                        for position in positions)
            return
        try:
            for position in positions:
                key = None
                if folder.facts[position].kind != "stats":
                    key = _but_for_time(handle, folder.names[position], folder.sizes[position])
                    if key in self._sound:
                        continue
                content = read_content(folder, position)
                if content.fault is not None:
                    yield position, content
                elif key is not None and content.size == folder.sizes[position]:
                    if len(self._sound) >= _MAX_SOUND:
                        self._sound.clear()
                    self._sound.add(key)
        finally:
            os.close(handle)


def _but_for_time(handle: int, name: str, size: int) -> Optional[Tuple[int, bytes]]:
    """(bytes behind the header, header without version and dump_time), if it is of
    the form that devices write: u64 length, version "2.0", dump_time, the rest."""
    try:
        file, _ = open_regular(name, handle)
    except (FormatError, OSError):
        return None
    try:
        head = os.read(file, _HEAD)
    except OSError:
        return None
    finally:
        os.close(file)
    if head[8:14] != _VERSION_AND_TIME:
        return None
    length = int.from_bytes(head[:8], "little")
    end = 14
    while end < 24 and end < len(head) and head[end] & 0x80:
        end += 1
    if not end < length + 8 <= len(head) or size < length + 8:
        return None
    return size - length, head[end + 1:length + 8]


def _stats(path: str) -> Content:
    data = read_bytes(path)
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


def fault_of(path: str) -> str:
    """"empty", "truncated" or "foreign", by the size and the first bytes."""
    try:
        fd, size = open_regular(path)
        try:
            head = os.read(fd, 64)
        finally:
            os.close(fd)
    except (FormatError, OSError):
        return "unreadable"
    if not size:
        return "empty"
    if size > MAX_FILE:
        return "foreign"
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
