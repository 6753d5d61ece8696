"""The manifest: what collect found, as data classes and as the JSON document."""
from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from typing import Any, Dict, List, Optional

from keras_npu_dump.errors import FormatError, InputError
from keras_npu_dump.files import streams
from keras_npu_dump.files.read_limited import MAX_MANIFEST, read_json
from keras_npu_dump.files.regular import check_writable
from keras_npu_dump.records.manifest_text import manifest_text
from keras_npu_dump.records.problems import ERROR, Problem
from keras_npu_dump.sizes import plural

SCHEMA = "keras_npu_dump.manifest/1"
CONFIDENCES = ("exact", "id", "content", "guess")


@dataclasses.dataclass
class Step:
    """One dumped execution: a `data_index` folder (or what stands for one).

    `iteration` is {"fit", "epoch", "batch"}, all from 0, or None where no
    journal ties the execution to a batch. `kinds` counts files by kind
    ("dump", "stats", "overflow", ...); `bytes` is the sum of their sizes.
    """

    data_index: Optional[int]
    model_name: Optional[str]
    model_id: Optional[int]
    path: str
    files: int
    bytes: int
    kinds: Dict[str, int]
    iteration: Optional[Dict[str, int]] = None


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
    `path` is the file that was written, None where none was.
    """

    dump_path: str
    runs: List[ManifestRun] = dataclasses.field(default_factory=list)
    graphs: List[GraphRecord] = dataclasses.field(default_factory=list)
    pairs: List[Pair] = dataclasses.field(default_factory=list)
    training: Dict[str, List[int]] = dataclasses.field(default_factory=dict)
    problems: List[Problem] = dataclasses.field(default_factory=list)
    path: Optional[str] = None

    def __str__(self) -> str:
        """The table that `keras-npu-dump collect` prints."""
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
            "pairs": [dataclasses.asdict(one) for one in self.pairs],
            "training": {key: list(value) for key, value in self.training.items()},
            "problems": [one.to_json() for one in self.problems],
        }

    @classmethod
    def from_json(cls, document: Dict[str, Any], path: Optional[str] = None) -> "Manifest":
        """The inverse of `to_json`. FormatError where the document is another one."""
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise FormatError(path or "manifest", "expected schema %r, received %r" % (
                SCHEMA, document.get("schema") if isinstance(document, dict) else document))
        try:
            pairs = []
            for one in document["pairs"]:
                steps = [Step(**step) for step in one["steps"]]
                pairs.append(Pair(**dict(one, steps=steps)))
            return cls(
                dump_path=document["dump_path"],
                runs=[ManifestRun(**one) for one in document["runs"]],
                graphs=[GraphRecord(**one) for one in document["graphs"]],
                pairs=pairs,
                training=document["training"],
                problems=[Problem(**one) for one in document["problems"]],
                path=path)
        except (KeyError, TypeError) as error:
            raise FormatError(
                path or "manifest", "a field is missing or unknown: %s" % error) from None

    def write(self, path: str) -> str:
        """Writes the document to `path` in one step; a reader sees the old or the new one.

        Mode 0600. InputError where the folder cannot be written to.
        """
        write_atomically(path, _text(self.to_json()))
        self.path = os.path.abspath(path)
        return self.path


def load_manifest(path: str) -> Manifest:
    """Reads a manifest.json. Moved folders keep working: dump_path is where the file lies now."""
    try:
        document = read_json(path, MAX_MANIFEST)
    except OSError as error:
        raise InputError("cannot read %s: %s" % (path, error.strerror)) from None
    manifest = Manifest.from_json(document, os.path.abspath(path))
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.basename(os.path.dirname(folder)) == "runs":
        folder = os.path.dirname(os.path.dirname(folder))
    if any(os.path.exists(os.path.join(folder, step.path))
           for pair in manifest.pairs for step in pair.steps[:1]):
        manifest.dump_path = folder
    return manifest


def _text(document: Dict[str, Any]) -> bytes:
    try:
        # Operator names may be Chinese; a person should be able to read them.
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        # A file name that is not UTF-8 arrives as lone surrogates, which only
        # the escaped form can carry.
        return (json.dumps(document, indent=1) + "\n").encode("ascii")


def write_atomically(path: str, content: bytes) -> None:
    """Replaces `path` by a file of mode 0600 with `content`, or leaves it as it was.

    Raises:
      InputError: the folder cannot be written to, or something that is no file has the
        name: it is not ours to replace.
    """
    folder = os.path.dirname(os.path.abspath(path))
    streams.hold_places()
    try:
        check_writable(path)
        # mkstemp makes the file 0600, whatever the umask.
        handle, temporary = tempfile.mkstemp(prefix=".manifest-", suffix=".tmp", dir=folder)
    except OSError as error:
        raise InputError("cannot write %s: %s" % (path, error.strerror)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise InputError("cannot write %s: %s" % (path, error.strerror)) from None
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
