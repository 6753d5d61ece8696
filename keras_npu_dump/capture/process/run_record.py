"""The run record: `runs/{run_id}/run.json`, what a later reader must know of a process."""
import datetime
import json
import os
import socket
import sys
import threading
from typing import Any, Dict, List, Optional

from keras_npu_dump import outages, sigterm
from keras_npu_dump._version import __version__
from keras_npu_dump.capture.device import environment
from keras_npu_dump.capture.device.dump_folder import current_folder, relative_to
from keras_npu_dump.errors import ConfigError
from keras_npu_dump.files import streams
from keras_npu_dump.files.private_folders import make_private
from keras_npu_dump.files.regular import create
from keras_npu_dump.ranks import Cluster

SCHEMA = "keras_npu_dump.run/1"


class RunRecord:
    """One process's run folder; rewritten whole, so that a reader never sees half of it.

    Args:
      dump_path: absolute path of the dump folder.
      options: the dump options of the device, as they were asked for.
      emulated: whether the device is the emulator.
      cluster: which of several processes this one is.

    Raises:
      ConfigError: if it cannot be written. Later on, in training, that is only told.
    """

    def __init__(self, dump_path: str, options: Dict[str, Any], emulated: bool,
                 cluster: Cluster):
        self.dump_path = dump_path
        now = datetime.datetime.now(datetime.timezone.utc)
        self._lock = threading.RLock()  # the watcher writes it again where it was deleted
        try:
            self.run_id, self.folder = _make_folder(
                os.path.join(dump_path, "runs"),
                "%s%s_pid%d" % (now.strftime("%Y%m%d%H%M%S"),
                                "" if cluster.rank is None else "_rank%d" % cluster.rank,
                                os.getpid()))
        except OSError as error:
            raise _cannot_write(dump_path, error) from error
        self.fields: Dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "version": __version__,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "rank": cluster.rank or 0,
            "rank_size": cluster.size,
            "device": cluster.device,
            "emulated": emulated,
            "started": now.isoformat(timespec="seconds"),
            "opened": False,
            "ended": None,
            "status": "running",
            "cause": None,
            "eager": False,
            "options": options,
            "environment": {},
            "versions": {},
            "script": list(sys.argv),
            "cwd": current_folder(),
            "graph_path": "",
            "timezone": datetime.datetime.now().astimezone().strftime("%z"),
            "models": [],
        }
        try:
            self._write()
        except OSError as error:
            raise _cannot_write(dump_path, error) from error

    def write(self, **changes: Any) -> None:
        """Writes the record with these changes; a full disk is told once and stops nothing.

        A forked child has none in the record of its parent.
        """
        if os.getpid() != self.fields["pid"]:
            return
        self.fields.update(changes)
        try:
            with sigterm.held_back(), self._lock:
                self._write()
        except (OSError, MemoryError) as error:
            outages.tell("states of the run's record", error,
                         "The record of this run cannot be written")

    def _write(self, in_place: bool = False) -> None:
        self.fields["environment"] = environment.recorded_environment()
        self.fields["graph_path"] = relative_to(environment.graph_folder(), self.dump_path)
        self.fields["versions"] = _versions()
        make_private(self.folder)
        streams.hold_places()
        content = (json.dumps(self.fields, indent=1) + "\n").encode()
        if in_place:
            _overwrite(self.path, content)
        else:
            _replace(self.path, content)

    @property
    def path(self) -> str:
        return os.path.join(self.folder, "run.json")

    def add_model(self, name: str, layers: Any) -> None:
        model = {"model": name, "layers": list(layers)}
        if model not in self.fields["models"]:
            self.fields["models"].append(model)
            self.write()

    def end(self, status: str, cause: Optional[str], counts: List[int], lost: int) -> None:
        """Writes how the process has ended, also where the disk has no room for it.

        Args:
          status: "ended" or "failed".
          cause: why it has failed.
          counts: executions of each section of the journal.
          lost: how many lines of the journal are not in it.
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        self.fields.update(ended=now.isoformat(timespec="seconds"), status=status, cause=cause,
                           counts=counts, lost_lines=lost, outages=outages.causes())
        try:
            try:
                self._write()
            except OSError:
                # In place no more room is taken: without an end it would be running for ever.
                self._write(in_place=True)
        except (OSError, MemoryError) as error:
            outages.tell("states of the run's record", error,
                         "The end of this run cannot be written")


def _replace(path: str, content: bytes) -> None:
    """Puts a whole file in place of another, or leaves that as it was."""
    part = path + ".part"
    descriptor = create(part)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except OSError:
        try:
            os.unlink(part)
        except OSError:
            pass  # the first error says more
        raise


def _overwrite(path: str, content: bytes) -> None:
    """Writes into the room that a file has already; all of it, or as it was before."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        before = os.pread(descriptor, 1 << 24, 0)
        try:
            _write_all(descriptor, content.ljust(len(before)))
        except OSError:
            os.ftruncate(descriptor, len(before))
            _write_all(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(descriptor, content[done:], done)


def _cannot_write(dump_path: str, error: OSError) -> ConfigError:
    return ConfigError("dump_path: expected a folder with room for the records of this run."
                       " Received: %r (%s)." % (dump_path, error.strerror or error))


def _make_folder(parent: str, name: str) -> Any:
    """A folder of its own for every process: containers share pids, so mkdir decides."""
    make_private(parent)
    for attempt in range(1000):
        run_id = name if not attempt else "%s_%d" % (name, attempt)
        folder = os.path.join(parent, run_id)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
        return run_id, folder
    raise FileExistsError("a thousand folders named %s exist in %s" % (name, parent))


def _versions() -> Dict[str, str]:
    """Versions of what is loaded already; nothing is imported for it."""
    versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in ("tensorflow", "keras", "numpy", "npu_device"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            versions[name] = version
    return versions
