"""What doctor finds, one fact at a time."""
from typing import NamedTuple, Optional


class Finding(NamedTuple):
    """A fact about this machine that decides about a dump, in the words of a manifest's problems.

    Attributes:
      code: stable and short, for programs.
      severity: "error" (a dump would fail), "warning" or "info".
      message: what was found.
      hint: what to do about it.
    """

    code: str
    severity: str
    message: str
    hint: Optional[str] = None
