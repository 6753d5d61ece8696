"""The manifest: what collect found, as data classes and as the JSON document."""
from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.files.atomic import write_atomically
from keras_npu_dump.files.read_limited import MAX_MANIFEST, read_json
from keras_npu_dump.records import field_kinds as checked
from keras_npu_dump.records.layout import RUNS
from keras_npu_dump.records.manifest_text import manifest_text
from keras_npu_dump.records.problems import ERROR, SEVERITIES, Problem, Problems
from keras_npu_dump.records.run_record import check_object
from keras_npu_dump.sizes import plural

SCHEMA = "keras_npu_dump.manifest/1"
# Keys of "training".
_RANK = re.compile(r"([0-9]{1,18}|device:[0-9]{1,18}|device:None)\Z", re.ASCII)
CONFIDENCES = ("exact", "id", "content", "guess")


@dataclasses.dataclass
class Step:
    """One dumped execution: a `data_index` folder (or what stands for one).

    `iteration` is {"fit", "epoch", "batch"}, all from 0, or None where no
    journal ties the execution to a batch. `kinds` counts files by kind
    ("dump", "stats", "overflow", ...); `bytes` is the sum of their sizes.
    `load` is how often the graph had been loaded before; folders of one load
    and data_index are parts of one execution. None, and not in the document,
    where each model name has one id and so one load, and in version 0.1.0.
    """

    data_index: Optional[int]
    model_name: Optional[str]
    model_id: Optional[int]
    path: str
    files: int
    bytes: int
    kinds: Dict[str, int]
    iteration: Optional[Dict[str, int]] = None
    load: Optional[int] = None


@dataclasses.dataclass
class Pair:
    """A Build graph, the dump folders that belong to it on one device, and why."""

    graph: str
    time: Optional[str]
    device: Optional[int]
    rank: Optional[int]
    model_names: List[str]
    role: str
    confidence: str
    evidence: List[str]
    steps: List[Step]

    def executions(self) -> List[Tuple[int, List[Step]]]:
        """(load, folders) of each dumped execution, in the order of load and data_index.

        The folders are those of the parts of a dynamic graph; of other graphs there is one.
        """
        found: Dict[Tuple[int, int], List[Step]] = {}
        for load, one in zip(self._loads(), self.steps):
            key = (load, -1 if one.data_index is None else one.data_index)
            found.setdefault(key, []).append(one)
        return [(key[0], found[key]) for key in sorted(found)]

    def _loads(self) -> List[int]:
        """Of each step. Where the manifest does not tell, as in version 0.1.0, several model
        ids of one name are loads, in the order of the ids."""
        told = [one.load for one in self.steps if one.load is not None]
        if len(told) == len(self.steps):
            return told
        ids: Dict[Optional[str], List[int]] = {}
        for name, number in sorted({(one.model_name or "", -1 if one.model_id is None
                                     else one.model_id) for one in self.steps}):
            ids.setdefault(name, []).append(number)
        return [ids[one.model_name or ""].index(-1 if one.model_id is None else one.model_id)
                for one in self.steps]


@dataclasses.dataclass
class GraphRecord:
    """A Build graph file. What was not read is None."""

    file: str
    index: Optional[int]
    graph_id: Optional[int]
    name: Optional[str]
    dump_name: Optional[str]
    subgraphs: Optional[List[str]]
    op_count: Optional[int]
    role: str
    has_iterator: Optional[bool]
    bytes: int


@dataclasses.dataclass
class ManifestRun:
    """One training process, as its run record and journal tell it."""

    run_id: str
    rank: Optional[int]
    device: Optional[int]
    pid: Optional[int]
    host: Optional[str]
    emulated: Optional[bool]
    started: Optional[str]
    ended: Optional[str]
    options: Dict[str, Any]
    environment: Dict[str, Any]
    executions: Dict[str, Dict[str, Any]]


