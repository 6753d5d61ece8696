"""What went wrong in a training, in the words of the exception, as run.json keeps it.

`failure` is the exception that ended the process, `raised` the executions that were left by
one, or by a signal: the script may have caught it and gone on.
"""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

# Of a message so many characters are kept, and so many executions of a process.
MOST_CHARACTERS = 1000
MOST_RAISED = 20
_SHOWN = 300


class Failure(NamedTuple):
    """An exception, and where it came from.

    Attributes:
      type: name of its class; SIGINT or SIGTERM for a signal that came inside an execution.
      message: its own words; None without, and where they may not be kept.
      operator: that it names, as the graph calls it.
      section: of the journal, whose function was executed; None outside of executions.
      data_index: of that execution.
      tracing: whether the training function was being traced.
    """

    type: str
    message: Optional[str] = None
    operator: Optional[str] = None
    section: Optional[int] = None
    data_index: Optional[int] = None
    tracing: bool = False

    @property
    def is_signal(self) -> bool:
        """Whether it is a signal, and no exception."""
        return self.type in ("SIGINT", "SIGTERM")

    def said(self) -> str:
        """Class, words and operator in a line: `InvalidArgumentError: ..., at operator x`."""
        words = " ".join((self.message or "").split())
        if len(words) > _SHOWN:
            words = words[:_SHOWN] + "..."
        return "%s%s%s" % (self.type, ": " + words.rstrip(".:") if words else "",
                           ", at operator " + self.operator if self.operator else "")

    def how(self, graph: Optional[str] = None, brief: bool = False) -> str:
        """How it ended what it ended: `execution 3 raised InvalidArgumentError: ...`.

        Args:
          graph: name of the function that was executed, where there are several.
          brief: without the exception's own words, where they are told beside it.
        """
        said = self.type + (" at operator " + self.operator if self.operator else "") if (
            brief) else self.said()
        if self.data_index is None:
            return "ended by an exception%s (%s)" % (
                " while a function was traced" if self.tracing else "", said)
        return "execution %d%s %s" % (
            self.data_index, " of " + graph if graph else "",
            "was interrupted by " + self.type if self.is_signal else "raised " + said)

    def to_json(self) -> Dict[str, Any]:
        """As it stands in run.json."""
        return self._asdict()


def of_json(document: Any) -> Optional[Failure]:
    """The Failure of a checked entry; None without one."""
    return Failure(**document) if isinstance(document, dict) else None


def by_execution(documents: Optional[List[Any]]) -> Dict[Tuple[int, int], Failure]:
    """The executions that were left, by section and data_index; the last word of each counts.

    Args:
      documents: checked entries of `raised`.
    """
    found = {}
    for document in documents or ():
        one = of_json(document)
        if one is not None and one.section is not None and one.data_index is not None:
            found[one.section, one.data_index] = one
    return found
