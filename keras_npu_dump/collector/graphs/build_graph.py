"""A Build graph: its file, its name, and its body once that was asked for."""
from __future__ import annotations

import hashlib
import os
from typing import Dict, List, Optional, Sequence, Tuple

from keras_npu_dump.collector.graphs.body import Body, read_body
from keras_npu_dump.collector.graphs.graph_search import GraphFile
from keras_npu_dump.errors import FormatError
from keras_npu_dump.files.regular import NotRegularError, open_text
from keras_npu_dump.formats.graph import graph_reader
from keras_npu_dump.formats.names import sanitise
from keras_npu_dump.records.reading import RecordedRun

# By size and SHA-1 of the file.
BodyCache = Dict[Tuple[int, bytes], Body]


class BuildGraph:
    """A graph file with its head, and with its body once `read_body` was called.

    Attributes:
      file: where it lies.
      name: of the root graph; None where the head cannot be read.
      dump_name: the name of its dump folder, as the device writes it (runtime
        dump_task.h).
      body: None until it was asked for, and where it cannot be read.
      error: why the file cannot be read, or None; `is_no_file` where it is a FIFO, a
        device and so on.
      role, role_evidence: see `roles.decide_role`.
    """

    def __init__(self, file: GraphFile):
        self.file = file
        self.name: Optional[str] = None
        self.body: Optional[Body] = None
        self.error: Optional[str] = None
        self.is_no_file: Optional[NotRegularError] = None
        self.role = "unknown"
        self.role_evidence: List[str] = []
        self.dump_name: Optional[str] = None
        try:
            self.name = graph_reader.read_head(file.path).name
            self.dump_name = sanitise(self.name)
        except (FormatError, OSError) as error:
            self._fail(error)

    @property
    def graph_id(self) -> Optional[int]:
        """The id in the file's name, which some versions leave out."""
        return self.file.name.graph_id

    def is_called(self, name: Optional[str]) -> bool:
        """The graph has this name, or this name with the id that some versions append."""
        if not name or not self.name:
            return False
        head, _, tail = self.name.rpartition("_")
        return self.name == name or (head == name and tail.isdigit()
                                     and self.graph_id in (None, int(tail)))

    def may_be_of(self, run: RecordedRun, runs: Sequence[RecordedRun]) -> bool:
        """Whether the graph may be that of a run's process: neither pid nor device in its path
        says another one, nor does it lie in the dump path of another run.

        Args:
          run: the run in question.
          runs: all run records; dump paths of several hosts may lie side by side.
        """
        inside = [one.root for one in runs if self.file.path.startswith(one.root + os.sep)]
        return run.root == max(inside, key=len, default=run.root) and all(
            None in (ours, theirs) or ours == theirs for ours, theirs in (
                (self.file.pid, run.pid), (self.file.device, run.device)))

    def read_body(self, cache: "BodyCache") -> Optional[Body]:
        """The body; None where the file cannot be read, and `error` says why.

        Args:
          cache: bodies by size and digest, filled here: equal files of several ranks are
            read once for all.
        """
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
