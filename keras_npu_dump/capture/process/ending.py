"""Why a process ends, in the words that its record keeps."""
import sys
from typing import Any, Optional


def cause_of(error: Any) -> str:
    """What is said of a process that an exception of this class has ended."""
    if issubclass(error, KeyboardInterrupt):
        return "interrupted by SIGINT"
    return "ended by an exception (%s)" % error.__name__


def cause_of_exit() -> Optional[str]:
    """Why the interpreter ends, asked in an exit handler; None where all is well.

    It keeps the exception that it has printed last. An interactive one prints many.
    """
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_type", None)
    return cause_of(error) if isinstance(error, type) else None