@dataclasses.dataclass(repr=False)
class Manifest:
    """What a training job left behind, paired.

    `training` has for each rank ("device:<id>" without a run record) the
    positions in `pairs` of its training graphs, in the order of execution.
    `path` is the file that was written, None where none was. `faulty` says whether the file
    that it was read from had values that cannot be, `printed` whether its text was asked for.
    """

    dump_path: str
    runs: List[ManifestRun] = dataclasses.field(default_factory=list)
    graphs: List[GraphRecord] = dataclasses.field(default_factory=list)
    pairs: List[Pair] = dataclasses.field(default_factory=list)
    training: Dict[str, List[int]] = dataclasses.field(default_factory=dict)
    problems: List[Problem] = dataclasses.field(default_factory=list)
    path: Optional[str] = None
    faulty: bool = dataclasses.field(default=False, compare=False)
    printed: bool = dataclasses.field(default=False, compare=False)

    def __str__(self) -> str:
        """The table that `keras-npu-dump collect` prints."""
        self.printed = True
        return manifest_text(self)

    def __repr__(self) -> str:
        return "<Manifest of %s: %s, %s, %s of severity error>" % (
            self.dump_path, plural(len(self.runs), "run"), plural(len(self.pairs), "pair"),
            plural(len(self.errors), "problem"))

    @property
    def errors(self) -> List[Problem]:
        """The problems of severity error: with any, the command exits 1."""
        return [one for one in self.problems if one.severity == ERROR]

    @property
    def empty(self) -> bool:
        """Nothing was found at all: no dump, no graph, no run."""
        return not (self.pairs or self.graphs or self.runs)

    def absolute(self, path: str) -> str:
        """A `file`, `graph` or `path` of this manifest as an absolute path."""
        return os.path.join(self.dump_path, path)

    def to_json(self) -> Dict[str, Any]:
        """The document of the schema `keras_npu_dump.manifest/1`, key order included."""
        return {
            "schema": SCHEMA,
            "dump_path": self.dump_path,
            "runs": [dataclasses.asdict(one) for one in self.runs],
            "graphs": [dataclasses.asdict(one) for one in self.graphs],
            "pairs": [_pair_json(one) for one in self.pairs],
            "training": {key: list(value) for key, value in self.training.items()},
            "problems": [one.to_json() for one in self.problems],
        }

    @classmethod
    def from_json(cls, document: Any, path: Optional[str] = None) -> "Manifest":
        """The inverse of `to_json`. Values that cannot be are missing, each with a problem.

        Args:
          document: the JSON document.
          path: of its file.

        Raises:
          FormatError: it is no manifest, or another schema.
        """
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise FormatError(path or "manifest", "expected schema %r, received %s" % (
                SCHEMA, checked.shown(
                    document.get("schema") if isinstance(document, dict) else document)))
        faults = checked.Faults()
        manifest = _read(document, faults, path)
        told = Problems()
        faults.tell(told, path or "manifest")
        manifest.problems += told.result()
        manifest.path = path
        manifest.faulty = bool(faults)
        return manifest

    def write(self, path: str) -> str:
        """Writes the document to `path` in one step; a reader sees the old or the new one.

        Args:
          path: of the file, which gets mode 0600. A link that stands there is replaced.

        Returns:
          The absolute path.

        Raises:
          InputError: it cannot be written, or something that is no file has the name.
        """
        try:
            write_atomically(path, _text(self.to_json()))
        except OSError as error:
            raise InputError("cannot write %s: %s" % (path, error.strerror)) from None
        self.path = os.path.abspath(path)
        return self.path


def _pair_json(pair: Pair) -> Dict[str, Any]:
    found = dataclasses.asdict(pair)
    for step in found["steps"]:
        if step["load"] is None:
            del step["load"]
    return found


def load_manifest(path: str) -> Manifest:
    """Reads a manifest.json. Moved folders keep working: dump_path is where the file lies now.

    Args:
      path: of the file.

    Raises:
      InputError: it cannot be opened.
      FormatError: it is no manifest.
    """
    try:
        document = read_json(path, MAX_MANIFEST)
    except OSError as error:
        raise InputError("cannot read %s: %s" % (path, error.strerror)) from None
    manifest = Manifest.from_json(document, os.path.abspath(path))
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.basename(os.path.dirname(folder)) == RUNS:
        folder = os.path.dirname(os.path.dirname(folder))
    if any(os.path.exists(os.path.join(folder, step.path))
           for pair in manifest.pairs for step in pair.steps[:1]):
        manifest.dump_path = folder
    return manifest


# The fields of each kind of entry; without one of `needed` the entry is left out.
_STEP: Dict[str, checked.Kind] = {
    "data_index": checked.count, "model_name": checked.text, "model_id": checked.count,
    "path": checked.text, "files": checked.count, "bytes": checked.count,
    "kinds": checked.map_of(checked.count), "iteration": checked.iteration,
    "load": checked.count}
_PAIR: Dict[str, checked.Kind] = {
    "graph": checked.text, "time": checked.text, "device": checked.count, "rank": checked.count,
    "model_names": checked.list_of(checked.text), "role": checked.text,
    "confidence": checked.word(CONFIDENCES), "evidence": checked.list_of(checked.text)}
_GRAPH: Dict[str, checked.Kind] = {
    "file": checked.text, "index": checked.count, "graph_id": checked.count,
    "name": checked.text, "dump_name": checked.text,
    "subgraphs": checked.list_of(checked.text), "op_count": checked.count, "role": checked.text,
    "has_iterator": checked.flag, "bytes": checked.count}
_RUN: Dict[str, checked.Kind] = {
    "run_id": checked.name, "rank": checked.count, "device": checked.count,
    "pid": checked.process_id, "host": checked.text, "emulated": checked.flag,
    "started": checked.time, "ended": checked.time}
_COUNTS = checked.object_of({
    "count": checked.optional(checked.count), "last": checked.optional(checked.count),
    "dumped": checked.list_of(checked.count)})


