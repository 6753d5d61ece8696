"""File descriptors for our own last reads, where a script has used up all of its own."""
import errno
import os
from typing import List

_NEEDED = 8  # collect holds two or three at a time


def make_room() -> None:
    """At the end of a process: raises its own limit, if it is reached and may be raised."""
    held: List[int] = []
    try:
        while len(held) < _NEEDED:
            held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EMFILE:
            _raise_limit()
    finally:
        for one in held:
            os.close(one)


def _raise_limit() -> None:
    try:
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = soft + _NEEDED
        resource.setrlimit(resource.RLIMIT_NOFILE, (
            wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    except (ImportError, ValueError, OSError):
        pass  # then what cannot be read is told
