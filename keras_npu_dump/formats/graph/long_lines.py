"""A graph file piece by piece, without the inside of very long texts.

A graph dumped with its weights (DUMP_GE_GRAPH=1) has lines of hundreds of
megabytes: one escaped text each. They are passed over while reading, so that
memory follows the structure of the graph and not its contents.
"""
from __future__ import annotations

import codecs
import os

from keras_npu_dump.formats.graph.graph_decode import ELIDED

# Longer lines are left out. The longest that matter (a list of shapes as
# JSON, a kernel) stay far below.
MAX_LINE = 1 << 20
_CHUNK = 4 << 20


class Pieces:
    """The file, piece by piece, without the inside of very long lines.

    `data` is what is at hand, `base` the position of data[0] in the file
    (approximately, where long lines were left out before it).

    Args:
      fd: the file, open at its beginning. size: of it, in bytes.
    """

    def __init__(self, fd: int, size: int):
        self.fd = fd
        self.left = size  # what is appended later is not read: it might never end
        self.data = b""
        self.base = 0
        self.skipping = False  # inside a line that is being left out
        self._begun = False

    def more(self, pos: int) -> bool:
        """Drops what is done with and reads on.

        Args:
          pos: in `data`; what stands before it goes.

        Returns:
          False at the end of the file, `data` is then as before.
        """
        # Doubling keeps an operator larger than a piece linear.
        chunk = self._read(max(_CHUNK, len(self.data) - pos))
        if not self._begun:
            self._begun = True
            if chunk.startswith(codecs.BOM_UTF8):  # an editor's; protobuf prints none
                chunk = chunk[len(codecs.BOM_UTF8):]
                self.base += len(codecs.BOM_UTF8)
        while chunk and self.skipping:
            end = chunk.find(b"\n")
            if end >= 0:
                self.base += end
                chunk = chunk[end:]
                self.skipping = False
                break
            self.base += len(chunk)
            chunk = self._read(_CHUNK)
        if not chunk:
            return self._end_last_line(pos)
        self.data = self._without_long_lines(self.data[pos:] + chunk)
        self.base += pos
        return True

    def _end_last_line(self, pos: int) -> bool:
        """Ends a last brace without a line end, as editors leave it: whether there was one."""
        if self.skipping or not self.data.endswith(b"\n}", max(pos - 1, 0)):
            return False
        self.data = self.data[pos:] + b"\n"
        self.base += pos
        return True

    def _read(self, count: int) -> bytes:
        chunk = os.read(self.fd, min(count, self.left))
        self.left -= len(chunk)
        return chunk

    def _without_long_lines(self, data: bytes) -> bytes:
        parts = []
        done = 0
        probe = MAX_LINE
        # A longer line covers one of the probes; only these are looked at.
        while probe < len(data):
            start = data.rfind(b"\n", done, probe) + 1 or done
            end = data.find(b"\n", probe)
            if end < 0:
                end = len(data)
                self.skipping = True
            if end - start > MAX_LINE:
                colon = data.find(b":", start, min(end, start + 200))
                head = data[done:colon] if colon > 0 else data[done:start]
                parts.append(head + b": " + ELIDED.encode())
                done = end
            elif self.skipping:
                self.skipping = False
                break
            probe = max(end, probe) + MAX_LINE
        if not parts:
            return data
        parts.append(data[done:])
        return b"".join(parts)
