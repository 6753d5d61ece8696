"""What cannot be written while training runs: told once for each cause, and summed up.

A full disk, a file system that has become read-only, no memory, no file descriptors: each
hits every dump, every line of the journal and every record from then on. Training goes on
without them, and is not drowned in the same words.
"""
import errno
import os
from typing import Any, Dict, List, Optional, Tuple

from keras_npu_dump import messages

# What an outage is known by: the number of an OSError, or the name of the exception.
_Cause = Any
_counts: Dict[Tuple[_Cause, str], int] = {}
_words: Dict[_Cause, str] = {}
_pid: List[int] = []


def tell(what: str, error: BaseException, text: str, *values: Any) -> None:
    """Says that something cannot be written; nothing where its cause is known already.

    Args:
      what: the thing that is lost, in the plural: they are counted for `summary`.
      error: the cause.
      text: what failed, filled in with `values`. The cause is put behind it.
    """
    cause = error.errno if isinstance(error, OSError) and error.errno else type(error).__name__
    # Without a lock, which a fork might leave locked; at worst two threads say the same.
    if _pid != [os.getpid()]:  # a forked child has outages of its own
        _pid[:] = [os.getpid()]
        _counts.clear()
        _words.clear()
    known = cause in _words
    _words.setdefault(cause, in_words(error))
    _counts[cause, what] = _counts.get((cause, what), 0) + 1
    if not known:
        messages.error(text + "; training goes on: %s", *(values + (_full(error),)))


def summary() -> Optional[str]:
    """One sentence on all that was lost in this process so far; None if nothing was."""
    if _pid != [os.getpid()] or not _counts:
        return None
    causes: Dict[_Cause, List[str]] = {}
    for (cause, what), count in list(_counts.items()):
        causes.setdefault(cause, []).append("%d %s" % (count, what))
    return "Failed, and training went on: %s" % "; ".join(
        "%s (%s)" % (", ".join(lost), _words[cause]) for cause, lost in causes.items())


def causes() -> List[str]:
    """Why something of this process could not be written, in words."""
    return list(_words.values()) if _pid == [os.getpid()] else []


def in_words(error: BaseException) -> str:
    """The cause without the file."""
    if isinstance(error, OSError):
        if error.errno == errno.EFBIG:
            return "File too large for this process's limit (ulimit -f)"
        return error.strerror or type(error).__name__
    if isinstance(error, MemoryError):
        return "Not enough memory"
    return str(error).partition("\n")[0] or type(error).__name__


def _full(error: BaseException) -> str:
    name = getattr(error, "filename", None)
    words = in_words(error)
    return "%s (%s)" % (words, name) if isinstance(name, str) and name else words
