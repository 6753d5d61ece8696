"""The run record, `runs/{run_id}/run.json`: what a later reader must know of a process.

Its fields, who writes it, and how it is read.
"""
from __future__ import annotations

import datetime
import json
import os
import socket
import sys
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional

from keras_npu_dump import outages, sigterm
from keras_npu_dump._version import __version__
from keras_npu_dump.failure import MOST_RAISED, Failure
from keras_npu_dump.files import streams
from keras_npu_dump.files.atomic import write_atomically
from keras_npu_dump.files.paths import current_folder
from keras_npu_dump.files.read_limited import MAX_RUN_RECORD
from keras_npu_dump.files.timestamps import utc_text
from keras_npu_dump.records import field_kinds as checked
from keras_npu_dump.records.layout import RUN_FILE

SCHEMA = "keras_npu_dump.run/1"
# Who asks for a dump of a script that need not know of it; in `asked_by`.
LAUNCHER = "keras-npu-dump run"

# The dump options of a run; those of a later version may be there, too.
_OPTIONS: Dict[str, checked.Kind] = {
    "enable_dump": checked.flag,
    "enable_dump_debug": checked.flag,
    "dump_path": checked.text,
    "dump_step": checked.text,
    "dump_mode": checked.text,
    "dump_data": checked.text,
    "dump_layer": checked.either(checked.text, checked.list_of(checked.text)),
    "dump_debug_mode": checked.text,
}
# See keras_npu_dump.failure.
_FAILURE = checked.object_of({
    "type": checked.name,
    "message": checked.optional(checked.text),
    "operator": checked.optional(checked.text),
    "section": checked.optional(checked.count),
    "data_index": checked.optional(checked.count),
    "tracing": checked.flag,
})
# Every field of run.json. null is "not known", and in `ended` "not yet".
_FIELDS: Dict[str, checked.Kind] = {
    "schema": checked.text,
    "run_id": checked.name,
    "version": checked.text,
    "host": checked.text,
    "pid": checked.process_id,
    "rank": checked.count,
    "rank_size": checked.count,
    "device": checked.count,
    "emulated": checked.flag,
    "started": checked.time,
    "opened": checked.flag,
    "ended": checked.time,
    "status": checked.text,
    "cause": checked.text,
    "failure": _FAILURE,
    "raised": checked.list_of(_FAILURE),
    "eager": checked.flag,
    "asked_by": checked.list_of(checked.text),
    "options": dict,
    "environment": dict,
    "versions": dict,
    "script": checked.list_of(checked.text),
    "cwd": checked.text,
    "graph_path": checked.text,
    "timezone": checked.offset,
    "models": checked.list_of(checked.object_of(
        {"model": checked.text, "layers": checked.list_of(checked.text)})),
    "counts": checked.list_of(checked.count),
    "lost_lines": checked.count,
    "outages": checked.list_of(checked.text),
}
# What a record has beside fields of one kind: objects of which each entry is checked by itself.
_OBJECTS = ("options", "environment", "versions")


class RunIdentity(NamedTuple):
    """Which process a run record is of.

    Attributes:
      rank: number among the processes of its job; None where nobody knows it yet.
      rank_size: how many processes the job has.
      device: logical number of its device; None where it is not known.
      emulated: whether the device is the emulator.
    """

    rank: Optional[int]
    rank_size: int
    device: Optional[int]
    emulated: bool


class Surroundings(NamedTuple):
    """What a process finds, and what may change while it runs.

    Attributes:
      environment: the variables that decide about graphs and dumps, by name.
      graph_path: where graph files go, relative to the dump path where it lies inside.
    """

    environment: Dict[str, str]
    graph_path: str


def check_run(document: Any, faults: checked.Faults) -> Dict[str, Any]:
    """The fields of a run.json that are what they should be; those of later versions are left out.

    Args:
      document: what the file holds.
      faults: get what is wrong with it.
    """
    schema = {name: kind for name, kind in _FIELDS.items() if name not in _OBJECTS}
    found = faults.fields(document, schema, "")
    if not isinstance(document, dict):
        return found
    for name in _OBJECTS:
        if document.get(name) is not None:
            found[name] = check_object(document[name], name, faults)
    return found


