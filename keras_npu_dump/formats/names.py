"""File names of a dump: what they say, and how they are made.

    A  <op_type>.<op_name>.<task_id>.<stream_id>.<timestamp>
    B  A.<task_type>.<context_id>.<thread_id>.<device_id>     Atlas A2, FFTS+
    C  <op_type>.<op_name>.<task_id>.<timestamp>              very old
    D  <op_type>.<op_name>.<dump_number>.<task_id>.<stream_id>.<timestamp>
       D.FFTSPLUS.<context_id>.<thread_id>.<device_id>       newest runtime

and `.csv` behind A, B or D for statistics (runtime `dump_task.cpp`; D: adump
`dump_stream_info.cpp`; msaccucmp `reg_manager.py` knows C). Exception dumps have the
host's local time, 17 digits down to the millisecond, in the last place (adump
`dump_args_callback.cpp`, `dump_operator.cpp`): they are no data dumps.

Type and name are sanitised; what a name really was stands in the header of a tensor
dump. Names too long for the file system become digits, see `mapping.py`.
"""
from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

_SANITISE = str.maketrans(" ./\\", "____")

_MAX_DIGITS = 20  # of a 64-bit number
_TIME_DIGITS = 16  # of microseconds since 1970, from 2001 to 2286
# YYYYMMDDhhmmssmmm. As microseconds since 1970 it would be of the year 2600 or later.
_LOCAL_TIME = re.compile(
    r"20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][0-9]{3}")
_FFTSPLUS = "FFTSPLUS"  # in form D; in form B it is the number 4
FFTS_PLUS = 4  # task type, from the Atlas A2 on

_SLICE = re.compile(r"_lxslice([0-9]+)$")
_SGT_GRAPH = re.compile(r"^.*sgt_graph_([0-9]+)_", re.DOTALL)


_new = tuple.__new__


class DumpName(NamedTuple):
    """What the name of a dump file says.

    Attributes:
      op_type, op_name: sanitised; op_name is "" in rare old files without it.
      task_id, stream_id: None where absent. In form B the vendor's document
        puts the stream first and the vendor's code the task: the numbers are
        read in the code's order and `order_uncertain` is True. Form D has one order.
      timestamp: microseconds since 1970 by the device's clock.
      task_type: of form B (4 is FFTS+), with context_id, thread_id and
        device_id; 65535 is "none".
      csv: True for statistics.
      dump_number: of form D, which counts the dumps of an operator.
    """
    op_type: str
    op_name: str
    task_id: Optional[int] = None
    stream_id: Optional[int] = None
    timestamp: int = 0
    task_type: Optional[int] = None
    context_id: Optional[int] = None
    thread_id: Optional[int] = None
    device_id: Optional[int] = None
    csv: bool = False
    order_uncertain: bool = False
    dump_number: Optional[int] = None

    @property
    def is_overflow(self) -> bool:
        """Whether this is the record of an overflow (Opdebug)."""
        return self.op_type == "Opdebug"

    @property
    def slice(self) -> Optional[int]:
        """N of `_lxslice<N>`: the file holds one slice of a manual split."""
        match = _SLICE.search(self.op_name)
        return int(match.group(1)) if match else None

    @property
    def sgt_graph(self) -> Optional[int]:
        """N of `sgt_graph_<N>_`: the operator was in an FFTS+ sub-graph."""
        match = _SGT_GRAPH.match(self.op_name)
        return int(match.group(1)) if match else None

    @property
    def base_op_name(self) -> str:
        """op_name without FFTS+ prefix and slice (as msaccucmp `dump.py`)."""
        return _SLICE.sub("", _SGT_GRAPH.sub("", self.op_name, count=1))


def sanitise(name: str) -> str:
    """A type, operator or model name as it stands in paths.

    Exactly blank, '.', '/' and backslash become '_' (runtime `dump_task.h`), so
    different names can become equal.

    Args:
      name: as in the graph.
    """
    return name.translate(_SANITISE)


