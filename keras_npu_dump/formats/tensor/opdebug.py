"""Opdebug files: which operator overflowed, where, in typed values.

An overflow (enable_dump_debug) leaves, besides the operator's own dump, a
file `Opdebug.Node_OpDebug.*` whose single output holds a record of 2048
bytes (GE `data_dumper.cc`). Two layouts exist; both are read as msaccucmp
`dump_data_parser.py` does.
"""
from __future__ import annotations

import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import Path
from keras_npu_dump.formats.tensor.header import read_header
from keras_npu_dump.formats.tensor.tensor_data import read_bytes

MAGIC = 0x5A5A5A5A
INVALID_ID = 65535
OLD_SIZE = 2048

_ACC_TYPES = {0: "AIC", 1: "AIV", 2: "AICPU", 3: "SDMA"}
_IDS = ("model_id", "stream_id", "task_id", "task_type", "context_id",
        "thread_id")
_CORE = _IDS + ("pc_start", "para_base", "core_id", "block_id", "status")
_FIELDS = {
    "AIC": _CORE,
    "AIV": _CORE,
    "AICPU": ("model_id", "stream_id", "task_id", "task_type", "context_id",
              "cpu_id", "thread_id", "status"),
    "SDMA": _IDS + ("src_addr", "dst_addr", "channel_id", "status"),
}
_HEAD = struct.Struct("<6I")
_OLD_BLOCK = struct.Struct("<6Q")
_OLD_FIELDS = ("model_id", "stream_id", "task_id", "task_type", "pc_start",
               "para_base")
# Name, position of its fields, position of its status (runtime layout).
_OLD_BLOCKS = (("DHA Atomic Add", 0, 512), ("L2 Atomic Add", 128, 768),
               ("AI Core", 256, 1024))


class OverflowRecord(NamedTuple):
    """An overflow as the device recorded it.

    Attributes:
      source: "AIC", "AIV", "AICPU", "SDMA" of the new layout, or
        "DHA Atomic Add", "L2 Atomic Add", "AI Core" of the old layout.
      status: words of the status register: a single word, or (new AIC and AIV) four.
      model_id, stream_id, task_id: None where the device had none (65535).
      fields: every other value by the vendor's name, as a number.
      valid: the device's own mark; the old layout has none and is valid where
        the status is not 0.
      version: of the new layout; None for the old layout.
    """
    source: str
    status: Tuple[int, ...]
    model_id: Optional[int]
    stream_id: Optional[int]
    task_id: Optional[int]
    fields: Dict[str, int]
    valid: bool
    version: Optional[int]


def read_overflow(path: Path) -> List[OverflowRecord]:
    """Records of an Opdebug file.

    Args:
      path: the file.

    Returns:
      A single record of the new layout, three of the old.

    Raises:
      FormatError: no dump file, or no record in it.
      OSError: the file cannot be opened or read.
    """
    records = []
    header = read_header(path)
    for entry in header.outputs:
        if entry.stored and entry.size:
            data = read_bytes(path, entry)[:OLD_SIZE].tobytes()
            try:
                records.extend(parse_record(data))
            except ValueError as error:
                raise FormatError(path, str(error), entry.offset) from None
    if not records:
        raise FormatError(path, "no output holds an overflow record", 0)
    return records


def parse_record(data: bytes) -> List[OverflowRecord]:
    """Records in the payload of an Opdebug file.

    Args:
      data: bytes of its output, 2048 in files of devices.

    Returns:
      A single record of the new layout, three of the old.

    Raises:
      ValueError: neither layout, or cut off.
    """
    if len(data) >= 4 and data[:4] == b"ZZZZ":
        return [_new(data)]
    if len(data) == OLD_SIZE:
        return _old(data)
    raise ValueError("expected the mark 0x5a5a5a5a or %d bytes of the old "
                     "layout, found %d bytes" % (OLD_SIZE, len(data)))


