"""Processes whose standard streams are closed, full, or read by nobody."""
import fcntl
import os
import struct
import subprocess
import termios
import threading
import time
from typing import NamedTuple

from tests.conftest import command_environment

SMALL_PIPE = 4096  # bytes
_SET_PIPE_SIZE = 1031  # fcntl.F_SETPIPE_SZ, which has its name from Python 3.10 on
LIMIT = 1 << 22


class Done(NamedTuple):
    """How a process has ended, and what came on the streams that were in order."""

    returncode: int
    stdout: str
    stderr: str


def run_with(command, folder, stdin="null", stdout="ok", stderr="ok", env=None, timeout=120):
    """Runs a command with streams in these states.

    Args:
      stdout, stderr: "ok", "full" (no space left), "gone" (a pipe whose reader has left),
        "closed", "readonly", "slow" (a small pipe that does not block, and is read when it
        is full), or "limited" (a file at the limit of the process's file sizes); or a
        descriptor.
      stdin: "null" or "closed".
      env: variables beside those of `run_command`.
    """
    ends = [_end(state, folder, name) for state, name in ((stdout, "out"), (stderr, "err"))]
    states = (stdin, stdout, stderr)

    def prepare():
        if "limited" in states:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
        for descriptor, state in enumerate(states):
            if state == "closed":
                os.close(descriptor)

    process = subprocess.Popen(
        command, cwd=str(folder), env=command_environment(env),
        preexec_fn=prepare,  # noqa: PLW1509, this process has no other threads by now
        stdin=subprocess.DEVNULL, stdout=ends[0].given, stderr=ends[1].given)
    readers = [threading.Thread(target=end.read, args=(process,)) for end in ends]
    for end, reader in zip(ends, readers):
        os.close(end.given)
        reader.start()
    try:
        status = process.wait(timeout)
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
    return Done(status, ends[0].text, ends[1].text)


class _End:
    """One stream: the descriptor that the process gets, and what is read from it."""

    def __init__(self, given, read_from=None, slow=False):
        self.given, self.text = given, ""
        self._read_from, self._slow = read_from, slow

    def read(self, process):
        if self._read_from is None:
            return
        while self._slow and process.poll() is None and self._waiting() < SMALL_PIPE:
            time.sleep(0.01)
        with open(self._read_from, encoding="utf-8", errors="surrogateescape") as file:
            self.text = file.read()

    def _waiting(self):
        return struct.unpack("i", fcntl.ioctl(self._read_from, termios.FIONREAD, b"    "))[0]


def _end(state, folder, name):
    if isinstance(state, int):
        return _End(state)
    if state in ("full", "closed", "readonly"):
        return _End(os.open("/dev/full" if state == "full" else os.devnull,
                            os.O_RDONLY if state == "readonly" else os.O_WRONLY))
    if state == "limited":
        path = os.path.join(str(folder), name + ".log")
        with open(path, "wb") as file:
            file.truncate(LIMIT)
        return _End(os.open(path, os.O_WRONLY | os.O_APPEND))
    read, write = os.pipe()
    if state == "gone":
        os.close(read)
        return _End(write)
    if state == "slow":
        fcntl.fcntl(write, _SET_PIPE_SIZE, SMALL_PIPE)
        os.set_blocking(write, False)
    return _End(write, read, state == "slow")
