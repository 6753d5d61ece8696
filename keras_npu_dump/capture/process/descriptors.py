"""File descriptors for our own last reads, where a script has used up all of its own."""
import errno
import os
from typing import List

_NEEDED = 8  # collect holds two or three at a time


def make_room() -> None:
    """At the end of a process: raises its own limit, if it is reached and may be raised."""
    # Doubled each time: a limit may have been set below what is open already.
    while not _is_room() and _raise_limit():
        pass


def _is_room() -> bool:
    held: List[int] = []
    try:
        while len(held) < _NEEDED:
            held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno != errno.EMFILE
    finally:
        for descriptor in held:
            os.close(descriptor)
    return True


def _raise_limit() -> bool:
    """Whether the limit is higher now; where it is not, what cannot be read is told."""
    try:
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * soft + _NEEDED
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted > soft
    except (ImportError, ValueError, OSError):
        return False