def check_object(value: Any, name: str, faults: checked.Faults) -> Dict[str, Any]:
    """`options`, `environment` or `versions` of a run, without the entries that are invalid.

    Args:
      value: what should be the object.
      name: of the field.
      faults: get what is wrong with it.
    """
    if not isinstance(value, dict):
        faults.add(name, "an object", value)
        return {}
    other = checked.plain if name == "options" else checked.text
    known = _OPTIONS if name == "options" else {}
    schema = {key: known.get(key, other) for key in value if _is_text(key)}
    return faults.fields({key: value[key] for key in schema}, schema, name + ".")


def _is_text(key: str) -> bool:
    try:
        checked.text(key)
    except checked.Invalid:
        return False
    return True


def run_name(rank: Optional[int]) -> str:
    """The name of this process's run folder: time (UTC), rank where it is known, pid."""
    return "%s%s_pid%d" % (
        datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d%H%M%S"),
        "" if rank is None else "_rank%d" % rank, os.getpid())


class RunRecord:
    """One process's run folder; rewritten whole, so that a reader never sees half of it.

    Args:
      folder: absolute path of its run folder, new and empty; see `run_name`.
      options: the dump options of the device, as they were asked for.
      identity: which process this is.
      surroundings: called each time the record is written.

    Raises:
      OSError: it cannot be written. Later on, in training, that is only told.
    """

    def __init__(self, folder: str, options: Dict[str, Any], identity: RunIdentity,
                 surroundings: Callable[[], Surroundings]):
        self.folder = folder
        self.run_id = os.path.basename(folder)
        self._surroundings = surroundings
        self._lock = threading.RLock()  # the watcher writes it again where it was deleted
        now = datetime.datetime.now(datetime.timezone.utc)
        self.fields: Dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "version": __version__,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "rank": identity.rank or 0,
            "rank_size": identity.rank_size,
            "device": identity.device,
            "emulated": identity.emulated,
            "started": utc_text(now),
            "opened": False,
            "ended": None,
            "status": "running",
            "cause": None,
            "failure": None,
            "raised": [],
            "eager": False,
            "asked_by": [],
            "options": options,
            "environment": {},
            "versions": {},
            "script": [],
            "cwd": current_folder(),
            "graph_path": "",
            "timezone": datetime.datetime.now().astimezone().strftime("%z"),
            "models": [],
        }
        self._write()

    def write(self, **changes: Any) -> None:
        """Writes the record with these changes; a full disk is told once and stops nothing.

        A forked child has none in the record of its parent.

        Args:
          **changes: fields with their new values.
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
        self.fields.update(self._surroundings()._asdict())
        self.fields["versions"] = _versions()
        content = (json.dumps(self.fields, indent=1) + "\n").encode()
        if in_place:
            _overwrite(self.path, content)
        else:
            write_atomically(self.path, content)

    @property
    def path(self) -> str:
        """Of run.json, absolute."""
        return os.path.join(self.folder, RUN_FILE)

    def add_model(self, name: str, layers: Iterable[str]) -> None:
        """Notes a model that is trained, once.

        Args:
          name: of the model.
          layers: their names.
        """
        model = {"model": name, "layers": list(layers)}
        if model not in self.fields["models"]:
            self.fields["models"].append(model)
            self.write()

    def add_raised(self, failure: Failure) -> None:
        """Notes an execution that was left by an exception, at once; the first ones.

        Args:
          failure: with section and data_index.
        """
        raised = self.fields["raised"]
        if len(raised) < MOST_RAISED:
            self.write(raised=[*raised, failure.to_json()])

    def end(self, status: str, cause: Optional[str], counts: List[int], lost: int,
            failure: Optional[Failure] = None) -> None:
        """Writes how the process has ended, also where the disk has no room for it.

        Args:
          status: "ended" or "failed".
          cause: why it has failed.
          counts: executions of each section of the journal.
          lost: how many lines of the journal are not in it.
          failure: what has ended it. Defaults to nothing that is known.
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        self.fields.update(ended=utc_text(now), status=status, cause=cause,
                           failure=None if failure is None else failure.to_json(),
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


def _overwrite(path: str, content: bytes) -> None:
    """Writes into the room that a file has already; all of it, or as it was before."""
    streams.hold_places()
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        before = os.pread(descriptor, MAX_RUN_RECORD, 0)
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


def _versions() -> Dict[str, str]:
    """Versions of what is loaded already; nothing is imported for it."""
    versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in ("tensorflow", "keras", "numpy", "npu_device"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            versions[name] = version
    return versions
