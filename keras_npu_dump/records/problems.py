"""What collect can find wrong, each with a stable code, a severity, and a cause."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from keras_npu_dump.errors import FormatError
from keras_npu_dump.failure import Failure
from keras_npu_dump.files.quoting import terminal
from keras_npu_dump.files.regular import NotRegularError

ERROR = "error"
WARNING = "warning"
INFO = "info"
SEVERITIES = (ERROR, WARNING, INFO)
_ORDER = {ERROR: 0, WARNING: 1, INFO: 2}

# The severity a code has unless the finder says otherwise: a step that an
# evaluation graph never reached, for example, is no error.
SEVERITY = {
    "no-run": WARNING,
    "not-dumped": ERROR,
    "no-graph": ERROR,
    "no-pair": ERROR,
    "ambiguous-pair": WARNING,
    "step-not-reached": ERROR,
    "step-missing": ERROR,        # also a step folder without files
    "step-partial": ERROR,        # fewer files than the same graph's other steps have
    "step-unasked": INFO,
    "layer-unknown": ERROR,
    "truncated-file": ERROR,
    "empty-file": ERROR,
    "foreign-file": WARNING,
    "unmapped-name": WARNING,
    "operator-missing": INFO,
    "still-growing": INFO,
    "index-uncertain": WARNING,
    "end-of-data": INFO,          # an asked step in which the data ended: it trained nothing
    "disk-low": WARNING,
    # Beyond the codes of the first design:
    "unreadable": WARNING,        # a folder, record or graph file that could not be read
    "record-invalid": WARNING,    # a field of a record that cannot be: it counts as missing
    "run-older": INFO,            # another launch in the same folder, kept apart
    "run-crashed": WARNING,       # the training died: killed, or by an exception
    "operator-foreign": WARNING,  # files of operators that their graph does not have
    "single-operator": INFO,      # files of operators that ran outside any graph
    "exception-files": INFO,      # an exception dump beside the data dump
    "output-deleted": WARNING,    # somebody deleted what a running training had written
    "sampled": INFO,              # not every file was opened
}


@dataclasses.dataclass
class Problem:
    """One finding; `message` says what is, `hint` what to do about it."""

    code: str
    severity: str
    message: str
    hint: Optional[str] = None
    path: Optional[str] = None

    def __str__(self) -> str:
        return "%s: %s" % (terminal(self.severity), self.text)

    @property
    def text(self) -> str:
        """Message and code in a line, and the hint in one of its own."""
        text = terminal("%s [%s]" % (self.message, self.code))
        return text + ("\n  %s" % terminal(self.hint) if self.hint else "")

    def to_json(self) -> Dict[str, Any]:
        """The finding as an entry of the manifest's `problems`."""
        return dataclasses.asdict(self)


class Problems:
    """Collects findings; the same file or folder is told once for each code."""

    # More than this many findings of one code are told as one with a count:
    # a full disk leaves thousands of empty files, and one line says it better.
    LIMIT = 20

    def __init__(self) -> None:
        self._found: List[Problem] = []
        self._counts: Dict[str, int] = {}
        self._worst: Dict[str, str] = {}
        self._seen: Set[Tuple[str, Optional[str], str]] = set()

    def add(self, code: str, message: str, hint: Optional[str] = None,
            path: Optional[str] = None, severity: Optional[str] = None) -> None:
        """Notes a finding, unless the same was noted before.

        Args:
          code: a key of SEVERITY.
          message: what is.
          hint: what to do about it.
          path: the file or folder that it is about, absolute.
          severity: ERROR, WARNING or INFO. Defaults to that of the code.
        """
        key = (code, path, message)
        if key in self._seen:
            return
        self._seen.add(key)
        count = self._counts.get(code, 0) + 1
        self._counts[code] = count
        severity = severity or SEVERITY[code]
        if count <= self.LIMIT:
            self._found.append(Problem(code, severity, message, hint, path))
        else:
            self._worst[code] = min(severity, self._worst.get(code, severity),
                                    key=lambda one: _ORDER[one])

    def not_a_file(self, error: FormatError) -> None:
        """A FIFO, a device, a link to nowhere and so on where a file was expected."""
        self.add("foreign-file", "%s is not read: %s" % (
            os.path.basename(error.path), error.reason), path=error.path,
            hint="nothing of a dump is such an entry: remove it")

    def unusable(self, what: str, error: Exception, path: str,
                 then: str = "") -> None:
        """A record that cannot be read. What is no file at all has a code of its own.

        Args:
          what: the record in words, such as "the journal".
          error: why it cannot be read.
          path: of the record.
          then: what follows, put behind the message.
        """
        if isinstance(error, NotRegularError):
            self.not_a_file(error)
            return
        reason = error.reason if isinstance(error, FormatError) else getattr(
            error, "strerror", None) or str(error)
        self.add("unreadable", "cannot read %s %s: %s%s" % (what, path, reason, then), path=path)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Notes findings of another collection."""
        for found in problems:
            self.add(found.code, found.message, found.hint, found.path, found.severity)

    def have_told(self, failure: Optional[Failure]) -> bool:
        """Whether a finding has the words of an exception: once is enough.

        Args:
          failure: the exception; None is told.
        """
        return failure is None or any(failure.said() in one.message for one in self._found)

    def count(self, code: str) -> int:
        """How many findings have this code."""
        return self._counts.get(code, 0)

    def result(self) -> List[Problem]:
        """Errors first; within a severity in the order in which they were found."""
        found = list(self._found)
        for code, count in self._counts.items():
            if count > self.LIMIT:
                found.append(Problem(
                    code, self._worst[code],
                    "%d more of the same kind (%s)" % (count - self.LIMIT, code)))
        return sorted(found, key=lambda one: _ORDER[one.severity])
