"""A Build graph: its file, its name, and its body once that was asked for."""
from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, Optional

from keras_npu_dump.collector.graphs.body import Body, read_body
from keras_npu_dump.collector.graphs.graph_search import GraphFile
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import NotRegularError, open_text
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.names import sanitise


class BuildGraph:
    """A graph file with its head, and with its body once `read_body` was called."""

    def __init__(self, file: GraphFile):
        self.file = file
        self.name: Optional[str] = None
        self.body: Optional[Body] = None
        self.error: Optional[str] = None
        self.is_no_file: Optional[NotRegularError] = None
        self.role = "unknown"
        self.role_evidence: List[str] = []
        # The name of its folder, as the device writes it (runtime dump_task.h).
        self.dump_name: Optional[str] = None
        try:
            self.name = graph_reader.read_head(file.path).name
            self.dump_name = sanitise(self.name)
        except (FormatError, OSError) as error:
            self._fail(error)

    @property
    def graph_id(self) -> Optional[int]:
        return self.file.name.graph_id

    def is_called(self, name: Optional[str]) -> bool:
        """The graph has this name, or this name with the id that some versions append."""
        if not name or not self.name:
            return False
        head, _, tail = self.name.rpartition("_")
        return self.name == name or (head == name and tail.isdigit()
                                     and self.graph_id in (None, int(tail)))

    def read_body(self, cache: Dict[Any, Body]) -> Optional[Body]:
        """Reads the file once; equal files of several ranks are read once for all."""
        if self.body is None and self.error is None:
            try:
                key = (self.file.size, _digest(self.file.path))
                if key not in cache:
                    cache[key] = read_body(self.file.path, self.file.size)
                self.body = cache[key]
            except (FormatError, OSError) as error:
                self._fail(error)
        return self.body

    def _fail(self, error: Exception) -> None:
        self.error = str(error)
        self.is_no_file = error if isinstance(error, NotRegularError) else None


def _digest(path: str) -> bytes:
    digest = hashlib.sha1()
    fd, _ = open_text(path)
    with os.fdopen(fd, "rb") as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            digest.update(chunk)
    return digest.digest()
