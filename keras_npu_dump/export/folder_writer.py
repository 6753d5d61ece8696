"""Writes the tensors of one folder's dump files, each into a file of its own."""
from __future__ import annotations

import json
import os
import uuid
from typing import Any, Dict, Iterator, List, Optional, Set

import numpy as np

from keras_npu_dump.errors import FormatError
from keras_npu_dump.export.forms import ExportResult, Form, OriginFormats
from keras_npu_dump.export.target_folder import TargetFolder
from keras_npu_dump.files.quoting import UnwritableError, mapping_line
from keras_npu_dump.files.read_limited import read_lines
from keras_npu_dump.files.regular import kind_of
from keras_npu_dump.formats import mapping, tree
from keras_npu_dump.formats.tensor import decode, dump_file, ffts, layouts, opdebug

# Larger tensors are copied in blocks instead of being held.
_LARGE = 64 << 20
_BLOCK = 8 << 20
_MAX_NAME = 255  # bytes; the vendor's converter renames from here on


class FolderWriter:
    """Exports the files of one folder. `close` writes their mapping.csv."""

    def __init__(self, folder: str, target: str, relative: str, form: Form,
                 origin_formats: OriginFormats, result: ExportResult):
        """Opens the folder; the one below the target is made with the first file.

        Args:
          folder: with dump files.
          target, relative: the target of the export, and the path of this folder below it.
          form: how a tensor becomes a file.
          origin_formats: layouts from the graph.
          result: is counted up.

        Raises:
          OSError: `folder` cannot be opened.
        """
        self.folder = folder
        self.target = target
        self.relative = relative
        self.form = form
        self.origins = origin_formats
        self.result = result
        self.source_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY
                                 | os.O_CLOEXEC)
        self._opened: Optional[TargetFolder] = None
        self._blocked = False  # something else stands where the folder should be
        self.there: Dict[str, int] = {}
        self.mapped: Set[str] = set()
        self._old_lines: Optional[List[bytes]] = []  # None: not to be replaced
        self._new_lines: List[bytes] = []

    def close(self) -> None:
        """Writes mapping.csv if names were added to it, and closes both folders.

        Raises:
          OSError: it cannot be written.
        """
        try:
            if self._new_lines and self._old_lines is not None:
                with self._open().new_file(mapping.MAPPING) as fd:
                    old = b"".join(self._old_lines)
                    if old and not old.endswith(b"\n"):
                        old += b"\n"
                    _write_all(fd, [old + b"".join(self._new_lines)])
        except FormatError as error:
            self._output_problem(mapping.MAPPING, error.reason)
        finally:
            os.close(self.source_fd)
            if self._opened is not None:
                self._opened.close()

    def add(self, file: tree.DumpFile) -> None:
        """Exports one dump file; other files are only counted.

        Args:
          file: of the folder. What of it cannot be read becomes a problem.

        Raises:
          OSError: the target takes no more.
        """
        if self._blocked:
            return
        try:
            self._add(file)
        except FormatError as error:
            self._failed(file, error)
        except MemoryError:
            self._problem(file, "not enough memory to convert it")

    def _add(self, file: tree.DumpFile) -> None:
        if file.kind not in ("dump", "overflow"):
            self.result.passed += 1
            if file.kind == "digits":
                self._problem(file, "digits that mapping.csv does not know")
            return
        try:
            if file.size > _LARGE:
                header = dump_file.read_header(file.name, dir_fd=self.source_fd)
                arrays: List[Any] = [None] * len(header.entries)
            else:
                header, arrays = dump_file.read_file(file.name,
                                                  dir_fd=self.source_fd)
        except OSError as error:
            raise _unreadable(self._path(file), error) from None
        self.result.files += 1
        if file.full_name != file.name:
            self._map(file.name, file.full_name)
        info = ffts.slice_info(header) if header.attrs else None
        thread = file.dump.thread_id if file.dump is not None else None
        for entry, values in zip(header.entries, arrays):
            if entry.stored or not entry.size:
                try:
                    self._tensor(file, header, entry, values, info,
                                 thread or 0)
                except FormatError as error:
                    self._failed(file, error)
                    if self._blocked:
                        return

    def _tensor(self, file: tree.DumpFile, header: Any, entry: Any,
                values: Optional[np.ndarray], info: Any,
                thread: int) -> None:
        label = "%s:%d" % (entry.kind, entry.index)
        if entry.kind in ("buffer", "space"):
            kind = "l1buffer" if entry.kind == "buffer" else "space"
            if values is None:
                values = self._read(file, entry)
            self._write("%s.%s.%d.bin" % (file.name, kind, entry.index),
                        ".bin", b"", values)
            return
        if file.kind == "overflow" and self._overflow(file, entry, values):
            return
        if not decode.is_decoded(entry.data_type):
            self.result.raw.append((self._path(file), label,
                                    entry.dtype_name))
            name = "%s.%s.%d.%d.%s.%s.bin" % (
                file.name, entry.kind, entry.index, entry.size,
                entry.dtype_name, entry.format_name)
            if values is None:
                values = self._read(file, entry)
            self._write(name, ".bin", b"", values)
            return
        if values is None:
            if entry.original_shape in (None, entry.shape) \
                    and self._stream(file, entry):
                return
            values = self._read(file, entry)
        if info is not None:
            values = ffts.shaped_slice(values, ffts.slice_shape(
                info, entry.kind, thread, entry.index))
        layout = entry.format_name
        if layout in layouts.BLOCKED:
            original = layouts.to_original(
                values, entry,
                self.origins.get((header.op_name, entry.kind, entry.index)))
            if original.reason is not None:
                self.result.kept_layout.append((self._path(file), label,
                                                original.reason))
            values, layout = original.values, original.layout
        name = self.form.name(file.name, entry.kind, entry.index,
                              values.shape, values.dtype, layout)
        self._write(name, self.form.suffix,
                    self.form.head(values.dtype, values.shape), values)

    def _read(self, file: tree.DumpFile, entry: Any) -> np.ndarray:
        try:
            return dump_file.read_array(file.name, entry, mmap=True,
                                        dir_fd=self.source_fd)
        except OSError as error:
            raise _unreadable(self._path(file), error) from None

    def _blocks(self, file: tree.DumpFile, entry: Any) -> Iterator[np.ndarray]:
        try:
            yield from dump_file.iter_blocks(self._path(file), entry, _BLOCK)
        except OSError as error:
            raise _unreadable(self._path(file), error) from None

    def _overflow(self, file: tree.DumpFile, entry: Any,
                  values: Optional[np.ndarray]) -> bool:
        """An overflow record as JSON; False if it is none."""
        if entry.kind != "output" or values is None:
            return False
        try:
            record = opdebug.vendor_json(values.tobytes())
        except ValueError:
            return False
        text = json.dumps(record, indent=4).encode("ascii")
        self._write("%s.output.%d.json" % (file.name, entry.index), ".json",
                    text, None)
        return True

    def _stream(self, file: tree.DumpFile, entry: Any) -> bool:
        """Copies a tensor in its own layout block by block."""
        count = entry.count
        if count is None or entry.format_name in layouts.BLOCKED \
                or not decode.can_hold(entry.shape):
            return False
        dtype = decode.value_dtype(entry.data_type)
        if decode.stored_bytes(entry.data_type, count) > entry.size:
            return False
        name = self._name(self.form.name(
            file.name, entry.kind, entry.index, entry.shape, dtype,
            entry.format_name), self.form.suffix)
        head = self.form.head(dtype, entry.shape)
        size = len(head) + count * dtype.itemsize
        if self._is_there(name, size):
            return True
        with self._open().new_file(name) as fd:
            tensor_left = count
            _write_all(fd, [head])
            for block in self._blocks(file, entry):
                part = block[:tensor_left]
                _write_all(fd, [part])
                tensor_left -= part.size
        self._count(size)
        return True

    def _write(self, name: str, suffix: str, head: bytes,
               values: Optional[np.ndarray]) -> None:
        name = self._name(name, suffix)
        size = len(head) + (0 if values is None else values.nbytes)
        if self._is_there(name, size):
            return
        parts: List[Any] = [head] if head else []
        if values is not None and values.nbytes:
            parts.append(np.ascontiguousarray(values))
        with self._open().new_file(name) as fd:
            _write_all(fd, parts)
        self._count(size)

    def _name(self, name: str, suffix: str) -> str:
        """The name itself, or the vendor's replacement for a long one."""
        if len(name) < _MAX_NAME and (
                name.isascii() or len(os.fsencode(name)) < _MAX_NAME):
            return name
        short = uuid.uuid3(uuid.NAMESPACE_DNS, name).hex + suffix
        self._map(short, name)
        return short

    def _map(self, short: str, name: str) -> None:
        """Adds a line to the target's mapping.csv, once."""
        self._open()
        if short in self.mapped:
            return
        self.mapped.add(short)
        try:
            self._new_lines.append(mapping_line(short, name))
        except UnwritableError as error:
            self._output_problem(short, str(error))

    def _open(self) -> TargetFolder:
        """Makes the target folder, and sees what an earlier run left."""
        if self._opened is not None:
            return self._opened
        try:
            self._opened = opened = TargetFolder(self.target, self.relative)
        except FormatError:
            self._blocked = True
            raise
        self.there = opened.sizes()
        path = os.path.join(opened.path, mapping.MAPPING)
        if mapping.MAPPING in self.there or kind_of(path) not in (None, "a link to nowhere"):
            try:
                # Not read_mapping: short names of ours are no digits.
                self._old_lines = list(read_lines(path, mapping.MAX_BYTES, 1 << 16))
            except (FormatError, OSError) as error:
                self._old_lines = None
                self._output_problem(mapping.MAPPING, getattr(error, "reason", str(error)))
            else:
                self.mapped.update(os.fsdecode(line.partition(b",")[0])
                                   for line in self._old_lines)
        return opened

    def _is_there(self, name: str, size: int) -> bool:
        """Whether an earlier run has written a file of this size: broken ones are shorter."""
        self._open()
        if self.there.get(name) == size:
            self.result.skipped += 1
            return True
        return False

    def _count(self, size: int) -> None:
        self.result.written += 1
        self.result.bytes += size

    def _path(self, file: tree.DumpFile) -> str:
        return os.path.join(self.folder, file.name)

    def _output_problem(self, name: str, reason: str) -> None:
        folder = os.path.join(self.target, self.relative)
        self.result.problems.append((os.path.normpath(os.path.join(folder, name)), reason))

    def _failed(self, file: tree.DumpFile, error: FormatError) -> None:
        """What is wrong with the target's folder is told once, of that folder."""
        path = error.path if self._blocked else self._path(file)
        self.result.problems.append((path, error.reason))

    def _problem(self, file: tree.DumpFile, reason: str) -> None:
        self.result.problems.append((self._path(file), reason))


def _unreadable(path: str, error: OSError) -> FormatError:
    return FormatError(path, error.strerror or str(error))


def _write_all(fd: int, parts: List[Any]) -> None:
    count = os.writev(fd, parts) if parts else 0
    if count == sum([len(part) if isinstance(part, bytes) else part.nbytes
                     for part in parts]):
        return
    views = [memoryview(part).cast("B") for part in parts
             if memoryview(part).nbytes]
    while views:
        while views and count >= views[0].nbytes:
            count -= views.pop(0).nbytes
        if views:
            views[0] = views[0][count:]
            count = os.writev(fd, views)