def _executions(value: Any) -> Dict[str, Any]:
    """What is told of a graph's executions; `aborted` is there only where the data has ended."""
    found: Dict[str, Any] = _COUNTS(value)
    if value.get("aborted") is not None:
        found["aborted"] = checked.list_of(checked.count)(value["aborted"])
    return found


_PROBLEM: Dict[str, checked.Kind] = {
    "code": checked.name, "severity": checked.word(SEVERITIES), "message": checked.text,
    "hint": checked.text, "path": checked.text}


def _read(document: Dict[str, Any], faults: checked.Faults, path: Optional[str]) -> Manifest:
    manifest = Manifest(faults.take(document, "dump_path", checked.name) or "")
    if not manifest.dump_path:
        raise FormatError(path or "manifest", "its dump_path is missing")
    positions: Dict[int, int] = {}  # of pairs, in the file and in what is believed
    for number, (where, one) in enumerate(_entries(document, "pairs", faults)):
        found = _fields(one, _PAIR, where, faults)
        if found["graph"] is None:
            faults.add(where + "graph", "the path of a graph file", None)
            continue
        steps = [_fields(step, _STEP, place, faults)
                 for place, step in _entries(one, "steps", faults, where)]
        positions[number] = len(manifest.pairs)
        manifest.pairs.append(Pair(
            **dict(found, model_names=found["model_names"] or [], role=found["role"] or "unknown",
                   confidence=found["confidence"] or CONFIDENCES[-1],
                   evidence=found["evidence"] or []),
            steps=[Step(**dict(step, files=step["files"] or 0, bytes=step["bytes"] or 0,
                               kinds=step["kinds"] or {}))
                   for step in steps if step["path"] is not None]))
    for where, one in _entries(document, "graphs", faults):
        found = _fields(one, _GRAPH, where, faults)
        if found["file"] is not None:
            manifest.graphs.append(GraphRecord(**dict(
                found, role=found["role"] or "unknown", bytes=found["bytes"] or 0)))
    for where, one in _entries(document, "runs", faults):
        found = _fields(one, _RUN, where, faults)
        if found["run_id"] is None or any(
                found["run_id"] == other.run_id for other in manifest.runs):
            faults.add(where + "run_id", "an id that no other run has", found["run_id"])
            continue
        objects = {name: {} if one.get(name) is None else one[name]
                   for name in ("options", "environment", "executions")}
        names = objects["executions"] if isinstance(objects["executions"], dict) else {}
        manifest.runs.append(ManifestRun(
            **found, options=check_object(objects["options"], "options", faults),
            environment=check_object(objects["environment"], "environment", faults),
            executions=faults.fields(objects["executions"], dict.fromkeys(names, _executions),
                                     where + "executions.")))
    manifest.training = _training(document, positions, faults)
    for where, one in _entries(document, "problems", faults):
        found = _fields(one, _PROBLEM, where, faults)
        if None not in (found["code"], found["severity"], found["message"]):
            manifest.problems.append(Problem(**found))
    return manifest


def _entries(holder: Dict[str, Any], name: str, faults: checked.Faults,
             where: str = "") -> List[Tuple[str, Any]]:
    """The items of a list of objects, each with its place."""
    value = holder.get(name)
    if not isinstance(value, list):
        faults.add(where + name, "a list", value)
        return []
    found = []
    for number, one in enumerate(value):
        place = "%s%s[%d]." % (where, name, number)
        if isinstance(one, dict):
            found.append((place, one))
        else:
            faults.add(place.rstrip("."), "an object", one)
            found.append((place, {}))
    return found


def _fields(one: Dict[str, Any], schema: Mapping[str, checked.Kind], where: str,
            faults: checked.Faults) -> Dict[str, Any]:
    return {name: faults.take(one, name, kind, where) for name, kind in schema.items()}


def _training(document: Dict[str, Any], positions: Dict[int, int],
              faults: checked.Faults) -> Dict[str, List[int]]:
    """Positions of pairs by rank; those of pairs that are not there are left out."""
    training = document.get("training")
    if not isinstance(training, dict):
        faults.add("training", "an object", training)
        return {}
    found: Dict[str, List[int]] = {}
    for key, values in training.items():
        where = "training.%s" % checked.shown(key)[1:-1]
        if not _RANK.match(key):
            faults.add(where, "a rank or device:<id> as its name", key)
            continue
        if not isinstance(values, list):
            faults.add(where, "a list", values)
            continue
        for one in values:
            if type(one) is int and one in positions and positions[one] not in found.get(key, ()):
                found.setdefault(key, []).append(positions[one])
            else:
                faults.add(where, "positions in pairs, each once", one)
    return found


def _text(document: Dict[str, Any]) -> bytes:
    try:
        # Operator names may be Chinese; a person should be able to read them.
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        # A file name that is not UTF-8 arrives as lone surrogates, which only
        # the escaped form can carry.
        return (json.dumps(document, indent=1) + "\n").encode("ascii")