def parse_dump_name(file_name: str) -> Optional[DumpName]:
    """Reads a dump file's name.

    Args:
      file_name: without its folder.

    Returns:
      DumpName; None for a name of none of the four forms, of an exception dump, and
      for digits that stand for a long name (`mapping.py` resolves those). Numbers of
      more than 20 digits are none.
    """
    parts = file_name.split(".")
    csv = parts[-1] == "csv"
    if csv:
        del parts[-1]
    count = len(parts)
    if count == 5 and file_name.isascii():
        # Form A, which nearly every file of nearly every dump has, without
        # any call that can be saved: there are hundreds of thousands.
        op_type, op_name, task, stream, time = parts
        if task.isdigit() and stream.isdigit() and time.isdigit() \
                and op_type and op_type != "exception_info" \
                and len(task) < 21 > len(stream) and len(time) < 21 \
                and (len(time) == 16 or not _LOCAL_TIME.fullmatch(time)):
            return _new(DumpName, (op_type, op_name, int(task), int(stream),
                                   int(time), None, None, None, None, csv,
                                   False, None))
        return None
    if count < 3 or not parts[0] \
            or parts[0] == "exception_info":  # another tool's, same pattern
        return None
    if count == 10:
        return _form_d_fftsplus(parts, file_name, csv)
    if count > 9 or _LOCAL_TIME.fullmatch(parts[-1]):
        return None
    # Type and name hold no dot, so the numbers begin at the third field; in
    # old files without a name at the second.
    n = _numbers(parts[2:], file_name)
    if n is None:
        return None
    op_type, op_name = parts[0], parts[1]
    if count == 5:
        return DumpName(op_type, op_name, n[0], n[1], n[2], None, None, None,
                        None, csv)
    if count == 9:
        return DumpName(op_type, op_name, n[0], n[1], n[2], n[3], n[4], n[5],
                        n[6], csv, True)
    if count == 4:
        named = _numbers(parts[1:2], file_name)
        if named is None:
            return DumpName(op_type, op_name, n[0], None, n[1], csv=csv)
        return DumpName(op_type, "", named[0], n[0], n[1], csv=csv)
    if count == 8:
        # Form B without the stream id, which the document puts in brackets.
        return DumpName(op_type, op_name, n[0], None, n[1], n[2], n[3], n[4],
                        n[5], csv)
    if count == 6:
        if len(parts[5]) == _TIME_DIGITS != len(parts[4]):
            return DumpName(op_type, op_name, n[1], n[2], n[3], csv=csv,
                            dump_number=n[0])
        # One number behind the time; msaccucmp's pattern allows it.
        return DumpName(op_type, op_name, n[0], n[1], n[2], None, None, None,
                        n[3], csv, True)
    if count == 3:
        named = _numbers(parts[1:2], file_name)
        if named is not None and len(parts[2]) == _TIME_DIGITS:
            return DumpName(op_type, "", named[0], None, n[0], csv=csv)
    return None


def _form_d_fftsplus(parts: List[str], file_name: str, csv: bool) -> Optional[DumpName]:
    n = _numbers(parts[2:6] + parts[7:], file_name)
    if n is None or parts[6] != _FFTSPLUS or len(parts[5]) != _TIME_DIGITS:
        return None
    return DumpName(parts[0], parts[1], n[1], n[2], n[3], FFTS_PLUS, n[4], n[5],
                    n[6], csv, dump_number=n[0])


def _numbers(parts: List[str], file_name: str) -> Optional[List[int]]:
    """The fields as numbers, None if any is not a decimal of 64 bits."""
    ascii_only = file_name.isascii()
    for part in parts:
        if not part.isdigit() or len(part) > _MAX_DIGITS \
                or not (ascii_only or part.isascii()):
            return None
    return [int(part) for part in parts]


def format_dump_name(name: DumpName) -> str:
    """The file name of a DumpName.

    Args:
      name: its type and operator name are sanitised.

    Returns:
      A name that `parse_dump_name` reads back as the same DumpName, with sanitised
      texts, unless the op_name is empty or a number.
    """
    parts = [sanitise(name.op_type)]
    if name.op_name:
        parts.append(sanitise(name.op_name))
    for number in (name.dump_number, name.task_id, name.stream_id, name.timestamp):
        if number is not None:
            parts.append(str(number))
    if name.task_type is None:
        if name.device_id is not None:
            parts.append(str(name.device_id))
    else:
        parts.append(str(name.task_type) if name.dump_number is None else _FFTSPLUS)
        parts.extend(str(number or 0) for number in (
            name.context_id, name.thread_id, name.device_id))
    if name.csv:
        parts.append("csv")
    return ".".join(parts)