def _new(data: bytes) -> OverflowRecord:
    if len(data) < _HEAD.size:
        raise ValueError("an overflow record of %d bytes is cut off"
                         % len(data))
    _, version, valid, acc_type, _, length = _HEAD.unpack_from(data)
    source = _ACC_TYPES.get(acc_type)
    if source is None:
        raise ValueError("unknown overflow source %d" % acc_type)
    names = _FIELDS[source]
    wide = version == 1 and source in ("AIC", "AIV")
    count = len(names) + (3 if wide else 0)
    # The record says its own length; what it leaves out is not there, even
    # though the file always has 2048 bytes.
    room = min(len(data) - _HEAD.size, length) // 8
    if room < count:
        raise ValueError("an overflow record of %s needs %d numbers, %d are "
                         "there" % (source, count, room))
    words = struct.unpack_from("<%dQ" % count, data, _HEAD.size)
    fields = dict(zip(names[:-1], words))
    return OverflowRecord(source, words[len(names) - 1:],
                          _id(fields.pop("model_id")),
                          _id(fields.pop("stream_id")),
                          _id(fields.pop("task_id")), fields, valid == 1,
                          version)


def _old(data: bytes) -> List[OverflowRecord]:
    records = []
    for source, start, status_at in _OLD_BLOCKS:
        fields = dict(zip(_OLD_FIELDS, _OLD_BLOCK.unpack_from(data, start)))
        if source == "AI Core":
            code, block, status = struct.unpack_from("<3Q", data, status_at)
            fields["kernel_code"], fields["block_idx"] = code, block
        else:
            status, = struct.unpack_from("<Q", data, status_at)
        records.append(OverflowRecord(
            source, (status,), _id(fields.pop("model_id")),
            _id(fields.pop("stream_id")), _id(fields.pop("task_id")), fields,
            status != 0, None))
    return records


def _id(value: int) -> Optional[int]:
    return None if value == INVALID_ID else value


def vendor_json(data: bytes) -> Dict[str, Any]:
    """A record as the vendor's converter writes it as JSON (msaccucmp `dump_data_parser.py`).

    Args:
      data: bytes of an Opdebug file's output.

    Returns:
      A dict for `json.dumps`.

    Raises:
      ValueError: as `parse_record`.
    """
    records = parse_record(data)
    if records[0].version is None:
        return {record.source: _old_json(record) for record in records}
    record = records[0]
    _, version, valid, _, rsv, length = _HEAD.unpack_from(data)
    names = _FIELDS[record.source]
    words = struct.unpack_from("<%dQ" % len(names), data, _HEAD.size)
    values: Dict[str, Any] = dict(zip(names, words))
    if len(record.status) > 1:
        values["status"] = list(record.status)
    for name in ("pc_start", "para_base", "src_addr", "dst_addr"):
        if name in values:
            values[name] = hex(values[name])
    return {"magic": hex(MAGIC), "version": version, "acc_list": {
        "valid": valid, "acc_type": record.source, "rsv": rsv,
        "data_len": length, "data": values}}


def _old_json(record: OverflowRecord) -> Dict[str, Any]:
    values: Dict[str, Any] = {
        name: INVALID_ID if value is None else value
        for name, value in (("model_id", record.model_id),
                            ("stream_id", record.stream_id),
                            ("task_id", record.task_id))}
    for name in ("task_type", "pc_start", "para_base", "kernel_code",
                 "block_idx"):
        if name in record.fields:
            value = record.fields[name]
            values[name] = hex(value) if name in (
                "pc_start", "para_base", "kernel_code") else value
    values["status"] = record.status[0]
    return values


def pack_record(source: str, fields: Dict[str, int],
                status: Tuple[int, ...] = (1,), version: int = 0,
                valid: bool = True) -> bytes:
    """A record of the new layout, padded to 2048 bytes (for the emulator).

    Args:
      source: "AIC", "AIV", "AICPU" or "SDMA".
      fields: by the vendor's names; those left out are 65535 (none).
      status: words of the status register: four for AIC and AIV with version 1, else a
        single word; by default (1,).
      version: of the layout, 0 or 1; by default 0.
      valid: the device's mark; by default True.
    """
    names = _FIELDS[source]
    words = [fields.get(name, INVALID_ID) for name in names[:-1]]
    words += list(status)
    number = {name: key for key, name in _ACC_TYPES.items()}[source]
    head = _HEAD.pack(MAGIC, version, int(valid), number, 0, 8 * len(words))
    return (head + struct.pack("<%dQ" % len(words), *words)) \
        .ljust(OLD_SIZE, b"\0")
