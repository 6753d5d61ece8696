"""A limit on memory (ulimit -v) that is too small is told before it is run into.

numpy's libraries end a process without a word, or with a crash, where they find no room to
begin; what is asked for later raises MemoryError, which has one message, too.
"""
import errno
import mmap
import os

TEXT = ("not enough memory for this (ulimit -v, or the limit of a container). A part of the dump"
        " takes less.")
# What Python takes beside itself to load numpy with one thread.
_LEAST = 128 << 20


def check(single: bool) -> None:
    """Asks for room under a limit of this process; without a limit for nothing.

    Args:
      single: numpy may be kept to one thread, as each takes room of its own. Not for
        `run`, whose environment is the script's.

    Raises:
      MemoryError: there is less than numpy needs.
    """
    try:
        import resource
    except ImportError:
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    try:
        mmap.mmap(-1, _LEAST).close()
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(str(error)) from error
    if single:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