def is_digits(file_name: str) -> bool:
    """Whether a file name stands for a longer name (see `mapping.py`).

    Args:
      file_name: without its folder.
    """
    return (file_name.isdigit() and file_name.isascii()
            and len(file_name) <= _MAX_DIGITS)


def classify(file_name: str) -> str:
    """What a file in a dump folder is, by its name alone.

    Args:
      file_name: without its folder.

    Returns:
      "dump", "stats", "overflow", "digits" (see `mapping.py`), "mapping",
      "graph" (a GE graph file) or "foreign" (exception dumps, converted
      files, anything else).
    """
    return classify_name(file_name)[0]


def classify_name(file_name: str) -> Tuple[str, Optional[DumpName]]:
    """What a file in a dump folder is, and what its name says.

    Args:
      file_name: without its folder.

    Returns:
      (kind as of `classify`, DumpName of a dump, stats or overflow file or None).
    """
    # Nearly all files of a dump end in a digit or in csv; asking in this
    # order spares them the other questions.
    name = parse_dump_name(file_name)
    if name is not None:
        if name[0] == "Opdebug":
            return "overflow", name
        return ("stats" if name[9] else "dump"), name
    if file_name == "mapping.csv":
        return "mapping", None
    if is_digits(file_name):
        return "digits", None
    if file_name.startswith("ge_") and parse_graph_name(file_name):
        return "graph", None
    return "foreign", None


class GraphName(NamedTuple):
    """What the name of a GE graph file says (GE `graph_utils.cc`).

    Attributes:
      kind: "ge_proto", "ge_onnx", "ge_readable" or "ge_tensorboard".
      index: running number; proto and onnx numbers of one graph mostly agree.
      graph_id: None in old files.
      stage: "Build" for what was executed.
      aclop: True for a single-operator graph.
      extension: "txt" or "pbtxt".
      index_width: digits of the number, 5 in old files, 8 today.
    """
    kind: str
    index: int  # type: ignore[assignment]  # not tuple.index
    graph_id: Optional[int] = None
    stage: str = "Build"
    aclop: bool = False
    extension: str = "txt"
    index_width: int = 8

    @property
    def is_build(self) -> bool:
        """Whether this is the graph as executed (stage "Build")."""
        return self.stage == "Build"


_GRAPH_NAME = re.compile(
    r"(ge_(?:proto|onnx|readable|tensorboard))_([0-9]{1,19})(_aclop)?"
    r"(?:_graph_([0-9]{1,19}))?_(.+)\.(pbtxt|txt)", re.DOTALL)
_STAGE = re.compile(r'[/\\:*?"<>|]')


def parse_graph_name(file_name: str) -> Optional[GraphName]:
    """Reads a GE graph file's name (GE `graph_utils.cc`).

    Args:
      file_name: without its folder.

    Returns:
      GraphName; None for any other name.
    """
    match = _GRAPH_NAME.fullmatch(file_name)
    if match is None:
        return None
    kind, index, aclop, graph_id, stage, extension = match.groups()
    return GraphName(kind, int(index),
                     None if graph_id is None else int(graph_id), stage,
                     aclop is not None, extension, len(index))


def format_graph_name(name: GraphName) -> str:
    """The file name of a GraphName.

    Args:
      name: its stage is sanitised as GE does, and the name of a ge_onnx file cut to
        248 characters where it is 255 or longer (GE `graph_utils.cc`).
    """
    parts = [name.kind, "%0*d" % (name.index_width, name.index)]
    if name.aclop:
        parts.append("aclop")
    if name.graph_id is not None:
        parts.append("graph_%d" % name.graph_id)
    parts.append(_STAGE.sub("_", name.stage))
    text = "_".join(parts)
    if name.kind == "ge_onnx" and len(text) >= 255:
        text = text[:248]  # graph_utils.cc cuts onnx names, and only these
    return "%s.%s" % (text, name.extension)
